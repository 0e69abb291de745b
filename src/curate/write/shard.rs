//! A file of a shard under construction, and what is known of one that is done.

use std::fs::File;
use std::path::{Path, PathBuf};

use fidelake_core::json::key::KeyHasher;
use serde::{Deserialize, Serialize};

use super::format::{Container, Format};
use super::item::Item;
use super::lines::Lines;
use super::mds::Mds;
use super::parquet::Parquet;
use super::tar::Tar;
use crate::curate::error::{CurateError, CurateResult};

/// A file that takes rows.
pub(super) trait OpenShard: Send {
    /// Appends rows.
    fn write(&mut self, items: &[Item]) -> CurateResult<()>;

    /// Ends the file; afterwards it is on the disk.
    fn end(self: Box<Self>) -> CurateResult<()>;
}

/// A file that is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::curate) struct Done {
    pub(in crate::curate) rows: u64,
    pub(in crate::curate) bytes: u64,
    pub(in crate::curate) blake3: String,
}

/// Opens a file of a format. `beside`: how many Parquet files are open at a time.
pub(super) fn open(format: Format, path: PathBuf, beside: u64) -> CurateResult<Box<dyn OpenShard>> {
    let columns = format.columns();
    Ok(match format.container() {
        Container::Parquet => Box::new(Parquet::open(path, columns, beside)?),
        Container::Lines => Box::new(Lines::open(path, columns, false)?),
        Container::LinesZstd => Box::new(Lines::open(path, columns, true)?),
        Container::Mds => Box::new(Mds::open(path, columns)?),
        Container::Tar => Box::new(Tar::open(path, columns)?),
    })
}

pub(super) fn create(path: &Path) -> CurateResult<File> {
    File::create(path).map_err(|e| CurateError::io(path, e))
}

/// Size and BLAKE3 of a file.
pub(in crate::curate) fn hash_file(path: &Path) -> CurateResult<(u64, String)> {
    let fail = |e| CurateError::io(path, e);
    let mut file = File::open(path).map_err(fail)?;
    let mut hasher = KeyHasher::default();
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        let read = std::io::Read::read(&mut file, &mut buffer).map_err(fail)?;
        if read == 0 {
            return Ok((bytes, hasher.hex()));
        }
        hasher.update(&buffer[..read]);
        bytes += read as u64;
    }
}
