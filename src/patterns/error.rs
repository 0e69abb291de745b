//! Why nothing could be mined, shown or probed.

use std::path::PathBuf;

use crate::engine::EngineError;
use crate::estimate::EstimateError;
use crate::lake::LakeError;

/// Errors of the room.
#[derive(Debug, thiserror::Error)]
pub enum PatternError {
    /// The lake or a query.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The lake.
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// The template of a plan.
    #[error(transparent)]
    Plan(#[from] EstimateError),
    /// A file that cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// What the user asked for cannot be done; the text says what can.
    #[error("{0}")]
    Usage(String),
    /// There is too little to work on.
    #[error("{0}")]
    TooLittle(String),
    /// Stopped by Ctrl-C before anything was written.
    #[error("stopped; nothing was written")]
    Stopped,
}

impl PatternError {
    /// Whether the command was called in a wrong way.
    #[must_use]
    pub const fn is_usage(&self) -> bool {
        match self {
            Self::Usage(_) => true,
            Self::Plan(error) => error.is_usage(),
            _ => false,
        }
    }
}

/// Result of the room.
pub type PatternResult<T> = Result<T, PatternError>;
