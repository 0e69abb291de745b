//! Sums along a trajectory in which late turns count more.
//!
//! `w_t = gamma^(T - t)` (docs/measures.md, "Along a trajectory"). T is only
//! known at the end, so the sums are kept relative to the latest turn seen and
//! rescaled when a later one comes.

use super::ratio::{Delta, SATURATED_BELOW};

/// The published decay per turn.
pub const GAMMA: f64 = 0.95;

/// The weight `gamma^(T - t)` of a call at turn `turn` (t) of a trajectory whose
/// last turn is `last_turn` (T), in `[0,1]`: 1 at the end. `None` for a turn
/// after the last one and for a `gamma` outside (0,1].
#[must_use]
pub fn temporal_weight(turn: i64, last_turn: i64, gamma: f64) -> Option<f64> {
    let turns = last_turn.checked_sub(turn).filter(|&turns| turns >= 0)?;
    (gamma > 0.0 && gamma <= 1.0).then(|| power(gamma, turns))
}

/// The unnormalised sum of w d over the calls (turn, distance d in `[0,1]`) of
/// one trajectory, in any order; T is the latest turn among them. For one call a
/// turn in `[0, 1/(1 - gamma))`: long trajectories score higher, as in the seed
/// (`delta_beh`). `None` without calls or for a `gamma` outside (0,1].
///
/// ```
/// use fidelake_core::stats::behavior_gap;
/// // .5^2 x 1 + .5 x 0 + 1 x .5.
/// assert_eq!(behavior_gap([(1, 1.0), (2, 0.0), (3, 0.5)], 0.5), Some(0.75));
/// ```
#[must_use]
pub fn behavior_gap(calls: impl IntoIterator<Item = (i64, f64)>, gamma: f64) -> Option<f64> {
    if gamma.is_nan() || gamma <= 0.0 || gamma > 1.0 {
        return None;
    }
    let mut sums = DecaySums::new(gamma);
    for (turn, distance) in calls {
        sums.add(turn, 0.0, 0.0, distance);
    }
    sums.t_max.map(|_| sums.behaviour())
}

fn power(gamma: f64, turns: i64) -> f64 {
    // Beyond this many turns the weight is 0 anyway.
    gamma.powi(i32::try_from(turns).unwrap_or(i32::MAX))
}

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
        let own = self
            .t_max
            .map_or(0.0, |max| power(self.gamma, latest.saturating_sub(max)));
        let new = power(self.gamma, latest.saturating_sub(t));
        for (sum, term) in self.sums.iter_mut().zip(sums) {
            *sum = *sum * own + term * new;
        }
        self.t_max = Some(latest);
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

    #[test]
    fn weights_by_hand() {
        assert_eq!(temporal_weight(3, 3, GAMMA), Some(1.0));
        assert_eq!(temporal_weight(1, 3, 0.5), Some(0.25));
        assert_eq!(temporal_weight(4, 3, GAMMA), None);
        assert_eq!(temporal_weight(i64::MIN, i64::MAX, GAMMA), None);
        assert_eq!(temporal_weight(0, i64::MAX, GAMMA), Some(0.0));
        assert_eq!(temporal_weight(1, 1, f64::NAN), None);
        assert_eq!(behavior_gap([], GAMMA), None);
        assert_eq!(behavior_gap([(1, 1.0)], 0.0), None);
    }

    proptest! {
        #[test]
        fn behavior_is_the_weighted_sum(calls in prop::collection::vec((-20i64..300, 0.0f64..1.0), 1..40)) {
            let last = calls.iter().map(|c| c.0).max().unwrap();
            let direct: f64 = calls.iter().map(|&(t, d)| temporal_weight(t, last, GAMMA).unwrap() * d).sum();
            prop_assert!((behavior_gap(calls.iter().copied(), GAMMA).unwrap() - direct).abs() < 1e-10);
        }

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
