//! Estimates by hand, and unbiasedness.

use super::*;
use crate::budget::Drawn;
use crate::budget::{Method, Pool, Synthetic, replay, synthetic};
use proptest::prelude::*;

fn drawn(unit: usize, value: f64) -> Drawn {
    Drawn {
        unit,
        value,
        base: 1.0,
    }
}

fn round(weight: f64, units: &[(usize, f64)]) -> Round {
    Round {
        weight,
        drawn: vec![units.iter().map(|(u, y)| drawn(*u, *y)).collect()],
        known: vec![],
    }
}

fn region(size: usize) -> Frame {
    Frame {
        regions: vec![(0..size).collect()],
        features: vec![],
        width: 0,
    }
}

#[test]
fn two_rounds_by_hand() {
    // Ten units. Round 1: 0 and 1, mean .5. Round 2: 0 of the eight left; with what was known
    // (1 + 8 x 0) / 10 = .1. Weights 1 and 3: (.5 + 3 x .1) / 4 = .2.
    let rounds = [round(1.0, &[(0, 0.0), (1, 1.0)]), round(3.0, &[(2, 0.0)])];
    let found = estimate(&region(10), &rounds, Estimator::Stratified, 0.05).regions[0];
    assert!((found.mean.unwrap() - 0.2).abs() < 1e-12, "{found:?}");
    // As one sample: 1 of 3.
    let plain = estimate(&region(10), &rounds, Estimator::Plain, 0.05).regions[0];
    assert!((plain.mean.unwrap() - 1.0 / 3.0).abs() < 1e-12);
    // s^2 = 1/3; V = (1/4)^2 (1 - 2/10) s^2/2 + (3/4)^2 (8/10)^2 (1 - 1/8) s^2/1.
    let v = (0.0625 * 0.8 / 2.0 + 0.5625 * 0.64 * 0.875) / 3.0;
    assert!((found.se.unwrap() - f64::sqrt(v)).abs() < 1e-12);
    assert_eq!(found.basis, Basis::Sequence);
}

#[test]
fn nothing_is_claimed_without_evidence() {
    let nothing = estimate(&region(10), &[], Estimator::Augmented, 0.05);
    assert_eq!(
        (nothing.regions[0].mean, nothing.regions[0].interval),
        (None, None)
    );
    assert_eq!(nothing.overall.basis, Basis::Unknown);
    // All gaps equal and none: an exact bound, no width 0.
    let zeros: Vec<_> = (0..5).map(|u| (u, 0.0)).collect();
    let found = estimate(
        &region(10),
        &[round(1.0, &zeros)],
        Estimator::Augmented,
        0.05,
    )
    .regions[0];
    assert_eq!((found.mean, found.basis), (Some(0.0), Basis::Exact));
    assert!(found.interval.unwrap().1 > 0.2, "{found:?}");
    // A region of one that was drawn is known whole.
    let one = estimate(
        &region(1),
        &[round(1.0, &[(0, 0.3)])],
        Estimator::Augmented,
        0.05,
    )
    .regions[0];
    assert_eq!(
        (one.mean, one.basis, one.interval),
        (Some(0.3), Basis::Whole, Some((0.3, 0.3)))
    );
    // Every gap the same: no division by 0.
    let same: Vec<_> = (0..12).map(|u| (u, 0.5)).collect();
    let found = estimate(
        &region(40),
        &[round(1.0, &same)],
        Estimator::Augmented,
        0.05,
    );
    assert_eq!(found.regions[0].mean, Some(0.5));
}

/// All draws of `n` of a tiny pool, every order: the mean of the estimates is the truth.
#[test]
fn every_draw_of_a_tiny_pool_together_is_unbiased() {
    let values = [0.0, 0.9, 0.2, 0.0, 0.6];
    let frame = Frame {
        regions: vec![(0..5).collect()],
        features: vec![0.1, 0.7, -0.4, 0.3, 1.0],
        width: 1,
    };
    let (mut sum, mut count) = (0.0, 0.0);
    for a in 0..5usize {
        for b in (0..5).filter(|b| *b != a) {
            // The second round draws more where the first found something.
            let more = usize::from(values[a] + values[b] > 0.5);
            for c in (0..5).filter(|c| ![a, b].contains(c)) {
                for d in (0..5).filter(|d| ![a, b, c].contains(d)) {
                    let mut second = vec![(c, values[c])];
                    if more == 1 {
                        second.push((d, values[d]));
                    }
                    let rounds = [
                        round(0.3, &[(a, values[a]), (b, values[b])]),
                        round(0.7, &second),
                    ];
                    sum += estimate(&frame, &rounds, Estimator::Augmented, 0.05).regions[0]
                        .mean
                        .unwrap();
                    count += 1.0;
                }
            }
        }
    }
    assert!((sum / count - 1.7 / 5.0).abs() < 1e-12, "{}", sum / count);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]
    /// Bias within four Monte-Carlo errors in every region, for every method that claims to
    /// have none, whatever the pool (of three, one in a few hundred regions would show by chance).
    #[test]
    fn replays_are_unbiased(seed in 0u64..1000, correlation in 0.0f64..0.9, rate in 0.1f64..0.8) {
        const REPLAYS: u64 = 400;
        let pool = synthetic(&Synthetic { calls: 3000, apis: 6, correlation, rate, seed });
        for method in [Method::Proportional, Method::Need, Method::Augmented] {
            let mut sums = [(0.0, 0.0); 6];
            for at in 0..REPLAYS {
                let told = replay(&pool, method, 400.0, seed * 1000 + at);
                prop_assert!(told.cost <= 400);
                for (sum, cell) in sums.iter_mut().zip(&told.regions) {
                    let miss = cell.mean.unwrap() - cell.truth;
                    sum.0 += miss;
                    sum.1 += miss * miss;
                }
            }
            for (sum, squares) in sums {
                let n = REPLAYS as f64;
                let error = (squares / n - (sum / n).powi(2)).sqrt() / n.sqrt();
                prop_assert!((sum / n).abs() <= 4.5 * error, "{method:?} {} {error}", sum / n);
            }
        }
    }
}

/// Two dozen regions of 2 to 25 calls, as small recordings have: gaps are 0 or 1, and as
/// rare in one as they are usual in the next.
fn small_regions() -> Pool {
    let mut pool = Pool::default();
    for region in 0..24_usize {
        let start = pool.values.len();
        for unit in 0..2 + region {
            let gap = (unit * 7 + region * 3) % 10 < [0, 1, 3, 8][region % 4];
            pool.values.push(f64::from(u8::from(gap)));
            pool.bases.push(1.0);
            pool.costs.push(1);
        }
        pool.frame
            .regions
            .push((start..pool.values.len()).collect());
    }
    pool
}

#[test]
fn the_whole_of_small_regions_is_covered() {
    let pool = small_regions();
    for method in [Method::Need, Method::Augmented] {
        for share in [0.3, 0.5] {
            let budget = share * pool.values.len() as f64;
            let held = (0..300).filter_map(|seed| {
                let whole = replay(&pool, method, budget, seed).overall;
                let (low, high) = whole.interval?;
                Some(low - 1e-9 <= whole.truth && whole.truth <= high + 1e-9)
            });
            let held: Vec<bool> = held.collect();
            let covered = held.iter().filter(|h| **h).count() as f64 / held.len() as f64;
            assert!(
                held.len() > 200 && covered >= 0.94,
                "{} at {share}: {covered} of {}",
                method.name(),
                held.len()
            );
        }
    }
}
