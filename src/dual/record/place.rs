//! Where the journal stands: a folder for every recorder, inside the lake.

use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use fidelake_core::json::key::Key;

use super::error::RecordError;
use crate::lake::LakeError;

/// The journal of a lake, made where there is none. The lake itself may not be
/// there yet: the first fold makes it.
pub(super) fn journal(lake: &Path) -> Result<PathBuf, RecordError> {
    let lake = std::path::absolute(lake).map_err(RecordError::io(lake))?;
    let own = lake.join("_fidelake");
    let refuse = |why: &str| LakeError::NotALake {
        path: lake.clone(),
        why: why.into(),
    };
    if lake.is_file() {
        return Err(refuse("it is a file; give a folder with --lake DIR").into());
    }
    if !own.is_dir() && lake.exists() {
        let mut entries = std::fs::read_dir(&lake).map_err(RecordError::io(&lake))?;
        if entries.next().is_some() {
            return Err(refuse("it is not empty and has no _fidelake folder; give a new or empty folder with --lake DIR").into());
        }
    }
    std::fs::create_dir_all(&own).map_err(RecordError::io(&own))?;
    let journal = own.join("journal");
    private_folder(&journal)?;
    Ok(journal)
}

/// A folder that only its owner can enter.
pub(super) fn private_folder(path: &Path) -> Result<(), RecordError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(RecordError::io(path))
}

/// A file whose lock tells whether somebody is at work.
pub(super) fn lock_file(path: &Path) -> Result<File, RecordError> {
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(path)
        .map_err(RecordError::io(path))
}

/// The folder of one recorder, locked as long as its file lives.
#[derive(Debug)]
pub(super) struct Own {
    pub(super) id: String,
    pub(super) folder: PathBuf,
    pub(super) lock: File,
}

impl Own {
    pub(super) fn make(journal: &Path) -> Result<Self, RecordError> {
        let now = chrono::Utc::now();
        let parts = [
            &*now.timestamp_nanos_opt().unwrap_or_default().to_string(),
            &*std::process::id().to_string(),
        ];
        let salt = Key::of_parts(&parts).to_string();
        let id = format!("{}-{}", now.format("%Y%m%dT%H%M%S"), &salt[..8]);
        // Under its name it is locked from the first moment on, so that no fold takes it away.
        let new = journal.join(format!(".{id}"));
        let folder = journal.join(&id);
        private_folder(&new)?;
        let lock = lock_file(&new.join("lock"))?;
        lock.lock().map_err(RecordError::io(&new))?;
        std::fs::rename(&new, &folder).map_err(RecordError::io(&folder))?;
        Ok(Self { id, folder, lock })
    }
}
