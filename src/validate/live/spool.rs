//! What is done already: one file of runs and one of counts for every task, until all
//! are in the lake.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::error::{LiveError, LiveResult};
use super::unit::Told;

/// The folder of one experiment.
#[derive(Debug)]
pub(super) struct Spool {
    folder: PathBuf,
}

/// What stays of an experiment whose runs are in the lake.
const DONE: &str = "done.json";

impl Spool {
    pub(super) fn open(lake: &Path, id: &str) -> LiveResult<Self> {
        let folder = lake.join("_fidelake").join("live").join(id);
        std::fs::create_dir_all(&folder).map_err(|e| LiveError::io(&folder, e))?;
        Ok(Self { folder })
    }

    fn runs(&self, place: usize) -> PathBuf {
        self.folder.join(format!("{place:05}.jsonl.zst"))
    }

    fn told(&self, place: usize) -> PathBuf {
        self.folder.join(format!("{place:05}.json"))
    }

    /// What became of a task, if it is done.
    pub(super) fn done(&self, place: usize) -> Option<Told> {
        let text = std::fs::read_to_string(self.told(place)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Keeps a task: its runs first, so that what is told is there.
    pub(super) fn keep(&self, place: usize, lines: &[String], told: &Told) -> LiveResult<()> {
        let file = self.runs(place);
        let io = |e| LiveError::io(&file, e);
        let mut packed = zstd::Encoder::new(Vec::new(), 3).map_err(io)?;
        for line in lines {
            packed.write_all(line.as_bytes()).map_err(io)?;
            packed.write_all(b"\n").map_err(io)?;
        }
        write(&file, &packed.finish().map_err(io)?)?;
        let text = serde_json::to_vec(told).unwrap_or_default();
        write(&self.told(place), &text)
    }

    /// All runs in one file, in the order of the tasks.
    pub(super) fn joined(&self, count: usize) -> LiveResult<PathBuf> {
        let file = self.folder.join("runs.jsonl.zst");
        let part = file.with_extension("part");
        let io = |e| LiveError::io(&part, e);
        let mut out = std::fs::File::create(&part).map_err(io)?;
        for place in 0..count {
            let runs = self.runs(place);
            let mut from = std::fs::File::open(&runs).map_err(|e| LiveError::io(&runs, e))?;
            // Frames one after the other are one stream.
            std::io::copy(&mut from, &mut out).map_err(io)?;
        }
        out.sync_all().map_err(io)?;
        std::fs::rename(&part, &file).map_err(|e| LiveError::io(&file, e))?;
        Ok(file)
    }

    /// What is known of an experiment whose runs are all in the lake.
    pub(super) fn finished(&self) -> Option<Vec<Told>> {
        let text = std::fs::read_to_string(self.folder.join(DONE)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// The runs are in the lake: only the counts stay.
    pub(super) fn finish(&self, told: &[Told]) -> LiveResult<()> {
        let text = serde_json::to_vec(told).unwrap_or_default();
        write(&self.folder.join(DONE), &text)?;
        let files = std::fs::read_dir(&self.folder).map_err(|e| LiveError::io(&self.folder, e))?;
        for file in files.filter_map(Result::ok) {
            if file.file_name() != DONE {
                let path = file.path();
                std::fs::remove_file(&path).map_err(|e| LiveError::io(&path, e))?;
            }
        }
        Ok(())
    }
}

/// Whole or not at all.
fn write(file: &Path, bytes: &[u8]) -> LiveResult<()> {
    let part = file.with_extension("part");
    let io = |e| LiveError::io(&part, e);
    let mut out = std::fs::File::create(&part).map_err(io)?;
    out.write_all(bytes).map_err(io)?;
    out.sync_all().map_err(io)?;
    std::fs::rename(&part, file).map_err(|e| LiveError::io(file, e))
}
