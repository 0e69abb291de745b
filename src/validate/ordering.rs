//! The four dimensions by harm, beside what the paper reports. Nothing is fitted to it.

use fidelake_core::perturb::{Dimension, Perturbation};
use fidelake_core::stats::mean;
use serde::Serialize;

use super::data::Data;

/// One dimension.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ordering {
    /// obs, act, rew, trans.
    pub dimension: String,
    /// Kinds of change that belong to it and were measured.
    pub kinds: u64,
    /// Mean over them of (success on sim less on real) / success on sim.
    pub drop: Option<f64>,
    /// Mean over them of the share right on sim and wrong on real.
    pub harm: Option<f64>,
    /// Mean over them of the gap in this dimension alone: the Shapley part of the decision
    /// gap, or the transition gap.
    pub gap: Option<f64>,
    /// Drop in "When Simulation Lies" (Zhou et al. 2026): 21 models, single turns.
    pub paper: f64,
}

/// Below this observation, about this much the others.
const PAPER: [(Dimension, f64); 4] = [
    (Dimension::Observation, 0.05),
    (Dimension::Action, 0.15),
    (Dimension::Transition, 0.30),
    (Dimension::Reward, 0.40),
];

/// In the order of the paper. Empty unless the labels are names of perturbations
/// (`fidelake perturb --list`) of at least two dimensions.
pub(super) fn ordering(data: &Data, agents: &dyn Fn(&str) -> bool) -> Vec<Ordering> {
    let kinds: Vec<Option<Perturbation>> = data
        .labels
        .all
        .iter()
        .map(|label| Perturbation::parse(label))
        .collect();
    let counted: Vec<bool> = data.agents.all.iter().map(|name| agents(name)).collect();
    let of = |dimension: Dimension| -> Vec<usize> {
        let own = |kind: &Option<Perturbation>| kind.is_some_and(|k| k.dimension() == dimension);
        (0..kinds.len()).filter(|&at| own(&kinds[at])).collect()
    };
    let rows: Vec<Ordering> = PAPER
        .iter()
        .map(|&(dimension, paper)| {
            let groups = of(dimension);
            let each = |value: &dyn Fn(usize) -> Option<f64>| {
                let known: Vec<f64> = groups.iter().filter_map(|&group| value(group)).collect();
                mean(&known)
            };
            let judged = |group: usize, value: &dyn Fn(f64, f64) -> f64| {
                let own = data.judged.iter();
                let own = own.filter(|j| counted[j.agent] && data.items[j.item].group == group);
                mean(&own.map(|j| value(j.sim, j.real)).collect::<Vec<_>>())
            };
            Ordering {
                dimension: dimension.as_str().to_owned(),
                kinds: groups.len() as u64,
                drop: each(&|group| {
                    let sim = judged(group, &|sim, _| sim)?;
                    let lost = judged(group, &|sim, real| sim - real)?;
                    (sim > 0.0).then_some(lost / sim)
                }),
                harm: each(&|group| judged(group, &|sim, real| sim * (1.0 - real))),
                gap: each(&|group| {
                    let part = match dimension {
                        Dimension::Observation => 0,
                        Dimension::Action => 1,
                        Dimension::Reward => 2,
                        Dimension::Transition => 3,
                    };
                    let own = data.items.iter().filter(|item| item.group == group);
                    let known: Vec<f64> = own.filter_map(|item| item.parts[part]).collect();
                    mean(&known).map(|gap| gap.clamp(0.0, 1.0) + 0.0)
                }),
                paper,
            }
        })
        .collect();
    if rows.iter().filter(|row| row.kinds > 0).count() < 2 {
        return Vec::new();
    }
    rows
}
