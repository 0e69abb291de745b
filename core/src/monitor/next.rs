//! Where to sample next.

use crate::stats::{Chance, draw_systematic};

/// How `n` samples are spread over regions: a share `floor` evenly, the rest in proportion to
/// `weights` (not negative; all 0: evenly). The whole parts are certain, what is left is drawn with
/// chances equal to the fractions, so that every region has its turn however small `n` is.
///
/// ```
/// use fidelake_core::monitor::draws;
/// assert_eq!(draws(&[3.0, 1.0], 8, 0.0, 1), [6, 2]);
/// assert_eq!(draws(&[3.0, 1.0], 8, 1.0, 1), [4, 4]);
/// ```
#[must_use]
pub fn draws(weights: &[f64], n: usize, floor: f64, seed: u64) -> Vec<usize> {
    let regions = weights.len() as f64;
    let weight = |w: &f64| if w.is_finite() { w.max(0.0) } else { 0.0 };
    let all: f64 = weights.iter().map(weight).sum();
    let floor = if all > 0.0 {
        floor.clamp(0.0, 1.0)
    } else {
        1.0
    };
    let expected = weights.iter().map(|w| {
        let own = if all > 0.0 { weight(w) / all } else { 0.0 };
        n as f64 * (floor / regions + (1.0 - floor) * own)
    });
    // What is whole but for rounding is whole.
    let expected: Vec<f64> = expected.map(|e| (e * 1e9).round() / 1e9).collect();
    let mut found: Vec<usize> = expected.iter().map(|e| e.floor() as usize).collect();
    let left: Vec<f64> = expected.iter().map(|e| e.fract()).collect();
    let missing = n.saturating_sub(found.iter().sum());
    let mut drawn = draw_systematic(&left, &mut Chance::new(seed));
    drawn.truncate(missing);
    for at in drawn {
        found[at] += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_numbers_take_turns() {
        let mut counts = [0; 5];
        for seed in 0..4000 {
            let found = draws(&[6.0, 1.0, 1.0, 1.0, 1.0], 1, 0.2, seed);
            assert_eq!(found.iter().sum::<usize>(), 1);
            found.iter().zip(&mut counts).for_each(|(n, c)| *c += n);
        }
        // .2 / 5 + .8 x .6 = .52 and .12 each: five standard deviations.
        assert!(counts[0].abs_diff(2080) < 160, "{counts:?}");
        assert!(
            counts[1..].iter().all(|c| c.abs_diff(480) < 105),
            "{counts:?}"
        );
    }

    proptest! {
        #[test]
        fn never_more_than_asked(weights in prop::collection::vec(prop_oneof![Just(0.0), 0.0f64..5.0], 0..20), n in 0usize..200, floor in 0.0f64..1.0, seed in 0u64..99) {
            let found = draws(&weights, n, floor, seed);
            let sum: usize = found.iter().sum();
            prop_assert!(sum <= n);
            prop_assert!(weights.is_empty() || n - sum <= 1, "{sum} of {n}");
            let least = (n as f64 * floor / weights.len().max(1) as f64 - 1e-6).floor();
            prop_assert!(found.iter().all(|f| *f as f64 >= least));
        }
    }
}
