//! What can go wrong with a monitor.

use std::path::{Path, PathBuf};

use crate::engine::EngineError;
use crate::lake::LakeError;

/// Errors of the monitor.
#[derive(Debug, thiserror::Error)]
pub enum MonitorError {
    /// The state's database.
    #[error("the state {path}: {source}")]
    State {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// The state is another monitor's.
    #[error("another monitor uses the state {0}: stop it, or give --state another file")]
    InUse(PathBuf),
    /// The state cannot be read.
    #[error("the state {path} is none of ours: {why}; give --state another file")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// A file or an address.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// A wrong use.
    #[error("{0}")]
    Usage(String),
    /// A thread of the monitor ended.
    #[error("the monitor's work stopped: {0}")]
    Stopped(String),
    /// The lake.
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// A query.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Result of the monitor.
pub type MonitorResult<T> = Result<T, MonitorError>;

impl MonitorError {
    pub(super) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    pub(super) fn state(path: &Path) -> impl Fn(rusqlite::Error) -> Self + '_ {
        |source| Self::State {
            path: path.to_owned(),
            source,
        }
    }
}
