//! How many real calls until every region is known well enough.

use super::allocate::{Objective, Request, allocate};
use super::cell::{Estimates, Estimator};
use super::pool::Pool;
use super::replay::{Buyer, Method};

/// Draws per region in the pilot.
const PILOT_DRAWS: usize = 12;

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
/// `Method::Need` and `Method::Augmented` a pilot, what is then expected to be needed, and
/// what turns out to be missing. Others are bought as `Method::Augmented`.
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
            (_, 0) => buyer.round(&blank, 0.2),
            (_, 1) => {
                let wish = Request {
                    budget: 1e15,
                    floor: 0.0,
                    target: Some(target),
                    objective: Objective::Regions,
                };
                let draws = allocate(&buyer.outlooks(estimator), &wish);
                buyer.round(&draws, 0.8);
            }
            _ => {
                let found = buyer.estimate(estimator);
                let draws: Vec<usize> = missing(&found, target);
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

/// What the widths so far say is missing: width falls with the root of the draws.
fn missing(found: &Estimates, target: f64) -> Vec<usize> {
    let of = |region: &super::cell::Estimate| {
        let width = region.half_width().unwrap_or(0.5);
        if width <= target {
            return 0;
        }
        let n = region.drawn as f64;
        let open = 1.0 - n / region.pool as f64;
        let ratio = (width / target).powi(2);
        // n0 / (1 + n0 / N) with n0 = n ratio / open.
        let wanted = n / open.max(1e-6) * ratio;
        let wanted = wanted / (1.0 + wanted / region.pool as f64);
        ((wanted - n).ceil() as usize).max(1)
    };
    found.regions.iter().map(of).collect()
}
