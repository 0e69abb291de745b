//! One episode of a replay.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use fidelake_core::json::key::{Key, call_key};
use fidelake_core::json::{Doc, canonical, push_json_string};
use fidelake_core::mend::{Leaf, leaves};
use fidelake_core::perturb::Draw;

use super::super::{
    Answer, Closing, EnvResult, Fault, Note, Origin, Place, Request, Session, Snapshot, Start, Tool,
};
use super::index::{Found, Index, related};
use super::mend::{Made, Write};
use super::stored::Stored;
use super::{Miss, Replay, THRESHOLD};

/// One history of state-changing calls.
#[derive(Debug)]
pub(super) struct ReplaySession {
    index: Arc<Index>,
    threshold: f64,
    miss: Miss,
    mend: bool,
    templates: bool,
    calibrated: bool,
    speed: f64,
    seed: u64,
    /// Whose chance it is.
    episode: String,
    /// Position of the next call.
    next: usize,
    history: Key,
    writes: Vec<Write>,
}

/// A call as it is asked.
struct Asked<'a> {
    name: &'a str,
    /// Canonical form.
    arguments: String,
    key: Key,
    names: Vec<Leaf>,
    changes: bool,
    position: usize,
}

impl ReplaySession {
    pub(super) fn new(index: Arc<Index>, replay: &Replay) -> Self {
        Self {
            index,
            threshold: replay.threshold.unwrap_or(THRESHOLD),
            miss: replay.miss,
            mend: replay.mend,
            templates: replay.templates,
            calibrated: replay.calibrated,
            speed: replay.speed,
            seed: replay.seed,
            episode: String::new(),
            next: 0,
            history: Index::start(),
            writes: Vec::new(),
        }
    }

    fn draw(&self) -> Draw<'_> {
        Draw {
            seed: self.seed,
            trajectory: &self.episode,
        }
    }

    fn asked<'r>(&mut self, request: &Request<'r>) -> Asked<'r> {
        let position = self.next;
        self.next += 1;
        let doc = Doc::parse(request.arguments).ok();
        let arguments = match &doc {
            Some(doc) => canonical(doc.root()).0,
            None => request.arguments.to_owned(),
        };
        Asked {
            name: request.name,
            key: call_key(request.name, doc.as_ref().map(Doc::root), request.arguments),
            // Only mending and templates look at single values.
            names: match self.mend || self.templates {
                true => leaves(&arguments),
                false => Vec::new(),
            },
            arguments,
            changes: self.index.changes(request.name),
            position,
        }
    }

    /// The writes that a call sees, and the history that they make. On the real arm
    /// some show late in some reads.
    fn seen(&self, asked: &Asked<'_>) -> (&[Write], Key) {
        if self.calibrated && !asked.changes {
            for (at, write) in self.writes.iter().enumerate() {
                let after =
                    self.index
                        .world
                        .visible_after(asked.name, &self.draw(), write.position);
                if ((asked.position - write.position) as f64) < after {
                    // Writes show in their order.
                    return (&self.writes[..at], write.before);
                }
            }
        }
        (&self.writes, self.history)
    }

    /// The answer as the real arm would give it, as far as that is known.
    fn answer(&self, asked: &Asked<'_>) -> Option<Answer> {
        let (writes, history) = self.seen(asked);
        let late = writes.len() < self.writes.len();
        let index = &self.index;
        let names = self
            .mend
            .then(|| related(writes.iter().map(|w| (w.key, &*w.names)), &asked.names));
        let lasting = index.exact(asked.key, history, names, |one| {
            !self.calibrated || one.rank.lasting
        });
        let exact = lasting.or_else(|| index.exact(asked.key, history, names, |_| true));
        let mut answer = match exact {
            Some((found, at)) => {
                let recorded = &index.recorded[at];
                let base = &recorded.answer;
                // A real answer from another state may be as old as the simulator's.
                let made = (self.mend && (!recorded.rank.real || found == Found::Call))
                    .then(|| {
                        let Asked {
                            name,
                            arguments,
                            names,
                            ..
                        } = asked;
                        index.mends.mend(name, arguments, names, base, writes)
                    })
                    .flatten();
                made.map_or_else(|| exactly(base, found), generated)
            }
            None => {
                let made = self
                    .templates
                    .then(|| index.mends.template(asked.name, &asked.names, writes));
                match made.flatten() {
                    Some(made) => generated(made),
                    None => self.near(asked, history)?,
                }
            }
        };
        if late {
            let note = "answered before the last write of the episode showed";
            answer.notes.push(Note::new("late_write", note));
        }
        Some(answer)
    }

    fn near(&self, asked: &Asked<'_>, history: Key) -> Option<Answer> {
        let Asked {
            name, arguments, ..
        } = asked;
        // Looks at every recorded call of the tool.
        let look = || {
            self.index
                .near(name, arguments, history, self.threshold, None)
        };
        let (found, at) = tokio::task::block_in_place(look)?;
        let Found::Near(distance) = found else {
            return None;
        };
        let mut answer = self.index.recorded[at].answer.answer();
        answer.state_hash = None;
        answer.origin = Origin::ReplayNear;
        answer.distance = Some(distance);
        Some(answer)
    }

    fn missed(&self, name: &str) -> Answer {
        let text = format!("no recorded answer for this call of {name}");
        let mut answer = Answer::fault(Fault::Missed, 0.0, "replay_missed", text.clone());
        if self.miss == Miss::Error {
            let mut content = String::new();
            push_json_string(&text, &mut content);
            answer.content = Some(content);
            answer.is_error = Some(true);
        }
        answer
    }

    /// A failure that passes, at the rate of the real arm. The call is not made.
    fn failure(&self, asked: &Asked<'_>) -> Option<Answer> {
        let written = !self.writes.is_empty();
        let failed = self
            .index
            .world
            .failure(asked.name, written, &self.draw(), asked.position)?;
        let mut answer = failed.answer();
        answer.state_hash = None;
        answer.origin = Origin::Generated;
        answer.notes.push(Note::new(
            "calibrated_failure",
            "a recorded failure, at the rate of the real arm",
        ));
        Some(answer)
    }

    fn remember(&mut self, asked: Asked<'_>, answer: &Answer) {
        if !asked.changes {
            return;
        }
        let before = self.history;
        self.history = Index::after(before, asked.key);
        if self.mend || self.templates || self.calibrated {
            let well = answer.fault.is_none()
                && answer.is_error != Some(true)
                && answer.status.is_none_or(|status| status < 400);
            self.writes.push(Write {
                name: asked.name.to_owned(),
                key: asked.key,
                position: asked.position,
                before,
                names: asked.names,
                content: answer.content.clone().filter(|_| well),
            });
        }
    }
}

/// As it was recorded.
fn exactly(recorded: &Stored, found: Found) -> Answer {
    let mut answer = recorded.answer();
    answer.origin = Origin::ReplayExact;
    answer.distance = Some(0.0);
    if found != Found::Place {
        answer.state_hash = None;
    }
    let note = match found {
        Found::Place | Found::Near(_) => None,
        Found::Related => Some(Note::new(
            "other_history",
            "recorded on the real arm, after the same state-changing calls that concern it",
        )),
        Found::Call => Some(Note::new(
            "other_history",
            "recorded after other state-changing calls",
        )),
    };
    answer.notes.extend(note);
    answer
}

fn generated(made: Made) -> Answer {
    let mut answer = made.like.answer();
    answer.content = Some(made.content);
    // It spelled what the recorded answer said.
    answer.structured = None;
    answer.state_hash = None;
    answer.origin = Origin::Generated;
    answer.notes.push(Note::new("generated", made.why));
    answer
}

#[async_trait]
impl Session for ReplaySession {
    fn version(&self) -> Option<String> {
        Some(format!("replay of lake version {}", self.index.version))
    }

    async fn tools(&mut self) -> EnvResult<Vec<Tool>> {
        Ok(self.index.tools.clone())
    }

    fn place(&mut self, place: Place<'_>) {
        self.episode = format!("{}#{}", place.trajectory, place.repeat);
        self.next = place.position;
    }

    async fn call(&mut self, request: Request<'_>) -> Answer {
        let started = Instant::now();
        let asked = self.asked(&request);
        let (name, position, written) = (asked.name, asked.position, !self.writes.is_empty());
        let failure = match self.calibrated {
            true => self.failure(&asked),
            false => None,
        };
        let mut answer = match failure {
            Some(failure) => failure,
            None => {
                let answer = self.answer(&asked);
                let answer = answer.unwrap_or_else(|| self.missed(name));
                self.remember(asked, &answer);
                answer
            }
        };
        answer.latency_ms = started.elapsed().as_secs_f64() * 1e3;
        if self.calibrated {
            let world = &self.index.world;
            let ms = world.latency_ms(name, written, &self.draw(), position);
            if ms > 0.0 {
                let wait = Duration::from_secs_f64(ms * self.speed / 1e3);
                if let Some(rest) = wait.checked_sub(started.elapsed()) {
                    tokio::time::sleep(rest.min(request.timeout)).await;
                }
                answer.latency_ms = ms;
            }
        }
        answer
    }

    async fn snapshot(&mut self) -> EnvResult<Option<Snapshot>> {
        Ok(None)
    }

    async fn reset(&mut self, _start: &Start) -> EnvResult<()> {
        self.history = Index::start();
        self.writes.clear();
        self.next = 0;
        Ok(())
    }

    async fn close(self: Box<Self>) -> Closing {
        Closing::default()
    }
}
