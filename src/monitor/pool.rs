//! Where to sample next: the budget planner's allocation over the calls of a lake, else evenly.

use std::collections::BTreeMap;

use fidelake_core::budget::{Objective, Outlook, Request, allocate};
use fidelake_core::monitor::{Region, State, draws};
use fidelake_core::stats::{Chance, draw_evenly};
use serde_json::{Value, json};

use super::desk::Desk;
use super::error::MonitorResult;
use crate::engine::Engine;
use crate::engine::columns::{self, Columns};

const POOL: &str = include_str!("../../queries/monitor/pool.sql");

/// Share of the samples that goes to all regions evenly, whatever is known of them.
const FLOOR: f64 = 0.2;

/// Standard deviation of gaps of which nothing is known.
const USUAL_SPREAD: f64 = 0.25;

/// Evidence of a region that is warned of, paused or not known counts as so much staler.
const STALE: f64 = 4.0;

/// Calls of the sim arm by region, and the trajectories that have them.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    regions: BTreeMap<Region, (usize, Vec<String>)>,
}

impl Pool {
    /// Reads the calls of a lake.
    ///
    /// # Errors
    /// If the lake cannot be read.
    pub async fn read(engine: &Engine) -> MonitorResult<Self> {
        let mut pool = Self::default();
        let mut rows = engine.stream(POOL).await?;
        while let Some(batch) = rows.next().await? {
            let columns = Columns(&batch);
            let names = ["environment", "api", "outcome", "trajectory_id"];
            let columns = names.map(|name| columns.texts(name));
            let [environment, api, outcome, trajectory] = columns;
            let columns = [environment?, api?, outcome?, trajectory?];
            let text = |at: usize, row: usize| {
                columns::text(&columns[at], row).unwrap_or_else(|| "-".to_owned())
            };
            for row in 0..batch.num_rows() {
                let region = Region {
                    environment: text(0, row),
                    api: text(1, row),
                    outcome: text(2, row),
                };
                let (calls, trajectories) = pool.regions.entry(region).or_default();
                *calls += 1;
                let trajectory = text(3, row);
                if trajectories.last() != Some(&trajectory) {
                    trajectories.push(trajectory);
                }
            }
        }
        Ok(pool)
    }

    /// Regions that it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.regions.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.regions.is_empty()
    }
}

/// What is known of a region over its dimensions: the largest spread and gap, the worst state.
#[derive(Clone, Copy, Debug)]
struct Known {
    spread: f64,
    gap: f64,
    samples: u64,
    stale: bool,
}

impl Desk {
    /// Which regions to run for real next, `n` samples in all but never more than is left of the
    /// budget. The same until something is taken in.
    #[must_use]
    pub fn next(&self, n: usize, pool: Option<&Pool>) -> Value {
        let left = self
            .settings
            .budget
            .map(|budget| (budget - self.totals.calls).max(0.0).floor());
        let n = left.map_or(n, |left| n.min(left as usize));
        let known = self.known();
        let seed = self.totals.accepted;
        let (regions, weights, by): (Vec<&Region>, Vec<f64>, &str) = match pool {
            Some(pool) if !pool.is_empty() => {
                let looks: Vec<Outlook> = pool
                    .regions
                    .iter()
                    .map(|(region, (calls, _))| outlook(known.get(region), *calls))
                    .collect();
                // Enough to tell regions apart, however few are asked for.
                let budget = (n.max(8 * looks.len())) as f64;
                let request = Request {
                    budget,
                    floor: FLOOR,
                    target: None,
                    objective: Objective::Regions,
                };
                let weights = allocate(&looks, &request).into_iter().map(|n| n as f64);
                (pool.regions.keys().collect(), weights.collect(), "planner")
            }
            _ => (known.keys().collect(), vec![1.0; known.len()], "uniform"),
        };
        let found = draws(&weights, n, FLOOR, seed);
        let listed = regions.iter().zip(&found).filter(|(_, n)| **n > 0);
        let listed: Vec<Value> = listed
            .map(|(region, n)| {
                let samples = known.get(*region).map_or(0, |known| known.samples);
                let trajectories = pool.and_then(|pool| pool.regions.get(*region));
                let trajectories = trajectories.map(|(_, all)| {
                    let mut chance = Chance::new(seed);
                    let drawn = draw_evenly(all.len(), *n, &mut chance);
                    drawn
                        .into_iter()
                        .map(|at| all[at].as_str())
                        .collect::<Vec<_>>()
                });
                json!({
                    "environment": region.environment, "api": region.api, "outcome": region.outcome,
                    "samples": n, "seen": samples, "trajectories": trajectories,
                })
            })
            .collect();
        json!({ "by": by, "samples": found.iter().sum::<usize>(), "budget_left": left, "regions": listed })
    }

    fn known(&self) -> BTreeMap<Region, Known> {
        let mut known: BTreeMap<Region, Known> = BTreeMap::new();
        for (region, _, stream) in self.regions.streams() {
            let own = known.entry(region.clone()).or_insert(Known {
                spread: 0.0,
                gap: 0.0,
                samples: 0,
                stale: false,
            });
            own.spread = own.spread.max(stream.spread().unwrap_or(USUAL_SPREAD));
            own.gap = own.gap.max(1.0 - stream.fidelity().unwrap_or(0.5));
            own.samples = own.samples.max(stream.count());
            own.stale |= stream.state() != State::Ok;
        }
        known
    }
}

fn outlook(known: Option<&Known>, calls: usize) -> Outlook {
    let spread = known.map_or(USUAL_SPREAD, |known| known.spread.max(0.01));
    Outlook {
        spread,
        raw_spread: spread,
        rate: known.map_or(0.5, |known| known.gap.clamp(0.05, 1.0)),
        left: calls,
        pool: calls,
        // Each question is about now: what was seen before is in the spread.
        drawn: 0,
        price: 1.0,
        staleness: if known.is_none_or(|known| known.stale) {
            STALE
        } else {
            1.0
        },
    }
}
