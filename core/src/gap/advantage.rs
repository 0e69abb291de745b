//! Advantages of a group of rollouts of one task (docs/measures.md, "Advantages").
//!
//! A weight on the reward is cancelled by group normalisation, so the weight
//! multiplies the advantage, over a baseline that is weighted too.

use crate::stats::ExactSum;

/// Added to the standard deviation (as GRPO implementations do).
pub const EPSILON: f64 = 1e-6;

/// Rewards closer than this are equal.
pub const EQUAL_REWARDS: f64 = 1e-12;

/// The columns of one rollout.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Advantages {
    /// `(r - mean) / (std + eps)`.
    pub advantage: f64,
    /// `r - mean`.
    pub advantage_centered: f64,
    /// The weight w in `[0,1]`.
    pub fidelity_weight: f64,
    /// `w advantage`, as in the seed.
    pub advantage_fidelity_seed: f64,
    /// `w (r - b_w) / (s_w + eps)` with the weighted mean b_w and deviation s_w: the default.
    pub advantage_fidelity: f64,
}

/// The columns of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Number of rollouts.
    pub size: usize,
    /// Mean reward; 0 of none.
    pub mean: f64,
    /// Standard deviation of the rewards (n - 1); 0 below two.
    pub std: f64,
    /// Nothing can be learned: equal rewards, or weights worth fewer than two
    /// rollouts. All advantages are 0.
    pub degenerate: bool,
    /// One row per rollout, in order.
    pub rows: Vec<Advantages>,
}

/// The advantages of one group. `rewards` must be finite, `weights` in `[0,1]`
/// (cut to it, `NaN` counts 0), one for each reward; `None` if their numbers differ.
/// A group with a reward that is not finite is degenerate.
///
/// ```
/// use fidelake_core::gap::group_advantages;
/// let group = group_advantages(&[1., 0., 0., 1., 1., 0., 0., 0.], &[1.0; 8]).unwrap();
/// assert!((group.rows[0].advantage - 1.2076).abs() < 1e-4);
/// ```
#[must_use]
pub fn group_advantages(rewards: &[f64], weights: &[f64]) -> Option<Group> {
    if rewards.len() != weights.len() {
        return None;
    }
    let size = rewards.len();
    let weights: Vec<f64> = weights.iter().map(|&w| cut(w)).collect();
    let mean = ExactSum::from_parts(rewards).value() / size.max(1) as f64;
    let squares: ExactSum = rewards.iter().map(|r| (r - mean) * (r - mean)).collect();
    let std = if size < 2 {
        0.0
    } else {
        (squares.value() / (size - 1) as f64).sqrt()
    };

    let finite = rewards.iter().all(|r| r.is_finite());
    let max = rewards.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let min = rewards.iter().copied().fold(f64::INFINITY, f64::min);
    let degenerate =
        !finite || size < 2 || max - min <= EQUAL_REWARDS || effective_size(&weights) < 2.0 - 1e-9;

    let total = ExactSum::from_parts(&weights).value();
    let weighted = |of: &dyn Fn(f64) -> f64| -> f64 {
        let mut sum = ExactSum::default();
        rewards
            .iter()
            .zip(&weights)
            .for_each(|(r, w)| sum.add_product(*w, of(*r)));
        sum.value() / total
    };
    let (baseline, deviation) = if degenerate {
        (0.0, 0.0)
    } else {
        let baseline = weighted(&|r| r);
        (
            baseline,
            weighted(&|r| (r - baseline) * (r - baseline)).sqrt(),
        )
    };
    let row = |(&r, &w): (&f64, &f64)| {
        if degenerate {
            return Advantages {
                fidelity_weight: w,
                ..Advantages::default()
            };
        }
        let advantage = (r - mean) / (std + EPSILON);
        Advantages {
            advantage,
            advantage_centered: r - mean,
            fidelity_weight: w,
            advantage_fidelity_seed: w * advantage,
            advantage_fidelity: w * (r - baseline) / (deviation + EPSILON),
        }
    };
    let rows = rewards.iter().zip(&weights).map(row).collect();
    Some(Group {
        size,
        mean,
        std,
        degenerate,
        rows,
    })
}

fn cut(weight: f64) -> f64 {
    if weight.is_nan() {
        0.0
    } else {
        weight.clamp(0.0, 1.0)
    }
}

/// `(sum w)^2 / sum w^2`: how many equally weighted rollouts these are worth; 0 without weight.
#[must_use]
pub fn effective_size(weights: &[f64]) -> f64 {
    let sum = ExactSum::from_parts(weights).value();
    let squares: ExactSum = weights.iter().map(|w| w * w).collect();
    if squares.value() > 0.0 {
        sum * sum / squares.value()
    } else {
        0.0
    }
}

/// `reward - max(0, excess)`, excess being the region's mean of sim reward minus
/// real reward; `None` where that is unknown.
#[must_use]
pub fn reward_corrected(reward: f64, excess: Option<f64>) -> Option<f64> {
    excess.map(|excess| reward - excess.max(0.0))
}

/// The one constant that keeps the effective learning rate: 1 / mean weight of
/// the rows of groups that are not degenerate. Mergeable; never computed per group or batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WeightScale {
    weights: ExactSum,
    rows: u64,
}

impl WeightScale {
    /// One group; a degenerate one is left out.
    pub fn add(&mut self, group: &Group) {
        if !group.degenerate {
            group
                .rows
                .iter()
                .for_each(|row| self.weights.add(row.fidelity_weight));
            self.rows += group.size as u64;
        }
    }

    /// Other groups of the same curation too.
    pub fn merge(&mut self, other: &Self) {
        self.weights.merge(&other.weights);
        self.rows += other.rows;
    }

    /// The constant; `None` if no row has weight.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        let sum = self.weights.value();
        (sum > 0.0).then(|| self.rows as f64 / sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_group_by_hand() {
        // mean 3/8, std sqrt(15/56) = .51755.
        let group = group_advantages(&[1., 0., 0., 1., 1., 0., 0., 0.], &[1.0; 8]).unwrap();
        assert!((group.std - (15f64 / 56.0).sqrt()).abs() < 1e-12);
        let [first, second] = [group.rows[0], group.rows[1]];
        assert!(
            (first.advantage - 1.2076).abs() < 5e-5 && (second.advantage + 0.7246).abs() < 5e-5
        );
        assert_eq!(
            (first.advantage_centered, second.advantage_centered),
            (0.625, -0.375)
        );
        // s_w divides by n: sqrt(15/64).
        assert!(
            (first.advantage_fidelity - 0.625 / ((15f64 / 64.0).sqrt() + EPSILON)).abs() < 1e-12
        );
    }

    #[test]
    fn weighted_group_by_hand() {
        // r 1 0 1, w 1 1 .5: b = 1.5/2.5 = .6, s^2 = (.16 + .36 + .08)/2.5 = .24.
        let group = group_advantages(&[1.0, 0.0, 1.0], &[1.0, 1.0, 0.5]).unwrap();
        let s = 0.24f64.sqrt() + EPSILON;
        let expected = [0.4 / s, -0.6 / s, 0.2 / s];
        for (row, expected) in group.rows.iter().zip(expected) {
            assert!((row.advantage_fidelity - expected).abs() < 1e-12);
        }
        // mean 2/3, std sqrt(1/3).
        let plain = (1.0 / 3.0) / ((1f64 / 3.0).sqrt() + EPSILON);
        assert!((group.rows[2].advantage_fidelity_seed - 0.5 * plain).abs() < 1e-12);
    }

    #[test]
    fn degenerate_groups_teach_nothing() {
        for (rewards, weights) in [
            (vec![1.0, 1.0], vec![1.0, 1.0]),
            (vec![1.0, 0.0, 1.0], vec![1.0, 0.1, 0.0]),
            (vec![1.0], vec![1.0]),
            (vec![], vec![]),
            (vec![1.0, 0.0], vec![0.0, 0.0]),
            (vec![1.0, f64::NAN, 0.0], vec![1.0, 1.0, 1.0]),
        ] {
            let group = group_advantages(&rewards, &weights).unwrap();
            assert!(group.degenerate, "{rewards:?}");
            assert!(
                group
                    .rows
                    .iter()
                    .all(|r| r.advantage == 0.0 && r.advantage_fidelity == 0.0)
            );
        }
        assert!(
            !group_advantages(&[1.0, 0.0], &[0.1, 0.1])
                .unwrap()
                .degenerate
        );
        assert_eq!(group_advantages(&[1.0], &[]), None);
    }

    #[test]
    fn scale_and_correction_by_hand() {
        let mut scale = WeightScale::default();
        scale.add(&group_advantages(&[1.0, 0.0, 1.0], &[1.0, 1.0, 0.5]).unwrap());
        scale.add(&group_advantages(&[1.0, 1.0], &[0.0, 0.0]).unwrap());
        assert!((scale.value().unwrap() - 1.2).abs() < 1e-12);
        assert_eq!(WeightScale::default().value(), None);
        assert_eq!(reward_corrected(1.0, Some(0.25)), Some(0.75));
        assert_eq!(reward_corrected(1.0, Some(-0.25)), Some(1.0));
        assert_eq!(reward_corrected(1.0, None), None);
    }

    proptest! {
        #[test]
        fn laws(rows in prop::collection::vec((0.0f64..1.0, 0.05f64..1.0), 3..12), k in 0.1f64..1.0, shift in -5.0f64..5.0) {
            let (r, w): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
            let group = group_advantages(&r, &w).unwrap();
            prop_assume!(!group.degenerate && group.std > 1e-3);
            // Each sums to 0.
            let sum = |g: &Group, of: fn(&Advantages) -> f64| g.rows.iter().map(of).sum::<f64>();
            prop_assert!(sum(&group, |a| a.advantage).abs() < 1e-9);
            prop_assert!(sum(&group, |a| a.advantage_centered).abs() < 1e-9);
            prop_assert!(sum(&group, |a| a.advantage_fidelity).abs() < 1e-9);
            // Weights all scaled: the scale takes it back.
            let scaled: Vec<_> = w.iter().map(|w| w * k).collect();
            let smaller = group_advantages(&r, &scaled).unwrap();
            let (mut a, mut b) = (WeightScale::default(), WeightScale::default());
            a.add(&group);
            b.add(&smaller);
            let (a, b) = (a.value().unwrap(), b.value().unwrap());
            for (x, y) in group.rows.iter().zip(&smaller.rows) {
                prop_assert!((x.advantage_fidelity * a - y.advantage_fidelity * b).abs() < 1e-9 * a.max(1.0));
            }
            // A shift of all rewards changes nothing.
            let shifted: Vec<_> = r.iter().map(|r| r + shift).collect();
            let moved = group_advantages(&shifted, &w).unwrap();
            for (x, y) in group.rows.iter().zip(&moved.rows) {
                prop_assert!((x.advantage_fidelity - y.advantage_fidelity).abs() < 1e-6);
            }
        }
    }
}
