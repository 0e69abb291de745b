//! Trajectories that never ran for real, and whether such predictions come true.
//!
//! A call that was not measured is predicted as its region's shrunken gap, moved by the
//! surrogate; a trajectory as the mean of its calls. Calibration predicts every measured call
//! from the trajectories of the other four fifths, and compares.

use std::collections::BTreeMap;

use fidelake_core::budget::{Estimates, Estimator, Frame, Round, estimate};
use fidelake_core::json::key::Key;

use super::ask::{ALPHA, shrunken};
use super::pool::LakePool;

const FOLDS: u128 = 5;

/// Fewer measured trajectories show no calibration.
const LEAST: usize = 20;

/// Measured trajectories with similar predictions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Trajectories.
    pub trajectories: usize,
    /// Mean of what was predicted.
    pub predicted: f64,
    /// Mean of what was measured.
    pub measured: f64,
    /// Standard error of the mean difference.
    pub se: f64,
}

/// What is known or expected of a trajectory.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicted {
    /// Its environment.
    pub environment: String,
    /// Its id.
    pub trajectory_id: String,
    /// Calls.
    pub calls: usize,
    /// Calls that were measured.
    pub measured: usize,
    /// Mean gap of its calls; `None` without evidence.
    pub gap: Option<f64>,
    /// Its standard error: the spread of what is not measured.
    pub se: Option<f64>,
    /// `measured`, `mixed` or `predicted`.
    pub source: &'static str,
}

/// Prediction of a unit from estimates.
struct Guess<'a> {
    frame: &'a Frame,
    told: &'a Estimates,
    shrunk: Vec<Option<f64>>,
    /// Mean features by region.
    centres: Vec<Vec<f64>>,
}

impl<'a> Guess<'a> {
    fn new(frame: &'a Frame, told: &'a Estimates) -> Self {
        let centre = |units: &Vec<usize>| {
            let mut sum = vec![0.0; frame.width];
            for unit in units {
                sum.iter_mut()
                    .zip(frame.of(*unit))
                    .for_each(|(s, x)| *s += x);
            }
            sum.iter_mut().for_each(|s| *s /= units.len().max(1) as f64);
            sum
        };
        Self {
            shrunk: shrunken(told),
            centres: frame.regions.iter().map(centre).collect(),
            frame,
            told,
        }
    }

    fn of(&self, region: usize, unit: usize) -> Option<f64> {
        let own: Vec<f64> = self
            .frame
            .of(unit)
            .iter()
            .zip(&self.centres[region])
            .map(|(x, c)| x - c)
            .collect();
        Some((self.shrunk[region]? + self.told.slopes.at(region, &own)).clamp(0.0, 1.0))
    }
}

fn fold(environment: &str, trajectory: &str) -> u128 {
    Key::of_parts(&["calibration", environment, trajectory]).bits() % FOLDS
}

/// Compares predictions with what was measured, in five groups of growing prediction.
pub(super) fn calibrate(pool: &LakePool) -> Vec<Calibration> {
    let mut pairs: BTreeMap<(&str, &str), (f64, f64, f64)> = BTreeMap::new();
    for own in 0..FOLDS {
        let mut others = Round {
            weight: 1.0,
            drawn: vec![Vec::new(); pool.frame.regions.len()],
            known: Vec::new(),
        };
        for (unit, of) in pool.units.iter().enumerate() {
            if let Some(found) = of.found.first()
                && fold(&of.environment, &of.trajectory) != own
            {
                others.drawn[of.region].push(found.drawn(unit));
            }
        }
        let told = estimate(&pool.frame, &[others], Estimator::Augmented, ALPHA);
        let guess = Guess::new(&pool.frame, &told);
        for (unit, of) in pool.units.iter().enumerate() {
            let Some(found) = of.found.first().filter(|f| f.base > 0.0) else {
                continue;
            };
            if fold(&of.environment, &of.trajectory) == own
                && let Some(gap) = guess.of(of.region, unit)
            {
                let pair = pairs.entry((&of.environment, &of.trajectory)).or_default();
                pair.0 += gap;
                pair.1 += found.value / found.base;
                pair.2 += 1.0;
            }
        }
    }
    let mut means: Vec<(f64, f64)> = pairs.values().map(|(p, m, n)| (p / n, m / n)).collect();
    if means.len() < LEAST {
        return Vec::new();
    }
    means.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let groups = 5;
    (0..groups)
        .map(|group| {
            let part = &means[group * means.len() / groups..(group + 1) * means.len() / groups];
            let n = part.len() as f64;
            let mean = |of: fn(&(f64, f64)) -> f64| part.iter().map(of).sum::<f64>() / n;
            let (predicted, measured) = (mean(|p| p.0), mean(|p| p.1));
            let squares = part
                .iter()
                .map(|p| (p.0 - p.1 - (predicted - measured)).powi(2))
                .sum::<f64>();
            Calibration {
                trajectories: part.len(),
                predicted,
                measured,
                se: (squares / (n - 1.0).max(1.0) / n).sqrt(),
            }
        })
        .collect()
}

/// Every trajectory of the pool: measured where it was, predicted where it was not.
pub(super) fn predict(pool: &LakePool, told: &Estimates) -> Vec<Predicted> {
    let guess = Guess::new(&pool.frame, told);
    let usual = told.overall.spread;
    let mut found: Vec<Predicted> = Vec::new();
    let mut sums = (0.0, Some(0.0), 0usize);
    for (unit, of) in pool.units.iter().enumerate() {
        let new = found.last().is_none_or(|last| {
            last.environment != of.environment || last.trajectory_id != of.trajectory
        });
        if new {
            finish(found.last_mut(), &mut sums);
            found.push(Predicted {
                environment: of.environment.clone(),
                trajectory_id: of.trajectory.clone(),
                calls: 0,
                measured: 0,
                gap: None,
                se: None,
                source: "",
            });
        }
        let Some(last) = found.last_mut() else {
            continue;
        };
        last.calls += 1;
        match of.found.first() {
            Some(known) => {
                last.measured += 1;
                if known.base > 0.0 {
                    sums.0 += known.value / known.base;
                    sums.2 += 1;
                }
            }
            None => {
                if let Some(gap) = guess.of(of.region, unit) {
                    sums.0 += gap;
                    sums.2 += 1;
                    // The region's spread and the error of its mean.
                    let region = &told.regions[of.region];
                    let spread = region.spread.or(usual).map(|s| s * s);
                    let error = region.se.map_or(0.0, |se| se * se);
                    sums.1 = sums.1.zip(spread).map(|(sum, s)| sum + s + error);
                }
            }
        }
    }
    finish(found.last_mut(), &mut sums);
    found
}

fn finish(last: Option<&mut Predicted>, sums: &mut (f64, Option<f64>, usize)) {
    let (sum, variance, n) = std::mem::replace(sums, (0.0, Some(0.0), 0));
    let Some(last) = last else { return };
    last.source = match last.measured {
        0 => "predicted",
        n if n == last.calls => "measured",
        _ => "mixed",
    };
    if n > 0 {
        last.gap = Some((sum / n as f64).clamp(0.0, 1.0));
        // Where everything was measured the error is that of repeats, which stands in profiles.
        if last.source != "measured" {
            last.se = variance.map(|v| v.sqrt() / n as f64);
        }
    }
}
