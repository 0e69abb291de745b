//! Sums that do not depend on the order of their terms.
//!
//! Floating-point addition is not associative, so a plain sum changes with the
//! partitioning of a scan. Here the sum is kept exactly, as an expansion of
//! floats that do not overlap (Shewchuk 1997, "Adaptive precision
//! floating-point arithmetic", grow-expansion), and rounded once, to nearest
//! and even, when it is read. Any order and any merging gives the same bits.

/// An exact sum. Terms and sums must stay below about 1e308 in magnitude:
/// beyond, and for `NaN` and infinities, the sum is what IEEE addition makes of them.
///
/// ```
/// use fidelake_core::stats::ExactSum;
/// let mut sum = ExactSum::default();
/// [1e100, 1.0, -1e100].map(|x| sum.add(x));
/// assert_eq!(sum.value(), 1.0);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExactSum {
    /// Non-overlapping, increasing in magnitude, without zeros.
    parts: Vec<f64>,
    /// Sum of the terms that are not finite (and of overflows); 0 if there were none.
    special: f64,
}

/// `a + b` as rounded sum and exact error (Knuth).
#[inline]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    (sum, (a - (sum - b_part)) + (b - b_part))
}

/// `a * b` as rounded product and exact error (barring underflow).
#[inline]
fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    (product, a.mul_add(b, -product))
}

impl ExactSum {
    /// One more term.
    #[inline]
    pub fn add(&mut self, term: f64) {
        if !term.is_finite() {
            self.special += term;
            return;
        }
        let mut carry = term;
        let mut kept = 0;
        for at in 0..self.parts.len() {
            let (sum, error) = two_sum(self.parts[at], carry);
            if !sum.is_finite() {
                self.special += sum;
                self.parts.clear();
                return;
            }
            if error != 0.0 {
                self.parts[kept] = error;
                kept += 1;
            }
            carry = sum;
        }
        self.parts.truncate(kept);
        if carry != 0.0 {
            self.parts.push(carry);
        }
    }

    /// The exact product `a b` as a term.
    #[inline]
    pub fn add_product(&mut self, a: f64, b: f64) {
        let (product, error) = two_product(a, b);
        self.add(product);
        if error != 0.0 && error.is_finite() {
            self.add(error);
        }
    }

    /// The exact product of a number and another sum.
    pub fn add_scaled(&mut self, factor: f64, other: &Self) {
        for &part in &other.parts {
            self.add_product(factor, part);
        }
        if other.special != 0.0 {
            self.special += factor * other.special;
        }
    }

    /// All terms of another sum.
    pub fn merge(&mut self, other: &Self) {
        for &part in &other.parts {
            self.add(part);
        }
        self.special += other.special;
    }

    /// The sum, correctly rounded.
    #[must_use]
    pub fn value(&self) -> f64 {
        if self.special != 0.0 {
            return self.special;
        }
        let Some((&last, rest)) = self.parts.split_last() else {
            return 0.0;
        };
        let mut high = last;
        let mut low = 0.0;
        let mut left = rest;
        while let Some((&next, rest)) = left.split_last() {
            left = rest;
            let (sum, error) = two_sum(high, next);
            high = sum;
            if error != 0.0 {
                low = error;
                break;
            }
        }
        // Halfway cases: the rest below decides.
        if let Some(&below) = left.last()
            && ((low < 0.0 && below < 0.0) || (low > 0.0 && below > 0.0))
        {
            let twice = low * 2.0;
            let moved = high + twice;
            if twice == moved - high {
                high = moved;
            }
        }
        high
    }

    /// The state as a list of floats, the same list for the same exact sum:
    /// the rounded sum, then the rounded remainder, and so on. Empty for 0.
    #[must_use]
    pub fn to_parts(&self) -> Vec<f64> {
        if self.special != 0.0 {
            return vec![self.special];
        }
        let mut rest = self.clone();
        let mut out = vec![];
        loop {
            let value = rest.value();
            if value == 0.0 {
                return out;
            }
            out.push(value);
            rest.add(-value);
        }
    }

    /// The sum of the floats of [`Self::to_parts`], or of any floats.
    #[must_use]
    pub fn from_parts(parts: &[f64]) -> Self {
        parts.iter().copied().collect()
    }
}

impl FromIterator<f64> for ExactSum {
    fn from_iter<I: IntoIterator<Item = f64>>(terms: I) -> Self {
        let mut sum = Self::default();
        terms.into_iter().for_each(|term| sum.add(term));
        sum
    }
}

/// The mean of some numbers, `None` of none.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    if let &[only] = values {
        return Some(only);
    }
    let sum: ExactSum = values.iter().copied().collect();
    (!values.is_empty()).then(|| sum.value() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        let sum = |terms: &[f64]| ExactSum::from_parts(terms).value();
        assert_eq!(sum(&[0.1; 10]), 1.0);
        assert_eq!(sum(&[1e16, 1.0, 1e-16, -1e16]), 1.0);
        assert_eq!(sum(&[]), 0.0);
        // 2^53 + 1 is halfway and goes to even; a trace more goes up.
        let big = 9_007_199_254_740_992.0;
        assert_eq!(sum(&[big, 1.0]), big);
        assert_eq!(sum(&[big, 1.0, 1e-300]), big + 2.0);
        assert!(sum(&[1.0, f64::NAN]).is_nan());
        assert_eq!(sum(&[1.0, f64::INFINITY]), f64::INFINITY);
        assert_eq!(sum(&[f64::MAX, f64::MAX]), f64::INFINITY);
        assert_eq!(mean(&[0.25, 0.75]), Some(0.5));
        assert_eq!(mean(&[]), None);
    }

    #[test]
    fn products_are_exact() {
        let mut sum = ExactSum::default();
        sum.add_product(0.1, 0.1);
        sum.add(-(0.1 * 0.1));
        // What the rounded product lost.
        assert_eq!(sum.value(), 0.1f64.mul_add(0.1, -(0.1 * 0.1)));
        assert_ne!(sum.value(), 0.0);
        let mut scaled = ExactSum::default();
        scaled.add_scaled(-2.0, &ExactSum::from_parts(&[1e20, 3.0]));
        scaled.add(2e20);
        assert_eq!(scaled.value(), -6.0);
    }

    fn number() -> impl Strategy<Value = f64> {
        (-1.0f64..1.0, -60i32..60).prop_map(|(m, e)| m * f64::from(e).exp2())
    }

    proptest! {
        #[test]
        fn order_and_merging_do_not_matter(terms in prop::collection::vec(number(), 0..40), cut in 0usize..40, turn in 0usize..40) {
            let whole = ExactSum::from_parts(&terms);
            let cut = cut.min(terms.len());
            let mut right = ExactSum::from_parts(&terms[cut..]);
            right.merge(&ExactSum::from_parts(&terms[..cut]));
            prop_assert_eq!(whole.value().to_bits(), right.value().to_bits());
            let mut turned = terms.clone();
            turned.rotate_left(turn % terms.len().max(1));
            turned.reverse();
            let turned = ExactSum::from_parts(&turned);
            prop_assert_eq!(whole.value().to_bits(), turned.value().to_bits());
            prop_assert_eq!(whole.to_parts(), turned.to_parts());
            let again = ExactSum::from_parts(&whole.to_parts());
            prop_assert_eq!(again.value().to_bits(), whole.value().to_bits());
        }

        #[test]
        fn integers_agree_with_integers(terms in prop::collection::vec(-(1i64 << 53)..(1i64 << 53), 0..50)) {
            let exact: i128 = terms.iter().map(|&t| i128::from(t)).sum();
            let sum: ExactSum = terms.iter().map(|&t| t as f64).collect();
            prop_assert_eq!(sum.value(), exact as f64);
        }
    }
}
