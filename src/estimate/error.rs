//! Why nothing could be estimated, planned or replayed.

use std::path::PathBuf;

use crate::dual::DualError;
use crate::engine::EngineError;
use crate::lake::LakeError;

/// Errors of the room.
#[derive(Debug, thiserror::Error)]
pub enum EstimateError {
    /// The lake or a query.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The lake.
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// The ledger.
    #[error(transparent)]
    Dual(#[from] DualError),
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
}

impl EstimateError {
    /// Whether the command was called in a wrong way.
    #[must_use]
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::Usage(_))
    }
}

/// Result of the room.
pub type EstimateResult<T> = Result<T, EstimateError>;
