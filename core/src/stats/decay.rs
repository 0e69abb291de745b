//! Sums along a trajectory in which late turns count more.
//!
//! `w_t = gamma^(T - t)` (docs/measures.md, "Along a trajectory"). T is only
//! known at the end, so the sums are kept relative to the latest turn seen and
//! rescaled when a later one comes.

use super::ratio::{Delta, SATURATED_BELOW};

/// The published decay per turn.
pub const GAMMA: f64 = 0.95;

/// Mergeable sums of one trajectory: values agree to 1e-12 in any merge order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecaySums {
    gamma: f64,
    /// The latest turn, if any call was added.
    t_max: Option<i64>,
    /// Sums of w D, w C, w and of the plain distance w d.
    sums: [f64; 4],
}

impl Default for DecaySums {
    fn default() -> Self {
        Self::new(GAMMA)
    }
}

impl DecaySums {
    /// No calls yet. `gamma` in (0,1].
    #[must_use]
    pub const fn new(gamma: f64) -> Self {
        Self {
            gamma,
            t_max: None,
            sums: [0.0; 4],
        }
    }

    /// One call of turn `t`: `gap_raw` D, `reliability` C, and the plain
    /// distance d in `[0,1]` between the arms.
    pub fn add(&mut self, t: i64, d: f64, c: f64, distance: f64) {
        self.join(t, [d, c, 1.0, distance]);
    }

    /// The calls of another part of the same trajectory too.
    pub fn merge(&mut self, other: &Self) {
        if let Some(t) = other.t_max {
            self.join(t, other.sums);
        }
    }

    fn join(&mut self, t: i64, sums: [f64; 4]) {
        let latest = self.t_max.map_or(t, |max| max.max(t));
        let own = self.t_max.map_or(0.0, |max| self.power(latest - max));
        let new = self.power(latest - t);
        for (sum, term) in self.sums.iter_mut().zip(sums) {
            *sum = *sum * own + term * new;
        }
        self.t_max = Some(latest);
    }

    fn power(&self, turns: i64) -> f64 {
        // Beyond this many turns the weight is 0 anyway.
        self.gamma.powi(i32::try_from(turns).unwrap_or(i32::MAX))
    }

    /// `clip(sum w D / sum w C, 0, 1)`.
    #[must_use]
    pub fn delta(&self) -> Delta {
        let [d, c, w, _] = self.sums;
        if self.t_max.is_none() || w <= 0.0 {
            Delta::Empty
        } else if c / w < SATURATED_BELOW {
            Delta::Saturated
        } else {
            Delta::Known((d / c).clamp(0.0, 1.0))
        }
    }

    /// The unnormalised sum of w d (`delta_beh` of the seed).
    #[must_use]
    pub const fn behaviour(&self) -> f64 {
        self.sums[3]
    }

    /// Latest turn, then the sums of w D, w C, w and w d; `None` before the first call.
    #[must_use]
    pub fn state(&self) -> Option<(i64, [f64; 4])> {
        self.t_max.map(|t| (t, self.sums))
    }

    /// Sums read back from [`Self::state`].
    #[must_use]
    pub const fn from_state(gamma: f64, t_max: i64, sums: [f64; 4]) -> Self {
        Self {
            gamma,
            t_max: Some(t_max),
            sums,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn two_turns_by_hand() {
        // Weights .5 and 1: (.5 x 1 + 1 x 0) / 1.5.
        let mut sums = DecaySums::new(0.5);
        sums.add(2, 0.0, 1.0, 0.0);
        sums.add(1, 1.0, 1.0, 1.0);
        assert_eq!(sums.delta(), Delta::Known(1.0 / 3.0));
        assert_eq!(sums.behaviour(), 0.5);
        assert_eq!(DecaySums::default().delta(), Delta::Empty);
    }

    proptest! {
        #[test]
        fn order_does_not_matter(
            calls in prop::collection::vec((0i64..300, -1.0f64..1.0, 0.2f64..1.0), 1..40),
            cut in 0usize..40,
        ) {
            let part = |calls: &[(i64, f64, f64)]| {
                let mut sums = DecaySums::default();
                calls.iter().for_each(|&(t, d, c)| sums.add(t, d, c, d.abs()));
                sums
            };
            let whole = part(&calls);
            let cut = cut.min(calls.len());
            let mut merged = part(&calls[cut..]);
            merged.merge(&part(&calls[..cut]));
            let (a, b) = (whole.delta().value().unwrap(), merged.delta().value().unwrap());
            prop_assert!((a - b).abs() < 1e-12);
            prop_assert!((whole.behaviour() - merged.behaviour()).abs() < 1e-12 * calls.len() as f64);
        }
    }
}
