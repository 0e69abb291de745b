//! Distances between two samples, for columns of whole regions
//! (docs/measures.md, "Transition").
//!
//! Both are plugged in, not corrected for noise: few observations read as a
//! difference even where there is none (two arms that both fail with probability
//! .3 are on average .24 apart at 2 calls each, .02 at 20). Hence [`MIN_PER_ARM`], which the caller keeps.

use super::sum::ExactSum;

/// Region columns from these functions are shown from this many observations in *each* arm.
pub const MIN_PER_ARM: usize = 20;

/// Jensen-Shannon divergence in bits (Lin 1991, base 2) of two lists of counts,
/// in `[0,1]`: 0 for equal shares, 1 for no common category.
///
/// `counts_a[k]` and `counts_b[k]` count the same category; where one list is
/// shorter, its further categories were never seen. `None` if either arm has no
/// observation. This is the divergence, not its square root (the distance).
///
/// ```
/// use fidelake_core::stats::js_divergence;
/// // All in one category against half and half: mixed (.75, .25), so
/// // .5 log2(1/.75) + .5 (.5 log2(.5/.75) + .5 log2(.5/.25)) = .3113.
/// let found = js_divergence(&[2, 0], &[1, 1]).unwrap();
/// assert!((found - 0.311_278).abs() < 1e-6);
/// assert_eq!(js_divergence(&[3], &[0, 5]), Some(1.0));
/// ```
#[must_use]
pub fn js_divergence(counts_a: &[u64], counts_b: &[u64]) -> Option<f64> {
    let total = |counts: &[u64]| counts.iter().map(|&n| n as f64).sum::<f64>();
    let (n, m) = (total(counts_a), total(counts_b));
    if n == 0.0 || m == 0.0 {
        return None;
    }
    let share = |counts: &[u64], k: usize, total: f64| {
        counts.get(k).map_or(0.0, |&count| count as f64 / total)
    };
    // 0 log 0 is 0.
    let part = |p: f64, middle: f64| {
        if p > 0.0 {
            p * (p / middle).log2()
        } else {
            0.0
        }
    };
    let mut bits = 0.0;
    for k in 0..counts_a.len().max(counts_b.len()) {
        let (p, q) = (share(counts_a, k, n), share(counts_b, k, m));
        let middle = f64::midpoint(p, q);
        // Summed per category: swapping the arms gives the same bits.
        bits += f64::midpoint(part(p, middle), part(q, middle));
    }
    Some(bits.clamp(0.0, 1.0))
}

/// Wasserstein-1 distance of two samples of any sizes, in the unit of the
/// samples (milliseconds in, milliseconds out): the area between their quantile
/// functions, exact up to the rounding of the differences.
///
/// Sorts both slices. `None` if either is empty or holds anything not finite: an
/// infinite or missing latency has no honest place in a mean, so it is the
/// caller who leaves it out and says so.
///
/// ```
/// use fidelake_core::stats::wasserstein1;
/// // Quantile functions 0 | 3 (halves) and 0 | 1 | 5 (thirds):
/// // 1/3 x 0 + 1/6 x 1 + 1/6 x 2 + 1/3 x 2 = 7/6.
/// let found = wasserstein1(&mut [3.0, 0.0], &mut [5.0, 0.0, 1.0]).unwrap();
/// assert!((found - 7.0 / 6.0).abs() < 1e-12);
/// ```
#[must_use]
pub fn wasserstein1(a: &mut [f64], b: &mut [f64]) -> Option<f64> {
    if a.is_empty() || b.is_empty() || a.iter().chain(b.iter()).any(|x| !x.is_finite()) {
        return None;
    }
    a.sort_unstable_by(f64::total_cmp);
    b.sort_unstable_by(f64::total_cmp);
    // Probabilities in units of 1 / (n m): steps of a are m wide, of b n wide.
    let (n, m) = (a.len() as u128, b.len() as u128);
    let (mut i, mut j, mut at) = (0, 0, 0u128);
    let mut area = ExactSum::default();
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        let (end_a, end_b) = ((i as u128 + 1) * m, (j as u128 + 1) * n);
        let end = end_a.min(end_b);
        area.add_product((end - at) as f64, (x - y).abs());
        at = end;
        i += usize::from(end == end_a);
        j += usize::from(end == end_b);
    }
    Some(area.value() / (n * m) as f64).filter(|distance| distance.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_to_compare() {
        assert_eq!(js_divergence(&[], &[1]), None);
        assert_eq!(js_divergence(&[0, 0], &[1]), None);
        assert_eq!(wasserstein1(&mut [], &mut [1.0]), None);
        assert_eq!(wasserstein1(&mut [f64::NAN], &mut [1.0]), None);
        assert_eq!(wasserstein1(&mut [1.0], &mut [f64::INFINITY]), None);
        // Finite numbers whose distance is none.
        assert_eq!(wasserstein1(&mut [f64::MAX], &mut [-f64::MAX]), None);
    }

    /// Expected divergence of two equal worlds that fail with probability .3, exactly.
    fn expected_of_equal_worlds(n: u64) -> f64 {
        let mut shares = vec![0.7f64.powi(n as i32)];
        for k in 0..n {
            let last = shares[k as usize];
            shares.push(last * (n - k) as f64 / (k + 1) as f64 * 0.3 / 0.7);
        }
        let mut expected = 0.0;
        for (a, p) in (0u64..).zip(&shares) {
            for (b, q) in (0u64..).zip(&shares) {
                expected += p * q * js_divergence(&[a, n - a], &[b, n - b]).unwrap();
            }
        }
        expected
    }

    #[test]
    fn few_observations_read_as_a_difference() {
        assert!((expected_of_equal_worlds(2) - 0.24).abs() < 0.005);
        let shown_from = expected_of_equal_worlds(MIN_PER_ARM as u64);
        assert!(shown_from < 0.025, "{shown_from}");
    }

    fn counts() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec(0u64..50, 1..8).prop_filter("seen", |c| c.iter().any(|&n| n > 0))
    }

    fn sample() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(-100.0f64..100.0, 1..20)
    }

    proptest! {
        #[test]
        fn divergence_is_symmetric_and_bounded(a in counts(), b in counts(), scale in 1u64..9) {
            let found = js_divergence(&a, &b).unwrap();
            prop_assert!((0.0..=1.0).contains(&found));
            prop_assert_eq!(Some(found), js_divergence(&b, &a));
            let larger: Vec<u64> = a.iter().map(|n| n * scale).collect();
            prop_assert!(js_divergence(&a, &larger).unwrap() < 1e-12);
            prop_assert!((found - js_divergence(&larger, &b).unwrap()).abs() < 1e-12);
            let total = |c: &[u64]| c.iter().sum::<u64>() as f64;
            let part = |c: &[u64], k: usize| c.get(k).map_or(0.0, |&n| n as f64 / total(c));
            let variation: f64 = (0..8).map(|k| (part(&a, k) - part(&b, k)).abs()).sum::<f64>() / 2.0;
            // Lin 1991: at most the total variation.
            prop_assert!(found <= variation + 1e-12);
        }

        #[test]
        fn distance_is_the_area_between_the_distributions(mut a in sample(), mut b in sample()) {
            let found = wasserstein1(&mut a, &mut b).unwrap();
            // The same area, cut along the other axis.
            let mut places: Vec<f64> = a.iter().chain(&b).copied().collect();
            places.sort_by(f64::total_cmp);
            let below = |s: &[f64], x: f64| s.iter().filter(|&&v| v <= x).count() as f64 / s.len() as f64;
            let area: f64 = places
                .windows(2)
                .map(|w| (below(&a, w[0]) - below(&b, w[0])).abs() * (w[1] - w[0]))
                .sum();
            prop_assert!((found - area).abs() < 1e-9);
            prop_assert_eq!(Some(found), wasserstein1(&mut b, &mut a));
            prop_assert_eq!(wasserstein1(&mut a.clone(), &mut a), Some(0.0));
        }

        #[test]
        fn distance_is_a_metric_that_moves_with_its_samples(mut a in sample(), mut b in sample(), mut c in sample(), by in -9.0f64..9.0) {
            let (ab, bc) = (wasserstein1(&mut a, &mut b).unwrap(), wasserstein1(&mut b, &mut c).unwrap());
            prop_assert!(wasserstein1(&mut a, &mut c).unwrap() <= ab + bc + 1e-9);
            let mut moved: Vec<f64> = a.iter().map(|x| x + by).collect();
            prop_assert!((wasserstein1(&mut a, &mut moved).unwrap() - by.abs()).abs() < 1e-9);
            // Every observation twice: the same distribution.
            let mut twice = [a.clone(), a.clone()].concat();
            prop_assert!((wasserstein1(&mut twice, &mut b).unwrap() - ab).abs() < 1e-9);
        }
    }
}
