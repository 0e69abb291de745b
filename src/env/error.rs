//! What can go wrong before there is anything to call.

use thiserror::Error;

/// Result of an environment.
pub type EnvResult<T> = Result<T, EnvError>;

/// Why an environment cannot be used.
#[derive(Debug, Error)]
pub enum EnvError {
    /// The description is wrong.
    #[error("environment {name}: {why}")]
    Description {
        /// Name in the plan.
        name: String,
        /// What is wrong and what to do.
        why: String,
    },
    /// It did not start.
    #[error("{what} did not start: {why}")]
    Start {
        /// Command or address.
        what: String,
        /// What was seen, with the end of its stderr.
        why: String,
    },
    /// It started and then failed outside of a call.
    #[error("{what} failed: {why}")]
    Failed {
        /// Command or address.
        what: String,
        /// What was seen.
        why: String,
    },
    /// It cannot go back to a state within a session.
    #[error("{0} cannot be reset; a new session has to be opened")]
    NoReset(String),
}
