//! Rank correlation and discrimination, ties included.

/// Ranks from 1; equal values share the mean of theirs.
#[must_use]
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let rank = from as f64 + (tied.len() as f64 + 1.0) / 2.0;
        tied.iter().for_each(|&at| ranks[at] = rank);
        from += tied.len();
    }
    ranks
}

/// Pearson's correlation, in `[-1,1]`; `None` below two pairs, for lists of
/// different length, and where one of them does not vary.
#[must_use]
pub fn pearson(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() != b.len() || a.len() < 2 {
        return None;
    }
    let n = a.len() as f64;
    let (mean_a, mean_b) = (a.iter().sum::<f64>() / n, b.iter().sum::<f64>() / n);
    let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for (x, y) in a.iter().zip(b) {
        let (x, y) = (x - mean_a, y - mean_b);
        ab += x * y;
        aa += x * x;
        bb += y * y;
    }
    let size = (aa * bb).sqrt();
    (size > 0.0).then(|| (ab / size).clamp(-1.0, 1.0))
}

/// Spearman's rank correlation: Pearson's of the ranks.
#[must_use]
pub fn spearman(a: &[f64], b: &[f64]) -> Option<f64> {
    pearson(&ranks(a), &ranks(b))
}

/// Kendall's tau-b (Kendall 1945): pairs in the same order less pairs in opposite
/// order, over the geometric mean of the pairs not tied in either list.
#[must_use]
pub fn kendall(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() != b.len() {
        return None;
    }
    let (mut sum, mut untied_a, mut untied_b) = (0i64, 0u64, 0u64);
    for i in 0..a.len() {
        for j in 0..i {
            let sign = |values: &[f64]| match values[i].partial_cmp(&values[j]) {
                Some(std::cmp::Ordering::Less) => -1i64,
                Some(std::cmp::Ordering::Greater) => 1,
                _ => 0,
            };
            let (x, y) = (sign(a), sign(b));
            sum += x * y;
            untied_a += x.unsigned_abs();
            untied_b += y.unsigned_abs();
        }
    }
    let size = (untied_a as f64 * untied_b as f64).sqrt();
    (size > 0.0).then(|| sum as f64 / size)
}

/// The probability that a score of the first list is higher than one of the second,
/// ties counting half (Mann and Whitney 1947; the area under the ROC curve). `None`
/// if one list is empty.
#[must_use]
pub fn auc(higher: &[f64], lower: &[f64]) -> Option<f64> {
    if higher.is_empty() || lower.is_empty() {
        return None;
    }
    let all: Vec<f64> = higher.iter().chain(lower).copied().collect();
    let (n, m) = (higher.len() as f64, lower.len() as f64);
    let sum: f64 = ranks(&all)[..higher.len()].iter().sum();
    Some((sum - n * (n + 1.0) / 2.0) / (n * m))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        assert_eq!(ranks(&[10.0, 5.0, 10.0, 1.0]), [3.5, 2.0, 3.5, 1.0]);
        let (a, b) = ([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0]);
        assert!((spearman(&a, &b).unwrap() - 0.8).abs() < 1e-12);
        // 5 of 6 pairs in order.
        assert!((kendall(&a, &b).unwrap() - 4.0 / 6.0).abs() < 1e-12);
        // A tie in b: 4 pairs in order, 1 against, 1 tied; 4 - 1 over sqrt(6 x 5).
        let tied = [1.0, 3.0, 2.0, 3.0];
        assert!((kendall(&a, &tied).unwrap() - 3.0 / 30f64.sqrt()).abs() < 1e-12);
        assert_eq!(spearman(&a, &[2.0; 4]), None);
        assert_eq!(kendall(&a, &[2.0; 4]), None);
        assert_eq!(spearman(&a, &b[..3]), None);
        assert_eq!(auc(&[2.0, 3.0], &[1.0, 2.0]), Some(3.5 / 4.0));
        assert_eq!(auc(&[], &[1.0]), None);
    }

    proptest! {
        #[test]
        fn bounds_and_symmetry(pairs in prop::collection::vec((0i32..6, 0i32..6), 2..20)) {
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().map(|&(x, y)| (f64::from(x), f64::from(y))).unzip();
            let minus: Vec<f64> = b.iter().map(|y| -y).collect();
            for f in [spearman, kendall] {
                if let Some(r) = f(&a, &b) {
                    prop_assert!((-1.0 - 1e-12..=1.0 + 1e-12).contains(&r));
                    prop_assert!((f(&b, &a).unwrap() - r).abs() < 1e-12);
                    prop_assert!((f(&a, &minus).unwrap() + r).abs() < 1e-12);
                    prop_assert!((f(&a, &a).unwrap() - 1.0).abs() < 1e-12);
                }
            }
            prop_assert!((auc(&a, &b).unwrap() + auc(&b, &a).unwrap() - 1.0).abs() < 1e-12);
        }
    }
}
