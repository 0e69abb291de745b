//! An environment whose sessions stay open, and whose answers are remembered.
//!
//! For worlds in which the same calls from the same state always get the same answers:
//! simulations, classes, benchmarks. A state is known by the way to it, the state to
//! start from and the calls since then that may have changed something. A call that was
//! made in a state before is answered as it was then; any other is made, in a session
//! that is brought there first. On the way every answer is held against the one that was
//! remembered, and [`Kept::unsteady`] says if a world does not keep to it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use fidelake_core::json::key::Key;

use super::{
    Answer, Closing, EnvResult, Environment, Fault, Request, Session, Snapshot, Start, Tool,
};

/// An environment with a memory.
#[derive(Clone, Debug)]
pub struct Kept(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    inner: Arc<dyn Environment>,
    memory: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    idle: Vec<Open>,
    version: Option<String>,
    /// By the state to start from.
    tools: HashMap<Key, Vec<Tool>>,
    /// By state and call.
    answers: HashMap<(Key, Key), Answer>,
    /// By state.
    states: HashMap<Key, Option<Snapshot>>,
    unsteady: Option<String>,
    made: u64,
    remembered: u64,
}

/// A session and the state that it is in.
#[derive(Debug)]
struct Open {
    session: Box<dyn Session>,
    at: Key,
}

impl Kept {
    /// Nothing is opened yet.
    #[must_use]
    pub fn new(inner: Arc<dyn Environment>) -> Self {
        let memory = Mutex::default();
        Self(Arc::new(Shared { inner, memory }))
    }

    /// Forgets answers and states; sessions stay open.
    pub fn forget(&self) {
        let mut memory = self.0.memory();
        memory.answers.clear();
        memory.states.clear();
    }

    /// What was answered otherwise than before, since the last time that this was asked.
    #[must_use]
    pub fn unsteady(&self) -> Option<String> {
        self.0.memory().unsteady.take()
    }

    /// Calls that were made, and calls that were answered from memory.
    #[must_use]
    pub fn calls(&self) -> [u64; 2] {
        let memory = self.0.memory();
        [memory.made, memory.remembered]
    }

    /// Closes all sessions that are not in use.
    pub async fn close(&self) {
        let idle = std::mem::take(&mut self.0.memory().idle);
        for open in idle {
            open.session.close().await;
        }
    }
}

#[async_trait]
impl Environment for Kept {
    fn kind(&self) -> &'static str {
        self.0.inner.kind()
    }

    async fn open(&self, start: &Start) -> EnvResult<Box<dyn Session>> {
        Ok(Box::new(KeptSession {
            shared: Arc::clone(&self.0),
            start: start.clone(),
            at: state_of(start),
            past: Vec::new(),
        }))
    }
}

fn state_of(start: &Start) -> Key {
    match start {
        Start::Fresh => Key::of_parts(&["fresh"]),
        Start::Given(state) => Key::of_parts(&["given", state]),
    }
}

impl Shared {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give_back(&self, open: Open) {
        let mut memory = self.memory();
        memory.version = open.session.version();
        memory.idle.push(open);
    }
}

/// A call that may have changed something.
#[derive(Clone, Debug)]
struct Past {
    name: String,
    arguments: String,
    timeout: std::time::Duration,
}

#[derive(Debug)]
struct KeptSession {
    shared: Arc<Shared>,
    start: Start,
    at: Key,
    past: Vec<Past>,
}

impl KeptSession {
    /// A session in the state of this one.
    async fn open(&self) -> EnvResult<Open> {
        let idle = {
            let mut memory = self.shared.memory();
            let exact = memory.idle.iter().position(|open| open.at == self.at);
            match exact {
                Some(place) => return Ok(memory.idle.swap_remove(place)),
                None => memory.idle.pop(),
            }
        };
        let mut session = match idle {
            None => self.shared.inner.open(&self.start).await?,
            Some(mut open) => match open.session.reset(&self.start).await {
                Ok(()) => open.session,
                Err(_) => {
                    open.session.close().await;
                    self.shared.inner.open(&self.start).await?
                }
            },
        };
        let mut at = state_of(&self.start);
        for past in &self.past {
            let request = Request {
                name: &past.name,
                arguments: &past.arguments,
                timeout: past.timeout,
            };
            let call = call_of(&request);
            let answer = session.call(request).await;
            let mut memory = self.shared.memory();
            memory.made += 1;
            let before = memory.answers.get(&(at, call));
            let same = before.is_none_or(|before| {
                before.content == answer.content && before.is_error == answer.is_error
            });
            if !same || answer.fault.is_some() {
                memory.unsteady = Some(format!(
                    "{} {} was answered otherwise when it was made again",
                    past.name, past.arguments
                ));
            }
            at = after(at, call);
        }
        Ok(Open { session, at })
    }

    /// Whether a call of this tool may change something.
    async fn mutates(&mut self, name: &str) -> EnvResult<bool> {
        let start = state_of(&self.start);
        if !self.shared.memory().tools.contains_key(&start) {
            self.tools().await?;
        }
        let memory = self.shared.memory();
        let tool = memory.tools.get(&start);
        let tool = tool.and_then(|tools| tools.iter().find(|tool| tool.name == name));
        Ok(tool.is_none_or(|tool| tool.mutates != Some(false)))
    }
}

fn call_of(request: &Request<'_>) -> Key {
    Key::of_parts(&[request.name, request.arguments])
}

fn after(at: Key, call: Key) -> Key {
    Key::of_parts(&[&at.to_string(), &call.to_string()])
}

#[async_trait]
impl Session for KeptSession {
    fn version(&self) -> Option<String> {
        self.shared.memory().version.clone()
    }

    async fn tools(&mut self) -> EnvResult<Vec<Tool>> {
        let start = state_of(&self.start);
        if let Some(tools) = self.shared.memory().tools.get(&start) {
            return Ok(tools.clone());
        }
        let mut open = self.open().await?;
        let tools = open.session.tools().await;
        self.shared.give_back(open);
        let tools = tools?;
        self.shared.memory().tools.insert(start, tools.clone());
        Ok(tools)
    }

    async fn call(&mut self, request: Request<'_>) -> Answer {
        let not_made = |error: super::EnvError| {
            Answer::fault(Fault::NotSent, 0.0, "not_opened", error.to_string())
        };
        let mutates = match self.mutates(request.name).await {
            Ok(mutates) => mutates,
            Err(error) => return not_made(error),
        };
        let call = call_of(&request);
        let known = {
            let mut memory = self.shared.memory();
            let known = memory.answers.get(&(self.at, call)).cloned();
            memory.remembered += u64::from(known.is_some());
            known
        };
        let answer = match known {
            Some(answer) => answer,
            None => {
                let mut open = match self.open().await {
                    Ok(open) => open,
                    Err(error) => return not_made(error),
                };
                let answer = open.session.call(request).await;
                self.shared.memory().made += 1;
                if answer.fault.is_some() {
                    // Nobody knows which state it is in now.
                    open.session.close().await;
                } else {
                    if mutates {
                        open.at = after(self.at, call);
                    }
                    self.shared.give_back(open);
                    let mut memory = self.shared.memory();
                    memory.answers.insert((self.at, call), answer.clone());
                }
                answer
            }
        };
        if mutates {
            self.at = after(self.at, call);
            self.past.push(Past {
                name: request.name.to_owned(),
                arguments: request.arguments.to_owned(),
                timeout: request.timeout,
            });
        }
        answer
    }

    async fn snapshot(&mut self) -> EnvResult<Option<Snapshot>> {
        if let Some(state) = self.shared.memory().states.get(&self.at) {
            return Ok(state.clone());
        }
        let mut open = self.open().await?;
        let state = open.session.snapshot().await;
        self.shared.give_back(open);
        let state = state?;
        self.shared.memory().states.insert(self.at, state.clone());
        Ok(state)
    }

    async fn reset(&mut self, start: &Start) -> EnvResult<()> {
        self.start = start.clone();
        self.at = state_of(start);
        self.past.clear();
        Ok(())
    }

    async fn close(self: Box<Self>) -> Closing {
        Closing::default()
    }
}
