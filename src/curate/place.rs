//! The folder: written beside its place under another name, then renamed, so
//! that a command that was killed never leaves half of one.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::error::{CurateError, CurateResult};
use super::shard::hash_file;
use crate::lake::failpoint;

/// What stands where the shards should go.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing, or an empty folder.
    Free,
    /// This very curation, whole; the text is its manifest.
    Same(String),
}

/// The parts of a manifest that tell one curation from another.
#[derive(Deserialize)]
struct Known {
    curation_id: String,
    files: Vec<KnownFile>,
    card_blake3: String,
}

#[derive(Deserialize)]
struct KnownFile {
    path: String,
    bytes: u64,
    blake3: String,
}

/// Looks at the folder before any work is done.
///
/// A command that was killed after its last step finds its own work; anything
/// else in the folder is an error.
pub(super) fn look(folder: &Path, curation_id: &str) -> CurateResult<Found> {
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
        Some(manifest) => Ok(Found::Same(manifest)),
        None => Err(CurateError::NotEmpty(folder.to_owned())),
    }
}

fn same(folder: &Path, curation_id: &str) -> Option<String> {
    let text = fs::read_to_string(folder.join("manifest.json")).ok()?;
    let known: Known = serde_json::from_str(&text).ok()?;
    let whole = |file: &KnownFile| {
        hash_file(&folder.join(&file.path))
            .is_ok_and(|found| found == (file.bytes, file.blake3.clone()))
    };
    let card = hash_file(&folder.join("README.md")).is_ok_and(|found| found.1 == known.card_blake3);
    let own = |path: &Path| {
        path == Path::new("README.md")
            || path == Path::new("manifest.json")
            || known.files.iter().any(|file| path == Path::new(&file.path))
    };
    let same = known.curation_id == curation_id && known.files.iter().all(whole) && card;
    (same && nothing_but(folder, Path::new(""), &own)).then_some(text)
}

/// Whether no other file stands in the folder.
fn nothing_but(folder: &Path, below: &Path, own: &dyn Fn(&Path) -> bool) -> bool {
    let Ok(mut entries) = fs::read_dir(folder.join(below)) else {
        return false;
    };
    entries.all(|entry| {
        let Ok(entry) = entry else { return false };
        let path = below.join(entry.file_name());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => nothing_but(folder, &path, own),
            _ => own(&path),
        }
    })
}

/// The folder under construction.
#[derive(Debug)]
pub(super) struct Workshop {
    path: PathBuf,
    folder: PathBuf,
}

impl Workshop {
    /// Makes it; what a killed command of the same curation left is removed first.
    pub(super) fn open(folder: &Path, curation_id: &str) -> CurateResult<Self> {
        let folder = std::path::absolute(folder).map_err(|e| CurateError::io(folder, e))?;
        let parent = folder.parent().unwrap_or(&folder).to_owned();
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let short = curation_id.get(..12).unwrap_or(curation_id);
        let path = parent.join(format!(".{name}.curate-{short}.part"));
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(CurateError::io(&path, error));
            }
            _ => {}
        }
        fs::create_dir_all(&path).map_err(|e| CurateError::io(&path, e))?;
        failpoint::pass("curate:workshop_made");
        Ok(Self { path, folder })
    }

    /// Where to write.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A file of text.
    pub(super) fn write(&self, name: &str, text: &str) -> CurateResult<()> {
        let path = self.path.join(name);
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

    /// Removes it after an error.
    pub(super) fn discard(&self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef";

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
    fn what_was_left_is_removed_and_what_is_done_is_known() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("deep/out");
        let left = Workshop::open(&folder, ID).unwrap();
        left.write("old", "x").unwrap();
        let shop = Workshop::open(&folder, ID).unwrap();
        assert!(!shop.path().join("old").exists());
        shop.write("a.txt", "one").unwrap();
        let (bytes, blake3) = hash_file(&shop.path().join("a.txt")).unwrap();
        let file = serde_json::json!({"path": "a.txt", "bytes": bytes, "blake3": blake3});
        shop.write("README.md", "# card").unwrap();
        let (_, card) = hash_file(&shop.path().join("README.md")).unwrap();
        let manifest = serde_json::json!({"curation_id": ID, "files": [file], "card_blake3": card})
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
