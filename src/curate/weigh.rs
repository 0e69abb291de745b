//! From profiles and rewards to weights and advantages (docs/measures.md,
//! "Gate" and "Advantages").

use std::collections::{BTreeMap, HashMap, HashSet};

use fidelake_core::gap::{
    Advantages, Gaps, Gate, WeightScale, effective_size, fidelity_low, group_advantages,
    reward_corrected, weight_moved,
};
use fidelake_core::stats::{ExactSum, mean};

use super::error::{CurateError, CurateResult};
use super::recipe::{Arm, GateKind, Recipe, Unknown};
use super::region::PerFactor;
use super::select::{Candidate, Counts, Excess, Selection};

/// How many standard errors are taken off a fidelity.
pub(super) const KAPPA: f64 = 1.0;

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
}

/// The fidelity of a run and how sure it is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Judged {
    f: f64,
    mean: Option<f64>,
    se: Option<f64>,
    source: &'static str,
}

/// Gives every candidate its weight and its advantages.
pub(super) fn weigh(
    recipe: &Recipe,
    selection: Selection,
    excess: &BTreeMap<String, Excess>,
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
        let excess = if real {
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
    })
}

/// f from the factors of the run's profile, unknown ones as expected of its
/// environment; `None` without any evidence.
fn judge(
    run: &Candidate,
    expected: Option<&PerFactor<Option<super::region::Expected>>>,
) -> Option<Judged> {
    let own = run.profile.as_ref().map(|p| p.gaps).unwrap_or_default();
    let own = own.map(|gap| gap.map(|g| g.clamp(0.0, 1.0)));
    let expected = expected?;
    let known = own.iter().flatten().count();
    let mut gaps = own;
    let mut imputed = Vec::new();
    for ((gap, expected), at) in gaps.iter_mut().zip(expected).zip(0..) {
        if let (None, Some(expected)) = (&gap, expected) {
            *gap = Some(expected.mean);
            imputed.push((at, expected.spread));
        }
    }
    // The decision gap is not in the profile yet; a factor that was measured
    // nowhere is left out for every run alike.
    let [obs, act, rew, trans] = gaps.map(|gap| gap.or(Some(0.0)));
    let all = Gaps {
        decision: Some(0.0),
        run_obs: obs,
        run_act: act,
        run_rew: rew,
        trans,
    };
    let f = all.fidelity()?;
    // d f / d gap is the product of the others.
    let others = |skip: usize| -> f64 {
        gaps.iter()
            .enumerate()
            .filter(|(at, _)| *at != skip)
            .map(|(_, gap)| 1.0 - gap.unwrap_or(0.0))
            .product()
    };
    let own_variance = match (&run.profile, known) {
        (Some(profile), 1..) => profile.se.map(|se| se * se),
        _ => Some(0.0),
    };
    let variance = imputed.iter().try_fold(own_variance, |sum, (at, spread)| {
        let part = (*spread)? * others(*at);
        Some(sum.map(|sum| sum + part * part))
    });
    let source = run.profile.as_ref().map_or("", |p| &*p.source);
    Some(Judged {
        f,
        mean: mean_fidelity(run, &gaps, known),
        se: variance.flatten().map(f64::sqrt),
        source: match (known, imputed.is_empty(), source) {
            (0, _, _) => "predicted",
            (_, true, "measured") => "measured",
            (_, _, "predicted") => "predicted",
            _ => "mixed",
        },
    })
}

/// The seed's mean: of the profile's known dimensions, else of what is expected.
fn mean_fidelity(run: &Candidate, gaps: &PerFactor<Option<f64>>, known: usize) -> Option<f64> {
    let own = run.profile.as_ref().and_then(|p| p.mean);
    if known > 0 && own.is_some() {
        return own;
    }
    let expected: Vec<f64> = gaps.iter().flatten().map(|gap| 1.0 - gap).collect();
    mean(&expected)
}

/// The gate and its constants, from one fidelity per trajectory that has a
/// profile of its own. Predictions are the same number over and over: with them
/// the quantiles would say how many there are. They count where nothing else does.
fn gate(recipe: &Recipe, runs: &[Candidate], judged: &[Option<Judged>]) -> (Gate, u64) {
    let mut seen = HashSet::new();
    let (mut own, mut predicted) = (Vec::new(), Vec::new());
    for (run, judged) in runs.iter().zip(judged) {
        let Some(judged) = judged else { continue };
        if !seen.insert((&run.environment, run.trajectory_id.as_str())) {
            continue;
        }
        match judged.source {
            "predicted" => predicted.push(judged.f),
            _ => own.push(judged.f),
        }
    }
    let fidelities = if own.is_empty() { predicted } else { own };
    let gate = match recipe.gate.kind {
        GateKind::None => Gate::Open,
        _ if recipe.source.arm == Arm::Real => Gate::Open,
        GateKind::Seed => Gate::Seed,
        GateKind::Quantile => Gate::quantile(&fidelities).unwrap_or(Gate::Open),
    };
    (gate, fidelities.len() as u64)
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
