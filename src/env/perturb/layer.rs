//! A session with one perturbation around it.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use fidelake_core::json::push_json_string;
use fidelake_core::perturb::{ActsOn, Draw};

use super::Around;
use super::setting::Setting;
use crate::env::{
    Answer, Closing, EnvResult, Fault, Note, Place, Request, Session, Snapshot, Start, Tool,
};

/// The kind of note on every answer that a perturbation changed; its text begins with
/// the perturbation's name.
pub(super) const NOTE: &str = "perturbed";

/// What a perturbation does around a session.
#[async_trait]
pub(super) trait Layer: Send + std::fmt::Debug {
    /// The tools as the agent meets them.
    fn tools(&mut self, tools: Vec<Tool>, _draw: &Draw<'_>) -> Vec<Tool> {
        tools
    }

    /// Makes a call, or answers it otherwise.
    async fn call(
        &mut self,
        inner: &mut dyn Session,
        request: Request<'_>,
        moment: &Moment<'_>,
    ) -> Answer;

    /// Whether the tools must have been listed before a call.
    fn needs_tools(&self) -> bool {
        false
    }

    /// A run begins in a state.
    async fn restart(&mut self, start: &Start) -> EnvResult<()>;

    /// Ends what it started.
    async fn end(self: Box<Self>) -> Vec<Note> {
        Vec::new()
    }
}

/// Where a call stands, and what is known there.
#[derive(Debug)]
pub(super) struct Moment<'a> {
    pub(super) draw: Draw<'a>,
    pub(super) position: usize,
    known: &'a HashMap<String, Option<bool>>,
    around: &'a Around,
    setting: &'a Setting,
}

impl Moment<'_> {
    /// Whether this call is struck.
    pub(super) fn strikes(&self, tool: &str) -> bool {
        let Setting {
            kind, intensity, ..
        } = self.setting;
        self.setting.means(tool)
            && self.position < self.setting.first
            && self.draw.strikes(
                kind.as_str(),
                &format!("call {}", self.position),
                *intensity,
            )
    }

    /// Whether a tool is known to change nothing. Of others it is not known that they
    /// do, but they may.
    pub(super) fn reads(&self, tool: &str) -> bool {
        self.around.reads.contains(tool) || self.known.get(tool) == Some(&Some(false))
    }

    /// A note that says what was done.
    pub(super) fn note(&self, what: impl std::fmt::Display) -> Note {
        Note::new(NOTE, format!("{}: {what}", self.setting.kind.as_str()))
    }
}

/// A session with a layer around it.
#[derive(Debug)]
pub(super) struct Layered {
    inner: Box<dyn Session>,
    layer: Box<dyn Layer>,
    setting: Setting,
    seed: u64,
    around: Arc<Around>,
    trajectory: String,
    repeat: i32,
    /// Position of the next call.
    next: usize,
    known: HashMap<String, Option<bool>>,
    /// Whether the tools were listed for this trajectory.
    listed: bool,
}

impl Layered {
    pub(super) fn new(
        inner: Box<dyn Session>,
        layer: Box<dyn Layer>,
        setting: Setting,
        seed: u64,
        around: Arc<Around>,
    ) -> Self {
        Self {
            inner,
            layer,
            setting,
            seed,
            around,
            trajectory: String::new(),
            repeat: 0,
            next: 0,
            known: HashMap::new(),
            listed: false,
        }
    }

    /// Whose chance it is. A catalog is the same for all repeats of a trajectory.
    fn scope(&self) -> String {
        if self.around.own_repeats && self.setting.acts_on() == ActsOn::Calls {
            format!("{}#{}", self.trajectory, self.repeat)
        } else {
            self.trajectory.clone()
        }
    }
}

#[async_trait]
impl Session for Layered {
    fn version(&self) -> Option<String> {
        let Setting {
            kind, intensity, ..
        } = &self.setting;
        let mut said = self.inner.version().unwrap_or_default();
        if !said.is_empty() {
            said.push_str(" + ");
        }
        Some(format!(
            "{said}{}={intensity} seed {}",
            kind.as_str(),
            self.seed
        ))
    }

    async fn tools(&mut self) -> EnvResult<Vec<Tool>> {
        let tools = self.inner.tools().await?;
        let known = tools.iter().map(|tool| (tool.name.clone(), tool.mutates));
        self.known = known.collect();
        self.listed = true;
        let trajectory = self.scope();
        let draw = Draw {
            seed: self.seed,
            trajectory: &trajectory,
        };
        Ok(self.layer.tools(tools, &draw))
    }

    async fn call(&mut self, request: Request<'_>) -> Answer {
        if self.layer.needs_tools()
            && !self.listed
            && let Err(error) = self.tools().await
        {
            return Answer::fault(Fault::NotSent, 0.0, "no_tools", error.to_string());
        }
        let position = self.next;
        self.next += 1;
        let trajectory = self.scope();
        let moment = Moment {
            draw: Draw {
                seed: self.seed,
                trajectory: &trajectory,
            },
            position,
            known: &self.known,
            around: &self.around,
            setting: &self.setting,
        };
        self.layer.call(self.inner.as_mut(), request, &moment).await
    }

    async fn snapshot(&mut self) -> EnvResult<Option<Snapshot>> {
        self.inner.snapshot().await
    }

    async fn reset(&mut self, start: &Start) -> EnvResult<()> {
        self.inner.reset(start).await?;
        self.next = 0;
        self.layer.restart(start).await
    }

    fn place(&mut self, place: Place<'_>) {
        self.inner.place(place);
        if self.trajectory != place.trajectory || self.repeat != place.repeat {
            place.trajectory.clone_into(&mut self.trajectory);
            self.repeat = place.repeat;
            self.listed = false;
        }
        self.next = place.position;
    }

    async fn close(self: Box<Self>) -> Closing {
        let mut closing = self.inner.close().await;
        closing.notes.extend(self.layer.end().await);
        closing
    }
}

/// A text as the content of an answer, in the form of the environment.
pub(super) fn said(text: &str, parts: bool) -> String {
    let mut json = String::with_capacity(text.len() + 32);
    json.push_str(if parts {
        r#"[{"type":"text","text":"#
    } else {
        ""
    });
    push_json_string(text, &mut json);
    json.push_str(if parts { "}]" } else { "" });
    json
}

/// Puts the state of now into an answer that brought another one.
pub(super) async fn with_state_of(inner: &mut dyn Session, answer: &mut Answer) {
    if answer.state.is_none() && answer.state_hash.is_none() {
        return;
    }
    let now = inner.snapshot().await.ok().flatten().unwrap_or_default();
    answer.state = answer.state.take().and(now.state);
    answer.state_hash = answer.state_hash.take().and(now.hash);
}
