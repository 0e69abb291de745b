//! The folder: written beside its place under another name, then renamed, so
//! that a command that was killed never leaves half of one.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::{CurateError, CurateResult, Kept};
use super::folder_lock::FolderLock;
use super::verify::{Known, differences};
use super::write::{Journal, drop_unfinished, finished};
use crate::lake::failpoint;

/// What stands where the shards should go.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing, or an empty folder.
    Free,
    /// This very curation, whole; the text is its manifest.
    Same(String),
}

/// Looks at the folder before any work is done.
///
/// A command that was killed after its last step finds its own work; anything
/// else in the folder is an error.
pub(super) fn look(folder: &Path, curation_id: &str) -> CurateResult<Found> {
    // A folder is put in the place of the name; it cannot be put behind a link.
    if fs::symlink_metadata(folder).is_ok_and(|found| found.is_symlink()) {
        return Err(CurateError::Link(folder.to_owned()));
    }
    match fs::metadata(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Found::Free),
        Err(error) => return Err(CurateError::io(folder, error)),
        Ok(found) if !found.is_dir() => return Err(CurateError::NotAFolder(folder.to_owned())),
        Ok(_) => {}
    }
    let mut entries = fs::read_dir(folder).map_err(|e| CurateError::io(folder, e))?;
    if entries.next().is_none() {
        return Ok(Found::Free);
    }
    match same(folder, curation_id) {
        Some(manifest) => {
            // One that was killed right behind its last step left its lock file: it goes with
            // the lock, which nobody holds, or whoever holds it takes it away.
            let _ = lock(folder);
            Ok(Found::Same(manifest))
        }
        None => Err(CurateError::NotEmpty(folder.to_owned())),
    }
}

/// Refuses a folder that is the lake or in it; what is not there yet goes by the nearest folder above it.
pub(super) fn refuse_inside(folder: &Path, lake: &Path) -> CurateResult<()> {
    let whole = std::path::absolute(folder).map_err(|e| CurateError::io(folder, e))?;
    let there = whole
        .ancestors()
        .find_map(|above| above.canonicalize().ok());
    let lake = lake.canonicalize().map_err(|e| CurateError::io(lake, e))?;
    match there.is_some_and(|there| there.starts_with(lake)) {
        true => Err(CurateError::InsideLake(folder.to_owned())),
        false => Ok(()),
    }
}

fn same(folder: &Path, curation_id: &str) -> Option<String> {
    let text = fs::read_to_string(folder.join("manifest.json")).ok()?;
    let known = Known::read(&text).ok()?;
    let same = known.curation_id == curation_id && differences(folder, &known).is_empty();
    same.then_some(text)
}

/// The folder, the one above it, and its name.
fn named(folder: &Path) -> CurateResult<(PathBuf, PathBuf, String)> {
    let folder = std::path::absolute(folder).map_err(|e| CurateError::io(folder, e))?;
    let parent = folder.parent().unwrap_or(&folder).to_owned();
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let name = name.into_owned();
    Ok((folder, parent, name))
}

/// The lock of a folder.
fn lock(folder: &Path) -> CurateResult<FolderLock> {
    let (folder, parent, name) = named(folder)?;
    FolderLock::take(parent.join(format!(".{name}.curate.lock")), &folder)
}

/// The folder under construction.
#[derive(Debug)]
pub(super) struct Workshop {
    path: PathBuf,
    folder: PathBuf,
    _lock: FolderLock,
}

impl Workshop {
    /// Makes it, or takes what a killed command of the same curation left.
    pub(super) fn open(folder: &Path, curation_id: &str) -> CurateResult<Self> {
        let (folder, parent, name) = named(folder)?;
        let short = curation_id.get(..12).unwrap_or(curation_id);
        let path = parent.join(format!(".{name}.curate-{short}.part"));
        fs::create_dir_all(&parent).map_err(|e| CurateError::io(&parent, e))?;
        let lock = lock(&folder)?;
        fs::create_dir_all(&path).map_err(|e| CurateError::io(&path, e))?;
        failpoint::pass("curate:workshop_made");
        Ok(Self {
            path,
            folder,
            _lock: lock,
        })
    }

    /// Where to write.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A file of text.
    pub(super) fn write(&self, name: &str, text: &str) -> CurateResult<()> {
        let path = self.path.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|e| CurateError::io(folder, e))?;
        }
        let write = || -> std::io::Result<()> {
            let mut file = fs::File::create(&path)?;
            std::io::Write::write_all(&mut file, text.as_bytes())?;
            file.sync_all()
        };
        write().map_err(|e| CurateError::io(&path, e))
    }

    /// Gives it its name. An empty folder of that name is replaced.
    pub(super) fn publish(&self) -> CurateResult<()> {
        failpoint::pass("curate:publishing");
        Journal::forget(&self.path)?;
        fs::rename(&self.path, &self.folder).map_err(|error| match error.kind() {
            std::io::ErrorKind::DirectoryNotEmpty | std::io::ErrorKind::NotADirectory => {
                CurateError::NotEmpty(self.folder.clone())
            }
            _ => CurateError::io(&self.folder, error),
        })?;
        if let Some(parent) = self.folder.parent()
            && let Ok(parent) = fs::File::open(parent)
        {
            // The new name must survive a power cut; not every system can sync a folder.
            let _ = parent.sync_all();
        }
        failpoint::pass("curate:published");
        Ok(())
    }

    /// Removes it.
    pub(super) fn remove(&self) {
        let _ = fs::remove_dir_all(&self.path);
    }

    /// After an error: finished shards wait for the next command where that can
    /// help, all the rest is removed.
    pub(super) fn leave(&self, error: CurateError) -> CurateError {
        let shards = finished(&self.path);
        let waits = matches!(error, CurateError::Interrupted | CurateError::DiskFull(_));
        if !waits || shards == 0 {
            self.remove();
            return error;
        }
        drop_unfinished(&self.path);
        let (path, kept) = (self.path.clone(), Kept { shards });
        match error {
            CurateError::DiskFull(file) => CurateError::DiskFullLater { file, path, kept },
            _ => CurateError::Stopped { path, kept },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::write::hash_file;
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn shards_do_not_go_into_the_lake() {
        let root = tempfile::tempdir().unwrap();
        let lake = root.path().join("lake");
        fs::create_dir_all(lake.join("runs")).unwrap();
        for inside in ["", "runs", "runs/new/shards", "../lake/x"] {
            let found = refuse_inside(&lake.join(inside), &lake);
            assert!(matches!(found, Err(CurateError::InsideLake(_))), "{inside}");
        }
        for beside in ["../shards", "../lake2", "../a/b"] {
            assert!(refuse_inside(&lake.join(beside), &lake).is_ok(), "{beside}");
        }
    }

    #[test]
    fn only_free_places_are_used() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("out");
        assert_eq!(look(&folder, ID).unwrap(), Found::Free);
        fs::create_dir(&folder).unwrap();
        assert_eq!(look(&folder, ID).unwrap(), Found::Free);
        fs::write(folder.join("notes.txt"), "mine").unwrap();
        assert!(matches!(look(&folder, ID), Err(CurateError::NotEmpty(_))));
        let file = folder.join("notes.txt");
        assert!(matches!(look(&file, ID), Err(CurateError::NotAFolder(_))));
    }

    #[test]
    fn two_commands_do_not_write_one_folder() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("out");
        let first = Workshop::open(&folder, ID).unwrap();
        let second = Workshop::open(&folder, "another curation");
        let said = second.unwrap_err().to_string();
        assert!(
            said.contains("in use") && said.contains("process"),
            "{said}"
        );
        drop(first);
        Workshop::open(&folder, "another curation").unwrap();
    }

    #[test]
    fn what_is_done_is_known() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("deep/out");
        let shop = Workshop::open(&folder, ID).unwrap();
        shop.write("a.txt", "one").unwrap();
        let (bytes, blake3) = hash_file(&shop.path().join("a.txt")).unwrap();
        let file = serde_json::json!({"path": "a.txt", "rows": 1, "format": "parquet", "split": "train", "bytes": bytes, "blake3": blake3});
        shop.write("README.md", "# card").unwrap();
        let (bytes, blake3) = hash_file(&shop.path().join("README.md")).unwrap();
        let card = serde_json::json!({"path": "README.md", "bytes": bytes, "blake3": blake3});
        let manifest = serde_json::json!({"curation_id": ID, "lake_version": 1, "recipe": "", "fidelake": "0", "files": [file], "beside": [card]})
            .to_string();
        shop.write("manifest.json", &manifest).unwrap();
        fs::create_dir_all(&folder).unwrap();
        shop.publish().unwrap();
        assert!(!shop.path().exists());
        assert_eq!(look(&folder, ID).unwrap(), Found::Same(manifest));
        assert!(look(&folder, "another").is_err());
        fs::write(folder.join("notes.txt"), "mine").unwrap();
        assert!(look(&folder, ID).is_err());
        fs::remove_file(folder.join("notes.txt")).unwrap();
        assert!(look(&folder, ID).is_ok());
        fs::write(folder.join("README.md"), "edited").unwrap();
        assert!(look(&folder, ID).is_err());
        fs::write(folder.join("README.md"), "# card").unwrap();
        fs::write(folder.join("a.txt"), "two").unwrap();
        assert!(look(&folder, ID).is_err());
    }
}
