//! How often a task is solved.

/// Probability that at least one of k runs solves the task, from c successes in n
/// runs: `1 - C(n - c, k) / C(n, k)`, unbiased (Chen et al. 2021, "Evaluating Large
/// Language Models Trained on Code", equation 1). `None` for k = 0 or k > n, and
/// for c > n.
#[must_use]
pub fn pass_at_k(n: u64, c: u64, k: u64) -> Option<f64> {
    Some(1.0 - all_of(n, n.checked_sub(c)?, k)?)
}

/// Probability that all of k runs solve the task: `C(c, k) / C(n, k)`, unbiased
/// (Yao et al. 2024, tau-bench, section 3). `None` as for [`pass_at_k`].
#[must_use]
pub fn pass_hat_k(n: u64, c: u64, k: u64) -> Option<f64> {
    n.checked_sub(c)?;
    all_of(n, c, k)
}

/// Probability that k runs drawn from n without return are all among m of them.
fn all_of(n: u64, m: u64, k: u64) -> Option<f64> {
    if k == 0 || k > n {
        return None;
    }
    if m < k {
        return Some(0.0);
    }
    Some((0..k).map(|i| (m - i) as f64 / (n - i) as f64).product())
}

/// `(c + .5) / (n + 1)`: a pass rate that few runs do not push to 0 or 1
/// (docs/measures.md, "Joint gate with difficulty"); `.5` of none.
#[must_use]
pub fn smoothed_pass_rate(n: u64, c: u64) -> f64 {
    (c.min(n) as f64 + 0.5) / (n as f64 + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn four_trials_by_hand() {
        // 2 of 4: pairs without a success 1 of 6, pairs of successes 1 of 6.
        assert!((pass_at_k(4, 2, 2).unwrap() - 5.0 / 6.0).abs() < 1e-12);
        assert!((pass_hat_k(4, 2, 2).unwrap() - 1.0 / 6.0).abs() < 1e-12);
        assert_eq!(
            (pass_at_k(4, 1, 4), pass_hat_k(4, 3, 4)),
            (Some(1.0), Some(0.0))
        );
        assert_eq!(
            (pass_at_k(3, 1, 4), pass_hat_k(3, 4, 1), pass_at_k(3, 1, 0)),
            (None, None, None)
        );
        assert_eq!(
            (smoothed_pass_rate(0, 0), smoothed_pass_rate(4, 4)),
            (0.5, 0.9)
        );
    }

    /// Mean over all ways to draw k of n, the first c being successes.
    fn counted(n: u32, c: u32, k: u32, wanted: fn(u32, u32) -> bool) -> f64 {
        let draws = (0u32..1 << n).filter(|draw| draw.count_ones() == k);
        let hits = |draw: u32| wanted((draw & ((1 << c) - 1)).count_ones(), k);
        let (mut all, mut good) = (0, 0);
        draws.for_each(|draw| {
            all += 1;
            good += u32::from(hits(draw));
        });
        f64::from(good) / f64::from(all)
    }

    proptest! {
        #[test]
        fn as_counted_over_all_draws((n, c, k) in (1u32..10).prop_flat_map(|n| (Just(n), 0..=n, 1..=n))) {
            let (n64, c64, k64) = (u64::from(n), u64::from(c), u64::from(k));
            prop_assert!((pass_at_k(n64, c64, k64).unwrap() - counted(n, c, k, |hit, _| hit > 0)).abs() < 1e-12);
            prop_assert!((pass_hat_k(n64, c64, k64).unwrap() - counted(n, c, k, |hit, k| hit == k)).abs() < 1e-12);
        }
    }
}
