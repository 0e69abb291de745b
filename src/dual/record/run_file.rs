//! One run in the journal: a file that only grows, readable by its owner alone.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// A file that is still written.
pub(super) const OPEN: &str = "open";

/// A file that is whole.
pub(super) const WHOLE: &str = "jsonl";

#[derive(Debug)]
pub(super) struct RunFile {
    path: PathBuf,
    /// `None` while too many others are open.
    file: Option<File>,
    /// Bytes in it.
    pub(super) bytes: u64,
    pub(super) calls: u64,
    /// Something stands here that stands in no other run of the session.
    pub(super) own: bool,
    dirty: bool,
    /// Looks in a row that found nothing new.
    idle: u32,
}

impl RunFile {
    pub(super) fn create(path: PathBuf) -> io::Result<Self> {
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        Ok(Self {
            path,
            file: Some(file),
            bytes: 0,
            calls: 0,
            own: false,
            dirty: false,
            idle: 0,
        })
    }

    /// Adds whole lines, or nothing.
    pub(super) fn append(&mut self, lines: &str) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(OpenOptions::new().append(true).open(&self.path)?),
        };
        if let Err(error) = file.write_all(lines.as_bytes()) {
            // Half a line would spoil the next one.
            let _ = file.set_len(self.bytes);
            return Err(error);
        }
        self.bytes += lines.len() as u64;
        self.dirty = true;
        Ok(())
    }

    /// A handle for bringing to the disk what was written since the last time.
    /// A file that has been still for long is closed.
    pub(super) fn unsynced(&mut self) -> Option<File> {
        const STILL: u32 = 30;

        if !std::mem::take(&mut self.dirty) {
            self.idle = self.idle.saturating_add(1);
            if self.idle > STILL {
                self.file = None;
            }
            return None;
        }
        self.idle = 0;
        self.file.as_ref().and_then(|file| file.try_clone().ok())
    }

    /// Gives the handle back to the system; the next line opens it again.
    pub(super) fn rest(&mut self) {
        if let Some(file) = self.file.take() {
            let _ = file.sync_data();
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// Nothing more will come.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.rest();
        std::fs::rename(&self.path, whole(&self.path))
    }

    pub(super) fn remove(self) -> io::Result<()> {
        std::fs::remove_file(&self.path)
    }
}

fn whole(path: &Path) -> PathBuf {
    path.with_extension(WHOLE)
}
