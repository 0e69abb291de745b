//! Other tools on offer, and what becomes of calls to them.

use std::time::Instant;

use async_trait::async_trait;
use fidelake_core::perturb::{Draw, Offer, offer};

use super::layer::{Layer, Moment, said};
use super::setting::Setting;
use crate::env::{Answer, EnvResult, Request, Session, Start, Tool};

/// A perturbed catalog before the tools that are there.
#[derive(Debug)]
pub(super) struct Catalog {
    setting: Setting,
    parts: bool,
    offers: Vec<Offer>,
}

impl Catalog {
    pub(super) fn new(setting: Setting, parts: bool) -> Self {
        Self {
            setting,
            parts,
            offers: Vec::new(),
        }
    }

    fn refused(&self, text: &str, error_type: &str, asked: Instant) -> Answer {
        Answer {
            content: Some(said(text, self.parts)),
            is_error: Some(true),
            error_type: Some(error_type.to_owned()),
            latency_ms: asked.elapsed().as_secs_f64() * 1e3,
            ..Answer::default()
        }
    }
}

#[async_trait]
impl Layer for Catalog {
    fn tools(&mut self, tools: Vec<Tool>, draw: &Draw<'_>) -> Vec<Tool> {
        let texts: Vec<&str> = tools.iter().map(|tool| &*tool.declaration).collect();
        let setting = &self.setting;
        let targets: Option<Vec<String>> =
            setting.tools.as_ref().map(|t| t.iter().cloned().collect());
        let made = offer(
            setting.kind,
            &texts,
            targets.as_deref(),
            draw,
            setting.intensity,
        );
        // Kept ones follow each other as they did.
        let mut left = tools.iter();
        let offered = made.tools.iter().map(|offer| {
            let behind = offer.behind.as_ref().and_then(|_| left.next());
            Tool {
                name: match behind {
                    Some(tool) if !offer.changed => tool.name.clone(),
                    _ => offer.name.clone(),
                },
                declaration: offer.declaration.clone(),
                // A tool that does nothing changes nothing.
                mutates: behind.map_or(Some(false), |tool| tool.mutates),
            }
        });
        let offered = offered.collect();
        self.offers = made.tools;
        offered
    }

    async fn call(
        &mut self,
        inner: &mut dyn Session,
        request: Request<'_>,
        moment: &Moment<'_>,
    ) -> Answer {
        let asked = Instant::now();
        let name = request.name;
        let of_name = || self.offers.iter().filter(|offer| offer.name == name);
        if let Some(behind) = of_name().find_map(|offer| offer.behind.as_deref()) {
            let request = Request {
                name: behind,
                ..request
            };
            return inner.call(request).await;
        }
        let mut answer = if of_name().next().is_some() {
            let text = format!("Error: {name} is not available for this request.");
            self.refused(&text, "tool_error", asked)
        } else if self
            .offers
            .iter()
            .any(|o| o.behind.as_deref() == Some(name))
        {
            let text = format!("Error: Tool '{name}' not found.");
            self.refused(&text, "unknown_tool", asked)
        } else {
            return inner.call(request).await;
        };
        answer
            .notes
            .push(moment.note("not made, no such tool stands behind the name"));
        answer
    }

    fn needs_tools(&self) -> bool {
        true
    }

    async fn restart(&mut self, _start: &Start) -> EnvResult<()> {
        Ok(())
    }
}
