//! How many real calls until every region is known well enough.

use super::allocate::{AIM, Objective, Outlook, Request, allocate, wanted};
use super::cell::{Estimate, Estimator};
use super::pool::Pool;
use super::replay::{Buyer, Method};

/// Draws per region in the pilot.
const PILOT_DRAWS: usize = 8;

/// Weight of the pilot in the estimates: near its share of all draws, which is not known yet.
const PILOT_WEIGHT: f64 = 0.1;

/// Share of what is expected to be missing that a later round buys.
const STEP: f64 = 0.5;

/// Rounds after which a campaign ends.
const MOST_ROUNDS: usize = 60;

/// What a campaign took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reached {
    /// Real calls.
    pub cost: u64,
    /// Rounds.
    pub rounds: usize,
    /// Regions whose interval holds the truth.
    pub covered: usize,
    /// Regions.
    pub regions: usize,
}

/// Buys until the interval of every region is at most `2 target` wide.
///
/// `Method::Uniform` buys two in a hundred of the pool at a time, of all regions by size;
/// `Method::Need` and `Method::Augmented` a pilot, most of what is then expected to be needed, and by
/// halves what turns out to be missing: what was expected is wrong by a third either way, and what was
/// bought too much is not given back. Others are bought as `Method::Augmented`.
#[must_use]
pub fn calls_to_target(pool: &Pool, method: Method, target: f64, seed: u64) -> Reached {
    let estimator = match method {
        Method::Uniform | Method::Need => Estimator::Stratified,
        _ => Estimator::Augmented,
    };
    let mut buyer = Buyer::new(pool, f64::MAX, seed);
    let blank = vec![PILOT_DRAWS; buyer.taken.len()];
    let mut rounds = 0;
    let found = loop {
        match (method, rounds) {
            (Method::Uniform, 0) => {
                let draws = by_share(pool, 0.02);
                buyer.round(&draws, 1.0);
            }
            (Method::Uniform, _) => {
                let draws = by_share(pool, 0.02);
                buyer.extend(&draws);
            }
            (_, 0) => buyer.round(&blank, PILOT_WEIGHT),
            (_, 1) => {
                let wish = Request {
                    budget: 1e15,
                    floor: 0.0,
                    target: Some(target * AIM),
                    objective: Objective::Regions,
                };
                let draws = allocate(&buyer.outlooks(estimator), &wish);
                buyer.round(&draws, 1.0 - PILOT_WEIGHT);
            }
            _ => {
                let found = buyer.estimate(estimator);
                let looks = buyer.outlooks(estimator);
                let regions = found.regions.iter().zip(&looks);
                let draws: Vec<usize> = regions.map(|(r, look)| missing(r, look, target)).collect();
                buyer.extend(&draws);
            }
        }
        rounds += 1;
        let found = buyer.estimate(estimator);
        let wide = found
            .regions
            .iter()
            .any(|r| r.half_width().is_none_or(|h| h > target));
        if !wide || rounds >= MOST_ROUNDS {
            break found;
        }
    };
    let told = buyer.told(&found, None);
    let covered = |cell: &&super::replay::Cell| {
        cell.interval
            .is_some_and(|(low, high)| low - 1e-9 <= cell.truth && cell.truth <= high + 1e-9)
    };
    Reached {
        cost: told.cost,
        rounds,
        covered: told.regions.iter().filter(covered).count(),
        regions: told.regions.len(),
    }
}

fn by_share(pool: &Pool, share: f64) -> Vec<usize> {
    let part = |units: &Vec<usize>| (units.len() as f64 * share).ceil() as usize;
    pool.frame.regions.iter().map(part).collect()
}

/// What a region is bought that is still too wide: a part of what its outlook says, and a tenth of what
/// it has at least, so that an outlook that is wrong does not take for ever.
fn missing(found: &Estimate, outlook: &Outlook, target: f64) -> usize {
    if found.half_width().is_some_and(|width| width <= target) {
        return 0;
    }
    let expected = wanted(outlook, target) as f64 * STEP;
    let least = found.drawn.div_ceil(10).max(1);
    (expected.ceil() as usize).max(least).min(outlook.left)
}
