//! From the journal to the lake, every run once.
//!
//! Whole files are first moved together; what lies together is imported as one
//! write, and only then removed. A fold that was killed left either files that
//! are still to be imported, with the same write begun, or files that the lake
//! knows already: the next fold goes on with exactly those before it takes more.

use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fidelake_core::mask::Mode;

use super::error::RecordError;
use super::place;
use super::run_file::{OPEN, WHOLE};
use crate::formats::Format;
use crate::import::{OnConflict, Options, Progress, Report, import};

/// The command that goes on with an unfinished fold, for the lake's messages.
const COMMAND: &str = "fidelake record --fold";

/// What a fold did.
#[derive(Clone, Debug, Default)]
pub struct Folded {
    /// One import for every batch.
    pub reports: Vec<Report>,
    /// Recorders that are still at work, with runs of theirs left where they are.
    pub at_work: u64,
}

/// Brings every recorded run that is whole into the lake at `lake`.
///
/// # Errors
/// If another fold goes on, or the lake cannot be written: then the recordings
/// stay where they are, and the next fold takes them.
pub async fn fold(
    lake: &Path,
    wait: Duration,
    progress: Arc<dyn Progress>,
) -> Result<Folded, RecordError> {
    let journal = place::journal(lake)?;
    let _alone = alone(&journal, wait).await?;
    let mut folded = Folded::default();
    loop {
        for mode in [Mode::Off, Mode::Secrets, Mode::All] {
            let batch = batch(&journal, mode);
            let files = files(&batch)?;
            if files.is_empty() {
                continue;
            }
            let options = Options {
                paths: files.clone(),
                format: Some(Format::McpWire),
                environment: None,
                arm: None,
                mask: mode,
                on_conflict: OnConflict::NextRepeat,
                command: COMMAND.to_owned(),
            };
            let report = import(lake, &options, wait, Arc::clone(&progress)).await?;
            folded.reports.push(report);
            for file in &files {
                std::fs::remove_file(file).map_err(RecordError::io(file))?;
            }
        }
        folded.at_work = 0;
        if !gather(&journal, &mut folded.at_work)? {
            return Ok(folded);
        }
    }
}

/// Waits until no other fold is at work.
async fn alone(journal: &Path, wait: Duration) -> Result<File, RecordError> {
    let path = journal.join("fold.lock");
    let file = place::lock_file(&path)?;
    let give_up = Instant::now() + wait;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < give_up => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Err(TryLockError::WouldBlock) => {
                return Err(RecordError::Folding {
                    path: journal.to_owned(),
                });
            }
            Err(TryLockError::Error(error)) => return Err(RecordError::io(&path)(error)),
        }
    }
}

fn batch(journal: &Path, mode: Mode) -> PathBuf {
    journal.join("folding").join(mode.name())
}

/// Files and folders in a folder, in order; none if there is no folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>, RecordError> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(RecordError::io(folder)(error)),
    };
    let mut found = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(RecordError::io(folder))?;
    found.sort();
    Ok(found)
}

/// Moves whole runs together; says whether there were any.
fn gather(journal: &Path, at_work: &mut u64) -> Result<bool, RecordError> {
    let mut any = false;
    for folder in files(journal)? {
        let name = folder.file_name().and_then(|n| n.to_str()).unwrap_or(".");
        if !folder.is_dir() || name.starts_with('.') || name == "folding" {
            continue;
        }
        let lock = folder.join("lock");
        let held = match place::lock_file(&lock) {
            Ok(held) => held,
            // A recorder that had nothing to say has taken its folder away.
            Err(_) if !folder.exists() => continue,
            Err(error) => return Err(error),
        };
        // Whoever recorded here has ended, well or not.
        let ended = held.try_lock().is_ok();
        *at_work += u64::from(!ended);
        for file in files(&folder)? {
            let extension = file.extension().and_then(|e| e.to_str());
            if extension == Some(WHOLE) || (ended && extension == Some(OPEN)) {
                any |= take(journal, name, &file)?;
            }
        }
        if ended {
            std::fs::remove_file(&lock).map_err(RecordError::io(&lock))?;
            std::fs::remove_dir(&folder).map_err(RecordError::io(&folder))?;
        }
    }
    Ok(any)
}

/// Moves one file into the batch of its mask, without a line that a killed
/// recorder did not finish. False if nothing is left of it.
fn take(journal: &Path, recorder: &str, file: &Path) -> Result<bool, RecordError> {
    let io = RecordError::io;
    let whole = whole_lines(file).map_err(io(file))?;
    if whole == 0 {
        std::fs::remove_file(file).map_err(io(file))?;
        return Ok(false);
    }
    let stem = file
        .file_stem()
        .and_then(|s| s.to_str())
        .unwrap_or_default();
    let (number, mask) = stem.split_once('.').unwrap_or((stem, ""));
    let batch = batch(journal, Mode::parse(mask).unwrap_or_default());
    place::private_folder(&batch)?;
    let to = batch.join(format!("{recorder}.{number}.{WHOLE}"));
    std::fs::rename(file, &to).map_err(io(file))?;
    Ok(true)
}

/// Cuts a file after its last whole line; gives the bytes that are left.
fn whole_lines(path: &Path) -> std::io::Result<u64> {
    let mut file = File::options().read(true).write(true).open(path)?;
    let length = file.metadata()?.len();
    let mut end = length;
    let mut block = vec![0; 64 << 10];
    while end > 0 {
        let size = end.min(block.len() as u64);
        file.seek(SeekFrom::Start(end - size))?;
        let part = &mut block[..usize::try_from(size).unwrap_or_default()];
        file.read_exact(part)?;
        if let Some(at) = memchr::memrchr(b'\n', part) {
            end = end - size + at as u64 + 1;
            break;
        }
        end -= size;
    }
    if end < length {
        file.set_len(end)?;
    }
    Ok(end)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_not_finished_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for (given, left) in [
            ("one\ntwo\n".to_owned(), "one\ntwo\n".to_owned()),
            ("one\ntw".to_owned(), "one\n".to_owned()),
            ("on".to_owned(), String::new()),
            (format!("one\n{}", "x".repeat(200_000)), "one\n".to_owned()),
            (
                format!("{}\nx", "y".repeat(200_000)),
                format!("{}\n", "y".repeat(200_000)),
            ),
        ] {
            std::fs::write(&path, &given).unwrap();
            assert_eq!(whole_lines(&path).unwrap(), left.len() as u64);
            assert_eq!(std::fs::read_to_string(&path).unwrap(), left);
        }
    }
}
