//! Files that appear when they are whole.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// A file that stands under another name until it is finished: what is broken off must
/// not pass for a whole one.
#[derive(Debug)]
pub(super) struct WholeFile {
    path: PathBuf,
    partial: PathBuf,
    out: BufWriter<File>,
}

impl WholeFile {
    pub(super) fn create(path: &Path) -> anyhow::Result<Self> {
        let name = path
            .file_name()
            .with_context(|| format!("{}: no file name", path.display()))?;
        let partial = path.with_file_name(format!("{}.partial", name.to_string_lossy()));
        let file = File::create(&partial).with_context(|| partial.display().to_string())?;
        Ok(Self {
            path: path.to_owned(),
            partial,
            out: BufWriter::new(file),
        })
    }

    /// Gives it its name.
    pub(super) fn finish(self) -> anyhow::Result<()> {
        let Self { path, partial, out } = self;
        let said = || partial.display().to_string();
        let file = out
            .into_inner()
            .map_err(io::IntoInnerError::into_error)
            .with_context(said)?;
        file.sync_all().with_context(said)?;
        std::fs::rename(&partial, &path).with_context(|| path.display().to_string())
    }
}

/// Writes a text, whole or not at all.
pub(super) fn write_whole(path: &Path, text: &str) -> anyhow::Result<()> {
    let mut file = WholeFile::create(path)?;
    file.write_all(text.as_bytes())
        .with_context(|| path.display().to_string())?;
    file.finish()
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
