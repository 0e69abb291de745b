//! Why there is no randomization.

use crate::engine::EngineError;
use crate::env::perturb::PerturbError;
use crate::lake::LakeError;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum RandomizeError {
    /// The lake cannot be read.
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// A query failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Rows did not have the columns that they should.
    #[error("reading the cells: {0}")]
    Rows(#[from] arrow::error::ArrowError),
    /// No trajectory of the environment was compared.
    #[error(
        "environment {0:?} has no profiled runs of a plain simulator: run it on both arms (`fidelake dual run`), then `fidelake profile`"
    )]
    NoBase(String),
    /// The simulator was never perturbed.
    #[error(
        "environment {0:?} has no runs of a perturbed simulator: gradients need runs with kind = \"perturb\" on sim, at two intensities or more; docs/randomize.md has plans"
    )]
    NoCurves(String),
    /// The file says something wrong.
    #[error("{path}: {why}")]
    File {
        /// The file.
        path: String,
        /// What, and what would be right.
        why: String,
    },
    /// The list cannot be put around an environment.
    #[error("randomization: {0}")]
    Perturb(#[from] PerturbError),
}
