//! One process per plan: an advisory file lock that ends with its process.

use std::fs::{File, TryLockError};
use std::path::Path;

use super::error::{DualError, DualResult};
use crate::lake::lock;

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
        let mut file = lock::open(&path).map_err(|e| DualError::io(&path, e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(DualError::Running {
                    name: name.to_owned(),
                    holder: lock::holder(&mut file),
                });
            }
            Err(TryLockError::Error(error)) => return Err(DualError::io(&path, error)),
        }
        lock::sign(&mut file, &format!("process {}", std::process::id()));
        Ok(Self { _file: file })
    }
}
