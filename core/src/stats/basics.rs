//! Small functions that several measures share.

use super::sum::ExactSum;

/// The quantile of type 7 (Hyndman and Fan 1996; numpy, R and SQL's
/// `percentile_cont`): linear between the two order statistics around
/// `(n - 1) p`. `NaN`s are left out; `None` without numbers or for p outside `[0,1]`.
#[must_use]
pub fn quantile(values: &[f64], p: f64) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
    if sorted.is_empty() || !(0.0..=1.0).contains(&p) {
        return None;
    }
    sorted.sort_unstable_by(f64::total_cmp);
    let place = (sorted.len() - 1) as f64 * p;
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    let part = place - below as f64;
    if part == 0.0 {
        return Some(sorted[below]);
    }
    Some(sorted[below] + (sorted[above] - sorted[below]) * part)
}

/// `1 / (1 + e^-x)`, without overflow.
#[must_use]
pub fn sigmoid(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + (-x).exp())
    } else {
        let e = x.exp();
        e / (1.0 + e)
    }
}

/// The standard error of single trajectories of one environment, mergeable:
/// half the root mean of `(Delta_00 - Delta_11)^2` over the trajectories that
/// were repeated in both arms, `Delta_ab` being the raw weighted distance of
/// sim run a to real run b (docs/measures.md, "Noise-corrected gap").
///
/// It is the error of `(Delta_00 + Delta_11) / 2`, exactly, and within a sixth that
/// of the mean D of two and two runs and of the gap as shown; about half the
/// spread of D / C before the floor (`core/tests/simulation`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrajectorySe {
    squares: ExactSum,
    count: u64,
}

impl TrajectorySe {
    /// One trajectory with repeats.
    pub fn add(&mut self, delta_00: f64, delta_11: f64) {
        let difference = delta_00 - delta_11;
        self.squares.add_product(difference, difference);
        self.count += 1;
    }

    /// Other trajectories of the environment too.
    pub fn merge(&mut self, other: &Self) {
        self.squares.merge(&other.squares);
        self.count += other.count;
    }

    /// The standard error; `None` where nothing was repeated (never 0 for want of repeats).
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        (self.count > 0).then(|| 0.5 * (self.squares.value() / self.count as f64).sqrt())
    }

    /// How many trajectories it stands on.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_by_hand() {
        let values = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(quantile(&values, 0.0), Some(1.0));
        assert_eq!(quantile(&values, 0.5), Some(2.5));
        assert_eq!(quantile(&values, 1.0), Some(4.0));
        // (n - 1) p = .6: 1 + .6.
        assert!((quantile(&values, 0.2).unwrap() - 1.6).abs() < 1e-12);
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[f64::NAN, 7.0], 0.5), Some(7.0));
    }

    #[test]
    fn sigmoid_by_hand() {
        assert_eq!(sigmoid(0.0), 0.5);
        assert!((sigmoid(9f64.ln()) - 0.9).abs() < 1e-15);
        assert_eq!((sigmoid(1e4), sigmoid(-1e4)), (1.0, 0.0));
    }

    #[test]
    fn trajectory_error_by_hand() {
        let mut se = TrajectorySe::default();
        assert_eq!(se.value(), None);
        se.add(0.5, 0.1);
        se.add(0.2, 0.2);
        // Half of sqrt(.16 / 2).
        assert!((se.value().unwrap() - 0.5 * 0.08f64.sqrt()).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn quantiles_lie_inside_and_grow(values in prop::collection::vec(-9.0f64..9.0, 1..30), p in 0.0f64..1.0) {
            let low = quantile(&values, p * 0.5).unwrap();
            let high = quantile(&values, p).unwrap();
            prop_assert!(low <= high);
            prop_assert!(values.iter().any(|&v| v <= low) && values.iter().any(|&v| v >= high));
        }
    }
}
