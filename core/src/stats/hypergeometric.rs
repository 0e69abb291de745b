//! Draws without replacement: tails, and the exact test of two shares.

use super::student::ln_gamma;

fn ln_choose(n: f64, k: f64) -> f64 {
    ln_gamma(n + 1.0) - ln_gamma(k + 1.0) - ln_gamma(n - k + 1.0)
}

/// P(at most `seen` of `drawn`) when `marked` of `pool` have the property.
pub(super) fn at_most(seen: usize, drawn: usize, marked: usize, pool: usize) -> f64 {
    let (n, m, all) = (drawn as f64, marked as f64, pool as f64);
    let least = (drawn + marked).saturating_sub(pool);
    let whole = ln_choose(all, n);
    (least..=seen.min(drawn).min(marked))
        .map(|k| {
            let k = k as f64;
            (ln_choose(m, k) + ln_choose(all - m, n - k) - whole).exp()
        })
        .sum::<f64>()
        .min(1.0)
}

/// How likely it is that a first sample has at least `a` marked of `a_all`, when a second has
/// `b` of `b_all` and both come from one world: the one-sided exact test of Fisher (1935),
/// which takes both totals as given. 1 where a sample is empty or a count cannot be.
///
/// ```
/// use fidelake_core::stats::share_above;
/// // The tea: 3 of 4 against 1 of 4. 16 of 70 ways give 3, 1 of 70 gives 4.
/// assert!((share_above((3, 4), (1, 4)) - 17.0 / 70.0).abs() < 1e-12);
/// assert_eq!(share_above((0, 4), (4, 4)), 1.0);
/// ```
#[must_use]
pub fn share_above((a, a_all): (usize, usize), (b, b_all): (usize, usize)) -> f64 {
    if a == 0 || a > a_all || b > b_all || b_all == 0 {
        return 1.0;
    }
    let (marked, pool) = (a + b, a_all + b_all);
    // The complement of the lower tail loses the digits of a small upper one.
    at_most(b, b_all, marked, pool)
}

/// Both sides of [`share_above`]: twice the smaller tail, at most 1.
#[must_use]
pub fn shares_differ(a: (usize, usize), b: (usize, usize)) -> f64 {
    (2.0 * share_above(a, b).min(share_above(b, a))).min(1.0)
}

/// Holm's step-down correction (1979): p-values that hold for all of them together, in the
/// order given.
///
/// ```
/// assert_eq!(fidelake_core::stats::holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
/// ```
#[must_use]
pub fn holm(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let mut adjusted = vec![1.0; values.len()];
    let mut least = 0.0_f64;
    for (rank, &at) in order.iter().enumerate() {
        least = least.max((values[at] * (values.len() - rank) as f64).min(1.0));
        adjusted[at] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn tails_overlap_in_what_was_seen(a in 0usize..20, b in 0usize..20, more_a in 1usize..20, more_b in 1usize..20) {
            let (one, other) = ((a, a + more_a), (b, b + more_b));
            let (up, down) = (share_above(one, other), share_above(other, one));
            prop_assert!((0.0..=1.0).contains(&up) && (0.0..=1.0).contains(&down));
            // Together they are everything, and what was seen twice.
            prop_assert!(up + down >= 1.0 - 1e-9, "{up} + {down}");
            prop_assert!(shares_differ(one, other) <= 1.0);
        }

        #[test]
        fn holm_keeps_the_order_and_never_lowers(values in prop::collection::vec(0.0f64..1.0, 0..12)) {
            let adjusted = holm(&values);
            for (i, (&p, &q)) in values.iter().zip(&adjusted).enumerate() {
                prop_assert!(q >= p && q <= 1.0);
                for (&other, &theirs) in values.iter().zip(&adjusted).skip(i) {
                    prop_assert!((p <= other) == (q <= theirs) || q == theirs);
                }
            }
        }
    }
}
