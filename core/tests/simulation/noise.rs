//! Two equal worlds show no gap, and a planted one shows with its size.

use std::collections::BTreeMap;

use fidelake_core::stats::{GAMMA, temporal_weight};

use super::pipeline::{Found, Region, measure};
use super::world::{CALLS, planted_gap, world};

const TRAJECTORIES: u64 = 200;

/// What came out for one region over all seeds, its true gap being `truth`.
struct Summary {
    /// Mean of the gap as it is shown, and the share of worlds where it is below .02.
    gap: f64,
    below: f64,
    /// Mean of the gap before its floor, and its standard deviation.
    ratio: f64,
    sd: f64,
    /// Mean standard error.
    se: f64,
    /// Share of 95 % intervals that hold the truth.
    covered: f64,
    /// Mean distance without any correction.
    plain: f64,
}

fn summary(found: &[Found], truth: f64) -> Summary {
    let mean = |of: &dyn Fn(&Found) -> f64| found.iter().map(of).sum::<f64>() / found.len() as f64;
    let share = |of: &dyn Fn(&Found) -> bool| mean(&|f| f64::from(u8::from(of(f))));
    let gap = |f: &Found| f.estimate.delta.value().unwrap();
    let ratio = mean(&|f| f.unfloored.ratio);
    let spread = mean(&|f| (f.unfloored.ratio - ratio).powi(2));
    Summary {
        gap: mean(&gap),
        below: share(&|f| gap(f) < 0.02),
        ratio,
        sd: (spread * found.len() as f64 / (found.len() - 1) as f64).sqrt(),
        se: mean(&|f| f.unfloored.se.unwrap()),
        covered: share(&|f| {
            let (low, high) = f.unfloored.interval(0.95).unwrap();
            (low..=high).contains(&truth)
        }),
        plain: mean(&|f| f.plain),
    }
}

/// `None`: not worked out.
fn truth(region: Region, planted: bool) -> Option<f64> {
    // Weights of the calls of API 1 among all: turns 1 and 3 of 0 to 4.
    let weight = |turn| temporal_weight(turn, CALLS as i64 - 1, GAMMA);
    let all: f64 = (0..CALLS as i64).filter_map(weight).sum();
    let of_1: f64 = [1, 3].into_iter().filter_map(weight).sum();
    match region {
        _ if !planted => Some(0.0),
        Region::Outcome | Region::AnswersOf0 => Some(0.0),
        Region::AnswersOf1 => Some(planted_gap()),
        Region::Answers | Region::AnswersLevelsTaken => Some(planted_gap() * of_1 / all),
        Region::AnswersMeasured => None,
    }
}

fn experiment(seeds: u64, planted: bool) -> BTreeMap<Region, Summary> {
    let mut found: BTreeMap<Region, Vec<Found>> = BTreeMap::new();
    for seed in 0..seeds {
        // Other worlds than those of the other experiment.
        let seed = seed + u64::from(planted) * 1_000_000;
        for one in measure(&world(seed, TRAJECTORIES, planted)) {
            found.entry(one.region).or_default().push(one);
        }
    }
    let mut out = BTreeMap::new();
    for (region, found) in found {
        let Some(truth) = truth(region, planted) else {
            continue;
        };
        let s = summary(&found, truth);
        println!(
            "{seeds} worlds, planted {planted}, {region:?}: truth {truth:.4}, gap {:.4} (< .02: {:.3}), \
             before the floor {:.4} sd {:.5} mean SE {:.5} (ratio {:.3}), covered {:.3}, plain {:.3}",
            s.gap,
            s.below,
            s.ratio,
            s.sd,
            s.se,
            s.se / s.sd,
            s.covered,
            s.plain
        );
        out.insert(region, s);
    }
    out
}

/// `coverage` and `error`: how far the share of intervals may be from .95 and the
/// mean standard error from the standard deviation (as a share of it).
fn check(seeds: u64, planted: bool, coverage: f64, error: f64) {
    for (region, s) in experiment(seeds, planted) {
        let truth = truth(region, planted).unwrap();
        assert!((s.ratio - truth).abs() < 0.004, "{region:?} {}", s.ratio);
        assert!(s.plain > 0.3, "{region:?} {}", s.plain);
        if truth == 0.0 {
            assert!(s.gap < 0.02, "{region:?} {}", s.gap);
        }
        if region == Region::AnswersLevelsTaken {
            // Known to be too small: the error of the levels is missing.
            assert!(s.se / s.sd < 1.0 + error, "{region:?}");
            continue;
        }
        assert!((s.covered - 0.95).abs() <= coverage, "{region:?}");
        assert!((s.se / s.sd - 1.0).abs() <= error, "{region:?}");
    }
}

#[test]
fn the_planted_gap_by_hand() {
    // If nothing failed: one field of five, of the 5 - 2 - 2/3 that are stable.
    let never_fails: f64 = 0.2 / (1.0 - 2.666_666_666_666_667 / 5.0);
    assert!((never_fails - 0.428_571).abs() < 1e-6);
    // With errors, which never show the field, less.
    assert!((0.3..never_fails).contains(&planted_gap()));
}

#[test]
fn equal_worlds_show_no_gap() {
    check(500, false, 0.03, 0.1);
}

#[test]
fn a_planted_difference_shows_with_its_size() {
    check(500, true, 0.03, 0.1);
}
