//! Noise borrowed from other trajectories, and what borrowing costs.
//!
//! A call whose own repeats cannot be compared (they ended differently, or there
//! are none) takes the mean noise of its API in *other* trajectories. That mean
//! is an estimate, too, and every borrower shares its error: a standard error
//! that takes it for the truth is too small (.84 of the true spread, intervals
//! that cover 90 % instead of 95 %, in a world where each arm borrows at every
//! third call: `core/tests/simulation`). The remedy is exact to first order. With N distances
//! behind a level L and borrowers of weight W, a trajectory that contributed n of
//! the distances, of sum x, moves the sums of w D and of w C of the region by
//! `-(W/2)(x - L n)/N` each. Over all trajectories that is 0, so the gap stays;
//! added to each trajectory's own sums it makes the clustered error whole.

use std::collections::HashMap;

use crate::stats::{CallSums, ExactSum};

/// Distances within one arm at one API (and outcome class): of one trajectory, or
/// of all together. Mergeable in any order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NoiseSums {
    sum: ExactSum,
    count: u64,
}

impl NoiseSums {
    /// The distance in `[0,1]` of two runs of the arm at one call.
    pub fn add(&mut self, distance: f64) {
        self.sum.add(distance);
        self.count += 1;
    }

    /// Other calls or trajectories too.
    pub fn merge(&mut self, other: &Self) {
        self.sum.merge(&other.sum);
        self.count += other.count;
    }

    /// Mean distance; `None` without any.
    #[must_use]
    pub fn level(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum.value() / self.count as f64)
    }

    /// The level that one trajectory may borrow: of all others. `own` must be part
    /// of these sums. `None` where there are no others.
    #[must_use]
    pub fn level_without(&self, own: &Self) -> Option<f64> {
        let count = self.count.checked_sub(own.count).filter(|&n| n > 0)?;
        let mut rest = self.sum.clone();
        rest.add_scaled(-1.0, &own.sum);
        Some((rest.value() / count as f64).clamp(0.0, 1.0))
    }

    /// Charges one trajectory with its share of the level's error: call it on the
    /// sums over all trajectories, for each level and each trajectory that is
    /// `own` part of it, before `RatioSums::add`. `borrowed`: sum of the weights of
    /// the region's calls that stand on this level (a call that mixes levels counts
    /// with its share of each).
    pub fn charge(&self, own: &Self, borrowed: f64, calls: &mut CallSums) {
        let Some(level) = self.level() else { return };
        let moved = own.sum.value() - level * own.count as f64;
        let moved = -0.5 * borrowed * moved / self.count as f64;
        calls.d.add(moved);
        calls.c.add(moved);
    }
}

/// What the calls of one region lend and borrow, by API and arm.
#[derive(Debug, Default)]
pub struct Lending<'a> {
    levels: HashMap<(&'a str, usize), Level>,
}

#[derive(Debug, Default)]
struct Level {
    all: NoiseSums,
    own: HashMap<i64, NoiseSums>,
    borrowed: ExactSum,
}

impl<'a> Lending<'a> {
    /// One call: its weight, its reliability C, and the mean distance among the own
    /// repeats of sim and real. An arm without own repeats borrows where C says that
    /// more noise was taken off than the other arm has.
    pub fn add(
        &mut self,
        trajectory: i64,
        api: &'a str,
        weight: f64,
        reliability: f64,
        noise: [Option<f64>; 2],
    ) {
        let taken = 2.0 * (1.0 - reliability);
        for arm in [0, 1] {
            let other = noise[1 - arm].unwrap_or(0.0);
            match noise[arm] {
                Some(distance) => {
                    let level = self.levels.entry((api, arm)).or_default();
                    level.all.add(distance);
                    level.own.entry(trajectory).or_default().add(distance);
                }
                // Rounding is no loan.
                None if taken - other > 1e-9 => {
                    let level = self.levels.entry((api, arm)).or_default();
                    level.borrowed.add(weight);
                }
                None => {}
            }
        }
    }

    /// Charges the trajectories that lent with the error of what they lent.
    pub fn charge(&self, trajectories: &mut HashMap<i64, CallSums>) {
        for level in self.levels.values() {
            let borrowed = level.borrowed.value();
            if borrowed == 0.0 {
                continue;
            }
            for (trajectory, own) in &level.own {
                if let Some(calls) = trajectories.get_mut(trajectory) {
                    level.all.charge(own, borrowed, calls);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::RatioSums;
    use proptest::prelude::*;

    fn sums(distances: &[f64]) -> NoiseSums {
        let mut sums = NoiseSums::default();
        distances.iter().for_each(|&d| sums.add(d));
        sums
    }

    #[test]
    fn by_hand() {
        let (own, mut all) = (sums(&[0.5, 0.75]), sums(&[0.25]));
        all.merge(&own);
        assert_eq!(
            (all.level(), all.level_without(&own)),
            (Some(0.5), Some(0.25))
        );
        assert_eq!(own.level_without(&own), None);
        assert_eq!(NoiseSums::default().level(), None);
        // x - L n = 1.25 - 1; borrowers of weight 6: -3 x .25 / 3.
        let mut calls = CallSums::default();
        all.charge(&own, 6.0, &mut calls);
        assert_eq!((calls.d.value(), calls.c.value()), (-0.25, -0.25));
    }

    #[test]
    fn a_region_by_hand() {
        let mut calls: HashMap<i64, CallSums> = HashMap::new();
        let mut lending = Lending::default();
        let mut add = |key, d: f64, c: f64, noise| {
            calls.entry(key).or_default().add(1.0, d, c);
            lending.add(key, "search", 1.0, c, noise);
        };
        // Two lend (levels .5 and 0 on sim: mean .25), one borrows .25 on sim.
        add(1, 0.25, 0.75, [Some(0.5), Some(0.0)]);
        add(2, 0.5, 1.0, [Some(0.0), Some(0.0)]);
        add(3, 0.375, 0.875, [None, Some(0.0)]);
        let before: Vec<f64> = [1, 2, 3].map(|key| calls[&key].d.value()).into();
        lending.charge(&mut calls);
        let moved: Vec<f64> = [1, 2, 3]
            .iter()
            .zip(&before)
            .map(|(key, before)| calls[key].d.value() - before)
            .collect();
        // -(1/2)(.5 - .25)/2 and -(1/2)(0 - .25)/2; who borrows is not charged.
        assert_eq!(moved, [-0.0625, 0.0625, 0.0]);
    }

    proptest! {
        #[test]
        fn the_gap_stays(parts in prop::collection::vec(prop::collection::vec(0.0f64..1.0, 1..4), 5..9), d in 0.0f64..0.5) {
            let mut all = NoiseSums::default();
            parts.iter().for_each(|p| all.merge(&sums(p)));
            let (mut plain, mut charged) = (RatioSums::default(), RatioSums::default());
            for part in &parts {
                let mut calls = CallSums::default();
                calls.add(1.0, d, 0.8);
                plain.add(&calls);
                all.charge(&sums(part), 3.0, &mut calls);
                charged.add(&calls);
            }
            let (a, b) = (plain.unfloored().unwrap(), charged.unfloored().unwrap());
            prop_assert!((a.ratio - b.ratio).abs() < 1e-12);
            prop_assert!(b.se.unwrap() >= a.se.unwrap() - 1e-12);
        }
    }
}
