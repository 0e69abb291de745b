//! From profiles and rewards to weights and advantages (docs/measures.md,
//! "Gate" and "Advantages").

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use fidelake_core::choose::{Member, Stratum, joint};
use fidelake_core::gap::{
    Advantages, Gate, WeightScale, effective_size, fidelity_low, group_advantages,
    reward_corrected, weight_moved,
};
use fidelake_core::stats::ExactSum;

use super::error::{CurateError, CurateResult};
use super::fidelity::{Gates, Judged, judge};
use super::ledger::Ledger;
use super::predicted::{Check, Known};
use super::recipe::{Arm, GatePart, Recipe, Unknown};
use super::region::{FACTORS, Regions};
use super::select::{Candidate, Counts, Excess};
use super::split::Split;

/// Rewards above it, beside others up to 1 in one group, speak of two scales.
const LARGE_REWARD: f64 = 10.0;

/// Memory of candidates is given back when so many more became rows.
const GIVE_BACK: usize = 65_536;

/// A row of the shards, without its payload.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) run: Candidate,
    /// measured, mixed, predicted, unknown; real for a run of the real arm.
    pub(super) source: &'static str,
    pub(super) fidelity: Option<f64>,
    pub(super) fidelity_mean: Option<f64>,
    pub(super) fidelity_se: Option<f64>,
    pub(super) fidelity_low: Option<f64>,
    pub(super) reward_corrected: Option<f64>,
    pub(super) group: GroupFigures,
    pub(super) advantages: Advantages,
    /// g: what the gate alone says.
    pub(super) gate_weight: f64,
    /// What the gate would say of it without its repair; `None` if it is not repaired.
    pub(super) unrepaired_weight: Option<f64>,
    /// c_b: what gives its stratum of difficulty its share back; 1 without the joint gate.
    pub(super) difficulty_factor: f64,
    /// Which part of the data set it belongs to.
    pub(super) split: Split,
}

/// What all rows of a group share.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct GroupFigures {
    pub(super) size: i32,
    pub(super) mean: f64,
    pub(super) std: f64,
    pub(super) effective_size: f64,
    pub(super) degenerate: bool,
}

/// All rows, and the constants that made them.
pub(super) struct Weighed {
    pub(super) rows: Arc<Vec<Row>>,
    pub(super) counts: Counts,
    pub(super) gates: Gates,
    /// Factors of f that the recipe looks at.
    pub(super) chosen: Vec<&'static str>,
    /// Of these: measured nowhere.
    pub(super) left_out: Vec<&'static str>,
    pub(super) joint: Option<JointFigures>,
    pub(super) weight_moved: Option<f64>,
    pub(super) weight_scale: Option<f64>,
    /// Share of all weight by `profile_source`.
    pub(super) weight_by_source: BTreeMap<&'static str, f64>,
    pub(super) rows_by_source: BTreeMap<&'static str, u64>,
    /// How near the predictions came where they could be checked.
    pub(super) predictions: BTreeMap<&'static str, Check>,
}

/// The joint gate of fidelity and difficulty.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JointFigures {
    pub(super) strata: Vec<Stratum>,
    /// Rows that only the simulator can solve: v = 0.
    pub(super) infeasible_rows: u64,
    /// Rows of tasks of which no pass rate is known: c_b = 1.
    pub(super) without_rate: u64,
    /// All weights are divided by it, so that none is above 1.
    pub(super) scale: f64,
}

/// Says how far every candidate can be believed, and leaves out those of which nothing
/// is known where the recipe says so.
pub(super) fn believe(
    recipe: &Recipe,
    part: &GatePart,
    known: &mut Known<'_>,
    mut candidates: Vec<Candidate>,
    counts: &mut Counts,
    ledger: &mut Ledger,
) -> CurateResult<Vec<Candidate>> {
    for run in &mut candidates {
        run.judged = if recipe.source.arm == Arm::Real {
            // The real world is what fidelity is measured against.
            Some(Judged {
                f: 1.0,
                mean: Some(1.0),
                se: Some(0.0),
                source: "real",
            })
        } else {
            let expected = known.expected(run);
            judge(run, expected.as_ref(), part)
        };
    }
    if part.unknown != Unknown::Drop {
        return Ok(candidates);
    }
    let unknown: Vec<bool> = candidates.iter().map(|run| run.judged.is_none()).collect();
    counts.dropped_unknown = unknown.iter().filter(|unknown| **unknown).count() as u64;
    let kept = ledger.keep(candidates, "[gate] unknown = \"drop\"", "", &|at| {
        unknown[at].then(|| "too little is known of its fidelity".to_owned())
    });
    if kept.is_empty() {
        return Err(CurateError::Empty(format!(
            "unknown = \"drop\" in [gate] left out all {} runs, because no trajectory of their environments has a profile of which enough is known (min_pairs, min_dimensions); `fidelake profile` computes profiles from trajectories with runs on both arms",
            counts.dropped_unknown
        )));
    }
    Ok(kept)
}

/// Gives every candidate its weight and its advantages. The candidates must be judged.
pub(super) fn weigh(
    recipe: &Recipe,
    part: &GatePart,
    mut candidates: Vec<Candidate>,
    mut counts: Counts,
    regions: &Regions,
    gates: Gates,
    excess: &BTreeMap<String, Excess>,
) -> CurateResult<Weighed> {
    let real = recipe.source.arm == Arm::Real;
    let mut rows = Vec::new();
    // From the end, so that what became rows is given back on the way.
    while let Some(run) = candidates.pop() {
        if candidates.len().is_multiple_of(GIVE_BACK) {
            candidates.shrink_to_fit();
        }
        let judged = run.judged;
        let low = judged.map(|j| fidelity_low(j.f, j.se, part.kappa));
        let gate = gates.of(&run);
        let seen = |judged: Judged| match gate {
            Gate::Seed => judged.mean,
            _ => Some(fidelity_low(judged.f, judged.se, part.kappa)),
        };
        let input = judged.and_then(seen);
        let before = run.repair.as_ref().and_then(|repair| repair.before);
        let weight = match (input, part.unknown) {
            (Some(fidelity), _) => gate.weight(fidelity),
            // Candidates without any evidence are gone where they are to be dropped.
            (None, Unknown::Keep | Unknown::Drop) => 1.0,
            (None, Unknown::Weight(weight)) => weight,
        };
        // The reward of a repaired run may be that of the real world.
        let real_reward = run.repair.as_ref().is_some_and(|r| r.real_reward);
        let excess = if real || real_reward {
            Some(0.0)
        } else {
            excess.get(&*run.environment).map(|e| e.mean)
        };
        rows.push(Row {
            source: judged.map_or("unknown", |j| j.source),
            fidelity: judged.map(|j| j.f),
            fidelity_mean: judged.and_then(|j| j.mean),
            fidelity_se: judged.and_then(|j| j.se),
            fidelity_low: low,
            reward_corrected: reward_corrected(run.reward, excess),
            group: GroupFigures::default(),
            advantages: Advantages {
                fidelity_weight: weight,
                ..Advantages::default()
            },
            gate_weight: weight,
            unrepaired_weight: before.and_then(seen).map(|x| gate.weight(x)),
            difficulty_factor: 1.0,
            split: run.split,
            run,
        });
    }
    rows.reverse();
    if rows.is_empty() {
        return Err(CurateError::Empty(
            "the rules of the recipe left out every run".into(),
        ));
    }
    let joint = recipe
        .rules
        .difficulty
        .joint
        .then(|| join(recipe, &mut rows));
    // Stable: within a part the order is that of the candidates. Only the keys are copied.
    rows.sort_by_cached_key(|row| row.split);
    let weight_scale = group(recipe, &mut rows, &mut counts);
    counts.rows = rows.len() as u64;
    for row in &rows {
        *counts.splits.entry(row.split.as_str()).or_default() += 1;
    }
    let weights: Vec<f64> = rows.iter().map(|r| r.advantages.fidelity_weight).collect();
    let (weight_by_source, rows_by_source) = shares(&rows);
    let chosen = || {
        FACTORS
            .into_iter()
            .zip(part.factors)
            .filter(|(_, chosen)| *chosen)
    };
    let nowhere = regions.left_out();
    Ok(Weighed {
        weight_moved: weight_moved(&weights),
        weight_scale,
        weight_by_source,
        rows_by_source,
        chosen: chosen().map(|(name, _)| name).collect(),
        left_out: chosen()
            .map(|(name, _)| name)
            .filter(|name| nowhere.contains(name))
            .collect(),
        rows: Arc::new(rows),
        counts,
        gates,
        joint,
        predictions: BTreeMap::new(),
    })
}

/// w = v g c_b, divided by the largest c_b above 1.
fn join(recipe: &Recipe, rows: &mut [Row]) -> JointFigures {
    let part = recipe.rules.difficulty;
    let mut ids: HashMap<(Arc<str>, Arc<str>), u32> = HashMap::new();
    let mut places = Vec::new();
    let mut members = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let Some(pass_rate) = row.run.figures.pass_rate else {
            continue;
        };
        let next = u32::try_from(ids.len()).unwrap_or(u32::MAX);
        let id = (
            Arc::clone(&row.run.environment),
            Arc::clone(&row.run.trajectory_id),
        );
        places.push(at);
        members.push(Member {
            pass_rate,
            trajectory: *ids.entry(id).or_insert(next),
            feasible: row.run.figures.feasible,
            gate: row.gate_weight,
        });
    }
    let found = joint(&members, part.strata, part.min_trajectories);
    for (at, stratum) in places.iter().zip(&found.of) {
        rows[*at].difficulty_factor = found.strata.get(*stratum).map_or(1.0, |s| s.factor);
    }
    let scale = rows
        .iter()
        .map(|row| row.difficulty_factor)
        .fold(1.0, f64::max);
    let mut infeasible_rows = 0;
    for row in rows.iter_mut() {
        let v = f64::from(u8::from(row.run.figures.feasible));
        infeasible_rows += u64::from(!row.run.figures.feasible);
        row.advantages.fidelity_weight = v * row.gate_weight * row.difficulty_factor / scale;
    }
    JointFigures {
        strata: found.strata,
        infeasible_rows,
        without_rate: (rows.len() - members.len()) as u64,
        scale,
    }
}

/// Advantages within groups; returns the one constant that rescales weights.
fn group(recipe: &Recipe, rows: &mut [Row], counts: &mut Counts) -> Option<f64> {
    let mut groups: BTreeMap<(Split, &str, &str, Option<&str>), Vec<usize>> = BTreeMap::new();
    for (at, row) in rows.iter().enumerate() {
        let policy = row
            .run
            .policy
            .as_deref()
            .filter(|_| !recipe.groups.mix_policies);
        groups
            .entry((row.split, &row.run.environment, &row.run.group, policy))
            .or_default()
            .push(at);
    }
    let members: Vec<Vec<usize>> = groups.into_values().collect();
    let mut scale = WeightScale::default();
    for members in members {
        let rewards: Vec<f64> = members.iter().map(|&at| rows[at].run.reward).collect();
        let weights: Vec<f64> = members
            .iter()
            .map(|&at| rows[at].advantages.fidelity_weight)
            .collect();
        let Some(group) = group_advantages(&rewards, &weights) else {
            continue;
        };
        scale.add(&group);
        counts.groups += 1;
        let large = rewards.iter().any(|r| r.abs() > LARGE_REWARD);
        let small = rewards.iter().any(|r| *r != 0.0 && r.abs() <= 1.0);
        counts.mixed_scale_groups += u64::from(large && small);
        if group.degenerate {
            counts.degenerate_groups += 1;
            counts.degenerate_rows += group.size as u64;
        }
        let figures = GroupFigures {
            size: i32::try_from(group.size).unwrap_or(i32::MAX),
            mean: group.mean,
            std: group.std,
            effective_size: effective_size(&weights),
            degenerate: group.degenerate,
        };
        for (at, advantages) in members.into_iter().zip(group.rows) {
            rows[at].group = figures;
            rows[at].advantages = advantages;
        }
    }
    scale.value()
}

/// Shares of the weight, and rows, by where the profile comes from.
fn shares(rows: &[Row]) -> (BTreeMap<&'static str, f64>, BTreeMap<&'static str, u64>) {
    let mut sums: BTreeMap<&'static str, ExactSum> = BTreeMap::new();
    let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut total = ExactSum::default();
    for row in rows {
        let weight = row.advantages.fidelity_weight;
        sums.entry(row.source).or_default().add(weight);
        total.add(weight);
        *counts.entry(row.source).or_default() += 1;
    }
    let total = total.value();
    let share = |sum: &ExactSum| {
        if total > 0.0 {
            sum.value() / total
        } else {
            0.0
        }
    };
    (
        sums.iter()
            .map(|(source, sum)| (*source, share(sum)))
            .collect(),
        counts,
    )
}

#[cfg(test)]
#[path = "weigh_tests.rs"]
mod tests;
