//! Exact intervals of a rate: how many of a finite pool have a property, when some
//! of it were drawn without replacement.

use super::hypergeometric::at_most;

/// The exact two-sided interval of the share of `pool` that has a property, `seen` of
/// `drawn` of it having it, drawn evenly without replacement: the shares that neither
/// one-sided hypergeometric test refuses at `alpha / 2` (the form that Clopper and Pearson
/// 1934 have for a finite pool). `None` without draws, or for counts that cannot be.
///
/// ```
/// // Nothing seen in 30 of 1,000: at most 114 of them, that is 11.4 %.
/// let (low, high) = fidelake_core::stats::rate_interval(0, 30, 1000, 0.05).unwrap();
/// assert!(low == 0.0 && (high - 0.114).abs() < 1e-9);
/// ```
#[must_use]
pub fn rate_interval(seen: usize, drawn: usize, pool: usize, alpha: f64) -> Option<(f64, f64)> {
    if drawn == 0 || seen > drawn || drawn > pool || !(alpha > 0.0 && alpha < 1.0) {
        return None;
    }
    let tail = alpha / 2.0;
    let most_possible = pool - (drawn - seen);
    // The least number of marked under which `seen` or more is not too unlikely.
    let low = search(seen, most_possible, |marked| {
        seen == 0 || 1.0 - at_most(seen - 1, drawn, marked, pool) > tail
    });
    // The first number under which `seen` or fewer is too unlikely.
    let above = search(seen, most_possible + 1, |marked| {
        marked > most_possible || at_most(seen, drawn, marked, pool) <= tail
    });
    let high = above.saturating_sub(1).max(seen);
    Some((low as f64 / pool as f64, high as f64 / pool as f64))
}

/// The first place of `from..=to` at which `holds`, which then holds to the end; `to` if nowhere.
fn search(from: usize, to: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (from, to);
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_pools_by_hand() {
        // 1 of 2 drawn from 4: with 1 marked P(>= 1) = 1/2, with 3 marked P(<= 1) = 1/2.
        assert_eq!(rate_interval(1, 2, 4, 0.05), Some((0.25, 0.75)));
        // Everything drawn: nothing is left to chance.
        assert_eq!(rate_interval(3, 10, 10, 0.05), Some((0.3, 0.3)));
        assert_eq!(rate_interval(0, 0, 10, 0.05), None);
        assert_eq!(rate_interval(3, 2, 10, 0.05), None);
        // A large pool: Clopper and Pearson, 0 of 10 gives 1 - .025^(1/10) = .3085.
        let (_, high) = rate_interval(0, 10, 1_000_000, 0.05).unwrap();
        assert!((high - 0.3085).abs() < 1e-4, "{high}");
    }

    proptest! {
        /// The definition itself: the share of draws whose interval misses is at most alpha.
        #[test]
        fn it_covers(pool in 2usize..40, part in 0.1f64..1.0, rate in 0.0f64..1.0) {
            let drawn = ((pool as f64 * part) as usize).max(1);
            let marked = (pool as f64 * rate) as usize;
            let truth = marked as f64 / pool as f64;
            let mut missed = 0.0;
            for seen in 0..=drawn.min(marked) {
                let before = if seen == 0 { 0.0 } else { at_most(seen - 1, drawn, marked, pool) };
                let p = at_most(seen, drawn, marked, pool) - before;
                if p > 1e-12 {
                    let (low, high) = rate_interval(seen, drawn, pool, 0.05).unwrap();
                    if truth < low - 1e-12 || truth > high + 1e-12 {
                        missed += p;
                    }
                }
            }
            prop_assert!(missed <= 0.05 + 1e-9, "{missed}");
        }
    }
}
