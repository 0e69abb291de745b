//! Answers from the lake: what was recorded for a call, or for one like it.
//!
//! In this order: the same call after the same state-changing calls; the same
//! call; the most similar call of that tool, if its arguments are near enough;
//! else what the description says of misses. Every answer says where it came from
//! and how far its arguments were. A replay has no state: what was recorded after
//! another history may be wrong here, which is what the origin is for.

mod check;
mod index;
mod load;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use fidelake_core::json::key::{Key, call_key};
use fidelake_core::json::{Doc, push_json_string};
use serde::Deserialize;
use tokio::sync::OnceCell;

use super::{
    Answer, Closing, EnvError, EnvResult, Environment, Fault, Note, Origin, Request, Session,
    Snapshot, Start, Tool,
};
pub use check::{CheckRow, check};
use index::{Found, Index};

/// Arguments this near are taken for the same question where nothing else is said.
pub const THRESHOLD: f64 = 0.25;

/// Which recordings answer, and how.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// Environment in the lake.
    pub environment: String,
    /// A further condition over `runs`.
    pub r#where: Option<String>,
    /// Lake version to read; else the newest when the first session opens.
    pub version: Option<i64>,
    /// Largest distance of arguments, [0,1], at which another call answers.
    pub threshold: Option<f64>,
    /// What becomes of a call without an answer.
    #[serde(default)]
    pub miss: Miss,
    /// For `pass_through_and_record`: the environment of the plan that is asked.
    pub through: Option<String>,
    /// Tools that change nothing. Others count as changing unless the recorded
    /// state hashes show that they do not.
    #[serde(default)]
    pub reads: BTreeSet<String>,
}

/// What becomes of a call without an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Miss {
    /// It is unknown: no observation at all.
    #[default]
    Unknown,
    /// An error, as the agent would see it.
    Error,
    /// A live environment is asked; its answer is recorded and found the next time.
    PassThroughAndRecord,
}

/// A replay that can be opened.
#[derive(Debug)]
pub(super) struct ReplayEnvironment {
    replay: Replay,
    lake: PathBuf,
    index: OnceCell<Arc<Index>>,
}

impl Replay {
    /// Checks the description.
    pub(super) fn build(&self, context: &super::Context<'_>) -> EnvResult<ReplayEnvironment> {
        let wrong = |why: &str| EnvError::Description {
            name: context.name.to_owned(),
            why: why.to_owned(),
        };
        let Some(lake) = context.lake else {
            return Err(wrong(
                "a replay answers from a lake: give one with --lake DIR",
            ));
        };
        if self.threshold.is_some_and(|t| !(0.0..=1.0).contains(&t)) {
            return Err(wrong("threshold: write a number from 0.0 to 1.0"));
        }
        let passes = self.miss == Miss::PassThroughAndRecord;
        if passes != self.through.is_some() {
            return Err(wrong(
                "miss = \"pass_through_and_record\" and through = \"...\" (an environment of the plan) belong together",
            ));
        }
        Ok(ReplayEnvironment {
            replay: self.clone(),
            lake: lake.to_owned(),
            index: OnceCell::new(),
        })
    }
}

#[async_trait]
impl Environment for ReplayEnvironment {
    fn kind(&self) -> &'static str {
        "replay"
    }

    /// A given state is what the recording began with; it is not used.
    async fn open(&self, _start: &Start) -> EnvResult<Box<dyn Session>> {
        let index = self.index.get_or_try_init(|| async {
            // A lake stays on its thread.
            let (lake, replay) = (self.lake.clone(), self.replay.clone());
            let runtime = tokio::runtime::Handle::current();
            let loading =
                tokio::task::spawn_blocking(move || runtime.block_on(load::load(&lake, &replay)));
            let loaded = loading.await.unwrap_or_else(|error| Err(error.to_string()));
            loaded.map(Arc::new).map_err(|why| EnvError::Start {
                what: format!("replay of {}", self.replay.environment),
                why,
            })
        });
        Ok(Box::new(ReplaySession {
            index: Arc::clone(index.await?),
            threshold: self.replay.threshold.unwrap_or(THRESHOLD),
            miss: self.replay.miss,
            history: Index::start(),
        }))
    }
}

/// One history of state-changing calls.
#[derive(Debug)]
struct ReplaySession {
    index: Arc<Index>,
    threshold: f64,
    miss: Miss,
    history: Key,
}

#[async_trait]
impl Session for ReplaySession {
    fn version(&self) -> Option<String> {
        Some(format!("replay of lake version {}", self.index.version))
    }

    async fn tools(&mut self) -> EnvResult<Vec<Tool>> {
        Ok(self.index.tools.clone())
    }

    async fn call(&mut self, request: Request<'_>) -> Answer {
        let asked = Instant::now();
        let doc = Doc::parse(request.arguments).ok();
        let key = call_key(request.name, doc.as_ref().map(Doc::root), request.arguments);
        let index = Arc::clone(&self.index);
        let arguments = request.arguments.to_owned();
        let (name, history, threshold) = (request.name.to_owned(), self.history, self.threshold);
        // A near match looks at every recorded call of the tool.
        let found = tokio::task::block_in_place(move || {
            index
                .find(&name, key, &arguments, history, threshold, None)
                .map(|(found, at)| (found, index.recorded[at].answer.clone()))
        });
        if self.index.changes(request.name) {
            self.history = Index::after(self.history, key);
        }
        let latency_ms = asked.elapsed().as_secs_f64() * 1e3;
        match found {
            Some((found, recorded)) => {
                let (origin, distance, note) = match found {
                    Found::Place => (Origin::ReplayExact, 0.0, None),
                    Found::Call => (
                        Origin::ReplayExact,
                        0.0,
                        Some(Note::new(
                            "other_history",
                            "recorded after other state-changing calls",
                        )),
                    ),
                    Found::Near(distance) => (Origin::ReplayNear, distance, None),
                };
                let mut answer = recorded.answer();
                if found != Found::Place {
                    answer.state_hash = None;
                }
                answer.latency_ms = latency_ms;
                answer.origin = origin;
                answer.distance = Some(distance);
                answer.notes.extend(note);
                answer
            }
            None => self.missed(request.name, latency_ms),
        }
    }

    async fn snapshot(&mut self) -> EnvResult<Option<Snapshot>> {
        Ok(None)
    }

    async fn reset(&mut self, _start: &Start) -> EnvResult<()> {
        self.history = Index::start();
        Ok(())
    }

    async fn close(self: Box<Self>) -> Closing {
        Closing::default()
    }
}

impl ReplaySession {
    fn missed(&self, name: &str, latency_ms: f64) -> Answer {
        let text = format!("no recorded answer for this call of {name}");
        let mut answer = Answer::fault(Fault::Missed, latency_ms, "replay_missed", text.clone());
        if self.miss == Miss::Error {
            let mut content = String::new();
            push_json_string(&text, &mut content);
            answer.content = Some(content);
            answer.is_error = Some(true);
        }
        answer
    }
}
