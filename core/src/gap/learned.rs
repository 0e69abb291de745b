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
