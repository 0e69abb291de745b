//! What a live experiment found.

use std::collections::BTreeMap;

use serde::Serialize;

/// One kind of change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveType {
    /// Its name.
    pub label: String,
    /// The dimension that it changes: obs, act, rew, trans.
    pub dimension: String,
    /// (trajectory, agent) pairs of the agents that replay.
    pub n: u64,
    /// Share of them right on sim and wrong on real.
    pub harm: Option<f64>,
    /// Its standard error, from draws of the tasks.
    pub harm_se: Option<f64>,
    /// Under two standard errors: counts as no harm.
    pub tied: bool,
    /// The same of all agents that share no code with the probe.
    pub harm_all: Option<f64>,
    /// Its standard error.
    pub harm_all_se: Option<f64>,
    /// Success on sim less success on real, of the same agents.
    pub net: Option<f64>,
    /// 1 - f: (1 - decision)(1 - run_obs)(1 - run_act)(1 - trans), of the means below.
    pub loss: Option<f64>,
    /// Mean decision gap, floored once.
    pub decision: Option<f64>,
    /// Mean gap of the answers of the profiled runs.
    pub run_obs: Option<f64>,
    /// Mean gap of acceptance.
    pub run_act: Option<f64>,
    /// Mean transition gap.
    pub trans: Option<f64>,
    /// Mean surface gap.
    pub surface: Option<f64>,
    /// Harm by the mind of the agents, the picker's as well.
    pub by_mind: BTreeMap<String, Option<f64>>,
}

/// Agents that share no code with the probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LiveAgents {
    /// `gold` and `rebinding`, as the definition of the experiment names them.
    #[default]
    Replay,
    /// `strict` and `reader` as well.
    All,
}

impl LiveAgents {
    /// The word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Replay => "replay",
            Self::All => "all",
        }
    }
}

/// How well the profile ranks the kinds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LiveRank {
    /// Whose mean harm: see [`LiveAgents`].
    pub agents: LiveAgents,
    /// The seed; `None`: all of them together.
    pub seed: Option<u64>,
    /// Of harm, tied where it is under two standard errors, and 1 - f.
    pub spearman: Option<f64>,
    /// 95 % over draws of the tasks.
    pub interval: Option<[f64; 2]>,
    /// Kendall's tau-b of the same.
    pub kendall: Option<f64>,
    /// Without ties.
    pub spearman_as_measured: Option<f64>,
    /// Of harm, tied, and the surface gap.
    pub spearman_surface: Option<f64>,
    /// Of harm, tied, and the decision gap alone.
    pub spearman_decision: Option<f64>,
    /// Of the picker's own harm, tied by its own errors, and 1 - f: circular.
    pub spearman_picker: Option<f64>,
    /// Kinds that count as tied.
    pub tied: u64,
    /// What a score without equal values reaches at best against so many ties.
    pub attainable: Option<f64>,
}

/// The tasks of one benchmark.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LiveBenchmark {
    /// Its name.
    pub name: String,
    /// Tasks that were drawn.
    pub drawn: u64,
    /// Tasks that take part.
    pub used: u64,
    /// Why the others do not.
    pub left_out: BTreeMap<String, u64>,
}

/// All that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Live {
    /// Name of the experiment: the value of the label `live`.
    pub id: String,
    /// The lake version that was read.
    pub lake_version: i64,
    /// Tasks by benchmark.
    pub benchmarks: Vec<LiveBenchmark>,
    /// Seeds of the perturbations.
    pub seeds: Vec<u64>,
    /// All agents.
    pub agents: Vec<String>,
    /// Those whose mean harm counts: they share no code with the probe.
    pub independent: Vec<String>,
    /// Episodes that were played.
    pub plays: u64,
    /// Calls that environments answered.
    pub calls_made: u64,
    /// Calls that were answered from memory, in a state where they had been made.
    pub calls_remembered: u64,
    /// Of the agents that replay: seed by seed, then over all.
    pub replay: Vec<LiveRank>,
    /// Of all agents that share no code with the probe, the same.
    pub all: Vec<LiveRank>,
    /// Kinds by harm, over all seeds.
    pub types: Vec<LiveType>,
    /// Kinds that none of the agents that replay feels: no harm at all.
    pub unfelt: Vec<String>,
    /// Of these, the kinds that no other one feels either.
    pub unfelt_by_all: Vec<String>,
    /// The dimensions beside what the paper reports.
    pub ordering: Vec<super::super::Ordering>,
    /// Draws of the bootstrap.
    pub resamples: u64,
}
