//! How far two ways to put the same things together agree.

use std::collections::BTreeMap;

/// The adjusted Rand index of two labellings of the same things (Hubert and Arabie 1985,
/// equation 5): 1 for the same partition, 0 on average for chance. `None` as a label is a
/// thing of its own. 1 where both partitions are trivial in the same way; `None` if the
/// lists differ in length or hold fewer than two things.
///
/// ```
/// use fidelake_core::patterns::adjusted_rand;
/// let a = [Some(0), Some(0), Some(1), Some(1)];
/// let b = [Some(0), Some(0), Some(0), Some(1)];
/// let found = adjusted_rand(&a, &b).unwrap();
/// // Pairs together in both: 1; in a: 2; in b: 3; expected 2 x 3 / 6 = 1: nothing beyond chance.
/// assert!(found.abs() < 1e-12);
/// assert_eq!(adjusted_rand(&a, &a), Some(1.0));
/// ```
#[must_use]
pub fn adjusted_rand(left: &[Option<usize>], right: &[Option<usize>]) -> Option<f64> {
    if left.len() != right.len() || left.len() < 2 {
        return None;
    }
    let pairs = |n: u64| (n * n.saturating_sub(1)) as f64 / 2.0;
    let mut both: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    let (mut of_left, mut of_right) = (BTreeMap::new(), BTreeMap::new());
    for (a, b) in left.iter().zip(right) {
        // A thing of its own makes no pair.
        if let Some(a) = a {
            *of_left.entry(*a).or_insert(0u64) += 1;
        }
        if let Some(b) = b {
            *of_right.entry(*b).or_insert(0u64) += 1;
        }
        if let (Some(a), Some(b)) = (a, b) {
            *both.entry((*a, *b)).or_insert(0) += 1;
        }
    }
    let together: f64 = both.values().map(|&n| pairs(n)).sum();
    let a: f64 = of_left.values().map(|&n| pairs(n)).sum();
    let b: f64 = of_right.values().map(|&n| pairs(n)).sum();
    let expected = a * b / pairs(left.len() as u64);
    let most = (a + b) / 2.0;
    if (most - expected).abs() < 1e-12 {
        // Everything together, or everything apart, on both sides.
        return Some(f64::from(u8::from((together - most).abs() < 1e-12)));
    }
    Some((together - expected) / (most - expected))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        // Things 0..6; left {0,1,2}{3,4,5}, right {0,1}{2,3}{4,5}.
        let left = [0, 0, 0, 1, 1, 1].map(Some);
        let right = [0, 0, 1, 1, 2, 2].map(Some);
        // Together in both: (0,1), (4,5) = 2. a = 6, b = 3, expected 18/15 = 1.2, most 4.5.
        let found = adjusted_rand(&left, &right).unwrap();
        assert!((found - (2.0 - 1.2) / (4.5 - 1.2)).abs() < 1e-12);
        // Noise is a thing of its own: nothing of right's first pair is left.
        let noisy = [None, None, Some(1), Some(1), Some(2), Some(2)];
        let own = [Some(7), Some(8), Some(1), Some(1), Some(2), Some(2)];
        assert_eq!(adjusted_rand(&left, &noisy), adjusted_rand(&left, &own));
        assert_eq!(adjusted_rand(&left[..1], &right[..1]), None);
        assert_eq!(adjusted_rand(&[None, None], &[Some(1), Some(2)]), Some(1.0));
    }

    proptest! {
        #[test]
        fn symmetric_at_most_one_and_blind_to_names(pairs in prop::collection::vec((0usize..4, 0usize..4), 2..40)) {
            let left: Vec<_> = pairs.iter().map(|p| Some(p.0)).collect();
            let right: Vec<_> = pairs.iter().map(|p| Some(p.1)).collect();
            let renamed: Vec<_> = pairs.iter().map(|p| Some(9 - p.1)).collect();
            let found = adjusted_rand(&left, &right).unwrap();
            prop_assert!(found <= 1.0 + 1e-12);
            prop_assert!((found - adjusted_rand(&right, &left).unwrap()).abs() < 1e-12);
            prop_assert!((found - adjusted_rand(&left, &renamed).unwrap()).abs() < 1e-12);
            prop_assert!((adjusted_rand(&left, &left).unwrap() - 1.0).abs() < 1e-12);
        }
    }
}
