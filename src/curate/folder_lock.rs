//! One command writes a folder at a time: a lock file beside it, which is gone
//! when the command ends.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::error::{CurateError, CurateResult};
use crate::lake::lock;

/// Held while a folder is written.
#[derive(Debug)]
pub(super) struct FolderLock {
    path: PathBuf,
    _file: File,
}

impl FolderLock {
    /// Takes the lock at `path` for `folder`.
    pub(super) fn take(path: PathBuf, folder: &Path) -> CurateResult<Self> {
        loop {
            let mut file = lock::open(&path).map_err(|e| CurateError::io(&path, e))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(CurateError::InUse {
                        folder: folder.to_owned(),
                        holder: lock::holder(&mut file),
                    });
                }
                Err(TryLockError::Error(e)) => return Err(CurateError::io(&path, e)),
            }
            // Whoever held it may have removed it since it was opened here.
            let own = file.metadata().map_err(|e| CurateError::io(&path, e))?;
            if fs::metadata(&path).is_ok_and(|there| there.ino() == own.ino()) {
                lock::sign(&mut file, &format!("process {}", std::process::id()));
                return Ok(Self { path, _file: file });
            }
        }
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // Removed while it is held: nobody can hold the file that goes.
        let _ = fs::remove_file(&self.path);
    }
}
