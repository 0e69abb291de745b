//! Reads from a copy that writes reach late.
//!
//! The copy is a second session of the environment, begun in the same state. A write is
//! made at once and answered; the copy gets it later. While it waits for writes, reads are
//! answered by it; otherwise by the environment itself, so that what the two make up for
//! themselves (ids, times) is not mixed up without need.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use async_trait::async_trait;

use super::layer::{Layer, Moment, with_state_of};
use super::setting::Setting;
use crate::env::{Answer, EnvResult, Note, Request, Session, Start};

/// A write on its way to the copy.
#[derive(Debug)]
struct Pending {
    name: String,
    arguments: String,
    timeout: Duration,
    /// It is there for calls after this one.
    after_call: u64,
    after: Instant,
}

/// A session and its late copy.
#[derive(Debug)]
pub(super) struct Lag {
    setting: Setting,
    copy: Box<dyn Session>,
    pending: VecDeque<Pending>,
    /// Calls so far.
    calls: u64,
}

impl Lag {
    pub(super) fn new(setting: Setting, copy: Box<dyn Session>) -> Self {
        Self {
            setting,
            copy,
            pending: VecDeque::new(),
            calls: 0,
        }
    }

    /// Brings the copy the writes that are due.
    async fn catch_up(&mut self) {
        while let Some(write) = self.pending.front() {
            if self.calls <= write.after_call || Instant::now() < write.after {
                return;
            }
            let request = Request {
                name: &write.name,
                arguments: &write.arguments,
                timeout: write.timeout,
            };
            self.copy.call(request).await;
            self.pending.pop_front();
        }
    }

    fn later(&mut self, request: &Request<'_>, late: bool) {
        let before = self
            .pending
            .back()
            .map(|write| (write.after_call, write.after));
        let (mut after_call, mut after) = (self.calls, Instant::now());
        if late {
            after_call += self.setting.calls.unwrap_or(0);
            after += self.setting.time.unwrap_or_default();
        }
        // Writes arrive in their order.
        if let Some((call, time)) = before {
            (after_call, after) = (after_call.max(call), after.max(time));
        }
        self.pending.push_back(Pending {
            name: request.name.to_owned(),
            arguments: request.arguments.to_owned(),
            timeout: request.timeout,
            after_call,
            after,
        });
    }
}

#[async_trait]
impl Layer for Lag {
    async fn call(
        &mut self,
        inner: &mut dyn Session,
        request: Request<'_>,
        moment: &Moment<'_>,
    ) -> Answer {
        self.calls += 1;
        self.catch_up().await;
        if !moment.reads(request.name) {
            let answer = inner.call(request).await;
            // What never left changed nothing, nor did what the tool refused.
            let left = answer.fault.is_none_or(crate::env::Fault::in_doubt);
            if left && answer.is_error != Some(true) {
                self.later(&request, moment.strikes(request.name));
            }
            return answer;
        }
        let behind = self.pending.len();
        if behind == 0 || !self.setting.means(request.name) {
            return inner.call(request).await;
        }
        let mut answer = self.copy.call(request).await;
        if answer.fault.is_some() {
            return inner.call(request).await;
        }
        with_state_of(inner, &mut answer).await;
        answer.notes.push(moment.note(format!(
            "answered by a copy that {behind} {} not reached",
            if behind == 1 {
                "write has"
            } else {
                "writes have"
            }
        )));
        answer
    }

    fn needs_tools(&self) -> bool {
        true
    }

    async fn restart(&mut self, start: &Start) -> EnvResult<()> {
        self.pending.clear();
        self.calls = 0;
        self.copy.reset(start).await
    }

    async fn end(self: Box<Self>) -> Vec<Note> {
        self.copy.close().await.notes
    }
}
