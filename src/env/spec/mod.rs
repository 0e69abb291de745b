//! How a plan describes an environment: one table of a TOML file.

mod context;

use std::collections::BTreeMap;
use std::sync::Arc;

use rmcp::model::ProtocolVersion;
use serde::Deserialize;

use super::http::{Document, Http};
use super::mcp::{Mcp, Place, Revision, States, Url};
use super::perturb::Perturb;
use super::process::Process;
use super::replay::Replay;
use super::{EnvResult, Environment};

pub use context::Context;

/// One environment of a plan.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Spec {
    /// A command that speaks one JSON object per line.
    Process(Command),
    /// An MCP server.
    Mcp(Box<Server>),
    /// An HTTP API.
    Http(Box<Api>),
    /// Answers from the lake.
    Replay(Replay),
    /// Another environment of the plan, perturbed.
    Perturb(Perturb),
}

/// A command to start.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Added to the environment variables; `${NAME}` stands for a variable of ours.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Working folder.
    pub folder: Option<String>,
    /// A folder of its own for every session, named `${workspace}` in command,
    /// variables and working folder: `true` for an empty one, else what to copy.
    pub workspace: Option<Own>,
    /// Patience with everything but calls, in seconds.
    pub start_timeout_s: Option<f64>,
    /// From closing to killing, in seconds.
    pub close_timeout_s: Option<f64>,
    /// Longest line that is read, in bytes.
    pub max_line_bytes: Option<usize>,
}

/// What a session's own folder starts from.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Own {
    /// `true`: an empty folder. `false`: none.
    Empty(bool),
    /// A copy of this folder.
    Copy(String),
}

/// An MCP server: a command to start, or a URL.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Program and arguments of a server that speaks over its pipes.
    pub command: Option<Vec<String>>,
    /// Added to the environment variables; `${NAME}` stands for a variable of ours.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Working folder.
    pub folder: Option<String>,
    /// A folder of its own for every session, named `${workspace}` in command,
    /// variables and working folder: `true` for an empty one, else what to copy.
    pub workspace: Option<Own>,
    /// Address of a server that speaks streamable HTTP.
    pub url: Option<String>,
    /// Sent with every request; `${NAME}` stands for a variable of ours.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Revision of the protocol, such as `2025-06-18`; `auto` agrees on the newest.
    pub revision: Option<String>,
    /// A tool that brings the fresh state back.
    pub reset_tool: Option<String>,
    /// Its arguments, JSON text.
    pub reset_arguments: Option<String>,
    /// A tool that answers with the state.
    pub state_tool: Option<String>,
    /// Its arguments, JSON text.
    pub state_arguments: Option<String>,
    /// A program that looks at what the server keeps in its workspace and prints the
    /// state, `{"state": ..., "state_hash": "..."}` or one of the two.
    pub state_command: Option<Vec<String>>,
    /// Where the tool's own answer stands in an envelope that the server puts
    /// around it: keys with dots between them.
    pub answer_at: Option<String>,
    /// Patience with everything but calls, in seconds.
    pub start_timeout_s: Option<f64>,
    /// Patience with `server/discover`, which old servers do not know, in seconds.
    pub discover_timeout_s: Option<f64>,
    /// From closing to killing, in seconds.
    pub close_timeout_s: Option<f64>,
    /// Longest message that is read, in bytes.
    pub max_line_bytes: Option<usize>,
}

/// An HTTP API that an OpenAPI 3 document describes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Api {
    /// The document, a JSON file.
    pub openapi: String,
    /// Where the API is; else the first address under `servers` of the document.
    pub base_url: Option<String>,
    /// Sent with every request; `${NAME}` stands for a variable of ours.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// A tool that brings the fresh state back: called when a session opens.
    pub reset_tool: Option<String>,
    /// Its arguments, JSON text.
    pub reset_arguments: Option<String>,
    /// A tool that answers with the state.
    pub state_tool: Option<String>,
    /// Its arguments, JSON text.
    pub state_arguments: Option<String>,
    /// Patience with everything but calls, in seconds.
    pub start_timeout_s: Option<f64>,
    /// Longest body that is read, in bytes.
    pub max_body_bytes: Option<usize>,
}

/// Servers fetch and compile themselves on their first start.
const START_TIMEOUT_S: f64 = 60.0;
const CLOSE_TIMEOUT_S: f64 = 3.0;
/// A silent server costs this once a session.
const DISCOVER_TIMEOUT_S: f64 = 5.0;
const MAX_LINE_BYTES: usize = 64 << 20;

impl Spec {
    /// Makes what is described. Nothing is started yet.
    ///
    /// # Errors
    /// If the description cannot be used, or needs others of its plan
    /// ([`Self::build_among`]).
    pub fn build(&self, context: &Context<'_>) -> EnvResult<Arc<dyn Environment>> {
        self.build_among(context, &BTreeMap::new())
    }

    /// Makes what is described, with what its plan describes beside it.
    ///
    /// # Errors
    /// If the description, or one that it refers to, cannot be used.
    pub fn build_among(
        &self,
        context: &Context<'_>,
        others: &BTreeMap<String, Self>,
    ) -> EnvResult<Arc<dyn Environment>> {
        match self {
            Self::Perturb(perturb) => {
                let inside = self.inside(context, others)?;
                let inner = inside.build_among(
                    &Context {
                        name: &perturb.of,
                        ..*context
                    },
                    others,
                )?;
                perturb.build(context.name, inner)
            }
            Self::Process(command) => Ok(Arc::new(command.process(context)?)),
            Self::Mcp(server) => Ok(Arc::new(server.mcp(context)?)),
            Self::Http(api) => Ok(Arc::new(api.http(context)?)),
            Self::Replay(replay) => Ok(Arc::new(replay.build(context)?)),
        }
    }

    /// Checks what refers to others of the plan, before anything is made.
    ///
    /// # Errors
    /// With what is wrong, and what would be right.
    pub fn check(&self, context: &Context<'_>, others: &BTreeMap<String, Self>) -> EnvResult<()> {
        self.inside(context, others)?;
        match self {
            Self::Perturb(perturb) => perturb
                .check()
                .map_err(|error| context.wrong(error.to_string())),
            _ => Ok(()),
        }
    }

    /// The environment inside a perturbed one.
    fn inside<'s>(
        &'s self,
        context: &Context<'_>,
        others: &'s BTreeMap<String, Self>,
    ) -> EnvResult<&'s Self> {
        let Self::Perturb(outer) = self else {
            return Ok(self);
        };
        let of = &outer.of;
        match others.get(of) {
            // One inside the other would have two seeds, and could go in a circle.
            Some(Self::Perturb(_)) => Err(context.wrong(format!(
                "of = {of:?} is perturbed itself: name what stands inside it, and put both lists in one"
            ))),
            Some(Self::Replay(replay)) if replay.through.is_some() => Err(context.wrong(format!(
                "of = {of:?} is a replay that passes calls through: perturb the environment behind it"
            ))),
            Some(inside) => Ok(inside),
            None => {
                let known: Vec<&str> = others
                    .iter()
                    .filter(|(_, spec)| !matches!(spec, Self::Perturb(_)))
                    .map(|(name, _)| &**name)
                    .collect();
                Err(context.wrong(format!(
                    "of = {of:?}: the plan has no [environments.{of}]; there are: {}",
                    known.join(", ")
                )))
            }
        }
    }

    /// The names of the perturbations around it, as a label.
    #[must_use]
    pub fn perturbation(&self) -> Option<String> {
        match self {
            Self::Perturb(perturb) => Some(perturb.set().ok()?.label()),
            _ => None,
        }
    }
}

impl Spec {
    /// Their intensities, as a label: `NAME=INTENSITY,...`
    #[must_use]
    pub fn perturbation_intensity(&self) -> Option<String> {
        match self {
            Self::Perturb(perturb) => Some(perturb.set().ok()?.intensities()),
            _ => None,
        }
    }
}

impl Command {
    fn process(&self, context: &Context<'_>) -> EnvResult<Process> {
        Ok(Process {
            program: context.program(
                &self.command,
                &self.env,
                self.folder.as_deref(),
                self.workspace.as_ref(),
            )?,
            patience: context.seconds("start_timeout_s", self.start_timeout_s, START_TIMEOUT_S)?,
            grace: context.seconds("close_timeout_s", self.close_timeout_s, CLOSE_TIMEOUT_S)?,
            max_line: self.max_line_bytes.unwrap_or(MAX_LINE_BYTES),
        })
    }
}

impl Server {
    fn mcp(&self, context: &Context<'_>) -> EnvResult<Mcp> {
        let place = match (&self.command, &self.url) {
            (Some(command), None) => {
                if !self.headers.is_empty() {
                    return Err(context.wrong("headers go with a url, not with a command"));
                }
                let mut program = context.program(
                    command,
                    &self.env,
                    self.folder.as_deref(),
                    self.workspace.as_ref(),
                )?;
                program.shown_by = self.shown_by(context)?;
                Place::Program(program)
            }
            (None, Some(url)) => {
                if !self.env.is_empty()
                    || self.folder.is_some()
                    || self.workspace.is_some()
                    || self.state_command.is_some()
                {
                    let why = "env, folder, workspace and state_command go with a command, not with a url";
                    return Err(context.wrong(why));
                }
                Place::Url(Url {
                    url: context.address("url", url)?.to_string(),
                    headers: context.headers(&self.headers)?,
                })
            }
            _ => return Err(context.wrong("give a command or a url, one of the two")),
        };
        let patience = context.seconds("start_timeout_s", self.start_timeout_s, START_TIMEOUT_S)?;
        // Silence must leave time for the older handshake.
        let probe = DISCOVER_TIMEOUT_S.min(patience.as_secs_f64() / 2.0);
        Ok(Mcp {
            place,
            revision: self.revision(context)?,
            states: States {
                reset_by: context.tool("reset", &self.reset_tool, &self.reset_arguments)?,
                shown_by: context.tool("state", &self.state_tool, &self.state_arguments)?,
            },
            answer_at: self.answer_at(context)?,
            patience,
            probe: context.seconds("discover_timeout_s", self.discover_timeout_s, probe)?,
            grace: context.seconds("close_timeout_s", self.close_timeout_s, CLOSE_TIMEOUT_S)?,
            max_line: self.max_line_bytes.unwrap_or(MAX_LINE_BYTES),
        })
    }

    fn shown_by(&self, context: &Context<'_>) -> EnvResult<Option<Vec<String>>> {
        let Some(command) = &self.state_command else {
            return Ok(None);
        };
        if self.state_tool.is_some() {
            return Err(context.wrong("state_tool or state_command, one of the two"));
        }
        context.located(command).map(Some)
    }

    fn answer_at(&self, context: &Context<'_>) -> EnvResult<Option<Vec<String>>> {
        let Some(given) = &self.answer_at else {
            return Ok(None);
        };
        let keys: Vec<String> = given.split('.').map(str::to_owned).collect();
        if keys.iter().any(|key| key.is_empty() || key == "$") {
            let why = format!("answer_at {given:?}: give keys with dots between them, as in a.b");
            return Err(context.wrong(why));
        }
        Ok(Some(keys))
    }

    fn revision(&self, context: &Context<'_>) -> EnvResult<Revision> {
        let given = self.revision.as_deref().unwrap_or("auto");
        if given == "auto" {
            return Ok(Revision::Auto);
        }
        let known = ProtocolVersion::KNOWN_VERSIONS;
        let found = known.iter().find(|version| version.as_str() == given);
        found.cloned().map(Revision::Only).ok_or_else(|| {
            let known: Vec<&str> = known.iter().map(ProtocolVersion::as_str).collect();
            context.wrong(format!(
                "revision {given:?}: give auto or one of {}",
                known.join(", ")
            ))
        })
    }
}

impl Api {
    fn http(&self, context: &Context<'_>) -> EnvResult<Http> {
        let path = context.folder.join(&self.openapi);
        let document = Document::open(&path).map_err(|why| context.wrong(why))?;
        let base = match (&self.base_url, &document.server) {
            (Some(base), _) => context.address("base_url", base)?,
            (None, Some(server)) => context.address("servers of the document", server)?,
            (None, None) => {
                return Err(context.wrong("the document names no server: give base_url"));
            }
        };
        Ok(Http {
            document: Arc::new(document),
            base,
            headers: context.headers(&self.headers)?,
            reset_by: context.tool("reset", &self.reset_tool, &self.reset_arguments)?,
            shown_by: context.tool("state", &self.state_tool, &self.state_arguments)?,
            patience: context.seconds("start_timeout_s", self.start_timeout_s, START_TIMEOUT_S)?,
            max_body: self.max_body_bytes.unwrap_or(MAX_LINE_BYTES),
        })
    }
}
