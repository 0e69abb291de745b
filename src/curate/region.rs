//! What is known of an environment, for runs of which less is known.
//!
//! A factor of f that a trajectory has no measurement of takes the mean of its
//! environment, shrunk towards the mean of the whole lake as if five more
//! trajectories like the lake's average had been seen there:
//!
//! ```text
//! m_e = (sum of x in e + 5 m) / (n_e + 5)
//! v_e = (sum of (x - m_e)^2 in e + 5 v) / (n_e + 5),   m, v: mean and variance over the lake
//! ```
//!
//! The standard error of one unseen trajectory is `sqrt(v_e (1 + 1 / (n_e + 5)))`;
//! below five trajectories in the lake it is unknown. A factor that was measured
//! nowhere is left out of f for every run alike, and the manifest says so.

use std::collections::BTreeMap;

use fidelake_core::stats::ExactSum;

/// The factors of f, as columns of `profiles_now` (docs/measures.md, "Gate").
pub(super) const FACTORS: [&str; 5] = [
    "run_obs",
    "run_act",
    "run_rew",
    "delta_trans",
    "gap_decision",
];

/// So many of them, the first, are dimensions of their own; the decision gap
/// speaks of obs, act and rew again.
pub(super) const DIMENSIONS: usize = 4;

/// Trajectories that the lake's mean counts for in an environment.
const PSEUDO: f64 = 5.0;

/// Fewer trajectories say nothing of a spread.
const MIN_SPREAD: f64 = 5.0;

/// One value per factor.
pub(super) type PerFactor<T> = [T; FACTORS.len()];

/// Sums of one factor; exact, so the order of the rows does not matter.
#[derive(Clone, Debug, Default)]
struct Moments {
    n: u64,
    sum: ExactSum,
    squares: ExactSum,
}

impl Moments {
    fn add(&mut self, x: f64) {
        self.n += 1;
        self.sum.add(x);
        self.squares.add_product(x, x);
    }

    fn n(&self) -> f64 {
        self.n as f64
    }

    /// Sum of (x - m)^2.
    fn around(&self, m: f64) -> f64 {
        (self.squares.value() - 2.0 * m * self.sum.value() + self.n() * m * m).max(0.0)
    }
}

/// What an unmeasured factor is taken to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Expected {
    pub(super) mean: f64,
    /// Spread of one trajectory around it; `None`: unknown.
    pub(super) spread: Option<f64>,
}

/// All environments of a lake.
#[derive(Debug, Default)]
pub(super) struct Regions {
    lake: PerFactor<Moments>,
    environments: BTreeMap<String, PerFactor<Moments>>,
}

impl Regions {
    /// One profile.
    pub(super) fn add(&mut self, environment: &str, gaps: PerFactor<Option<f64>>) {
        let own = match self.environments.get_mut(environment) {
            Some(own) => own,
            None => self.environments.entry(environment.to_owned()).or_default(),
        };
        for (at, gap) in gaps.into_iter().enumerate() {
            if let Some(gap) = gap.filter(|g| g.is_finite()) {
                let gap = gap.clamp(0.0, 1.0);
                own[at].add(gap);
                self.lake[at].add(gap);
            }
        }
    }

    /// Names of the factors that were measured nowhere.
    pub(super) fn left_out(&self) -> Vec<&'static str> {
        FACTORS
            .into_iter()
            .zip(&self.lake)
            .filter(|(_, lake)| lake.n == 0)
            .map(|(name, _)| name)
            .collect()
    }

    /// What to expect of a trajectory of this environment; `None` if no
    /// trajectory of it has any factor. Factors measured nowhere are `None`.
    pub(super) fn expected(&self, environment: &str) -> Option<PerFactor<Option<Expected>>> {
        let own = self.environments.get(environment)?;
        if own.iter().all(|moments| moments.n == 0) {
            return None;
        }
        let mut expected = PerFactor::default();
        for ((slot, lake), own) in expected.iter_mut().zip(&self.lake).zip(own) {
            if lake.n == 0 {
                continue;
            }
            let all = lake.sum.value() / lake.n();
            let variance = lake.around(all) / lake.n();
            let weight = own.n() + PSEUDO;
            let mean = (own.sum.value() + PSEUDO * all) / weight;
            let spread = (own.around(mean) + PSEUDO * variance) / weight;
            *slot = Some(Expected {
                mean,
                spread: (lake.n() >= MIN_SPREAD).then(|| (spread * (1.0 + 1.0 / weight)).sqrt()),
            });
        }
        Some(expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shrinkage_by_hand() {
        let mut regions = Regions::default();
        for x in [0.2, 0.4] {
            regions.add("a", [Some(x), None, Some(0.0), None, None]);
        }
        for _ in 0..4 {
            regions.add("b", [Some(0.6), None, None, None, None]);
        }
        regions.add("c", [None; 5]);
        assert_eq!(
            regions.left_out(),
            ["run_act", "delta_trans", "gap_decision"]
        );
        assert!(regions.expected("c").is_none() && regions.expected("d").is_none());

        // The lake: .2 .4 .6 .6 .6 .6: mean .5, variance .02333.
        let a = regions.expected("a").unwrap();
        let obs = a[0].unwrap();
        assert!((obs.mean - (0.6 + 2.5) / 7.0).abs() < 1e-12);
        let m: f64 = 3.1 / 7.0;
        let around = (0.2 - m).powi(2) + (0.4 - m).powi(2);
        let variance = ((0.3f64).powi(2) + 0.1f64.powi(2) + 4.0 * 0.1f64.powi(2)) / 6.0;
        let spread = ((around + 5.0 * variance) / 7.0 * (8.0 / 7.0)).sqrt();
        assert!((obs.spread.unwrap() - spread).abs() < 1e-12);
        assert_eq!(a[1], None);
        // Two trajectories in the lake: no spread.
        assert_eq!(a[2].unwrap().spread, None);
        // An environment without this factor takes the lake's mean.
        assert_eq!(regions.expected("b").unwrap()[2].unwrap().mean, 0.0);
    }
}
