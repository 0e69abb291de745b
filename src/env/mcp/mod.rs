//! MCP servers, started by a command or reached by a URL.

mod answer;
mod connect;
mod envelope;
mod http;
mod session;
mod stdio;
mod tap;

use std::time::Duration;

use async_trait::async_trait;
use rmcp::model::ProtocolVersion;

use super::child::Program;
use super::{EnvError, EnvResult, Environment, Session, Start};

pub(super) use answer::as_json;
pub(super) use session::chain;

/// Where a server is.
#[derive(Clone, Debug)]
pub(super) enum Place {
    Program(Program),
    Url(Url),
}

/// A server that listens.
#[derive(Clone, Debug)]
pub(super) struct Url {
    pub(super) url: String,
    pub(super) headers: reqwest::header::HeaderMap,
}

/// Which revision of the protocol is spoken.
#[derive(Clone, Debug)]
pub(super) enum Revision {
    /// The newest that both speak: `server/discover` first, `initialize` if that is unknown.
    Auto,
    /// This one.
    Only(ProtocolVersion),
}

/// Tools that stand for what the protocol lacks, each with its arguments.
#[derive(Clone, Debug, Default)]
pub(super) struct States {
    /// Brings the fresh state back.
    pub(super) reset_by: Option<(String, String)>,
    /// Answers with the state.
    pub(super) shown_by: Option<(String, String)>,
}

/// How a server is reached.
#[derive(Clone, Debug)]
pub(super) struct Mcp {
    pub(super) place: Place,
    pub(super) revision: Revision,
    pub(super) states: States,
    /// Keys to the tool's own answer, where the server wraps it.
    pub(super) answer_at: Option<Vec<String>>,
    /// For everything but calls.
    pub(super) patience: Duration,
    /// For `server/discover`, which old servers do not know and some do not answer.
    pub(super) probe: Duration,
    /// From closing to killing.
    pub(super) grace: Duration,
    /// Longest message that is read.
    pub(super) max_line: usize,
}

#[async_trait]
impl Environment for Mcp {
    fn kind(&self) -> &'static str {
        "mcp"
    }

    async fn open(&self, start: &Start) -> EnvResult<Box<dyn Session>> {
        let files = match (start, &self.place) {
            (Start::Fresh, _) => None,
            (Start::Given(state), Place::Program(program)) if program.workspace.is_some() => {
                Some(state.as_str())
            }
            (Start::Given(_), _) => {
                return Err(EnvError::Start {
                    what: self.what(),
                    why: "an MCP server without a workspace cannot start from a given state"
                        .to_owned(),
                });
            }
        };
        let mut session = connect::connect(self, files).await?;
        // A server that runs anyway keeps its state: only its reset makes it fresh.
        if matches!(self.place, Place::Url(_)) && self.states.reset_by.is_some() {
            session.reset(start).await?;
        }
        Ok(Box::new(session))
    }
}

impl Mcp {
    fn what(&self) -> String {
        match &self.place {
            Place::Program(program) => program.to_string(),
            Place::Url(url) => url.url.clone(),
        }
    }
}
