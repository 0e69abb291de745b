//! Worlds that remember too much: reads from a cache, repeats taken for mistakes.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use async_trait::async_trait;
use fidelake_core::json::key::Key;

use super::fault::key_of;
use super::layer::{Layer, Moment, said, with_state_of};
use super::setting::Setting;
use crate::env::{Answer, EnvResult, Request, Session, Start};

/// Answers reads as they were answered before.
#[derive(Debug)]
pub(super) struct Cache {
    setting: Setting,
    kept: HashMap<Key, (Answer, u64, Instant)>,
    /// Calls so far.
    calls: u64,
}

impl Cache {
    pub(super) fn new(setting: Setting) -> Self {
        Self {
            setting,
            kept: HashMap::new(),
            calls: 0,
        }
    }

    fn fresh_enough(&self, kept_at: u64, since: Instant) -> bool {
        let calls = self.calls - kept_at;
        self.setting.calls.is_none_or(|most| calls <= most)
            && self.setting.time.is_none_or(|most| since.elapsed() <= most)
    }
}

#[async_trait]
impl Layer for Cache {
    async fn call(
        &mut self,
        inner: &mut dyn Session,
        request: Request<'_>,
        moment: &Moment<'_>,
    ) -> Answer {
        self.calls += 1;
        if !moment.reads(request.name) {
            return inner.call(request).await;
        }
        let (key, asked) = (key_of(&request), Instant::now());
        if let Some((kept, at, since)) = self.kept.get(&key)
            && self.fresh_enough(*at, *since)
            && moment.strikes(request.name)
        {
            let ago = self.calls - at;
            let mut answer = kept.clone();
            with_state_of(inner, &mut answer).await;
            answer.latency_ms = asked.elapsed().as_secs_f64() * 1e3;
            answer.notes = vec![moment.note(format!("not made, answered as {ago} calls ago"))];
            return answer;
        }
        let answer = inner.call(request).await;
        if answer.fault.is_none() {
            self.kept.insert(key, (answer.clone(), self.calls, asked));
        }
        answer
    }

    fn needs_tools(&self) -> bool {
        true
    }

    async fn restart(&mut self, _start: &Start) -> EnvResult<()> {
        self.kept.clear();
        self.calls = 0;
        Ok(())
    }
}

/// Makes repeating a state-changing call something else than making it once.
#[derive(Debug)]
pub(super) struct Repeats {
    setting: Setting,
    parts: bool,
    made: HashSet<Key>,
}

impl Repeats {
    pub(super) fn new(setting: Setting, parts: bool) -> Self {
        Self {
            setting,
            parts,
            made: HashSet::new(),
        }
    }
}

#[async_trait]
impl Layer for Repeats {
    async fn call(
        &mut self,
        inner: &mut dyn Session,
        request: Request<'_>,
        moment: &Moment<'_>,
    ) -> Answer {
        if moment.reads(request.name) {
            return inner.call(request).await;
        }
        let (key, asked) = (key_of(&request), Instant::now());
        if !self.setting.doubled && self.made.contains(&key) && moment.strikes(request.name) {
            let text = "Error: 409 Conflict. This request was already processed.";
            return Answer {
                content: Some(said(text, self.parts)),
                is_error: Some(true),
                status: Some(409),
                error_type: Some("conflict".to_owned()),
                latency_ms: asked.elapsed().as_secs_f64() * 1e3,
                notes: vec![moment.note("not made, it was made before")],
                ..Answer::default()
            };
        }
        let mut answer = inner.call(request).await;
        if answer.fault.is_some() || answer.is_error == Some(true) {
            return answer;
        }
        self.made.insert(key);
        if self.setting.doubled && moment.strikes(request.name) {
            let again = inner.call(request).await;
            (answer.state, answer.state_hash) = (again.state, again.state_hash);
            answer.notes.push(moment.note("made twice"));
        }
        answer
    }

    fn needs_tools(&self) -> bool {
        true
    }

    async fn restart(&mut self, _start: &Start) -> EnvResult<()> {
        self.made.clear();
        Ok(())
    }
}
