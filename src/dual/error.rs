//! What can go wrong with a dual run, and what to do about it.

use std::path::PathBuf;

use thiserror::Error;

use crate::engine::EngineError;
use crate::env::EnvError;
use crate::import::ImportError;
use crate::lake::LakeError;

/// Result of the room.
pub type DualResult<T> = Result<T, DualError>;

/// Why nothing, or not everything, was run.
#[derive(Debug, Error)]
pub enum DualError {
    /// A mistake in the plan.
    #[error("{place}: {message}")]
    Plan {
        /// File, line and column.
        place: String,
        /// What is wrong, and what would be right.
        message: String,
    },
    /// A file that cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file of trajectories with something else in it.
    #[error("{}:{line}: {message}", path.display())]
    Trajectories {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong, and what to do.
        message: String,
    },
    /// There is nothing to run.
    #[error("there is nothing to run: {0}")]
    Nothing(String),
    /// The plan was begun with other contents.
    #[error(
        "plan {name} was begun with other contents ({what}). Under one name a plan may change only its limits and permissions: put the rest back, or give the plan another name"
    )]
    Changed {
        /// Name of the plan.
        name: String,
        /// What differs.
        what: String,
    },
    /// Another process runs it.
    #[error("plan {name} is being run by {holder}: wait until that has ended")]
    Running {
        /// Name of the plan.
        name: String,
        /// Its words.
        holder: String,
    },
    /// A plan cannot be forgotten yet.
    #[error(
        "{runs} finished runs of plan {name} are not in the lake yet: `fidelake dual run` brings them there"
    )]
    Waiting {
        /// Name of the plan.
        name: String,
        /// How many.
        runs: i64,
    },
    /// No such plan in the lake.
    #[error("the lake has no plan {0}: `fidelake dual run PLAN.toml` begins one")]
    NoSuchPlan(String),
    /// The lake has an unfinished write of somebody else.
    #[error(
        "the lake has an unfinished write, so no call was made: {operation} {id} ({command}). Run that command again to finish it, or undo it with `fidelake repair --drop {id}`"
    )]
    Unfinished {
        /// Kind of write.
        operation: String,
        /// Its id.
        id: String,
        /// The command that began it.
        command: String,
    },
    /// The journal's own thread is gone.
    #[error("the journal in {} stopped working: {why}", path.display())]
    Journal {
        /// The database.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// An environment.
    #[error(transparent)]
    Env(#[from] EnvError),
    /// The engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The import of finished runs.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The lake.
    #[error(transparent)]
    Lake(#[from] LakeError),
}

impl DualError {
    pub(super) fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io {
            path: path.into(),
            source,
        }
    }
}
