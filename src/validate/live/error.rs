//! Why a live experiment did not come to its end.

use std::path::{Path, PathBuf};

use crate::engine::EngineError;
use crate::env::EnvError;
use crate::env::perturb::PerturbError;
use crate::import::ImportError;
use crate::lake::LakeError;
use crate::validate::ValidateError;

/// Errors of a live experiment.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The plan cannot be used.
    #[error("{path}: {why}")]
    Plan {
        /// The plan.
        path: PathBuf,
        /// What is wrong, and what would be right.
        why: String,
    },
    /// What was asked for cannot be had.
    #[error("{0}")]
    Asked(String),
    /// A program that prints tasks failed.
    #[error("benchmark {benchmark}: {command}: {why}")]
    Tasks {
        /// The benchmark.
        benchmark: String,
        /// The program.
        command: String,
        /// How it failed.
        why: String,
    },
    /// An environment failed, which says nothing about agents.
    #[error(
        "benchmark {benchmark}, task {task}: {why}; the tasks that are done are kept, and the same command goes on"
    )]
    World {
        /// The benchmark.
        benchmark: String,
        /// The task.
        task: String,
        /// What it said.
        why: String,
    },
    /// An environment.
    #[error(transparent)]
    Env(#[from] EnvError),
    /// A perturbation.
    #[error(transparent)]
    Perturb(#[from] PerturbError),
    /// A file of the experiment.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The import of its runs.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// Some of its runs were not taken.
    #[error("{0} runs of the experiment were rejected: see table `rejected`")]
    Rejected(u64),
    /// The lake.
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// The profile, or a query.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The comparison.
    #[error(transparent)]
    Validate(#[from] ValidateError),
    /// The user stopped it.
    #[error("stopped after {done} of {total} tasks; the same command goes on from there")]
    Stopped {
        /// Tasks that are done.
        done: usize,
        /// Tasks of the experiment.
        total: usize,
    },
}

impl LiveError {
    pub(super) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    /// Whether the command was called in a wrong way.
    #[must_use]
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::Plan { .. } | Self::Asked(_))
    }
}

/// Result of a live experiment.
pub type LiveResult<T> = Result<T, LiveError>;
