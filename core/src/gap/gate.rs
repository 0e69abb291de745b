//! From a profile to a weight (docs/measures.md, "Gate").

use crate::stats::{ExactSum, Logistic, quantile, sigmoid};

/// The steepest and the flattest slope of the quantile gate.
pub const ALPHA_RANGE: (f64, f64) = (5.0, 40.0);

/// If the 20 % quantile of fidelity is at least this, there is no gate.
pub const NO_GATE_FROM: f64 = 0.95;

/// The most that uncertainty takes off a fidelity.
pub const MAX_PENALTY: f64 = 0.1;

/// The gaps of a trajectory that its fidelity is made of, from `delta_root`;
/// each in `[0,1]`, `None` where unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gaps {
    /// The decision gap.
    pub decision: Option<f64>,
    /// Observations of the run.
    pub run_obs: Option<f64>,
    /// Acceptance of the run's calls.
    pub run_act: Option<f64>,
    /// Rewards and verdicts of the run.
    pub run_rew: Option<f64>,
    /// Transitions.
    pub trans: Option<f64>,
}

impl Gaps {
    fn all(&self) -> [Option<f64>; 5] {
        [
            self.decision,
            self.run_obs,
            self.run_act,
            self.run_rew,
            self.trans,
        ]
    }

    /// How many are known.
    #[must_use]
    pub fn known(&self) -> usize {
        self.all().iter().flatten().count()
    }

    /// Unknown ones from `other` (the region's shrunken means).
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        Self {
            decision: self.decision.or(other.decision),
            run_obs: self.run_obs.or(other.run_obs),
            run_act: self.run_act.or(other.run_act),
            run_rew: self.run_rew.or(other.run_rew),
            trans: self.trans.or(other.trans),
        }
    }

    /// `f = prod(1 - gap)` in `[0,1]`, if all five are known; else the recipe's policy decides.
    #[must_use]
    pub fn fidelity(&self) -> Option<f64> {
        self.all()
            .into_iter()
            .try_fold(1.0, |f, gap| Some(f * (1.0 - gap?.clamp(0.0, 1.0))))
    }
}

/// `f_low = f - min(kappa SE, 0.1)`, not below 0. An unknown standard error
/// takes off the full 0.1.
#[must_use]
pub fn fidelity_low(f: f64, se: Option<f64>, kappa: f64) -> f64 {
    let penalty = se.map_or(MAX_PENALTY, |se| (kappa * se).clamp(0.0, MAX_PENALTY));
    (f - penalty).max(0.0)
}

/// A gate with its constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gate {
    /// Every weight is 1: at least 80 % of the trajectories are faithful.
    Open,
    /// `sigmoid(alpha (f - beta))` of the lower fidelity.
    Quantile {
        /// Slope, in `[5, 40]`.
        alpha: f64,
        /// The 20 % quantile of f.
        beta: f64,
    },
    /// `sigmoid(10 (fidelity_mean - 0.7))` of the mean of the four fidelities.
    Seed,
    /// `P(kept | f) / P(kept | 1)` of the lower fidelity: how much less often what was
    /// right on sim stays right on real than under full fidelity.
    Calibrated(Logistic),
}

/// Pairs right on sim and judged on both arms that a calibrated gate needs.
pub const CALIBRATION_PAIRS: usize = 300;

/// So many of them must be wrong on real.
pub const CALIBRATION_BROKEN: usize = 30;

impl Gate {
    /// The quantile gate for these fidelities: beta = 20 % quantile (type 7),
    /// alpha = ln 9 / (median - beta), so that the median gets weight 0.9.
    /// `None` without fidelities.
    #[must_use]
    pub fn quantile(fidelities: &[f64]) -> Option<Self> {
        let beta = quantile(fidelities, 0.2)?;
        if beta >= NO_GATE_FROM {
            return Some(Self::Open);
        }
        let spread = quantile(fidelities, 0.5)? - beta;
        let alpha = if spread > 0.0 {
            9f64.ln() / spread
        } else {
            f64::INFINITY
        };
        Some(Self::Quantile {
            alpha: alpha.clamp(ALPHA_RANGE.0, ALPHA_RANGE.1),
            beta,
        })
    }

    /// The weight in `[0,1]` of a trajectory: of its `f_low`, for [`Gate::Seed`] of its `fidelity_mean`.
    /// A calibrated gate with a falling curve gives 1 at most.
    #[must_use]
    pub fn weight(&self, fidelity: f64) -> f64 {
        match *self {
            Self::Open => 1.0,
            Self::Quantile { alpha, beta } => sigmoid(alpha * (fidelity - beta)),
            Self::Seed => sigmoid(10.0 * (fidelity - 0.7)),
            Self::Calibrated(kept) => (kept.of(fidelity) / kept.of(1.0)).clamp(0.0, 1.0),
        }
    }

    /// The name stored in the manifest; an open gate is a quantile gate that found nothing to do.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Open => "none",
            Self::Quantile { .. } => "quantile",
            Self::Seed => "seed",
            Self::Calibrated(_) => "calibrated",
        }
    }
}

/// The share of weight that a gate moves between trajectories, in `[0,1]`: half
/// the sum of `|w_i / sum w - 1/n|`. `None` without weight.
#[must_use]
pub fn weight_moved(weights: &[f64]) -> Option<f64> {
    let total = ExactSum::from_parts(weights).value();
    if total.is_nan() || total <= 0.0 {
        return None;
    }
    let even = 1.0 / weights.len() as f64;
    let moved: ExactSum = weights.iter().map(|w| (w / total - even).abs()).collect();
    Some(moved.value() / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn constants_by_hand() {
        // 0, .1 .. 1: beta = .2, median = .5, alpha = ln 9 / .3 = 7.324.
        let f: Vec<f64> = (0..=10).map(|i| f64::from(i) / 10.0).collect();
        let gate = Gate::quantile(&f).unwrap();
        assert!((gate.weight(0.2) - 0.5).abs() < 1e-12);
        assert!((gate.weight(0.5) - 0.9).abs() < 1e-12);
        assert!(matches!(gate, Gate::Quantile { alpha, .. } if (alpha - 7.324_082).abs() < 1e-5));
        // All alike: as steep as allowed.
        assert_eq!(
            Gate::quantile(&[0.5; 9]),
            Some(Gate::Quantile {
                alpha: 40.0,
                beta: 0.5
            })
        );
        // From 0 to 1 in one step: the median is 1, ln 9 / 1 < 5.
        let wide = [0.0, 0.0, 1.0, 1.0, 1.0];
        assert!(
            matches!(Gate::quantile(&wide), Some(Gate::Quantile { alpha, .. }) if alpha == 5.0)
        );
        assert_eq!(Gate::quantile(&[0.95, 0.97, 1.0]), Some(Gate::Open));
        assert_eq!(Gate::quantile(&[]), None);
        assert_eq!(Gate::Seed.weight(0.7), 0.5);
        // Kept .5 at 0 and .75 at 1: weights 2/3 and 1.
        let kept = Logistic {
            intercept: 0.0,
            slope: 3f64.ln(),
        };
        let gate = Gate::Calibrated(kept);
        assert!((gate.weight(0.0) - 2.0 / 3.0).abs() < 1e-12 && gate.weight(1.0) == 1.0);
        assert_eq!(gate.kind(), "calibrated");
        assert!((Gate::Seed.weight(1.0) - 1.0 / (1.0 + (-3f64).exp())).abs() < 1e-12);
    }

    #[test]
    fn one_total_failure_is_not_hidden() {
        let known = |decision| Gaps {
            decision: Some(decision),
            run_obs: Some(0.5),
            run_act: Some(0.0),
            run_rew: Some(0.0),
            trans: Some(0.2),
        };
        assert!((known(0.0).fidelity().unwrap() - 0.4).abs() < 1e-12);
        assert_eq!(known(1.0).fidelity(), Some(0.0));
        let unknown = Gaps {
            trans: None,
            ..known(0.0)
        };
        assert_eq!((unknown.fidelity(), unknown.known()), (None, 4));
        assert_eq!(unknown.or(&known(0.9)).fidelity(), known(0.0).fidelity());
    }

    #[test]
    fn uncertainty_by_hand() {
        assert!((fidelity_low(0.8, Some(0.05), 1.0) - 0.75).abs() < 1e-12);
        assert!((fidelity_low(0.8, Some(0.5), 1.0) - 0.7).abs() < 1e-12);
        assert!((fidelity_low(0.8, None, 1.0) - 0.7).abs() < 1e-12);
        assert_eq!(fidelity_low(0.05, None, 1.0), 0.0);
        // 1/2 + 1/4 + 1/4 against thirds: (1/6 + 1/12 + 1/12) / 2.
        assert!((weight_moved(&[1.0, 0.5, 0.5]).unwrap() - 1.0 / 6.0).abs() < 1e-12);
        assert_eq!(weight_moved(&[0.0]), None);
    }

    proptest! {
        #[test]
        fn weights_grow_with_fidelity(f in prop::collection::vec(0.0f64..=1.0, 1..50), a in 0.0f64..1.0, b in 0.0f64..1.0) {
            let gate = Gate::quantile(&f).unwrap();
            let (low, high) = (gate.weight(a.min(b)), gate.weight(a.max(b)));
            prop_assert!(low <= high && (0.0..=1.0).contains(&low) && high <= 1.0);
        }
    }
}
