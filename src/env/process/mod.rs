//! A command that speaks one JSON object per line: `docs/environments.md` has
//! the protocol. Thirty lines make a Python class an environment with it.

mod message;
mod session;
mod wire;

use std::time::Duration;

use async_trait::async_trait;

use super::child::Program;
use super::{EnvResult, Environment, Session, Start};
use session::ProcessSession;

/// How a process is started and how long it may take.
#[derive(Clone, Debug)]
pub(super) struct Process {
    pub(super) program: Program,
    /// For everything but calls: opening, listing, snapshots, resets.
    pub(super) patience: Duration,
    /// From closing to killing.
    pub(super) grace: Duration,
    /// Longest line that is read.
    pub(super) max_line: usize,
}

#[async_trait]
impl Environment for Process {
    fn kind(&self) -> &'static str {
        "process"
    }

    async fn open(&self, start: &Start) -> EnvResult<Box<dyn Session>> {
        let session = ProcessSession::open(self, start).await?;
        Ok(Box::new(session))
    }
}
