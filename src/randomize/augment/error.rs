//! Why nothing was spliced.

use arrow::error::ArrowError;

use crate::engine::EngineError;
use crate::randomize::GraphError;

/// Errors of augmentation.
#[derive(Debug, thiserror::Error)]
pub enum AugmentError {
    /// The lake or a query.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The transitions of the real world.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// Rows that have another form than they should.
    #[error("rows of the lake cannot be read: {0}")]
    Rows(#[from] ArrowError),
    /// A run of the lake that cannot be spliced.
    #[error("run {run}: {message}")]
    Run {
        /// Its id.
        run: String,
        /// What is wrong with it.
        message: String,
    },
}
