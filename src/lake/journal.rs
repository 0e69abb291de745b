//! The database of what happens call by call, beside the catalog.
//!
//! A file of its own, because payloads stand in it before they are masked: only its
//! owner may read it, while everybody who may read the lake reads the catalog.
//!
//! They do not hold the lake's lock: a runner that works for hours must not keep
//! others from importing. Each of their transactions is short.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

use super::error::{LakeError, LakeResult};

/// The file.
#[must_use]
pub(crate) fn path(lake: &Path) -> PathBuf {
    lake.join("_fidelake").join("dual.sqlite")
}

/// Opens the database of an existing lake and makes `tables` where they are missing.
///
/// What is deleted there is overwritten: payloads stand in it before they are masked.
///
/// # Errors
/// If the database cannot be opened or written.
pub(crate) fn connect(lake: &Path, tables: &str) -> LakeResult<Connection> {
    let path = path(lake);
    // SQLite gives its log and its index the rights of the file.
    File::options()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(&path)
        .map_err(|e| LakeError::io(&path, e))?;
    let fail = |e| LakeError::catalog(&path, e);
    let flags =
        rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE | rusqlite::OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(&path, flags).map_err(fail)?;
    db.busy_timeout(Duration::from_secs(30)).map_err(fail)?;
    db.pragma_update(None, "journal_mode", "WAL")
        .map_err(fail)?;
    db.pragma_update(None, "synchronous", "FULL")
        .map_err(fail)?;
    db.pragma_update(None, "secure_delete", "ON")
        .map_err(fail)?;
    db.execute_batch(tables).map_err(fail)?;
    Ok(db)
}
