//! From profiles and verdicts to the rank correlation over the kinds of change.

use std::collections::BTreeMap;

use fidelake_core::perturb::Perturbation;
use fidelake_core::stats::{kendall, mean, spearman};

use super::super::data::Data;
use super::super::scores::{ByGroup, Measure, Scores, both, interval, rho};
use super::found::{LiveAgents, LiveRank, LiveType};
use crate::dual::agents::{Agent, Mind};

/// Harm under so many standard errors counts as none.
const ERRORS: f64 = 2.0;

/// Whether an agent shares no code with the probe.
pub(super) fn independent(name: &str) -> bool {
    Agent::parse(name).is_some_and(|agent| agent.mind != Mind::Picker)
}

/// Whether an agent only makes the right calls again.
fn replays(name: &str) -> bool {
    let mind = Agent::parse(name).map(|agent| agent.mind);
    matches!(mind, Some(Mind::Gold | Mind::Rebinding))
}

/// Everything of one reading of the lake: all seeds, or one.
pub(super) struct Figures<'d> {
    data: &'d Data,
    scores: Scores,
    draws: Vec<Vec<f64>>,
    replay: Vec<usize>,
    all: Vec<usize>,
    picker: Vec<usize>,
}

impl<'d> Figures<'d> {
    pub(super) fn of(data: &'d Data, resamples: usize) -> Self {
        let scores = Scores::of(data, (0..data.labels.all.len()).collect());
        let draws = scores.draws(resamples, 0).collect();
        let names = &data.agents.all;
        let (all, picker): (Vec<usize>, Vec<usize>) =
            (0..names.len()).partition(|&agent| independent(&names[agent]));
        let replay = all.iter().copied().filter(|&agent| replays(&names[agent]));
        Self {
            data,
            scores,
            draws,
            replay: replay.collect(),
            all,
            picker,
        }
    }

    fn who(&self, agents: LiveAgents) -> &[usize] {
        match agents {
            LiveAgents::Replay => &self.replay,
            LiveAgents::All => &self.all,
        }
    }

    /// Mean over agents of their harm; all were judged on the same tasks.
    fn harm(&self, agents: &[usize], drawn: Option<&[f64]>) -> ByGroup {
        let each = agents
            .iter()
            .map(|&agent| self.scores.means(Measure::of_agent(agent), drawn));
        let each: Vec<ByGroup> = each.collect();
        (0..self.scores.used.len())
            .map(|group| {
                let known: Vec<f64> = each.iter().filter_map(|harm| harm[group]).collect();
                mean(&known)
            })
            .collect()
    }

    /// 1 - f, verdicts left out: they are what is to be predicted.
    fn loss(&self, drawn: Option<&[f64]>) -> ByGroup {
        let parts = Measure::OF_LOSS.map(|part| self.scores.means(part, drawn));
        (0..self.scores.used.len())
            .map(|group| {
                let known: Vec<f64> = parts.iter().filter_map(|part| part[group]).collect();
                let kept: f64 = known.iter().map(|gap| 1.0 - gap).product();
                (!known.is_empty()).then_some(1.0 - kept)
            })
            .collect()
    }

    fn errors(&self, agents: &[usize]) -> ByGroup {
        let drawn: Vec<ByGroup> = self
            .draws
            .iter()
            .map(|drawn| self.harm(agents, Some(drawn)))
            .collect();
        (0..self.scores.used.len())
            .map(|group| {
                let harms: Vec<f64> = drawn.iter().filter_map(|harm| harm[group]).collect();
                let centre = mean(&harms)?;
                let squares: Vec<f64> = harms.iter().map(|h| (h - centre).powi(2)).collect();
                mean(&squares).map(f64::sqrt)
            })
            .collect()
    }

    pub(super) fn rank(&self, agents: LiveAgents, seed: Option<u64>) -> LiveRank {
        let counted = self.who(agents);
        let errors = self.errors(counted);
        let harm = self.harm(counted, None);
        let ranked = tied(&harm, &errors);
        let loss = self.loss(None);
        let drawn: Vec<Option<f64>> = self
            .draws
            .iter()
            .map(|drawn| {
                let harm = self.harm(counted, Some(drawn));
                rho(&tied(&harm, &errors), &self.loss(Some(drawn)))
            })
            .collect();
        let (a, b) = both(&ranked, &loss);
        let own = self.harm(&self.picker, None);
        let own = tied(&own, &self.errors(&self.picker));
        let surface = self.scores.means(Measure::SURFACE, None);
        let decision = self.scores.means(Measure::DECISION, None);
        LiveRank {
            agents,
            seed,
            spearman: rho(&ranked, &loss),
            interval: interval(&drawn),
            kendall: kendall(&a, &b),
            spearman_as_measured: rho(&harm, &loss),
            spearman_surface: rho(&ranked, &surface),
            spearman_decision: rho(&ranked, &decision),
            spearman_picker: rho(&own, &loss),
            tied: ranked.iter().filter(|harm| **harm == Some(0.0)).count() as u64,
            attainable: attainable(&a),
        }
    }

    /// The kinds, the least harmful first.
    pub(super) fn types(&self) -> Vec<LiveType> {
        let harm = self.harm(&self.replay, None);
        let errors = self.errors(&self.replay);
        let (of_all, errors_of_all) = (self.harm(&self.all, None), self.errors(&self.all));
        let ranked = tied(&harm, &errors);
        let loss = self.loss(None);
        let [decision, run_obs, run_act, trans] =
            Measure::OF_LOSS.map(|part| self.scores.means(part, None));
        let surface = self.scores.means(Measure::SURFACE, None);
        let minds: BTreeMap<String, ByGroup> = self.minds();
        let (mut pairs, mut net) = self.pairs();
        let mut types: Vec<LiveType> = (0..self.scores.used.len())
            .map(|group| {
                let label = self.data.labels.all[group].clone();
                let kind = Perturbation::parse(&label);
                let of_mind = minds.iter().map(|(mind, harm)| (mind.clone(), harm[group]));
                LiveType {
                    dimension: kind.map_or("", |kind| kind.dimension().as_str()).to_owned(),
                    label,
                    n: std::mem::take(&mut pairs[group]),
                    harm: harm[group],
                    harm_se: errors[group],
                    tied: ranked[group] == Some(0.0),
                    harm_all: of_all[group],
                    harm_all_se: errors_of_all[group],
                    net: net[group].take(),
                    loss: loss[group],
                    decision: decision[group],
                    run_obs: run_obs[group],
                    run_act: run_act[group],
                    trans: trans[group],
                    surface: surface[group],
                    by_mind: of_mind.collect(),
                }
            })
            .collect();
        let key = |kind: &LiveType| kind.harm.unwrap_or(f64::NEG_INFINITY);
        types.sort_by(|a, b| {
            key(a)
                .total_cmp(&key(b))
                .then_with(|| a.label.cmp(&b.label))
        });
        types
    }

    fn minds(&self) -> BTreeMap<String, ByGroup> {
        let mut by_mind: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (agent, name) in self.data.agents.all.iter().enumerate() {
            let mind = name.split('+').next().unwrap_or_default();
            by_mind.entry(mind.to_owned()).or_default().push(agent);
        }
        let each = by_mind.into_iter();
        each.map(|(mind, agents)| (mind, self.harm(&agents, None)))
            .collect()
    }

    /// Pairs and net drop of the agents that replay, by group.
    fn pairs(&self) -> (Vec<u64>, Vec<Option<f64>>) {
        let groups = self.data.labels.all.len();
        let mut lost: Vec<Vec<f64>> = vec![Vec::new(); groups];
        for judged in &self.data.judged {
            if self.replay.contains(&judged.agent) {
                lost[self.data.items[judged.item].group].push(judged.sim - judged.real);
            }
        }
        let pairs = lost.iter().map(|lost| lost.len() as u64).collect();
        (pairs, lost.iter().map(|lost| mean(lost)).collect())
    }
}

/// No harm where it is under two standard errors.
fn tied(harm: &ByGroup, errors: &ByGroup) -> ByGroup {
    let each = harm.iter().zip(errors);
    each.map(|(harm, error)| {
        let harm = (*harm)?;
        let felt = error.is_none_or(|error| harm >= ERRORS * error);
        Some(if felt { harm } else { 0.0 })
    })
    .collect()
}

/// The highest rank correlation of a score without equal values.
fn attainable(harm: &[f64]) -> Option<f64> {
    let mut order = harm.to_vec();
    order.sort_by(f64::total_cmp);
    let best: Vec<f64> = (0..order.len()).map(|at| at as f64).collect();
    spearman(&order, &best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_by_hand() {
        let harm = vec![Some(0.0), Some(0.01), Some(0.05), Some(0.4), None];
        let errors = vec![Some(0.0), Some(0.006), Some(0.02), Some(0.1), None];
        let ranked = tied(&harm, &errors);
        assert_eq!(ranked, [Some(0.0), Some(0.0), Some(0.05), Some(0.4), None]);
        // Ranks 1.5 1.5 3 4 against 1 2 3 4: 1 - 6 x .5 / 60 in the form for ties.
        let best = attainable(&[0.0, 0.0, 0.05, 0.4]).unwrap();
        assert!((best - 4.5 / (4.5f64 * 5.0).sqrt()).abs() < 1e-12, "{best}");
        assert_eq!(attainable(&[0.0, 0.0]), None);
    }

    #[test]
    fn the_picker_does_not_count() {
        assert!(independent("gold") && independent("reader+retry"));
        assert!(!independent("picker+retry") && !independent("somebody"));
        assert!(replays("rebinding") && !replays("strict") && !replays("picker"));
    }
}
