//! One episode: a state, and what was asked in it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::reply::{Reply, reply, unanswered};
use super::simulator::Simulator;
use super::tools;
use super::unanswered::Question;
use crate::env::{Place, Request, Session, Tool};

/// A calibrated answer may be slow; it comes all the same.
const PATIENCE: Duration = Duration::from_secs(3600);

/// An episode under way. Its calls are made one after the other.
#[derive(Debug)]
pub(super) struct Episode {
    name: String,
    /// What its chance hangs on.
    chance: String,
    session: Box<dyn Session>,
    position: usize,
    /// The array of `tools/list`.
    pub(super) tools: Arc<str>,
    changing: HashMap<String, Option<bool>>,
    /// State-changing calls so far.
    prefix: Vec<(String, String)>,
}

impl Episode {
    pub(super) fn new(
        name: &str,
        chance: String,
        session: Box<dyn Session>,
        offered: &[Tool],
    ) -> Self {
        let changing = offered.iter().map(|t| (t.name.clone(), t.mutates));
        Self {
            name: name.to_owned(),
            chance,
            session,
            position: 0,
            tools: tools::list(offered).0.into(),
            changing: changing.collect(),
            prefix: Vec::new(),
        }
    }

    /// Makes a call; `None` if the tool is unknown and nothing was recorded of it.
    pub(super) async fn call(
        &mut self,
        simulator: &Simulator,
        name: &str,
        arguments: &str,
    ) -> Option<Reply> {
        let place = Place {
            trajectory: &self.chance,
            repeat: 0,
            position: self.position,
        };
        self.session.place(place);
        self.position += 1;
        let request = Request {
            name,
            arguments,
            timeout: PATIENCE,
        };
        let answer = self.session.call(request).await;
        let counts = &simulator.counts;
        counts.calls.fetch_add(1, Ordering::Relaxed);
        let known = self.changing.get(name).copied();
        let why = unanswered(&answer);
        if let Some(why) = why {
            counts.unanswered.fetch_add(1, Ordering::Relaxed);
            if let Some(journal) = simulator.unanswered() {
                journal.add(&Question {
                    why: if known.is_none() { "unknown_tool" } else { why },
                    episode: &self.name,
                    prefix: &self.prefix,
                    name,
                    arguments,
                });
            }
        }
        if known.is_none() && why == Some("missed") {
            return None;
        }
        if known.flatten() != Some(false) {
            self.prefix.push((name.to_owned(), arguments.to_owned()));
        }
        Some(reply(&answer, name))
    }
}
