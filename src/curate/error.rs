//! Why there are no shards.

use std::path::PathBuf;

use datafusion::error::DataFusionError;

use super::recipe::RecipeError;
use crate::engine::EngineError;
use crate::lake::{LakeError, is_disk_full, without_backtrace};

/// Errors of a curation.
#[derive(Debug, thiserror::Error)]
pub enum CurateError {
    /// The recipe has a mistake; the text says where.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// The lake.
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// A query of ours.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A query failed while its rows were read.
    #[error("reading the lake failed: {0}")]
    Run(String),
    /// Something stands where the shards should go.
    #[error("{} is not empty: give --out a new or an empty folder", .0.display())]
    NotEmpty(PathBuf),
    /// It is a symbolic link.
    #[error("{} is a symbolic link: give --out the folder itself, new or empty", .0.display())]
    Link(PathBuf),
    /// It is inside the lake.
    #[error("{} is inside the lake, where `fidelake vacuum` takes away what belongs to no table: give --out a folder beside it", .0.display())]
    InsideLake(PathBuf),
    /// It is a file.
    #[error("{} is a file: give --out a new or an empty folder", .0.display())]
    NotAFolder(PathBuf),
    /// No judge was named, and there are several.
    #[error(
        "the runs have rewards of {} judges: {}. Name one in the recipe, [source] judge = \"...\"",
        .0.len(),
        .0.join(", ")
    )]
    SeveralJudges(Vec<String>),
    /// A named judge that has judged none of the runs.
    #[error(
        "no run has a reward of the judge {judge:?} ([source] judge). There are: {}",
        if known.is_empty() { "none".to_owned() } else { known.join(", ") }
    )]
    NoSuchJudge {
        /// As the recipe names it.
        judge: String,
        /// The judges of these runs.
        known: Vec<String>,
    },
    /// A hold-out file that is none.
    #[error("{}{}: {why}", file.display(), if *line > 0 { format!(":{line}") } else { String::new() })]
    Holdout {
        /// The file.
        file: PathBuf,
        /// Its line; 0 if the whole file is meant.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// Asked about what is not there.
    #[error("{0}")]
    Unanswered(String),
    /// Nothing is left.
    #[error("no row is left: {0}")]
    Empty(String),
    /// Files.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// No space left.
    #[error(
        "the disk is full while writing {}. Free some space and run the same command again",
        .0.display()
    )]
    DiskFull(PathBuf),
    /// A shard could not be written.
    #[error("writing {} failed: {message}", path.display())]
    Shard {
        /// The file.
        path: PathBuf,
        /// What the library says.
        message: String,
    },
    /// Columns that do not fit together: a fault of this program.
    #[error("columns do not fit together (please report this): {0}")]
    Arrow(#[from] arrow::error::ArrowError),
    /// Another command writes there.
    #[error("{} is in use by {holder}: wait for it, or give --out another folder", folder.display())]
    InUse {
        /// The folder.
        folder: PathBuf,
        /// Who writes there, in its own words.
        holder: String,
    },
    /// No space left, but some shards are done.
    #[error(
        "the disk is full while writing {}. {kept} in {}: free some space and run the same command again, or remove that folder",
        file.display(), path.display()
    )]
    DiskFullLater {
        /// The file that did not fit.
        file: PathBuf,
        /// Where the finished shards wait.
        path: PathBuf,
        /// How many.
        kept: Kept,
    },
    /// Stopped by Ctrl-C, and some shards are done.
    #[error(
        "stopped. {kept} in {}: run the same command again, or remove that folder",
        path.display()
    )]
    Stopped {
        /// Where the finished shards wait.
        path: PathBuf,
        /// How many.
        kept: Kept,
    },
    /// A folder that is no curation.
    #[error("{}: {message}", path.display())]
    NoCuration {
        /// The folder or file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// Stopped by Ctrl-C.
    #[error("stopped; nothing was written: run the same command again")]
    Interrupted,
}

/// Finished shards that wait for the next command.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// How many.
    pub shards: usize,
}

impl std::fmt::Display for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.shards {
            1 => write!(f, "One finished shard waits"),
            n => write!(f, "{n} finished shards wait"),
        }
    }
}

/// Result of a curation.
pub type CurateResult<T> = Result<T, CurateError>;

impl CurateError {
    pub(super) fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        let path = path.into();
        if is_disk_full(&source) {
            return Self::DiskFull(path);
        }
        Self::Io { path, source }
    }

    pub(super) fn shard(path: impl Into<PathBuf>, error: &parquet::errors::ParquetError) -> Self {
        let (path, message) = (path.into(), error.to_string());
        if message.contains("No space left on device") || message.contains("os error 28") {
            return Self::DiskFull(path);
        }
        Self::Shard { path, message }
    }

    pub(super) fn run(error: &DataFusionError) -> Self {
        Self::Run(without_backtrace(&error.strip_backtrace()))
    }
}
