//! What validating found.

use std::collections::BTreeMap;

use serde::Serialize;

/// One group: what happened, and what the profile says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// The values of the labels.
    pub label: String,
    /// (trajectory, agent) pairs that were judged on both arms.
    pub n: u64,
    /// Share of them that are right on sim and wrong on real.
    pub harm: Option<f64>,
    /// Its standard error, from draws of the items.
    pub harm_se: Option<f64>,
    /// Success on sim less success on real.
    pub net: Option<f64>,
    /// Mean decision gap, floored once.
    pub decision: Option<f64>,
    /// Mean surface gap.
    pub surface: Option<f64>,
    /// Shapley part of the decision gap, floored once.
    pub obs: Option<f64>,
    /// The same.
    pub act: Option<f64>,
    /// The same.
    pub rew: Option<f64>,
    /// Mean transition gap of the runs.
    pub trans: Option<f64>,
    /// Equal on both arms in all that was told, offered and answered: not in the correlations.
    pub floor: bool,
}

/// Harm where nothing differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FloorHarm {
    /// The groups that are equal on both arms.
    pub groups: Vec<String>,
    /// Their mean harm: what agents lose by running again.
    pub harm: Option<f64>,
}

/// What no score can be expected to beat: how far agents agree on what harms.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Ceiling {
    /// Mean rank correlation of the harm of two agents.
    pub between_agents: Option<f64>,
    /// The lowest and the highest.
    pub between_agents_range: Option<[f64; 2]>,
    /// Mean rank correlation of one agent's harm with that of all others.
    pub one_against_others: Option<f64>,
    /// Rank correlation of the decision gap with each agent's harm.
    pub decision_by_agent: BTreeMap<String, Option<f64>>,
}

/// A score that needs no thought.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rival {
    /// What it is.
    pub name: String,
    /// Its rank correlation with harm.
    pub spearman: Option<f64>,
    /// 95 % over draws of the items.
    pub interval: Option<[f64; 2]>,
    /// Correlation of the decision gap less its own.
    pub difference: Option<f64>,
    /// 95 % over the same draws for both.
    pub difference_interval: Option<[f64; 2]>,
}

/// Rank correlations of parts of the gap.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Dimensions {
    /// Of the part from observation.
    pub obs: Option<f64>,
    /// From action space.
    pub act: Option<f64>,
    /// From reward metadata.
    pub rew: Option<f64>,
    /// Of the transition gap.
    pub trans: Option<f64>,
}

/// The correlations without a group, or without a family of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftOut {
    /// Which.
    pub left_out: String,
    /// Of the decision gap.
    pub spearman_decision: Option<f64>,
    /// Of the surface gap.
    pub spearman_surface: Option<f64>,
}

/// Pairs right on sim: the probability that one which breaks has the larger gap.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Auc {
    /// By the decision gap of its trajectory.
    pub decision: Option<f64>,
    /// By the surface gap.
    pub surface: Option<f64>,
    /// Pairs right on sim.
    pub pairs: u64,
    /// Of them wrong on real.
    pub broken: u64,
}

/// Pairs right on sim with about the same decision gap.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bin {
    /// Smallest gap.
    pub from: f64,
    /// Largest gap.
    pub to: f64,
    /// Mean gap.
    pub gap: f64,
    /// Pairs.
    pub pairs: u64,
    /// Of them wrong on real.
    pub broken: u64,
    /// Their share.
    pub harm: f64,
}

/// Weights of the dimensions, fitted to the harm of the groups.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fitted {
    /// By dimension; none is negative.
    pub weights: BTreeMap<String, f64>,
    /// Harm of a group without any gap: as measured where nothing differs, else 0.
    pub bias: f64,
    /// Strength of the regularisation, chosen by leaving out groups.
    pub lambda: f64,
    /// The groups that it was fitted to.
    pub groups: Vec<String>,
    /// The families that were left out one at a time.
    pub families: Vec<String>,
    /// One rank correlation over all groups, each predicted without itself.
    pub leave_one_out: Option<f64>,
    /// The same, each predicted without its whole family.
    pub leave_one_family_out: Option<f64>,
}

/// All that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Validation {
    /// The lake version that was read.
    pub lake_version: i64,
    /// The labels.
    pub by: Vec<String>,
    /// The agents.
    pub agents: Vec<String>,
    /// Distinct tasks.
    pub items: u64,
    /// Tasks that stand in every group.
    pub items_in_all_groups: u64,
    /// Profiled trajectories without the labels.
    pub unlabelled: u64,
    /// Trajectories by who says which calls are right.
    pub gold_source: BTreeMap<String, u64>,
    /// Rank correlation of decision gap and harm over the groups.
    pub spearman_decision: Option<f64>,
    /// 95 % over draws of the items.
    pub spearman_decision_interval: Option<[f64; 2]>,
    /// 95 % over draws of the groups.
    pub spearman_decision_interval_groups: Option<[f64; 2]>,
    /// The same with the groups of the floor.
    pub spearman_decision_with_floor: Option<f64>,
    /// The same if every trajectory is floored for itself: the mean of `gap_decision`.
    pub spearman_decision_floored_each: Option<f64>,
    /// Rank correlation of surface gap and harm.
    pub spearman_surface: Option<f64>,
    /// 95 % over draws of the items.
    pub spearman_surface_interval: Option<[f64; 2]>,
    /// Kendall's tau-b.
    pub kendall_decision: Option<f64>,
    /// Kendall's tau-b.
    pub kendall_surface: Option<f64>,
    /// Dimension by dimension.
    pub dimensions: Dimensions,
    /// Harm where nothing differs.
    pub floor: FloorHarm,
    /// How far agents agree.
    pub ceiling: Ceiling,
    /// Scores that need no thought.
    pub rivals: Vec<Rival>,
    /// The one with the highest correlation.
    pub best_rival: Option<String>,
    /// Without each group.
    pub leave_one_out: Vec<LeftOut>,
    /// Without each family.
    pub leave_one_family_out: Vec<LeftOut>,
    /// At the level of pairs.
    pub auc: Auc,
    /// Harm by decile of the gap.
    pub reliability: Vec<Bin>,
    /// The dimensions beside what the paper reports, where the labels are perturbations.
    pub ordering: Vec<super::Ordering>,
    /// Only where asked for.
    pub fitted: Option<Fitted>,
    /// Group by group, the most harmful last.
    pub groups: Vec<Group>,
    /// Draws of each bootstrap.
    pub resamples: u64,
    /// Their seed.
    pub seed: u64,
}

impl Validation {
    /// What is stored with fitted weights; `None` if nothing was fitted.
    #[must_use]
    pub fn evidence(&self) -> Option<serde_json::Value> {
        let fitted = self.fitted.as_ref()?;
        Some(serde_json::json!({
            "lake_version": self.lake_version,
            "by": self.by,
            "agents": self.agents,
            "items": self.items,
            "spearman_decision": self.spearman_decision,
            "fitted": fitted,
        }))
    }
}
