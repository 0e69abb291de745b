//! Why nothing could be validated.

use crate::engine::EngineError;

/// Errors of validating.
#[derive(Debug, thiserror::Error)]
pub enum ValidateError {
    /// The lake or a query.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// No trajectory has all labels.
    #[error("no profiled trajectory has the label {label}: {known}")]
    NoLabel {
        /// The label.
        label: String,
        /// Which labels there are.
        known: String,
    },
    /// An agent is named that was not judged.
    #[error("no verdicts on agent {agent}: there are {known}")]
    NoAgent {
        /// The agent.
        agent: String,
        /// Those there are.
        known: String,
    },
    /// A family cannot be understood or has no groups.
    #[error("--families {text}: {why}")]
    Family {
        /// As given.
        text: String,
        /// What is wrong.
        why: String,
    },
    /// There is too little to compare.
    #[error("{0}")]
    TooLittle(String),
}

impl ValidateError {
    /// Whether the command was called in a wrong way.
    #[must_use]
    pub const fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::NoLabel { .. } | Self::NoAgent { .. } | Self::Family { .. }
        )
    }
}

/// Result of validating.
pub type ValidateResult<T> = Result<T, ValidateError>;
