//! Page and Hinkley's test for a jump, on what each sample brings that the one before did not.

use super::baseline::Baseline;

/// Standard deviations of the innovations by which a sample must exceed the mean to count as a
/// sign of a jump: half the jump that the test is best at.
pub(super) const ALLOWANCE: f64 = 0.75;

/// Standard errors by which the learned mean is taken larger than it was seen. Of an innovation's
/// mean that is `1 / sqrt(n)`, whatever phi.
const MEAN_MARGIN: f64 = 1.5;

/// What overshoot takes off the bound; of normal innovations it would be
/// `2 k^2 exp(-2 x 1.166 k)` = .2 (Siegmund 1985, corrected diffusion), of others it is less known.
const OVERSHOOT: f64 = 0.25;

/// How much the error of the learned spread widens the limit. The bound is `exp(-t h)` and t goes with
/// `1 / sd`, which is 2 as for a normal tail, and t itself is learned: more, as simulated
/// (core/tests/simulation/monitor.rs).
const WIDENING: f64 = 2.8;

/// The most that the error of the learned spread may add, as a share of the limit.
const WORST_ERROR: f64 = 0.5;

/// The sum of evidence for a jump: `S = max(0, S + e - k)` (Page 1954; Hinkley 1971).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Abrupt {
    pub(super) sum: f64,
    /// The score before.
    pub(super) before: f64,
}

impl Abrupt {
    pub(super) fn add(&mut self, baseline: &Baseline, score: f64) {
        let innovation = baseline.innovation(self.before, score);
        self.before = score;
        let margin = MEAN_MARGIN / (baseline.n as f64).sqrt();
        self.sum = (self.sum + innovation - ALLOWANCE - margin).max(0.0);
    }
}

/// The limit h of the sum at which P(it is passed in `samples`) is at most `rate`. From every start
/// `exp(t S)` is a martingale, t the baseline's exponent, so that P <= samples exp(-t h) (Ville per start;
/// Shin, Ramdas and Rinaldo 2023); less the overshoot, and widened for the error of the learned spread d:
/// `h / (1 - 2.8 ln(samples / rate) d)`.
pub(super) fn limit(baseline: &Baseline, rate: f64, samples: f64) -> f64 {
    let price = (OVERSHOOT * samples / rate).max(1.0).ln();
    let widened = 1.0 - (WIDENING * price * baseline.spread_error()).min(WORST_ERROR);
    price / baseline.exponent.max(1e-3) / widened
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_limits_by_hand() {
        let baseline = Baseline {
            n: 10_000,
            mean: 0.3,
            cap: 1.0,
            centre: 0.3,
            sd: 0.1,
            skew: 0.0,
            phi: 0.6,
            exponent: 2.0,
        };
        // e = (2 - .6 x 1) / .8 = 1.75, less .75 and 1.5 / 100.
        let mut sum = Abrupt {
            sum: 0.5,
            before: 1.0,
        };
        sum.add(&baseline, 2.0);
        assert!((sum.sum - 1.485).abs() < 1e-12 && sum.before == 2.0);
        (0..9).for_each(|_| sum.add(&baseline, 0.0));
        assert_eq!(sum.sum, 0.0);
        // ln(.25 x 1000 / .005) / 2, widened by 2.8 x 10.82 x 2 x 1.36 / .64 / 40000.
        let plain = 5e4f64.ln() / 2.0;
        let found = limit(&baseline, 0.005, 1000.0);
        assert!(found > plain && found < 1.01 * plain, "{found} {plain}");
        assert!(limit(&baseline, 0.0005, 1000.0) > found);
    }
}
