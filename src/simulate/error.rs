//! Why the simulator does not serve.

use crate::env::EnvError;
use crate::randomize::RandomizeError;

/// What keeps a simulator from serving.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The recordings cannot be read, or there are none.
    #[error(transparent)]
    Environment(#[from] EnvError),
    /// The randomization cannot be put around it.
    #[error(transparent)]
    Randomization(#[from] RandomizeError),
    /// The address cannot be listened on.
    #[error(
        "cannot listen on {address}: {source}; choose another address, or port 0 for a free one"
    )]
    Listen {
        /// The address.
        address: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// Everybody could reach it.
    #[error(
        "{0} can be reached from other machines, and nobody is asked for a password: listen on 127.0.0.1, or say --public"
    )]
    Public(String),
    /// A file or a pipe failed.
    #[error("{what}: {source}")]
    Io {
        /// The file or pipe.
        what: String,
        /// What the system says.
        source: std::io::Error,
    },
}
