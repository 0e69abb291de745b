//! From profiles and rewards to weights and advantages (docs/measures.md,
//! "Gate" and "Advantages").

use std::collections::{BTreeMap, HashMap};

use fidelake_core::gap::{
    Advantages, Gate, WeightScale, effective_size, fidelity_low, group_advantages,
    reward_corrected, weight_moved,
};
use fidelake_core::stats::ExactSum;

use super::error::{CurateError, CurateResult};
use super::fidelity::{Judged, KAPPA, gate, judge};
use super::predicted::{Check, Predicted};
use super::recipe::{Arm, Recipe, Unknown};
use super::select::{Candidate, Counts, Excess, Selection};
use super::split::Split;

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
    pub(super) rows: Vec<Row>,
    pub(super) counts: Counts,
    pub(super) gate: Gate,
    /// Trajectories that the constants were computed from.
    pub(super) gate_trajectories: u64,
    pub(super) left_out: Vec<&'static str>,
    pub(super) weight_moved: Option<f64>,
    pub(super) weight_scale: Option<f64>,
    /// Share of all weight by `profile_source`.
    pub(super) weight_by_source: BTreeMap<&'static str, f64>,
    pub(super) rows_by_source: BTreeMap<&'static str, u64>,
    /// How near the predictions came where they could be checked.
    pub(super) predictions: BTreeMap<&'static str, Check>,
}

/// Gives every candidate its weight and its advantages.
pub(super) fn weigh(
    recipe: &Recipe,
    selection: Selection,
    excess: &BTreeMap<String, Excess>,
    predicted: &Predicted,
) -> CurateResult<Weighed> {
    let Selection {
        mut counts,
        candidates,
        regions,
        ..
    } = selection;
    let real = recipe.source.arm == Arm::Real;
    let mut expectations = HashMap::new();
    let judged: Vec<Option<Judged>> = candidates
        .iter()
        .map(|run| {
            if real {
                // The real world is what fidelity is measured against.
                return Some(Judged {
                    f: 1.0,
                    mean: Some(1.0),
                    se: Some(0.0),
                    source: "real",
                });
            }
            let expected = expectations
                .entry(std::sync::Arc::clone(&run.environment))
                .or_insert_with(|| regions.expected(&run.environment));
            let mut expected = *expected;
            if let Some(expected) = &mut expected {
                predicted.refine(run, expected);
            }
            judge(run, expected.as_ref())
        })
        .collect();
    let (gate, gate_trajectories) = gate(recipe, &candidates, &judged);

    let mut rows = Vec::with_capacity(candidates.len());
    for (run, judged) in candidates.into_iter().zip(judged) {
        let low = judged.map(|j| fidelity_low(j.f, j.se, KAPPA));
        let input = match gate {
            Gate::Seed => judged.and_then(|j| j.mean),
            _ => low,
        };
        let weight = match (input, recipe.gate.unknown) {
            (Some(fidelity), _) => gate.weight(fidelity),
            (None, Unknown::Keep) => 1.0,
            (None, Unknown::Weight(weight)) => weight,
            (None, Unknown::Drop) => {
                counts.dropped_unknown += 1;
                continue;
            }
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
            run,
            split: Split::Train,
        });
    }
    if rows.is_empty() {
        return Err(CurateError::Empty(format!(
            "unknown = \"drop\" in [gate] left out all {} runs, because no trajectory of their environments has a profile; `fidelake profile` computes profiles from trajectories with runs on both arms",
            counts.dropped_unknown
        )));
    }
    let weight_scale = group(recipe, &mut rows, &mut counts);
    counts.rows = rows.len() as u64;
    let weights: Vec<f64> = rows.iter().map(|r| r.advantages.fidelity_weight).collect();
    let (weight_by_source, rows_by_source) = shares(&rows);
    Ok(Weighed {
        weight_moved: weight_moved(&weights),
        weight_scale,
        weight_by_source,
        rows_by_source,
        left_out: regions.left_out(),
        rows,
        counts,
        gate,
        gate_trajectories,
        predictions: predicted.checks(),
    })
}

/// Advantages within groups; returns the one constant that rescales weights.
fn group(recipe: &Recipe, rows: &mut [Row], counts: &mut Counts) -> Option<f64> {
    let mut groups: BTreeMap<(&str, &str, Option<&str>), Vec<usize>> = BTreeMap::new();
    for (at, row) in rows.iter().enumerate() {
        let policy = row
            .run
            .policy
            .as_deref()
            .filter(|_| !recipe.groups.mix_policies);
        groups
            .entry((&row.run.environment, &row.run.group, policy))
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
