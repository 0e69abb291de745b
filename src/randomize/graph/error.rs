//! Why there is no graph.

use std::path::PathBuf;

use arrow::error::ArrowError;

use crate::engine::EngineError;

/// Errors of the experience graph.
#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    /// The lake or a query.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Rows that have another form than they should.
    #[error("rows of the graph cannot be read: {0}")]
    Rows(#[from] ArrowError),
    /// There is nothing to make a graph of; the text says what there is.
    #[error("{0}")]
    Empty(String),
    /// The output.
    #[error(transparent)]
    Output(#[from] std::io::Error),
    /// A file that cannot be written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A Parquet file that cannot be written.
    #[error("{}: {source}", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// What the writer says.
        source: parquet::errors::ParquetError,
    },
    /// Something stands where the graph should be written.
    #[error("{} is there already; give another name, or remove it", .0.display())]
    Taken(PathBuf),
}

impl GraphError {
    pub(super) fn io(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}
