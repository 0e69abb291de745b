//! From what the user typed to a list of sources.

use std::path::{Path, PathBuf};

use super::{ImportError, Source};
use crate::formats::Format;

/// What is to be imported, and what was found on the way and is not.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) sources: Vec<Source>,
    /// Files of folders that cannot be imported, with the reason.
    pub(crate) skipped: Vec<ImportError>,
}

/// Looks at every file before anything is written. A file that was named and
/// cannot be imported stops the command; one found in a folder is skipped aloud.
pub(crate) fn plan(
    paths: &[PathBuf],
    format: Option<Format>,
    spool_in: &Path,
) -> Result<Plan, Vec<ImportError>> {
    let mut plan = Plan::default();
    let mut errors = Vec::new();
    for given in paths {
        let (files, named) = match expand(given) {
            Ok(found) => found,
            Err(error) => {
                errors.push(error);
                continue;
            }
        };
        if files.is_empty() {
            errors.push(ImportError::NothingFound {
                path: given.display().to_string(),
            });
        }
        for file in files {
            match Source::survey(&file, format, spool_in) {
                Ok(source) => {
                    let twice = plan
                        .sources
                        .iter()
                        .any(|s| s.hash == source.hash && s.given == source.given);
                    if !twice {
                        plan.sources.push(source);
                    }
                }
                Err(error) if named => errors.push(error),
                Err(error) => plan.skipped.push(error),
            }
        }
    }
    if errors.is_empty() {
        Ok(plan)
    } else {
        Err(errors)
    }
}

/// Files in order of their names, and whether they were named one by one.
fn expand(given: &Path) -> Result<(Vec<PathBuf>, bool), ImportError> {
    let text = given.display().to_string();
    if text == "-" || given.is_file() {
        return Ok((vec![given.to_owned()], true));
    }
    if given.is_dir() {
        let mut files = Vec::new();
        walk(given, &mut files)?;
        files.sort();
        return Ok((files, false));
    }
    if text.contains(['*', '?', '[']) {
        let bad = |e: String| ImportError::BadPattern {
            pattern: text.clone(),
            what: e,
        };
        let paths = glob::glob(&text).map_err(|e| bad(e.to_string()))?;
        let mut files = Vec::new();
        for path in paths {
            let path = path.map_err(|e| bad(e.to_string()))?;
            if path.is_dir() {
                walk(&path, &mut files)?;
            } else {
                files.push(path);
            }
        }
        files.sort();
        return Ok((files, false));
    }
    if given.exists() {
        // A pipe or a device.
        return Ok((vec![given.to_owned()], true));
    }
    Err(ImportError::Missing { path: text })
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), ImportError> {
    let io = |source| ImportError::Io {
        path: folder.display().to_string(),
        source,
    };
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(io)? {
        let entry = entry.map_err(io)?;
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        let kind = entry.file_type().map_err(io)?;
        if hidden {
            continue;
        }
        if kind.is_dir() {
            folders.push(entry.path());
        } else if kind.is_file() || entry.path().is_file() {
            files.push(entry.path());
        }
    }
    folders.sort();
    for folder in folders {
        walk(&folder, files)?;
    }
    Ok(())
}
