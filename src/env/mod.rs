//! Things whose tools can be called: one trait, whatever stands behind it.
//!
//! An [`Environment`] is a description that can be opened many times, each time
//! as a [`Session`] with a state of its own. A call never fails as a Rust error:
//! whatever goes wrong is an [`Answer`] with its [`Fault`] and its evidence, so
//! that the runner keeps it and goes on. Only opening, listing and resetting can
//! fail, because without them there is nothing to call.

mod answer;
mod child;
mod error;
mod headers;
mod http;
mod kept;
mod mcp;
mod oddities;
pub mod perturb;
mod placing;
mod process;
pub mod replay;
mod spec;
mod text;
mod workspace;

use async_trait::async_trait;

pub use answer::{Answer, Fault, Note, Origin};
pub use error::{EnvError, EnvResult};
pub use kept::Kept;
pub use spec::{Api, Command, Context, Own, Server, Spec};
pub(crate) use text::one_line;

/// The state that a session starts from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// What the environment itself calls new.
    #[default]
    Fresh,
    /// A state in the environment's own form, as JSON text.
    Given(String),
}

/// What is there to be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// The name that a call gives.
    pub name: String,
    /// The whole declaration as the environment gave it, JSON text: at least
    /// `name`, and where there are any `description` and a schema under
    /// `parameters` or `inputSchema`.
    pub declaration: String,
    /// Whether a call may change the state, as the environment says. A hint: it
    /// orders the work and shortens prefixes, it never permits a call.
    pub mutates: Option<bool>,
}

/// One call to make.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Tool to call.
    pub name: &'a str,
    /// JSON text, passed on as it is spelled.
    pub arguments: &'a str,
    /// After this time the answer is [`Fault::Late`].
    pub timeout: std::time::Duration,
}

/// Where the next call of a session stands: what the chance of a perturbation hangs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The trajectory.
    pub trajectory: &'a str,
    /// Number of the run within its arm, from 0.
    pub repeat: i32,
    /// Ordinal of the call in the run, from 0, whoever makes it and however often.
    pub position: usize,
}

/// The state after the calls so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// JSON text.
    pub state: Option<String>,
    /// Hash as the environment computes it, for states too large to hand over.
    pub hash: Option<String>,
}

/// What a closed session leaves behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Closing {
    /// What happened outside of any call: noise lines, answers that nobody asked
    /// for, an exit status, the end of stderr.
    pub notes: Vec<Note>,
}

/// A world in which tools can be called.
#[async_trait]
pub trait Environment: Send + Sync + std::fmt::Debug {
    /// `mcp`, `process`, `http`, `replay`; with perturbations around it that of what stands inside.
    fn kind(&self) -> &'static str;

    /// Opens a session with a state of its own.
    ///
    /// # Errors
    /// If it does not start, or cannot take the state.
    async fn open(&self, start: &Start) -> EnvResult<Box<dyn Session>>;
}

/// An open environment. Calls of one session are made one after the other.
#[async_trait]
pub trait Session: Send + std::fmt::Debug {
    /// What it says of itself: name and version of the server, protocol revision.
    fn version(&self) -> Option<String>;

    /// The tools, as of now.
    ///
    /// # Errors
    /// If the environment does not list them.
    async fn tools(&mut self) -> EnvResult<Vec<Tool>>;

    /// Says what the next call is. Only perturbations listen; without it they count the
    /// calls themselves.
    fn place(&mut self, _place: Place<'_>) {}

    /// Makes one call. Always answers, within the timeout and a short grace.
    async fn call(&mut self, request: Request<'_>) -> Answer;

    /// The state after the calls so far; `None` if the environment shows none.
    ///
    /// # Errors
    /// If it has states but did not give this one.
    async fn snapshot(&mut self) -> EnvResult<Option<Snapshot>>;

    /// Back to a state, without a new session where the environment can do that.
    ///
    /// # Errors
    /// [`EnvError::NoReset`] if it cannot: open a new session then.
    async fn reset(&mut self, start: &Start) -> EnvResult<()>;

    /// Ends it and everything that it started.
    async fn close(self: Box<Self>) -> Closing;
}
