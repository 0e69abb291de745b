//! One replay: a pool of which all gaps are known, bought as if they were not.

use super::allocate::{Objective, Outlook, Request, allocate, outlooks};
use super::cell::{Basis, Estimates, Estimator, estimate};
use super::frame::{Frame, Round};
use super::pool::Pool;
use super::rivals;
use crate::stats::{Chance, draw_evenly};

/// Share of a budget that goes to the pilot.
pub(super) const PILOT: f64 = 0.2;

/// Share of a round that goes to all regions by size.
pub(super) const FLOOR: f64 = 0.1;

/// How a budget is spent, and what is made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// Calls drawn evenly from the whole pool; means of regions.
    Uniform,
    /// Regions by their size; means of regions.
    Proportional,
    /// Drawn as `Uniform`; PPI++ in every region and in the whole.
    Ppi,
    /// Pilot, then by size times spread, all draws as one sample (plug-in Neyman).
    Neyman,
    /// Pilot, then by gains under spreads drawn from their posterior (Thompson).
    Thompson,
    /// Pilot, then chances by predicted residual, mixed with even ones (active inference).
    Active,
    /// Pilot, then by need, without a surrogate.
    Need,
    /// Pilot, then by need of what the surrogate leaves; what `fidelake plan` does.
    Augmented,
}

impl Method {
    /// All, in the order of tables.
    pub const ALL: [Self; 8] = [
        Self::Uniform,
        Self::Proportional,
        Self::Ppi,
        Self::Neyman,
        Self::Thompson,
        Self::Active,
        Self::Need,
        Self::Augmented,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Proportional => "proportional",
            Self::Ppi => "ppi++",
            Self::Neyman => "neyman",
            Self::Thompson => "thompson",
            Self::Active => "active",
            Self::Need => "need",
            Self::Augmented => "augmented",
        }
    }
}

/// What a replay says of a region, beside the truth.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cell {
    /// The gap that the region has.
    pub truth: f64,
    /// The estimate, neither cut nor shrunk; `None` where nothing was bought.
    pub mean: Option<f64>,
    /// The interval at 95 %.
    pub interval: Option<(f64, f64)>,
    /// Units of the region.
    pub pool: usize,
    /// Units bought.
    pub drawn: usize,
    /// Units bought that have a gap.
    pub gaps: usize,
}

/// What one replay gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replay {
    /// Real calls spent.
    pub cost: u64,
    /// By region; regions whose gap is undefined are left out.
    pub regions: Vec<Cell>,
    /// The whole pool.
    pub overall: Cell,
}

/// Spends `budget` real calls on a pool as `method` would. The same seed gives the same draws.
#[must_use]
pub fn replay(pool: &Pool, method: Method, budget: f64, seed: u64) -> Replay {
    let mut buyer = Buyer::new(pool, budget, seed);
    match method {
        Method::Uniform => {
            buyer.evenly();
            let found = buyer.estimate(Estimator::Stratified);
            let whole = buyer.whole(Estimator::Stratified);
            buyer.told(&found, Some(&whole))
        }
        Method::Ppi => {
            buyer.evenly();
            let found = buyer.estimate(Estimator::PpiPlus);
            let whole = buyer.whole(Estimator::PpiPlus);
            buyer.told(&found, Some(&whole))
        }
        Method::Proportional => {
            let draws = buyer.by_size(budget);
            buyer.round(&draws, 1.0);
            let found = buyer.estimate(Estimator::Stratified);
            buyer.told(&found, None)
        }
        Method::Neyman => rivals::neyman(&mut buyer),
        Method::Thompson => rivals::thompson(&mut buyer),
        Method::Active => rivals::active(&mut buyer),
        Method::Need => by_need(&mut buyer, Estimator::Stratified),
        Method::Augmented => by_need(&mut buyer, Estimator::Augmented),
    }
}

/// The pilot evenly by need of what is not known yet, the rest by what it showed.
fn by_need(buyer: &mut Buyer<'_>, estimator: Estimator) -> Replay {
    let pilot = buyer.budget * PILOT;
    let draws = allocate(
        &buyer.blank(),
        &Request {
            budget: pilot,
            floor: FLOOR,
            target: None,
            objective: Objective::Regions,
        },
    );
    buyer.round(&draws, PILOT);
    let outlooks = buyer.outlooks(estimator);
    let draws = allocate(
        &outlooks,
        &Request {
            budget: buyer.left(),
            floor: FLOOR,
            target: None,
            objective: Objective::Regions,
        },
    );
    buyer.round(&draws, 1.0 - PILOT);
    let found = buyer.estimate(estimator);
    buyer.told(&found, None)
}

/// A pool being bought.
pub(super) struct Buyer<'a> {
    pub(super) pool: &'a Pool,
    pub(super) budget: f64,
    pub(super) spent: u64,
    pub(super) chance: Chance,
    pub(super) rounds: Vec<Round>,
    /// Units of each region in the order in which they are bought.
    orders: Vec<Vec<usize>>,
    /// How many of them were.
    pub(super) taken: Vec<usize>,
    pub(super) prices: Vec<f64>,
}

impl<'a> Buyer<'a> {
    pub(super) fn new(pool: &'a Pool, budget: f64, seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let shuffled = |units: &Vec<usize>| -> Vec<usize> {
            let order = draw_evenly(units.len(), units.len(), &mut chance);
            order.into_iter().map(|at| units[at]).collect()
        };
        Self {
            orders: pool.frame.regions.iter().map(shuffled).collect(),
            taken: vec![0; pool.frame.regions.len()],
            prices: pool.prices(),
            pool,
            budget,
            spent: 0,
            chance,
            rounds: Vec::new(),
        }
    }

    pub(super) fn left(&self) -> f64 {
        (self.budget - self.spent as f64).max(0.0)
    }

    /// Outlooks of a pool of which nothing is known.
    pub(super) fn blank(&self) -> Vec<Outlook> {
        let nothing = estimate(
            &self.pool.frame.without_features(),
            &[],
            Estimator::Stratified,
            0.05,
        );
        outlooks(&nothing, &nothing, &self.prices, &[])
    }

    pub(super) fn outlooks(&self, estimator: Estimator) -> Vec<Outlook> {
        let plain = self.estimate(Estimator::Stratified);
        let found = match estimator {
            Estimator::Stratified => plain.clone(),
            other => self.estimate(other),
        };
        outlooks(&found, &plain, &self.prices, &[])
    }

    pub(super) fn estimate(&self, estimator: Estimator) -> Estimates {
        estimate(&self.pool.frame, &self.rounds, estimator, 0.05)
    }

    /// The pool as one sample.
    fn whole(&self, estimator: Estimator) -> Estimates {
        let frame = Frame {
            regions: vec![self.pool.frame.regions.concat()],
            ..self.pool.frame.clone()
        };
        let rounds: Vec<Round> = self
            .rounds
            .iter()
            .map(|round| Round {
                weight: round.weight,
                drawn: vec![round.drawn.concat()],
                known: vec![],
            })
            .collect();
        estimate(&frame, &rounds, estimator, 0.05)
    }

    /// Buys so many of each region, as long as the budget reaches: one of each in turn, so that
    /// what is cut off at the end is no region's alone.
    pub(super) fn round(&mut self, draws: &[usize], weight: f64) {
        let mut round = Round {
            weight,
            drawn: vec![Vec::new(); draws.len()],
            known: Vec::new(),
        };
        self.more(draws, &mut round);
        self.rounds.push(round);
    }

    /// Buys more in the last round.
    pub(super) fn extend(&mut self, draws: &[usize]) {
        if let Some(mut round) = self.rounds.pop() {
            self.more(draws, &mut round);
            self.rounds.push(round);
        }
    }

    fn more(&mut self, draws: &[usize], round: &mut Round) {
        let most = draws.iter().max().copied().unwrap_or(0);
        for turn in 0..most {
            for (region, wanted) in draws.iter().enumerate() {
                let Some(&unit) = self.orders[region].get(self.taken[region]) else {
                    continue;
                };
                let cost = u64::from(self.pool.costs[unit]);
                if turn >= *wanted || (self.spent + cost) as f64 > self.budget {
                    continue;
                }
                self.spent += cost;
                self.taken[region] += 1;
                round.drawn[region].push(self.pool.buy(unit));
            }
        }
    }

    /// Calls drawn evenly from the whole pool until the budget ends.
    fn evenly(&mut self) {
        let order = draw_evenly(
            self.pool.values.len(),
            self.pool.values.len(),
            &mut self.chance,
        );
        let mut region_of = vec![usize::MAX; self.pool.values.len()];
        for (region, units) in self.pool.frame.regions.iter().enumerate() {
            units.iter().for_each(|unit| region_of[*unit] = region);
        }
        let mut round = Round {
            weight: 1.0,
            drawn: vec![Vec::new(); self.orders.len()],
            known: Vec::new(),
        };
        for unit in order {
            let cost = u64::from(self.pool.costs[unit]);
            if (self.spent + cost) as f64 > self.budget {
                break;
            }
            if let Some(drawn) = round.drawn.get_mut(region_of[unit]) {
                self.spent += cost;
                drawn.push(self.pool.buy(unit));
            }
        }
        self.rounds.push(round);
    }

    /// Draws of each region by its size, for so many real calls.
    pub(super) fn by_size(&self, budget: f64) -> Vec<usize> {
        let all: f64 = self.pool.costs.iter().map(|c| f64::from(*c)).sum();
        let part =
            |units: &Vec<usize>| ((units.len() as f64 * budget / all).round() as usize).max(1);
        self.pool.frame.regions.iter().map(part).collect()
    }

    pub(super) fn told(&self, found: &Estimates, whole: Option<&Estimates>) -> Replay {
        let cell = |region: &super::cell::Estimate, units: &[usize]| {
            Some(Cell {
                truth: self.pool.truth(units)?,
                mean: region.mean,
                interval: region.interval.filter(|_| region.basis != Basis::Unknown),
                pool: region.pool,
                drawn: region.drawn,
                gaps: region.gaps,
            })
        };
        let all = self.pool.frame.regions.concat();
        let regions = found.regions.iter().zip(&self.pool.frame.regions);
        Replay {
            cost: self.spent,
            regions: regions
                .filter_map(|(found, units)| cell(found, units))
                .collect(),
            overall: cell(&whole.unwrap_or(found).overall, &all).unwrap_or_default(),
        }
    }
}
