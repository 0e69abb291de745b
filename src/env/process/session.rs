//! An open process.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use fidelake_core::json::{Doc, Node};

use super::super::answer::{Answer, Fault};
use super::super::{Closing, EnvError, EnvResult, Request, Session, Snapshot, Start, Tool};
use super::wire::{Unanswered, Wire};
use super::{Process, message};

/// A process that has answered `open`.
#[derive(Debug)]
pub(super) struct ProcessSession {
    wire: Wire,
    what: String,
    patience: Duration,
    grace: Duration,
    version: Option<String>,
    /// Whether it can be opened again without being started again.
    resets: bool,
}

impl ProcessSession {
    pub(super) async fn open(process: &Process, start: &Start) -> EnvResult<Self> {
        let started = process.program.start(None)?;
        let mut session = Self {
            wire: Wire::new(started, process.max_line),
            what: process.program.to_string(),
            patience: process.patience,
            grace: process.grace,
            version: None,
            resets: false,
        };
        match session.start(start).await {
            Ok(()) => Ok(session),
            Err(why) => {
                let said = session.wire.stderr();
                let what = session.what.clone();
                let mut why = why;
                if !said.is_empty() && !why.contains("stderr ends") {
                    why = format!("{why}; stderr ends: {}", super::super::Note::end_of(&said));
                }
                Box::new(session).close().await;
                Err(EnvError::Start { what, why })
            }
        }
    }

    async fn start(&mut self, start: &Start) -> Result<(), String> {
        if let Start::Given(state) = start {
            Doc::parse(state).map_err(|error| format!("the state to start from: {error}"))?;
        }
        let id = self.wire.next_id();
        let text = self.ask(id, message::open(id, start)).await?;
        let doc = parsed(&text)?;
        let version = doc.root().get_some("version");
        self.version = version.map(|v| v.as_str().unwrap_or_else(|| v.raw()).to_owned());
        self.resets = doc.root().get("resets").and_then(Node::as_bool) == Some(true);
        Ok(())
    }

    /// Asks something that is no call; an `error` in the answer is one.
    async fn ask(&mut self, id: u64, line: String) -> Result<String, String> {
        let answer = self.wire.ask(id, line, self.patience).await;
        let text = answer.map_err(|why| format!("{}: {}", why.kind, why.text))?;
        match message::error(parsed(&text)?.root()) {
            Some(error) => Err(error),
            None => Ok(text),
        }
    }

    fn failed(&self, why: String) -> EnvError {
        let what = self.what.clone();
        EnvError::Failed { what, why }
    }
}

#[async_trait]
impl Session for ProcessSession {
    fn version(&self) -> Option<String> {
        self.version.clone()
    }

    async fn tools(&mut self) -> EnvResult<Vec<Tool>> {
        let id = self.wire.next_id();
        let listed = self.ask(id, message::plain(id, "tools")).await;
        let mut tools = listed.and_then(|text| message::tools(parsed(&text)?.root()));
        if let Ok(tools) = &mut tools {
            self.wire.name_folder_in(tools);
        }
        tools.map_err(|why| self.failed(why))
    }

    async fn call(&mut self, request: Request<'_>) -> Answer {
        let id = self.wire.next_id();
        let line = message::call(id, request.name, &self.wire.placed(request.arguments));
        let asked = Instant::now();
        let given = self.wire.ask(id, line, request.timeout).await;
        let latency_ms = asked.elapsed().as_secs_f64() * 1e3;
        let mut answer = match given {
            Ok(text) => match parsed(&text) {
                Ok(doc) => self.wire.named(message::answer(doc.root(), latency_ms)),
                Err(why) => Answer::fault(Fault::Malformed, latency_ms, "broken_answer", why),
            },
            Err(Unanswered { fault, kind, text }) => Answer::fault(fault, latency_ms, kind, text),
        };
        answer.notes.append(&mut self.wire.take_notes());
        answer
    }

    async fn snapshot(&mut self) -> EnvResult<Option<Snapshot>> {
        let id = self.wire.next_id();
        let asked = self.ask(id, message::plain(id, "snapshot")).await;
        let snapshot = asked.and_then(|text| {
            let said = message::snapshot(parsed(&text)?.root());
            said.map_or_else(|| self.wire.files(), |said| Ok(Some(said)))
        });
        snapshot.map_err(|why| self.failed(why))
    }

    async fn reset(&mut self, start: &Start) -> EnvResult<()> {
        if !self.resets {
            return Err(EnvError::NoReset(self.what.clone()));
        }
        let again = self.start(start).await;
        again.map_err(|why| self.failed(why))
    }

    async fn close(mut self: Box<Self>) -> Closing {
        let id = self.wire.next_id();
        let goodbye = message::plain(id, "close");
        let notes = self.wire.close(goodbye, self.grace).await;
        Closing { notes }
    }
}

fn parsed(text: &str) -> Result<Doc<'_>, String> {
    Doc::parse(text).map_err(|error| error.to_string())
}
