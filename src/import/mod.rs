//! Getting real files into a lake: sources, records, chunks, rows, duplicates.

mod account;
mod decide;
mod frame;
mod known;
mod pipeline;
mod plan;
mod rows;
mod slice;
mod source;

use std::io;
use std::path::PathBuf;

use fidelake_core::mask::Mode;
use fidelake_core::model::Arm;
use serde::Serialize;

use crate::formats::Format;
use crate::lake::LakeError;

pub use pipeline::import;
pub(crate) use slice::check_environment;
use source::Source;

/// What to import, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Files, folders, patterns; `-` is standard input.
    pub paths: Vec<PathBuf>,
    /// The format, or `None` to find out.
    pub format: Option<Format>,
    /// Environment to use instead of what the source says.
    pub environment: Option<String>,
    /// Arm to use instead of what the source says.
    pub arm: Option<Arm>,
    /// What to mask.
    pub mask: Mode,
    /// What to do when a run is there already with another content.
    pub on_conflict: OnConflict,
    /// The command line, for `fidelake log`.
    pub command: String,
}

/// What to do when a run is there already with another content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnConflict {
    /// Keep the first; the new one goes to table `rejected`.
    #[default]
    Reject,
    /// Store it as one more repeat of its arm.
    NextRepeat,
}

impl OnConflict {
    /// The name used on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reject => "reject",
            Self::NextRepeat => "next-repeat",
        }
    }
}

/// What became of the records. `records = imported + duplicates + rejected`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Sources read.
    pub files: u64,
    /// Records: lines, array elements or wire calls.
    pub records: u64,
    /// Records that became rows.
    pub imported: u64,
    /// Trajectories that were new.
    pub trajectories: u64,
    /// Runs written.
    pub runs: u64,
    /// Messages written.
    pub messages: u64,
    /// Calls written.
    pub calls: u64,
    /// Observations written.
    pub observations: u64,
    /// Verdicts written.
    pub verdicts: u64,
    /// Records whose run was there already, with the same content.
    pub duplicates: u64,
    /// Records that went to table `rejected`.
    pub rejected: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, other: &Self) {
        self.files += other.files;
        self.records += other.records;
        self.imported += other.imported;
        self.trajectories += other.trajectories;
        self.runs += other.runs;
        self.messages += other.messages;
        self.calls += other.calls;
        self.observations += other.observations;
        self.verdicts += other.verdicts;
        self.duplicates += other.duplicates;
        self.rejected += other.rejected;
    }
}

/// What an import did.
#[derive(Clone, Debug)]
pub struct Report {
    /// Over all sources.
    pub counts: Counts,
    /// The lake version that it made; `None` if everything was there already.
    pub version: Option<i64>,
    /// Why the rejected records were rejected: reason, one message, how many.
    pub reasons: Vec<(String, String, u64)>,
    /// Values that the mask replaced.
    pub masked: u64,
}

/// What the import says while it works.
pub trait Progress: Send + Sync {
    /// A line for people.
    fn say(&self, line: &str);
    /// So many decoded bytes of so many are done.
    fn bytes(&self, done: u64, total: u64);
    /// So many things of so many are done.
    fn items(&self, done: u64, total: u64);
    /// Whether the user wants to stop.
    fn stop(&self) -> bool;
}

/// Why nothing, or not everything, was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// No such file.
    #[error("{path}: there is no such file or folder")]
    Missing {
        /// The path.
        path: String,
    },
    /// An empty file.
    #[error("{path}: the file is empty, there is nothing to import")]
    Empty {
        /// The path.
        path: String,
    },
    /// A folder or pattern without files.
    #[error("{path}: no files were found there")]
    NothingFound {
        /// The path.
        path: String,
    },
    /// A folder or pattern without files that can be read.
    #[error("{path}: none of the files found there can be imported")]
    NothingUseful {
        /// The path.
        path: String,
    },
    /// A bad pattern.
    #[error("{pattern}: not a valid pattern: {what}")]
    BadPattern {
        /// The pattern.
        pattern: String,
        /// Why.
        what: String,
    },
    /// A file of a form that cannot be read.
    #[error(
        "{path}: this looks like {what} and cannot be imported. The formats are native, tau, tau2, openai and mcp-wire; --from names one if this is a mistake"
    )]
    UnknownFormat {
        /// The path.
        path: String,
        /// What it looks like.
        what: String,
    },
    /// A compressed file that is cut off or damaged.
    #[error(
        "{path}: the {packing} data is cut off or damaged ({source}). Nothing of it was imported: get the whole file and try again"
    )]
    Damaged {
        /// The path.
        path: String,
        /// gzip or zstd.
        packing: &'static str,
        /// What the decoder says.
        source: io::Error,
    },
    /// A file that cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// The path.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// The name given with --environment cannot be used.
    #[error("the name given with --environment {0}")]
    Environment(&'static str),
    /// Several sources that cannot be imported; nothing was.
    #[error("{}", list(.0))]
    Several(Vec<ImportError>),
    /// The user's own outcome rules.
    #[error("{path}: {what}")]
    Rules {
        /// The file.
        path: String,
        /// What is wrong.
        what: String,
    },
    /// The lake.
    #[error(transparent)]
    Lake(#[from] LakeError),
}

impl ImportError {
    /// Why a file of a folder was passed over, in short.
    fn skipped(&self) -> String {
        match self {
            Self::UnknownFormat { path, what } => {
                format!("skipped {path}: this looks like {what}")
            }
            Self::Empty { path } => format!("skipped {path}: the file is empty"),
            other => format!("skipped {other}"),
        }
    }
}

fn list(errors: &[ImportError]) -> String {
    let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
    match lines.len() {
        1 => lines.concat(),
        n => format!(
            "{n} sources cannot be imported, so nothing was:\n  {}",
            lines.join("\n  ")
        ),
    }
}
