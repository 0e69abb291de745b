//! Other ways to spend a budget, as they are published or commonly done.

use super::cell::{Estimator, FEW};
use super::fit::Slopes;
use super::replay::{Buyer, Cell, PILOT, Replay};
use crate::stats::student_quantile;

/// Spread of a region's draws so far: (draws, standard deviation).
fn spreads(buyer: &Buyer<'_>) -> Vec<(f64, f64)> {
    let of = |region: usize| {
        let values: Vec<f64> = buyer
            .rounds
            .iter()
            .flat_map(|r| &r.drawn[region])
            .map(|d| d.value)
            .collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n.max(1.0);
        let squares = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
        (
            n,
            if n > 1.0 {
                (squares / (n - 1.0)).sqrt()
            } else {
                0.0
            },
        )
    };
    (0..buyer.taken.len()).map(of).collect()
}

/// Plug-in Neyman: the rest of the budget by size times spread, no floor.
pub(super) fn neyman(buyer: &mut Buyer<'_>) -> Replay {
    let pilot = buyer.by_size(buyer.budget * PILOT);
    buyer.round(&pilot, 1.0);
    let spreads = spreads(buyer);
    let sizes: Vec<f64> = buyer
        .pool
        .frame
        .regions
        .iter()
        .map(|r| r.len() as f64)
        .collect();
    let weights: Vec<f64> = sizes
        .iter()
        .zip(&spreads)
        .map(|(size, (_, sd))| size * sd)
        .collect();
    let price: f64 = weights.iter().zip(&buyer.prices).map(|(w, p)| w * p).sum();
    let scale = if price > 0.0 {
        buyer.left() / price
    } else {
        0.0
    };
    let draws: Vec<usize> = weights
        .iter()
        .map(|w| (w * scale).round() as usize)
        .collect();
    buyer.round(&draws, 1.0);
    let found = buyer.estimate(Estimator::Plain);
    buyer.told(&found, None)
}

/// Thompson's form of adaptive Neyman (arXiv 2606.08418) in eight batches: spreads are drawn
/// from their inverse chi-squared posterior; the next label goes where w^2 s^2 (1/n - 1/(n + 1)) is largest.
pub(super) fn thompson(buyer: &mut Buyer<'_>) -> Replay {
    const BATCHES: usize = 8;
    let pilot = buyer.by_size(buyer.budget * PILOT);
    buyer.round(&pilot, 1.0);
    let rest = buyer.left();
    let sizes: Vec<f64> = buyer
        .pool
        .frame
        .regions
        .iter()
        .map(|r| r.len() as f64)
        .collect();
    for _ in 0..BATCHES {
        let known = spreads(buyer);
        let drawn: Vec<f64> = known
            .iter()
            .map(|(n, sd)| {
                let freedom = (n - 1.0).max(1.0);
                // A chi-squared number by the cube root of Wilson and Hilferty (1931).
                let part = 2.0 / (9.0 * freedom);
                let cube = 1.0 - part + part.sqrt() * buyer.chance.normal();
                let chi = freedom * cube.max(0.05).powi(3);
                sd * sd * freedom / chi
            })
            .collect();
        let mut counts: Vec<f64> = known.iter().map(|(n, _)| n.max(1.0)).collect();
        let mut draws = vec![0usize; counts.len()];
        let mut open = rest / BATCHES as f64;
        while open > 0.0 {
            let gain = |at: usize| {
                let left = sizes[at] - counts[at];
                let gain = sizes[at] * sizes[at] * drawn[at] / (counts[at] * (counts[at] + 1.0));
                if left < 1.0 { -1.0 } else { gain }
            };
            let Some(best) = (0..counts.len()).max_by(|a, b| gain(*a).total_cmp(&gain(*b))) else {
                break;
            };
            if gain(best) <= 0.0 {
                break;
            }
            counts[best] += 1.0;
            draws[best] += 1;
            open -= buyer.prices[best];
        }
        buyer.round(&draws, 1.0);
    }
    let found = buyer.estimate(Estimator::Plain);
    buyer.told(&found, None)
}

/// Active statistical inference (Zrnic and Candes 2024, arXiv 2403.03208), batch form: a pilot
/// fits prediction and error, then every unit is drawn by itself with a chance that grows with its predicted
/// error, mixed half with even chances; inverse probability weights, normal intervals.
/// Its budget holds on average only; here draws end when the budget does.
pub(super) fn active(buyer: &mut Buyer<'_>) -> Replay {
    const MIX: f64 = 0.5;
    let pilot = buyer.by_size(buyer.budget * PILOT);
    buyer.round(&pilot, 1.0);
    let found = buyer.estimate(Estimator::Augmented);
    let slopes: &Slopes = &found.slopes;
    let frame = &buyer.pool.frame;
    // Prediction: the region's mean and the surrogate; error: the region's spread, growing with the prediction.
    let usual = found.overall.spread.unwrap_or(0.25);
    let mean = found.overall.mean.unwrap_or(0.1);
    let mut units: Vec<(usize, usize, f64, f64)> = Vec::new();
    for (region, members) in frame.regions.iter().enumerate() {
        let own = &found.regions[region];
        let n = own.drawn as f64;
        let level = (own.mean.unwrap_or(mean) * n + 5.0 * mean) / (n + 5.0);
        let spread =
            ((own.spread.unwrap_or(usual).powi(2) * n + 5.0 * usual * usual) / (n + 5.0)).sqrt();
        for unit in members {
            let guess = (level + slopes.at(region, frame.of(*unit))).clamp(0.0, 1.0);
            units.push((region, *unit, guess, spread * (0.25 + guess).sqrt()));
        }
    }
    let price: f64 = buyer.prices.iter().sum::<f64>() / buyer.prices.len() as f64;
    let share = (buyer.left() / price / units.len() as f64).min(1.0);
    let even: f64 = units.iter().map(|u| u.3).sum::<f64>() / units.len() as f64;
    let bought: std::collections::HashSet<usize> = buyer.rounds[0]
        .drawn
        .iter()
        .flatten()
        .map(|d| d.unit)
        .collect();
    let mut sums = vec![(0.0, 0.0, 0usize, 0usize); frame.regions.len()];
    for (region, unit, guess, error) in &units {
        let sum = &mut sums[*region];
        if bought.contains(unit) {
            // What the pilot saw is known.
            let value = buyer.pool.values[*unit];
            sum.0 += value;
            sum.2 += 1;
            sum.3 += usize::from(value.abs() > 1e-12);
            continue;
        }
        let chance = ((1.0 - MIX) * share * error / even.max(1e-12) + MIX * share).min(1.0);
        sum.0 += guess;
        let cost = u64::from(buyer.pool.costs[*unit]);
        if buyer.chance.unit() < chance && (buyer.spent + cost) as f64 <= buyer.budget {
            buyer.spent += cost;
            let value = buyer.pool.values[*unit];
            let miss = (value - guess) / chance;
            sum.0 += miss;
            sum.1 += miss * miss * (1.0 - chance);
            sum.2 += 1;
            sum.3 += usize::from(value.abs() > 1e-12);
        }
    }
    let z = student_quantile(0.975, 1e9).unwrap_or(1.96);
    let cell = |total: f64, variance: f64, drawn: usize, gaps: usize, members: &[usize]| {
        let size = members.len().max(1) as f64;
        let (mean, se) = (total / size, variance.sqrt() / size);
        let interval = (
            (mean - z * se).clamp(0.0, 1.0),
            (mean + z * se).clamp(0.0, 1.0),
        );
        Cell {
            truth: buyer.pool.truth(members).unwrap_or_default(),
            mean: (drawn > 0).then_some(mean),
            interval: (gaps >= FEW || drawn > 1).then_some(interval),
            pool: members.len(),
            drawn,
            gaps,
        }
    };
    let regions: Vec<Cell> = sums
        .iter()
        .zip(&frame.regions)
        .map(|(sum, members)| cell(sum.0, sum.1, sum.2, sum.3, members))
        .collect();
    let all = sums.iter().fold((0.0, 0.0, 0, 0), |a, b| {
        (a.0 + b.0, a.1 + b.1, a.2 + b.2, a.3 + b.3)
    });
    Replay {
        cost: buyer.spent,
        overall: cell(all.0, all.1, all.2, all.3, &frame.regions.concat()),
        regions,
    }
}
