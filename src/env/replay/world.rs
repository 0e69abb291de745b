//! How the real arm behaves beside what it answers: how long it takes, how often a
//! call fails that would go well the next time, how late a write shows.
//!
//! Times and failures are kept by API and by state: `fresh`, or changed by a write of
//! the episode. Below twenty calls of a cell the API's own hold, then everything's.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use fidelake_core::perturb::Draw;
use fidelake_core::stats::Latency;

use super::stored::Stored;

/// A cell with fewer calls says less than the whole API.
const ENOUGH: usize = 20;

/// Times of all calls together.
const ANY: &str = "";

/// What is known of the real arm.
#[derive(Debug, Default)]
pub(super) struct World {
    latency: HashMap<(Arc<str>, Option<bool>), Latency>,
    failures: HashMap<(Arc<str>, Option<bool>), (usize, usize)>,
    failed: HashMap<Arc<str>, Vec<Arc<Stored>>>,
    visible: HashMap<Arc<str>, Vec<f64>>,
}

/// One real call.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) name: Arc<str>,
    /// Whether a state-changing call of the run came before it.
    pub(super) written: bool,
    pub(super) latency_ms: Option<f64>,
    pub(super) answer: Arc<Stored>,
}

/// What was fitted of one API.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Behaviour {
    /// The tool.
    pub api: String,
    /// Real calls with a time.
    pub timed: usize,
    /// Median latency, ms; null: no real call has a time.
    pub latency_ms: Option<f64>,
    /// Share of real calls that failed in a way that passes.
    pub failures: f64,
    /// Reads of which it was measured how late a write shows.
    pub visible: usize,
    /// Of these the share that did not see it at once.
    pub late: f64,
}

impl World {
    pub(super) fn fit(seen: &[Seen], visible: Vec<(Arc<str>, f64)>) -> Self {
        let mut times: BTreeMap<(Arc<str>, Option<bool>), Vec<f64>> = BTreeMap::new();
        let mut world = Self::default();
        for one in seen {
            let cells = [Some(one.written), None];
            for state in cells {
                let (failed, of) = world
                    .failures
                    .entry((Arc::clone(&one.name), state))
                    .or_default();
                *failed += usize::from(one.answer.is_transient());
                *of += 1;
            }
            if one.answer.is_transient() {
                let failed = world.failed.entry(Arc::clone(&one.name)).or_default();
                failed.push(Arc::clone(&one.answer));
            }
            if let Some(ms) = one.latency_ms {
                for state in cells {
                    let cell = (Arc::clone(&one.name), state);
                    times.entry(cell).or_default().push(ms);
                }
                times.entry((ANY.into(), None)).or_default().push(ms);
            }
        }
        for ((name, state), times) in times {
            if (state.is_none() || times.len() >= ENOUGH)
                && let Some(fit) = Latency::fit(&times)
            {
                world.latency.insert((name, state), fit);
            }
        }
        for (name, calls) in visible {
            world.visible.entry(name).or_default().push(calls);
        }
        world
    }

    /// How long a call takes, in ms; 0 where no real call has a time.
    pub(super) fn latency_ms(&self, name: &str, written: bool, draw: &Draw<'_>, at: usize) -> f64 {
        let cells = [(name, Some(written)), (name, None), (ANY, None)];
        let fit = cells
            .iter()
            .find_map(|(name, state)| self.latency.get(&(Arc::from(*name), *state)));
        fit.map_or(0.0, |fit| {
            fit.draw(&mut draw.chance("calibrated_latency", &format!("call {at}")))
        })
    }

    /// The failure that strikes this call, if one does.
    pub(super) fn failure(
        &self,
        name: &str,
        written: bool,
        draw: &Draw<'_>,
        at: usize,
    ) -> Option<Arc<Stored>> {
        let failed = self.failed.get(name)?;
        let cell = |state| self.failures.get(&(Arc::from(name), state)).copied();
        let (count, of) = cell(Some(written))
            .filter(|(_, of)| *of >= ENOUGH)
            .or_else(|| cell(None))?;
        let unit = format!("call {at}");
        let rate = count as f64 / of as f64;
        draw.strikes("calibrated_failure", &unit, rate).then(|| {
            let mut chance = draw.chance("calibrated_failure which", &unit);
            Arc::clone(&failed[chance.below(failed.len())])
        })
    }

    /// After how many calls a write shows in reads of this tool; 1 is at once.
    pub(super) fn visible_after(&self, name: &str, draw: &Draw<'_>, write: usize) -> f64 {
        let Some(seen) = self.visible.get(name) else {
            return 1.0;
        };
        let mut chance = draw.chance("calibrated_delay", &format!("write {write} {name}"));
        seen[chance.below(seen.len())]
    }

    pub(super) fn behaviours(&self) -> Vec<Behaviour> {
        let mut names: Vec<&Arc<str>> = self.failures.keys().map(|(name, _)| name).collect();
        names.sort_unstable();
        names.dedup();
        let of = |name: &Arc<str>| {
            let (failed, calls) = self.failures[&(Arc::clone(name), None)];
            let fit = self.latency.get(&(Arc::clone(name), None));
            let visible = self
                .visible
                .get(name)
                .map(Vec::as_slice)
                .unwrap_or_default();
            let late = visible.iter().filter(|after| **after > 1.0).count();
            Behaviour {
                api: name.to_string(),
                timed: if fit.is_some() { calls } else { 0 },
                latency_ms: fit.map(median),
                failures: failed as f64 / calls as f64,
                visible: visible.len(),
                late: late as f64 / visible.len().max(1) as f64,
            }
        };
        names.into_iter().map(of).collect()
    }
}

fn median(fit: &Latency) -> f64 {
    match fit {
        Latency::Empirical(quantiles) => quantiles[quantiles.len() / 2],
        Latency::LogNormal { mu, .. } => mu.exp(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(written: bool, outcome: &str, ms: f64) -> Seen {
        Seen {
            name: "get".into(),
            written,
            latency_ms: Some(ms),
            answer: Arc::new(Stored {
                outcome: outcome.into(),
                ..Stored::default()
            }),
        }
    }

    #[test]
    fn times_and_failures_depend_on_the_state() {
        let mut all: Vec<Seen> = (0..40).map(|_| seen(false, "ok", 10.0)).collect();
        all.extend((0..30).map(|_| seen(true, "ok", 100.0)));
        all.extend((0..10).map(|_| seen(true, "rate_limited", 100.0)));
        let world = World::fit(&all, vec![("get".into(), 1.0), ("get".into(), 3.0)]);
        let draw = Draw {
            seed: 1,
            trajectory: "e",
        };
        assert!((world.latency_ms("get", false, &draw, 0) - 10.0).abs() < 1e-9);
        assert!((world.latency_ms("get", true, &draw, 0) - 100.0).abs() < 1e-9);
        assert!(world.latency_ms("other", true, &draw, 0) > 0.0);
        let struck = |written| {
            let calls = 0..4_000;
            calls
                .filter(|at| world.failure("get", written, &draw, *at).is_some())
                .count()
        };
        assert_eq!(struck(false), 0);
        // A quarter, within five standard deviations.
        assert!(struck(true).abs_diff(1_000) < 140, "{}", struck(true));
        let late = (0..1_000).filter(|at| world.visible_after("get", &draw, *at) > 1.0);
        assert!(late.count().abs_diff(500) < 80);
        assert_eq!(world.visible_after("set", &draw, 0), 1.0);
        assert_eq!(world.behaviours()[0].failures, 0.125);
    }
}
