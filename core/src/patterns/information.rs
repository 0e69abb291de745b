//! What one more look is expected to tell.

/// What is believed of how often calls of one sort differ: a beta distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Belief {
    /// Calls that differed, plus one.
    pub differed: f64,
    /// Calls that did not, plus one.
    pub agreed: f64,
}

impl Belief {
    /// After `seen` calls, `differed` of which differed, from an even start.
    #[must_use]
    pub fn after(seen: u64, differed: u64) -> Self {
        Self {
            differed: 1.0 + differed as f64,
            agreed: 1.0 + seen.saturating_sub(differed) as f64,
        }
    }

    /// By how much one more call is expected to lower the variance of that share:
    /// var / (a + b + 1), var = a b / ((a + b)^2 (a + b + 1)).
    ///
    /// ```
    /// // Nothing seen: a = b = 1, var 1/12, a third of it.
    /// let found = fidelake_core::patterns::Belief::after(0, 0).information();
    /// assert!((found - 1.0 / 36.0).abs() < 1e-12);
    /// ```
    #[must_use]
    pub fn information(self) -> f64 {
        let sum = self.differed + self.agreed;
        let variance = self.differed * self.agreed / (sum * sum * (sum + 1.0));
        variance / (sum + 1.0)
    }

    /// As if one more call had been looked at: it differs as far as is believed.
    #[must_use]
    pub fn one_more(self) -> Self {
        let sum = self.differed + self.agreed;
        Self {
            differed: self.differed + self.differed / sum,
            agreed: self.agreed + self.agreed / sum,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_look_tells_less(seen in 0u64..200, share in 0.0f64..=1.0) {
            let belief = Belief::after(seen, (seen as f64 * share) as u64);
            let more = belief.one_more();
            prop_assert!(more.information() < belief.information());
            prop_assert!(belief.information() > 0.0);
            // The mean does not move.
            let mean = |b: Belief| b.differed / (b.differed + b.agreed);
            prop_assert!((mean(more) - mean(belief)).abs() < 1e-12);
        }

        #[test]
        fn the_formula_is_the_expected_fall_of_the_variance(seen in 0u64..50, differed in 0u64..50) {
            let b = Belief::after(seen.max(differed), differed);
            let var = |a: f64, b: f64| a * b / ((a + b).powi(2) * (a + b + 1.0));
            let p = b.differed / (b.differed + b.agreed);
            let after = p * var(b.differed + 1.0, b.agreed) + (1.0 - p) * var(b.differed, b.agreed + 1.0);
            prop_assert!((var(b.differed, b.agreed) - after - b.information()).abs() < 1e-12);
        }
    }
}
