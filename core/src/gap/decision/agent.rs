//! Who picks: the probe, or a policy of one's own.

use super::bag::Bag;
use super::constants::ProbeConstants;
use super::ground::Episode;
use super::mix::{Dimension, Mix};
use super::pair::Pair;
use super::terms::TermWeights;
use crate::gap::catalog::Tool;

/// What an agent is told and offered in both worlds.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'o> {
    /// The tools of both worlds.
    pub pair: &'o Pair,
    /// The task as each arm tells it: sim, real.
    pub tasks: [&'o str; 2],
}

/// An agent that picks tools. The probe is one; the decisions that a policy of
/// one's own was seen to take are another.
pub trait Agent {
    /// The probability of each tool of [`Pair::offered`] in a mixed world, in that
    /// order. `None` where the agent was never seen in that world: the difference is
    /// still known if [`Mix::SIM`] and [`Mix::REAL`] are, its split is not.
    fn picks(&self, offer: &Offer<'_>, mix: Mix) -> Option<Vec<f64>>;

    /// The same in all mixed worlds, by [`Mix::place`]. To be overridden where
    /// they share work.
    fn all_picks(&self, offer: &Offer<'_>) -> Vec<Option<Vec<f64>>> {
        Mix::all().map(|mix| self.picks(offer, mix)).collect()
    }
}

/// The lexical reader (docs/measures.md, "Decision gap").
#[derive(Clone, Debug, Default)]
pub struct Probe {
    constants: ProbeConstants,
    terms: TermWeights,
}

impl Probe {
    /// A reader with these weights of words and the default constants.
    #[must_use]
    pub fn new(terms: TermWeights) -> Self {
        Self::with(ProbeConstants::default(), terms)
    }

    /// A reader with constants of one's own.
    #[must_use]
    pub const fn with(constants: ProbeConstants, terms: TermWeights) -> Self {
        Self { constants, terms }
    }

    /// Aligns and reads the catalogs of both arms.
    #[must_use]
    pub fn pair(&self, sim: &[Tool<'_>], real: &[Tool<'_>]) -> Pair {
        Pair::read(sim, real, &self.terms)
    }

    /// Cosines of a task with every text of the pair.
    fn cosines(&self, task: &str, pair: &Pair) -> Vec<f64> {
        let query = Bag::read([task], &self.terms);
        pair.bags.iter().map(|bag| query.cosine(bag)).collect()
    }

    /// `softmax(s / T)` over the tools that are offered.
    fn softmax(&self, pair: &Pair, mix: Mix, cosines: &[f64]) -> Vec<f64> {
        let c = &self.constants;
        let scores: Vec<f64> = pair
            .offered(mix)
            .map(|tool| {
                let [name, description, parameters] = tool.bags.map(|bag| cosines[bag]);
                let has = if tool.parameters.is_empty() { 0.0 } else { 1.0 };
                c.name * name
                    + c.description * description
                    + c.parameters * parameters
                    + c.has_parameters * has
            })
            .collect();
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let shares = scores.iter().map(|s| ((s - most) / c.temperature).exp());
        let shares: Vec<f64> = shares.collect();
        let sum: f64 = shares.iter().sum();
        shares.into_iter().map(|share| share / sum).collect()
    }
}

impl Agent for Probe {
    fn picks(&self, offer: &Offer<'_>, mix: Mix) -> Option<Vec<f64>> {
        let task = offer.tasks[mix.arm(Dimension::Obs)];
        let cosines = self.cosines(task, offer.pair);
        Some(self.softmax(offer.pair, mix, &cosines))
    }

    fn all_picks(&self, offer: &Offer<'_>) -> Vec<Option<Vec<f64>>> {
        let of_sim = self.cosines(offer.tasks[0], offer.pair);
        let of_real = match offer.tasks[0] == offer.tasks[1] {
            true => of_sim.clone(),
            false => self.cosines(offer.tasks[1], offer.pair),
        };
        let cosines = [of_sim, of_real];
        let picks = |mix: Mix| self.softmax(offer.pair, mix, &cosines[mix.arm(Dimension::Obs)]);
        Mix::all().map(|mix| Some(picks(mix))).collect()
    }
}

impl<'o> Offer<'o> {
    /// What two episodes tell over a pair of catalogs.
    #[must_use]
    pub const fn new(pair: &'o Pair, sim: &Episode<'o>, real: &Episode<'o>) -> Self {
        Self {
            pair,
            tasks: [sim.task, real.task],
        }
    }
}
