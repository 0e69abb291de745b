//! Drawing a fixed number with known chances.

use super::chance::Chance;

/// `n` of `0..pool` without replacement, all sets and all orders alike: the first places
/// of a shuffle. All of them if `n` is larger.
#[must_use]
pub fn draw_evenly(pool: usize, n: usize, chance: &mut Chance) -> Vec<usize> {
    let mut places: Vec<usize> = (0..pool).collect();
    let n = n.min(pool);
    for at in 0..n {
        let other = at + chance.below(pool - at);
        places.swap(at, other);
    }
    places.truncate(n);
    places
}

/// Chances proportional to `sizes`, cut at 1, that sum to `n` (or to how many have a size
/// above 0, if that is less): those that would come out above 1 are certain, and the
/// others share the rest.
#[must_use]
pub fn chances(sizes: &[f64], n: usize) -> Vec<f64> {
    let size = |at: usize| {
        if sizes[at] > 0.0 && sizes[at].is_finite() {
            sizes[at]
        } else {
            0.0
        }
    };
    let mut certain: Vec<bool> = vec![false; sizes.len()];
    loop {
        let sure = certain.iter().filter(|sure| **sure).count();
        let rest: f64 = (0..sizes.len()).filter(|&at| !certain[at]).map(size).sum();
        let left = (n as f64 - sure as f64).max(0.0);
        let scale = if rest > 0.0 { left / rest } else { 0.0 };
        let mut more = false;
        for (at, sure) in certain.iter_mut().enumerate() {
            if !*sure && size(at) > 0.0 && size(at) * scale >= 1.0 {
                *sure = true;
                more = true;
            }
        }
        if !more {
            let chance = |at: usize| if certain[at] { 1.0 } else { size(at) * scale };
            return (0..sizes.len()).map(chance).collect();
        }
    }
}

/// A draw of fixed size with the given `chances` (each in `[0,1]`): systematic, in an order
/// shuffled anew (Madow 1949; Hartley and Rao 1962). Everybody's chance is exactly what was
/// given; the size is their sum, rounded down or up by chance if that is not whole. Shuffled
/// order leaves nearly every pair a chance, so that variances can be estimated by the form
/// of Hajek. Places are returned in growing order.
#[must_use]
pub fn draw_systematic(chances: &[f64], chance: &mut Chance) -> Vec<usize> {
    let order = draw_evenly(chances.len(), chances.len(), chance);
    let start = chance.unit();
    let mut sum = 0.0;
    let mut drawn = Vec::new();
    for at in order {
        let before: f64 = sum;
        sum += chances[at].clamp(0.0, 1.0);
        // Ticks stand at start, start + 1, start + 2, ...
        if (sum - start).ceil() > (before - start).ceil() {
            drawn.push(at);
        }
    }
    drawn.sort_unstable();
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn chances_by_hand() {
        // 3 of four with sizes 5 1 1 1: the first would have 15/8, so it is certain.
        assert_eq!(
            chances(&[5.0, 1.0, 1.0, 1.0], 3),
            [1.0, 2.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0]
        );
        assert_eq!(chances(&[1.0, 0.0], 2), [1.0, 0.0]);
        assert_eq!(chances(&[], 2), [] as [f64; 0]);
    }

    #[test]
    fn everybody_is_drawn_as_often_as_said() {
        let wanted = chances(&[8.0, 4.0, 2.0, 1.0, 1.0, 3.0], 3);
        let mut counts = [0u32; 6];
        let mut chance = Chance::new(9);
        for _ in 0..40_000 {
            let drawn = draw_systematic(&wanted, &mut chance);
            assert_eq!(drawn.len(), 3);
            drawn.iter().for_each(|&at| counts[at] += 1);
        }
        for (count, wanted) in counts.iter().zip(&wanted) {
            // Four standard deviations.
            let found = f64::from(*count) / 40_000.0;
            let sd = (wanted * (1.0 - wanted) / 40_000.0).sqrt();
            assert!(
                (found - wanted).abs() <= 4.0 * sd + 1e-9,
                "{found} {wanted}"
            );
        }
    }

    proptest! {
        #[test]
        fn sums_and_sizes(sizes in prop::collection::vec(0.0f64..9.0, 1..30), n in 1usize..30, seed in 0u64..99) {
            let wanted = chances(&sizes, n);
            let able = sizes.iter().filter(|s| **s > 0.0).count();
            let sum: f64 = wanted.iter().sum();
            prop_assert!((sum - n.min(able) as f64).abs() < 1e-9);
            prop_assert!(wanted.iter().all(|c| (0.0..=1.0).contains(c)));
            let drawn = draw_systematic(&wanted, &mut Chance::new(seed));
            prop_assert!(drawn.len().abs_diff(n.min(able)) <= 1);
            let even = draw_evenly(sizes.len(), n, &mut Chance::new(seed));
            let mut once = even.clone();
            once.sort_unstable();
            once.dedup();
            prop_assert_eq!(once.len(), n.min(sizes.len()));
        }
    }
}
