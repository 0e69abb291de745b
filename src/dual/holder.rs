//! One process per plan: an advisory file lock that ends with its process.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;

use super::error::{DualError, DualResult};

/// Held while a plan is run.
#[derive(Debug)]
pub(super) struct Holder {
    _file: File,
}

impl Holder {
    /// Takes the plan, or names who has it. A plan and its probe share a budget,
    /// hence a lock.
    pub(super) fn take(lake: &Path, name: &str) -> DualResult<Self> {
        let folder = lake.join("_fidelake").join("dual");
        std::fs::create_dir_all(&folder).map_err(|e| DualError::io(&folder, e))?;
        let path = folder.join(format!("{name}.lock"));
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(|e| DualError::io(&path, e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.read_to_string(&mut holder);
                let holder = match holder.trim() {
                    "" => "another process".to_owned(),
                    text => text.to_owned(),
                };
                return Err(DualError::Running {
                    name: name.to_owned(),
                    holder,
                });
            }
            Err(TryLockError::Error(error)) => return Err(DualError::io(&path, error)),
        }
        // Words for whoever finds it taken.
        let _ = file.set_len(0);
        let _ = file.rewind();
        let _ = write!(file, "process {}", std::process::id());
        Ok(Self { _file: file })
    }
}
