//! Calls that fail: in time, for their number, their rights, the server's fault, or
//! because what comes back cannot be read.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use fidelake_core::json::Doc;
use fidelake_core::json::key::{Key, call_key};
use fidelake_core::perturb::{Perturbation, malformed, rewritten, unit};

use super::layer::{Layer, Moment, said};
use super::setting::Setting;
use crate::env::{Answer, EnvResult, Fault, Request, Session, Start};

/// Strikes calls, and lets the same call through after some strikes in a row.
#[derive(Debug)]
pub(super) struct Faults {
    setting: Setting,
    parts: bool,
    in_row: HashMap<Key, u32>,
}

/// The key of a call.
pub(super) fn key_of(request: &Request<'_>) -> Key {
    let doc = Doc::parse(request.arguments).ok();
    call_key(request.name, doc.as_ref().map(Doc::root), request.arguments)
}

impl Faults {
    pub(super) fn new(setting: Setting, parts: bool) -> Self {
        Self {
            setting,
            parts,
            in_row: HashMap::new(),
        }
    }

    fn strikes(&mut self, request: &Request<'_>, moment: &Moment<'_>) -> bool {
        let count = self.in_row.entry(key_of(request)).or_default();
        let spared = self.setting.times > 0 && *count >= self.setting.times;
        let strikes = !spared && moment.strikes(request.name);
        *count = if strikes { *count + 1 } else { 0 };
        strikes
    }

    /// What is answered instead.
    fn refusal(&self, name: &str, which: usize) -> Answer {
        let (text, error_type, status) = match self.setting.kind {
            Perturbation::TransitionTimeout => (
                format!("Error: {name} did not answer in time. Please try again."),
                "timeout",
                None,
            ),
            Perturbation::TransitionRateLimit => (
                "Error: 429 Too Many Requests. Please try again later.".to_owned(),
                "rate_limited",
                Some(429),
            ),
            Perturbation::TransitionAuth => {
                let of = ["401 Unauthorized", "403 Forbidden"][which % 2];
                (
                    format!("Error: {of}. You are not allowed to call {name}."),
                    "auth",
                    Some([401, 403][which % 2]),
                )
            }
            _ => {
                let of = [
                    "500 Internal Server Error",
                    "502 Bad Gateway",
                    "503 Service Unavailable",
                ][which % 3];
                (
                    format!("Error: {of}."),
                    "server_error",
                    Some([500, 502, 503][which % 3]),
                )
            }
        };
        Answer {
            content: Some(said(&text, self.parts)),
            is_error: Some(true),
            status,
            error_type: Some(error_type.to_owned()),
            retry_after: self.setting.retry_after,
            ..Answer::default()
        }
    }

    /// The answer made unreadable; `None` if there is nothing to break.
    fn broken(&self, mut answer: Answer, moment: &Moment<'_>) -> Answer {
        let name = self.setting.kind.as_str();
        let mut chance = moment
            .draw
            .chance(name, &format!("call {} how", moment.position));
        let content = answer
            .content
            .as_deref()
            .filter(|_| answer.fault.is_none())
            .and_then(|content| rewritten(content, |text| Some(malformed(text, &mut chance))));
        if let Some(content) = content {
            answer.content = Some(content);
            answer.structured = None;
            answer.is_error = None;
            answer.fault = Some(Fault::Malformed);
            answer.error_type = Some(Fault::Malformed.as_str().to_owned());
            answer
                .notes
                .push(moment.note("made, its answer was broken"));
        }
        answer
    }
}

#[async_trait]
impl Layer for Faults {
    async fn call(
        &mut self,
        inner: &mut dyn Session,
        request: Request<'_>,
        moment: &Moment<'_>,
    ) -> Answer {
        if !self.strikes(&request, moment) {
            return inner.call(request).await;
        }
        if self.setting.kind == Perturbation::TransitionMalformed {
            let answer = inner.call(request).await;
            return self.broken(answer, moment);
        }
        let asked = Instant::now();
        let name = self.setting.kind.as_str();
        let mut chance = moment
            .draw
            .chance(name, &format!("call {} how", moment.position));
        let which = chance.below(6);
        let mut answer = self.refusal(request.name, which);
        let mut done = "not made";
        if unit(&mut chance) < self.setting.takes_effect {
            let made = inner.call(request).await;
            if made.fault.is_some() {
                // What really went wrong is not covered up.
                return made;
            }
            (answer.state, answer.state_hash) = (made.state, made.state_hash);
            done = "made, its answer was lost";
        }
        let wait = self.setting.time.unwrap_or(Duration::ZERO);
        tokio::time::sleep(wait.min(request.timeout)).await;
        answer.latency_ms = asked.elapsed().as_secs_f64() * 1e3;
        answer.notes.push(moment.note(done));
        answer
    }

    async fn restart(&mut self, _start: &Start) -> EnvResult<()> {
        self.in_row.clear();
        Ok(())
    }
}
