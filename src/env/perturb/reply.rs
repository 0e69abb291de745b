//! Answers that come late, in another shape, cut, or in pages.

use std::time::Duration;

use async_trait::async_trait;
use fidelake_core::perturb::{
    Draw, New, Perturbation, drifted, paged, rewritten, truncated, unit, with_cursor,
    without_cursor,
};
use fidelake_core::stats::Chance;

use super::layer::{Layer, Moment};
use super::setting::Setting;
use crate::env::{Answer, EnvResult, Fault, Request, Session, Start, Tool};

/// Changes answers on their way back.
#[derive(Debug)]
pub(super) struct Replies {
    setting: Setting,
}

impl Replies {
    pub(super) fn new(setting: Setting) -> Self {
        Self { setting }
    }

    /// Whether a tool answers in pages: the same in all trajectories, since an interface is one.
    fn pages(&self, tool: &str, draw: &Draw<'_>) -> bool {
        let Setting {
            kind, intensity, ..
        } = &self.setting;
        let everywhere = Draw {
            trajectory: "",
            ..*draw
        };
        self.setting.means(tool)
            && everywhere.strikes(kind.as_str(), &format!("tool {tool}"), *intensity)
    }

    async fn late(&self, mut answer: Answer, timeout: Duration, moment: &Moment<'_>) -> Answer {
        let name = self.setting.kind.as_str();
        let mut chance = moment
            .draw
            .chance(name, &format!("call {} how", moment.position));
        let median = self.setting.time.unwrap_or_default();
        let delay = median.as_secs_f64() * (self.setting.sigma * normal(&mut chance)).exp();
        let left = timeout.as_secs_f64() - answer.latency_ms / 1e3;
        let beyond = delay > left;
        let wait = Duration::try_from_secs_f64(delay.min(left).max(0.0)).unwrap_or_default();
        if self.setting.sleep {
            tokio::time::sleep(wait).await;
        }
        let note = moment.note(format!("delayed by {:.3} ms", delay * 1e3));
        if beyond {
            let mut late = Answer::fault(
                Fault::Late,
                timeout.as_secs_f64() * 1e3,
                "silent",
                format!("no answer within {} s", timeout.as_secs_f64()),
            );
            late.notes.push(note);
            return late;
        }
        answer.latency_ms += wait.as_secs_f64() * 1e3;
        answer.notes.push(note);
        answer
    }

    /// The answer with what the tool said changed, if there is anything to change.
    fn changed(
        &self,
        mut answer: Answer,
        moment: &Moment<'_>,
        what: &str,
        mut change: impl FnMut(&str) -> Option<New>,
    ) -> Answer {
        if answer.fault.is_some() {
            return answer;
        }
        let content = answer.content.as_deref();
        let Some(content) = content.and_then(|content| rewritten(content, &mut change)) else {
            return answer;
        };
        answer.content = Some(content);
        answer.structured = answer.structured.and_then(|value| match change(&value)? {
            New::Json(json) => Some(json),
            // Half a value is none.
            New::Text(_) => None,
        });
        answer.notes.push(moment.note(what));
        answer
    }
}

#[async_trait]
impl Layer for Replies {
    fn tools(&mut self, mut tools: Vec<Tool>, draw: &Draw<'_>) -> Vec<Tool> {
        if self.setting.kind == Perturbation::Pagination {
            for tool in &mut tools {
                if self.pages(&tool.name, draw)
                    && let Some(declaration) = with_cursor(&tool.declaration)
                {
                    tool.declaration = declaration;
                }
            }
        }
        tools
    }

    async fn call(
        &mut self,
        inner: &mut dyn Session,
        request: Request<'_>,
        moment: &Moment<'_>,
    ) -> Answer {
        if self.setting.kind == Perturbation::Pagination {
            if !self.pages(request.name, &moment.draw) {
                return inner.call(request).await;
            }
            let asked = without_cursor(request.arguments);
            let (arguments, from) = match &asked {
                Some((arguments, from)) => (&**arguments, *from),
                None => (request.arguments, 0),
            };
            let answer = inner
                .call(Request {
                    arguments,
                    ..request
                })
                .await;
            let page = self.setting.page;
            return self.changed(answer, moment, "one page of it", |text| {
                paged(text, from, page)
            });
        }
        let answer = inner.call(request).await;
        if !moment.strikes(request.name) {
            return answer;
        }
        match self.setting.kind {
            Perturbation::Latency => self.late(answer, request.timeout, moment).await,
            Perturbation::TransitionSchemaDrift => {
                let name = self.setting.kind.as_str();
                let unit_name = format!("tool {}", request.name);
                // An error has a shape of its own.
                if answer.is_error == Some(true) {
                    return answer;
                }
                let mut answer = self.changed(
                    answer,
                    moment,
                    "made, its answer has another shape",
                    |text| Some(drifted(text, &mut moment.draw.chance(name, &unit_name))),
                );
                if answer.fault.is_none() && answer.content.is_some() {
                    answer.error_type = Some("schema_drift".to_owned());
                }
                answer
            }
            _ => {
                let keep = self.setting.keep;
                let before = answer.notes.len();
                let mut answer = self.changed(answer, moment, "cut", |text| truncated(text, keep));
                if answer.notes.len() > before {
                    answer.truncated = Some(true);
                }
                answer
            }
        }
    }

    async fn restart(&mut self, _start: &Start) -> EnvResult<()> {
        Ok(())
    }
}

/// A standard normal number (Box and Muller 1958).
fn normal(chance: &mut Chance) -> f64 {
    let radius = (-2.0 * (1.0 - unit(chance)).ln()).sqrt();
    radius * (std::f64::consts::TAU * unit(chance)).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_numbers_are_normal() {
        let mut chance = Chance::new(1);
        let drawn: Vec<f64> = (0..20_000).map(|_| normal(&mut chance)).collect();
        let mean = drawn.iter().sum::<f64>() / 20_000.0;
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 20_000.0;
        // Five standard errors.
        assert!(
            mean.abs() < 0.036 && (variance - 1.0).abs() < 0.05,
            "{mean} {variance}"
        );
        assert!(drawn.iter().all(|x| x.is_finite()));
    }
}
