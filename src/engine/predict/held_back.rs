//! Predictions beside what was measured.

use fidelake_core::stats::{ExactSum, pearson};

use super::ExpectedGaps;

/// What is predicted: the column of a profile, and the field of the aggregate.
pub const PREDICTED: [(&str, &str); 3] = [
    ("run_obs", "obs"),
    ("run_act", "act"),
    ("delta_trans", "trans"),
];

/// Measured trajectories that were predicted from other tasks.
#[derive(Clone, Debug, Default)]
pub struct HeldBack {
    pairs: [Vec<(f64, f64)>; PREDICTED.len()],
}

/// How near one predicted gap came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearness {
    /// Trajectories.
    pub trajectories: u64,
    /// Mean of |predicted - measured|.
    pub mean_error: f64,
    /// The same if every trajectory were predicted as the mean of all measured ones.
    pub mean_error_of_mean: f64,
    /// Mean of predicted - measured.
    pub bias: f64,
    /// Root mean square of predicted - measured.
    pub spread: f64,
    /// Correlation of the two; `None` if one of them is constant.
    pub correlation: Option<f64>,
}

impl HeldBack {
    pub(super) fn add(&mut self, predicted: &ExpectedGaps, measured: &ExpectedGaps) {
        for (at, pairs) in self.pairs.iter_mut().enumerate() {
            if let (Some(predicted), Some(measured)) = (predicted[at], measured[at]) {
                pairs.push((predicted, measured.clamp(0.0, 1.0)));
            }
        }
    }

    /// How near the predictions of [`PREDICTED`] number `at` came; `None` without any.
    #[must_use]
    pub fn nearness(&self, at: usize) -> Option<Nearness> {
        let pairs = self.pairs.get(at).filter(|pairs| !pairs.is_empty())?;
        let n = pairs.len() as f64;
        let mean = |of: &dyn Fn(f64, f64) -> f64| {
            let mut sum = ExactSum::default();
            pairs.iter().for_each(|(p, m)| sum.add(of(*p, *m)));
            sum.value() / n
        };
        let measured = mean(&|_, m| m);
        let (p, m): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        Some(Nearness {
            trajectories: pairs.len() as u64,
            mean_error: mean(&|p, m| (p - m).abs()),
            mean_error_of_mean: mean(&|_, m| (m - measured).abs()),
            bias: mean(&|p, m| p - m),
            spread: mean(&|p, m| (p - m) * (p - m)).sqrt(),
            correlation: pearson(&p, &m),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearness_by_hand() {
        let mut check = HeldBack::default();
        assert_eq!(check.nearness(0), None);
        check.add(&[Some(0.1), None, None], &[Some(0.0), Some(0.5), None]);
        check.add(&[Some(0.3), None, None], &[Some(0.4), None, None]);
        let found = check.nearness(0).unwrap();
        assert_eq!(found.trajectories, 2);
        assert!((found.mean_error - 0.1).abs() < 1e-12 && found.bias.abs() < 1e-12);
        assert!((found.spread - 0.1).abs() < 1e-12);
        assert!((found.mean_error_of_mean - 0.2).abs() < 1e-12);
        assert!((found.correlation.unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(check.nearness(1), None);
    }
}
