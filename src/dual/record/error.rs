//! Why nothing can be recorded, or folded.

use std::path::{Path, PathBuf};

use crate::import::ImportError;
use crate::lake::LakeError;

/// Errors of the recorder. What happens to single messages is no error: they go through.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The environment cannot be used as a name.
    #[error("the name given with --environment {0}")]
    Environment(&'static str),
    /// The command did not start.
    #[error("{command} did not start: {source}")]
    Start {
        /// The program.
        command: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// The address given with `--to`.
    #[error("--to {url}: {why}")]
    Upstream {
        /// The address.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The address given with `--listen`.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// Another fold holds the journal.
    #[error(
        "the journal {} is being folded by another process: wait until that has ended, or give --wait SECONDS",
        path.display()
    )]
    Folding {
        /// Folder of the journal.
        path: PathBuf,
    },
    /// Files of the journal, pipes, signals.
    #[error("{what}: {source}")]
    Io {
        /// The file or thing.
        what: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// The lake.
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// The fold.
    #[error(transparent)]
    Import(#[from] ImportError),
}

impl RecordError {
    pub(super) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::Io {
            what: path.display().to_string(),
            source,
        }
    }
}
