//! One writer at a time: an advisory file lock that ends with its process.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::error::{LakeError, LakeResult};

/// Held while a lake is written; released when dropped or when the process ends.
#[derive(Debug)]
pub(super) struct WriteLock {
    file: File,
}

impl WriteLock {
    /// Takes the lock, waiting at most `wait`.
    ///
    /// # Errors
    /// [`LakeError::Locked`] with the holder's own words if it stays taken.
    pub(super) fn take(lake: &Path, wait: Duration) -> LakeResult<Self> {
        let path = lock_path(lake);
        let mut file = open(&path).map_err(|e| LakeError::io(&path, e))?;
        let give_up = Instant::now() + wait;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < give_up => {
                    std::thread::sleep(Duration::from_millis(100));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(LakeError::Locked {
                        path: lake.to_owned(),
                        holder: holder(&mut file),
                    });
                }
                Err(TryLockError::Error(e)) => return Err(LakeError::io(&path, e)),
            }
        }
        // Words for whoever waits. A full disk must not keep a repair from running.
        let since = chrono::Utc::now().format("%Y-%m-%d %H:%M:%S UTC");
        let command = std::env::args()
            .skip(1)
            .take(8)
            .collect::<Vec<_>>()
            .join(" ");
        let words = format!(
            "process {} (`fidelake {command}`, since {since})\n",
            std::process::id()
        );
        sign(&mut file, &words);
        Ok(Self { file })
    }
}

impl Drop for WriteLock {
    fn drop(&mut self) {
        let _ = self.file.set_len(0);
        let _ = self.file.unlock();
    }
}

/// Opens a lock file, and makes it where there is none. What stands in it stays.
pub(crate) fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(path)
}

/// The words of whoever holds it.
pub(crate) fn holder(file: &mut File) -> String {
    let mut words = String::new();
    let _ = file.read_to_string(&mut words);
    match words.trim() {
        "" => "another process".to_owned(),
        text => text.to_owned(),
    }
}

/// Leaves words for whoever finds it taken.
pub(crate) fn sign(file: &mut File, words: &str) {
    let _ = file.set_len(0);
    let _ = file.rewind();
    let _ = file.write_all(words.as_bytes());
}

fn lock_path(lake: &Path) -> PathBuf {
    lake.join("_fidelake").join("lock")
}
