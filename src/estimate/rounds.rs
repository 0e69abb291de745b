//! From labels to rounds: which draws a campaign made, in which order, with which chances.

use std::collections::{BTreeMap, BTreeSet};

use fidelake_core::budget::{Drawn, Round};
use serde::{Deserialize, Serialize};

use super::error::{EstimateError, EstimateResult};
use super::pool::LakePool;

/// What a drawn run says of its draw, as label `budget`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct DrawLabel {
    pub(super) campaign: String,
    pub(super) round: u32,
    /// Part of the round in the estimate: the calls that it was planned to cost.
    pub(super) weight: f64,
    /// Place in the order of the draw, over all regions.
    pub(super) order: u64,
    /// Columns that its regions were made of.
    pub(super) by: Vec<String>,
    /// How many of the region were drawn in this round.
    pub(super) drawn: u64,
    /// Of how many that were not known before it.
    pub(super) of: u64,
    /// The chance of every one of them: drawn / of.
    pub(super) inclusion: f64,
    /// Trajectory, turn and index of the call that was drawn.
    pub(super) trajectory: String,
    pub(super) turn: i64,
    pub(super) index: i64,
}

impl DrawLabel {
    pub(super) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// The rounds of a campaign, and what its draws say of how they were made.
#[derive(Debug, Default)]
pub(super) struct Campaigned {
    pub(super) rounds: Vec<Round>,
    pub(super) by: Vec<String>,
    /// Units that are known, by campaign or otherwise.
    pub(super) known: BTreeSet<usize>,
    /// Regions whose pool is not the one of which was drawn.
    pub(super) moved: u64,
}

/// The names of the campaigns that drew what is known.
pub(super) fn campaigns(pool: &LakePool) -> BTreeSet<String> {
    let found = pool.units.iter().flat_map(|unit| &unit.found);
    found
        .filter_map(|f| f.draw.as_ref())
        .map(|d| d.campaign.clone())
        .collect()
}

/// The rounds of `campaign`. What other runs showed was known before; what its own runs passed
/// on the way to their call was known before the next round.
pub(super) fn rounds(pool: &LakePool, campaign: Option<&str>) -> EstimateResult<Campaigned> {
    let regions = pool.frame.regions.len();
    let mut found = Campaigned::default();
    let mut before: Vec<Vec<Drawn>> = vec![Vec::new(); regions];
    // (round) -> weight, (order, unit) of the draws, what was passed.
    type Bought = (f64, Vec<(u64, Drawn, u64)>, Vec<Drawn>);
    let mut bought: BTreeMap<u32, Bought> = BTreeMap::new();
    for (at, unit) in pool.units.iter().enumerate() {
        let own = |f: &&super::pool::Found| {
            f.draw
                .as_ref()
                .is_some_and(|d| Some(d.campaign.as_str()) == campaign)
        };
        if let Some(other) = unit.found.iter().find(|f| !own(f)) {
            before[unit.region].push(other.drawn(at));
            found.known.insert(at);
            continue;
        }
        // Bought as a target in the earliest round, else passed in the earliest.
        let target = unit
            .found
            .iter()
            .filter(|f| f.target)
            .min_by_key(|f| f.draw.as_ref().map(|d| d.round));
        let passed = unit
            .found
            .iter()
            .min_by_key(|f| f.draw.as_ref().map(|d| d.round));
        let round = |f: &super::pool::Found| f.draw.as_ref().map_or(0, |d| d.round);
        match (target, passed) {
            (Some(f), p) if p.is_none_or(|p| round(p) >= round(f)) => {
                if let Some(draw) = &f.draw {
                    let round = bought.entry(draw.round).or_default();
                    round.0 = draw.weight;
                    round.1.push((draw.order, f.drawn(at), draw.of));
                    if found.by.is_empty() {
                        found.by.clone_from(&draw.by);
                    }
                }
            }
            (_, Some(f)) => bought.entry(round(f)).or_default().2.push(f.drawn(at)),
            _ => continue,
        }
        found.known.insert(at);
    }
    let mut left: Vec<i64> = pool
        .frame
        .regions
        .iter()
        .map(|r| i64::try_from(r.len()).unwrap_or(i64::MAX))
        .collect();
    for (_, (weight, mut draws, passed)) in bought {
        draws.sort_by_key(|(order, ..)| *order);
        let mut round = Round {
            weight,
            drawn: vec![Vec::new(); regions],
            known: std::mem::replace(&mut before, vec![Vec::new(); regions]),
        };
        for (region, known) in round.known.iter().enumerate() {
            left[region] -= i64::try_from(known.len()).unwrap_or_default();
        }
        let mut moved = BTreeSet::new();
        for (_, drawn, of) in draws {
            let region = pool.units[drawn.unit].region;
            if left[region] != i64::try_from(of).unwrap_or_default() {
                moved.insert(region);
            }
            round.drawn[region].push(drawn);
        }
        found.moved += moved.len() as u64;
        for (region, drawn) in round.drawn.iter().enumerate() {
            left[region] -= i64::try_from(drawn.len()).unwrap_or_default();
        }
        for drawn in passed {
            before[pool.units[drawn.unit].region].push(drawn);
        }
        found.rounds.push(round);
    }
    // What was known or passed last: it counts, and nothing was drawn after it.
    found.rounds.push(Round {
        weight: 0.0,
        drawn: vec![Vec::new(); regions],
        known: before,
    });
    Ok(found)
}

/// The campaign that an estimate is about.
pub(super) fn chosen(pool: &LakePool, asked: Option<&str>) -> EstimateResult<Option<String>> {
    let there = campaigns(pool);
    match asked {
        Some(name) if there.contains(name) => Ok(Some(name.to_owned())),
        Some(name) => Err(EstimateError::Usage(format!(
            "no measured call was drawn by campaign {name:?}; {}",
            if there.is_empty() {
                "there is no campaign: `fidelake plan` begins one, and after `fidelake dual run` comes `fidelake profile`".into()
            } else {
                format!("there are {}", Vec::from_iter(there).join(", "))
            }
        ))),
        None if there.len() > 1 => Err(EstimateError::Usage(format!(
            "several campaigns drew calls: name one with --campaign ({})",
            Vec::from_iter(there).join(", ")
        ))),
        None => Ok(there.into_iter().next()),
    }
}
