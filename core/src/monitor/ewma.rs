//! Exponentially weighted means with limits that grow as they fill, for slow drift.

use std::f64::consts::TAU;

use super::baseline::Baseline;
use super::normal::{skewed_quantile, upper_quantile};

/// Weights of the newest sample: one mean that is quickest where three standard deviations come
/// within a hundred samples, one where they come within five hundred or more
/// (`benches/monitor_river.py`; jumps have a chart of their own).
pub(super) const LAMBDAS: [f64; 2] = [0.05, 0.02];

/// From this sample on the limits stand still: .98^512 is nothing.
const STEADY: usize = 256;

/// The most that the error of the learned spread may add, as a share of the squared limit.
const WORST_ERROR: f64 = 0.5;

/// A weighted mean of scores.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Ewma {
    /// In standard deviations of a single score.
    pub(super) value: f64,
    /// Samples so far.
    pub(super) count: u64,
}

impl Ewma {
    pub(super) fn add(&mut self, lambda: f64, score: f64) {
        self.value += lambda * (score - self.value);
        self.count += 1;
    }
}

/// Standard deviation and skewness of the mean after 1, 2, ... samples of an AR(1) stream, with
/// the error of the learned mean; the last holds from there on.
///
/// After t samples the mean is `sum_j a_j e_(t-j)` over innovations e, with
/// `a_j = lambda (rho^(j+1) - phi^(j+1)) / (rho - phi)`, rho = 1 - lambda; the first sample is one
/// innovation of variance 1. Its variance follows from that of x and its covariance with x.
/// Its skewness is `skew (1 - phi^3) sum a^3 / (sum a^2)^(3/2)`, the cumulants of a linear process,
/// times `(1 + 4 phi + phi^2) / (1 + phi + phi^2)`: high values of a skewed stream may come in runs of
/// geometric length, whose third moment is larger by that.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Limits {
    sd: Vec<f64>,
    skew: Vec<f64>,
    /// Standard deviation of a step of the mean, in its own, once it is steady.
    step: f64,
}

impl Limits {
    pub(super) fn of(baseline: &Baseline, lambda: f64) -> Self {
        let (phi, rho) = (baseline.phi, 1.0 - lambda);
        let runs = (1.0 + 4.0 * phi + phi * phi) / (1.0 + phi + phi * phi);
        let known = baseline.mean_variance();
        let (mut sd, mut skew) = (Vec::with_capacity(STEADY), Vec::with_capacity(STEADY));
        let (mut variance, mut shared): (f64, f64) = (0.0, 0.0);
        let (mut cubes, mut a, mut power) = (0.0, lambda, 1.0);
        for _ in 0..STEADY {
            let with_next = phi * shared;
            variance = rho * rho * variance + lambda * lambda + 2.0 * rho * lambda * with_next;
            shared = rho * with_next + lambda;
            // Innovations after the first, then the first sample itself.
            let third = cubes * (1.0 - phi.powi(3)) + a.powi(3);
            sd.push((variance + known).sqrt());
            skew.push(baseline.skew * runs * third / variance.powf(1.5));
            cubes += a.powi(3);
            power *= phi;
            a = rho * a + lambda * power;
        }
        // Cov(Z, next Z) = rho Var Z + lambda phi Cov(x, Z).
        let again = rho + lambda * phi * shared / variance;
        let step = (1.0 - again * again).max(0.0).sqrt();
        Self { sd, skew, step }
    }

    /// The limit of the mean after `count` samples, where a normal one would stand at `z`.
    pub(super) fn at(&self, count: u64, z: f64) -> f64 {
        let at = usize::try_from(count).unwrap_or(STEADY).clamp(1, STEADY) - 1;
        self.sd[at] * skewed_quantile(z, self.skew[at])
    }

    /// The quantile for [`Limits::at`] at which P(the limit is passed in `samples`) is at most `rate`.
    ///
    /// A mean that is above its limit was above it before, mostly: what is added up is the chance
    /// of passing it from below, at most `q(z) step / sqrt(2 pi)` per sample with q the normal density
    /// (Rice 1944; half the mean step up times the density there), and that of being above at first. The
    /// quantile is widened for the error of what was learned, `z / sqrt(1 - z^2 d)` with d the squared
    /// relative error of the deviation, that of the spread and that of phi together (a normal tail averaged
    /// over a normal log deviation).
    pub(super) fn quantile(&self, baseline: &Baseline, rate: f64, samples: f64) -> f64 {
        // The density over the tail is z + 1/z, far out.
        let alone = upper_quantile(rate / samples);
        let from_below = (alone + 1.0 / alone) * self.step / TAU.sqrt();
        let z = upper_quantile(rate / (1.0 + samples * from_below.min(1.0)));
        let error = baseline.spread_error() + baseline.memory_error();
        z / (1.0 - (z * z * error).min(WORST_ERROR)).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Chance;
    use proptest::prelude::*;

    fn baseline(phi: f64, skew: f64, n: usize) -> Baseline {
        Baseline {
            n,
            mean: 0.0,
            cap: 1.0,
            centre: 0.0,
            sd: 1.0,
            skew,
            phi,
            exponent: 1.0,
        }
    }

    #[test]
    fn limits_by_hand() {
        // Without memory: lambda^2, then lambda^2 (1 + .81), to lambda / (2 - lambda) = .0526.
        let limits = Limits::of(&baseline(0.0, 0.0, usize::MAX), 0.1);
        assert!((limits.sd[0] - 0.1).abs() < 1e-9);
        assert!((limits.sd[1] - (0.01f64 * 1.81).sqrt()).abs() < 1e-9);
        assert!((limits.at(1000, 3.0) - 3.0 * (0.1f64 / 1.9).sqrt()).abs() < 1e-9);
        // AR(1) at .5: times (1 + .45) / (1 - .45) in the end.
        let limits = Limits::of(&baseline(0.5, 0.0, usize::MAX), 0.1);
        let steady = 0.1f64 / 1.9 * 1.45 / 0.55;
        assert!((limits.at(9999, 1.0) - steady.sqrt()).abs() < 1e-9);
        // Two samples: Z = .1 x2 + .09 x1, Cov .5: .01 + .0081 + 2 x .009 x .5 = .0271.
        assert!((limits.sd[1] - 0.0271f64.sqrt()).abs() < 1e-12);
        // The error of a mean of 200: 3 / 200.
        let limits = Limits::of(&baseline(0.5, 0.0, 200), 0.1);
        assert!((limits.at(9999, 1.0) - (steady + 0.015).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn quantiles_by_hand() {
        // Without memory the next mean is 1 - lambda of this one: step sqrt(1 - .95^2) = .3122. At .002 in 1,000:
        // z = 4.6114 for each look; (4.6114 + .2169) .3122 / 2.5066 = .6014 of them are from below.
        let known = baseline(0.0, 0.0, usize::MAX);
        let limits = Limits::of(&known, 0.05);
        assert!((limits.step - 0.9025f64.mul_add(-1.0, 1.0).sqrt()).abs() < 1e-9);
        let found = limits.quantile(&known, 0.002, 1000.0);
        let wanted = upper_quantile(0.002 / 602.4);
        assert!((found - wanted).abs() < 1e-3, "{found} {wanted}");
    }

    #[test]
    fn skewness_by_hand() {
        // Without memory: skew lambda^3/(1 - rho^3) / (lambda / (2 - lambda))^1.5 = .3055 of it.
        let limits = Limits::of(&baseline(0.0, 2.0, usize::MAX), 0.1);
        let wanted = 2.0 * (0.001 / 0.271) / (0.1f64 / 1.9).powf(1.5);
        assert!((limits.skew[STEADY - 1] - wanted).abs() < 1e-9);
        assert!((limits.skew[0] - 2.0).abs() < 1e-9);
    }

    proptest! {
        /// The deviation as computed is that of simulated means.
        #[test]
        fn deviations_are_those_of_streams(phi in 0.0f64..0.9, t in 1usize..40, seed in 0u64..1000) {
            let limits = Limits::of(&baseline(phi, 0.0, usize::MAX), 0.1);
            let mut chance = Chance::new(seed);
            let mut squares = 0.0;
            for _ in 0..4000 {
                let mut x = chance.normal();
                let mut mean = Ewma::default();
                for _ in 0..t {
                    mean.add(0.1, x);
                    x = phi * x + (1.0 - phi * phi).sqrt() * chance.normal();
                }
                squares += mean.value * mean.value;
            }
            let found = (squares / 4000.0).sqrt();
            // Five standard errors of a deviation from 4,000.
            prop_assert!((found / limits.sd[t - 1] - 1.0).abs() < 0.06, "{found}");
        }
    }
}
