//! A folder of its own for every session: servers whose state is files start
//! fresh, cannot disturb each other, and show what they changed.

use std::fs;
use std::path::{Component, Path, PathBuf};

use fidelake_core::json::{Doc, Kind, key::Key, push_json_string};

use super::{Snapshot, placing};

/// Files beyond this are shown by hash, not by text.
const SHOWN_BYTES: u64 = 256 << 10;
/// What version control keeps for itself changes with the clock.
const PASSED_OVER: &str = ".git";

/// What a folder starts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Template {
    Empty,
    /// A copy of this folder.
    Copy(PathBuf),
}

/// A folder that goes when it is dropped.
#[derive(Debug)]
pub(super) struct Workspace {
    folder: PathBuf,
}

impl Workspace {
    /// Makes the folder, then writes the files of a given state.
    pub(super) fn make(
        template: &Template,
        mark: &str,
        given: Option<&str>,
    ) -> Result<Self, String> {
        let temporary = std::env::temp_dir();
        // Programs say where a folder really is, behind all links.
        let temporary = temporary.canonicalize().unwrap_or(temporary);
        let folder = temporary.join(format!("fidelake-{mark}"));
        let at = |path: &Path, error: &std::io::Error| format!("{}: {error}", path.display());
        fs::create_dir(&folder).map_err(|error| at(&folder, &error))?;
        let workspace = Self { folder };
        if given.is_none()
            && let Template::Copy(from) = template
        {
            copy(from, &workspace.folder).map_err(|error| at(from, &error))?;
        }
        if let Some(state) = given {
            workspace.write(state)?;
        }
        Ok(workspace)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The files: text where it is text and small, else size and hash.
    pub(super) fn snapshot(&self) -> Result<Snapshot, String> {
        let mut found = Vec::new();
        list(&self.folder, &mut found).map_err(|error| error.to_string())?;
        found.sort();
        let mut state = String::from("{\"files\":{");
        for (at, path) in found.iter().enumerate() {
            let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
            let name = path.strip_prefix(&self.folder).unwrap_or(path);
            if at > 0 {
                state.push(',');
            }
            push_json_string(&name.to_string_lossy(), &mut state);
            state.push(':');
            match std::str::from_utf8(&bytes) {
                Ok(text) if bytes.len() as u64 <= SHOWN_BYTES => push_json_string(text, &mut state),
                _ => {
                    let (size, hash) = (bytes.len(), Key::of(&bytes));
                    state.push_str(&format!(r#"{{"bytes":{size},"hash":"{hash}"}}"#));
                }
            }
        }
        state.push_str("}}");
        let state = placing::named(&state, &self.folder).0.into_owned();
        let hash = Some(Key::of(state.as_bytes()).to_string());
        Ok(Snapshot {
            state: Some(state),
            hash,
        })
    }

    /// Writes the files of a state that a snapshot gave.
    fn write(&self, state: &str) -> Result<(), String> {
        let state = placing::placed(state, &self.folder);
        let doc = Doc::parse(&state).map_err(|error| format!("the given state: {error}"))?;
        let files = doc
            .root()
            .get("files")
            .filter(|files| files.kind() == Kind::Object);
        let files = files.ok_or("the given state has no object under `files`")?;
        for (name, content) in files.entries() {
            let path = Path::new(name);
            let inside = path
                .components()
                .all(|part| matches!(part, Component::Normal(_)));
            if !inside || name.is_empty() {
                return Err(format!(
                    "the given state names {name:?}, which is outside of the folder"
                ));
            }
            let text = content.as_str().ok_or_else(|| {
                format!("the given state has {name:?} as a hash only: it cannot be written")
            })?;
            let path = self.folder.join(path);
            let folder = path.parent().unwrap_or(&self.folder);
            fs::create_dir_all(folder)
                .and_then(|()| fs::write(&path, text))
                .map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(())
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // Whoever still writes there was killed; what cannot be removed is in the temporary folder.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Files below a folder. Links are not followed: they may point anywhere.
fn list(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() && entry.file_name() != PASSED_OVER {
                folders.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    let mut folders = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = folders.pop() {
        fs::create_dir_all(&to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            let target = to.join(entry.file_name());
            if kind.is_dir() {
                folders.push((entry.path(), target));
            } else if kind.is_file() {
                fs::copy(entry.path(), target)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_a_state_to_start_from() {
        let mark = format!("workspace-test-{}", std::process::id());
        let first = Workspace::make(
            &Template::Empty,
            &mark,
            Some(r#"{"files":{"a/b.txt":"x\n","c":"1"}}"#),
        );
        let first = first.unwrap();
        fs::create_dir(first.folder().join(".git")).unwrap();
        fs::write(first.folder().join(".git/HEAD"), "ref").unwrap();
        let shown = first.snapshot().unwrap();
        assert_eq!(
            shown.state.as_deref(),
            Some(r#"{"files":{"a/b.txt":"x\n","c":"1"}}"#)
        );
        let template = Template::Copy(first.folder().to_owned());
        let second = Workspace::make(&template, &format!("{mark}-2"), None).unwrap();
        assert_eq!(second.snapshot().unwrap(), shown);
        assert!(second.folder().join(".git/HEAD").exists());
        fs::write(second.folder().join("d"), [0xff, 0]).unwrap();
        assert_ne!(second.snapshot().unwrap().hash, shown.hash);
        let folder = second.folder().to_owned();
        drop(second);
        assert!(!folder.exists());
    }

    #[test]
    fn a_state_cannot_write_outside() {
        for state in [
            r#"{"files":{"../x":"1"}}"#,
            r#"{"files":{"/tmp/x":"1"}}"#,
            "[]",
        ] {
            let mark = format!("workspace-outside-{}", std::process::id());
            let made = Workspace::make(&Template::Empty, &mark, Some(state));
            assert!(made.is_err(), "{state}");
        }
    }
}
