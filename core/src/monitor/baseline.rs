//! What a stream is like while all is well: learned from its warm-up, then kept.

use super::abrupt::ALLOWANCE;

/// Samples that a baseline stands on at least: below, phi is not known well enough
/// (docs/measures.md, "Monitor").
pub const WARM_UP: usize = 200;

/// With a phi above this a stream wanders: nothing it does can be told from drift.
pub const PHI_MAX: f64 = 0.95;

/// Differences of gaps below this are nothing: the least reach of scores above the mean.
const LEAST_REACH: f64 = 0.02;

/// Scores reach so far beyond the highest that was seen, in its distance from the mean: room for
/// a shift, little for a single outlier.
const ROOM: f64 = 0.6;

/// Least standard deviation of scores, so that a constant stream has limits too.
const LEAST_SD: f64 = 1e-3;

/// Up to here phi is raised for what is not known of it.
const RAISED_TO: f64 = 0.85;

/// A stream's level, spread, skewness and memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Baseline {
    /// Samples that it stands on.
    pub n: usize,
    /// Plain mean of the gaps, in `[0,1]`.
    pub mean: f64,
    /// Values above count as this: one outlier, however large, is one outlier.
    pub cap: f64,
    /// Mean of the scores, `min(gap, cap)`, with the made-up ones.
    pub centre: f64,
    /// Their standard deviation.
    pub sd: f64,
    /// Their skewness, at least 0.
    pub skew: f64,
    /// Lag-one correlation, corrected for its bias and raised for its error, in `[0, PHI_MAX]`.
    pub phi: f64,
    /// Lundberg's exponent of the innovations; see [`Baseline::learn`].
    pub exponent: f64,
}

/// A warm-up that says nothing.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Unsteady {
    /// Too few samples.
    #[error("{0} of {WARM_UP} warm-up samples")]
    Few(usize),
    /// It wanders.
    #[error("wanders (phi {0:.2}, above {PHI_MAX}): drift could not be told from it")]
    Wanders(f64),
}

impl Baseline {
    /// Learns from gaps in `[0,1]`, in their order.
    ///
    /// A skewed stream gets made-up scores at its top: as many as a run of high values would have,
    /// `(1 + phi) / (1 - phi)`, times `skew^2 / (1 + skew^2)`. They stand for what a warm-up of this
    /// length cannot show.
    ///
    /// The exponent is the t > 0 at which `mean exp(t (e - k)) = 1` over the innovations e, k =
    /// .75; times `((1 - phi) / (1 + phi))^min(.6, skew / 3.5)`, since high values
    /// of a skewed stream come in runs, which innovations of a linear process do not.
    ///
    /// # Errors
    /// If there are fewer than [`WARM_UP`], or they wander.
    pub fn learn(gaps: &[f64]) -> Result<Self, Unsteady> {
        let n = gaps.len();
        if n < WARM_UP {
            return Err(Unsteady::Few(n));
        }
        let mean = gaps.iter().sum::<f64>() / n as f64;
        let most = gaps.iter().copied().fold(0.0, f64::max);
        let top = most.max(mean + LEAST_REACH).min(1.0);
        let cap = (most + ROOM * (most - mean)).max(top).min(1.0);
        let skewed = Moments::of(gaps, 1.0, top).skew;
        let phi = correlation(gaps, mean, skewed);
        if phi > PHI_MAX {
            return Err(Unsteady::Wanders(phi));
        }
        let square = skewed * skewed;
        let ghosts = (1.0 + phi) / (1.0 - phi) * square / (1.0 + square);
        let moments = Moments::of(gaps, ghosts, top);
        let mut baseline = Self {
            n,
            mean,
            cap,
            centre: moments.mean,
            sd: moments.sd,
            skew: moments.skew,
            phi,
            exponent: 0.0,
        };
        let runs = ((1.0 - phi) / (1.0 + phi)).powf((moments.skew / 3.5).min(0.6));
        baseline.exponent = baseline.lundberg(gaps, ghosts, top) * runs;
        Ok(baseline)
    }

    /// The standardised score of a gap.
    #[must_use]
    pub fn score(&self, gap: f64) -> f64 {
        (gap.min(self.cap) - self.centre) / self.sd
    }

    /// What a score brings that the one before did not: variance 1 if the stream is AR(1).
    #[must_use]
    pub fn innovation(&self, before: f64, score: f64) -> f64 {
        (score - self.phi * before) / (1.0 - self.phi * self.phi).sqrt()
    }

    /// Variance of the learned mean, in units of the scores' variance: `(1 + phi) / (1 - phi) / n`.
    #[must_use]
    pub fn mean_variance(&self) -> f64 {
        (1.0 + self.phi) / (1.0 - self.phi) / self.n as f64
    }

    /// Squared relative error of the learned standard deviation: (kurtosis - 1) / 4 over the samples
    /// that a variance stands on, `n (1 - phi^2) / (1 + phi^2)`; the kurtosis is a gamma's, 3 + 1.5 skew^2.
    #[must_use]
    pub fn spread_error(&self) -> f64 {
        let square = self.phi * self.phi;
        let n = self.n as f64 * (1.0 - square) / (1.0 + square);
        (2.0 + 1.5 * self.skew * self.skew) / (4.0 * n)
    }

    /// Squared relative error of the deviation of a long mean, `sqrt((1 + phi) / (1 - phi))`, for that of phi:
    /// `1 / (n (1 - phi^2))`, since phi's variance is `(1 - phi^2) / n`.
    #[must_use]
    pub fn memory_error(&self) -> f64 {
        1.0 / (self.n as f64 * (1.0 - self.phi * self.phi))
    }

    fn lundberg(&self, gaps: &[f64], ghosts: f64, top: f64) -> f64 {
        let innovations: Vec<f64> = gaps
            .windows(2)
            .map(|pair| self.innovation(self.score(pair[0]), self.score(pair[1])))
            .collect();
        let ghost = self.innovation(0.0, self.score(top));
        let count = innovations.len() as f64 + ghosts;
        let mean = (innovations.iter().sum::<f64>() + ghosts * ghost) / count;
        let growth = |t: f64| {
            let part = |e: f64| (t * (e - mean - ALLOWANCE)).exp();
            let sum: f64 = innovations.iter().map(|e| part(*e)).sum();
            (sum + ghosts * part(ghost)) / count - 1.0
        };
        // Convex, 0 at 0, falling there: the root is where it comes back.
        let (mut low, mut high) = (0.0, 1.0);
        while growth(high) < 0.0 && high < 64.0 {
            low = high;
            high *= 2.0;
        }
        for _ in 0..40 {
            let middle = f64::midpoint(low, high);
            if growth(middle) < 0.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }
}

struct Moments {
    mean: f64,
    sd: f64,
    skew: f64,
}

impl Moments {
    /// Of the gaps and `ghosts` more at `top`.
    fn of(gaps: &[f64], ghosts: f64, top: f64) -> Self {
        let all = gaps.len() as f64 + ghosts;
        let mean = (gaps.iter().sum::<f64>() + ghosts * top) / all;
        let moment = |power: i32| {
            let seen: f64 = gaps.iter().map(|gap| (gap - mean).powi(power)).sum();
            (seen + ghosts * (top - mean).powi(power)) / all
        };
        let sd = moment(2).sqrt().max(LEAST_SD);
        let skew = (moment(3) / sd.powi(3)).max(0.0);
        Self { mean, sd, skew }
    }
}

/// The lag-one correlation, not below 0: `r + (1 + 4 r) / n` undoes its bias (Marriott and Pope
/// 1954), and `max(2.5 phi^2, min(1, skew / 2))` standard errors are added, since limits depend on
/// `1 / (1 - phi)`. The error of skewed samples is that of as many as have something to say,
/// `n / (1 + skew^2)`.
fn correlation(gaps: &[f64], mean: f64, skew: f64) -> f64 {
    let n = gaps.len() as f64;
    let square: f64 = gaps.iter().map(|gap| (gap - mean).powi(2)).sum();
    let product: f64 = gaps
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean))
        .sum();
    let r = if square > 1e-12 * n {
        product / square
    } else {
        0.0
    };
    let unbiased = (r + (1.0 + 4.0 * r) / n).clamp(0.0, 1.0);
    let error = ((1.0 - unbiased * unbiased) * (1.0 + skew * skew) / n).sqrt();
    let margin = (2.5 * unbiased * unbiased).max((skew / 2.0).min(1.0));
    (unbiased + margin * error).min(unbiased.max(RAISED_TO))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Chance;
    use proptest::prelude::*;

    #[test]
    fn an_alternating_stream_by_hand() {
        // 0 and .2 in turn: mean .1, deviation .1, no skewness without the one made-up score, and a
        // correlation that is negative, so 0.
        let gaps: Vec<f64> = (0..400).map(|at| f64::from(at % 2) * 0.2).collect();
        let found = Baseline::learn(&gaps).unwrap();
        assert!((found.mean - 0.1).abs() < 1e-12 && found.phi < 1e-3);
        assert!((found.sd - 0.1).abs() < 1e-3 && found.skew < 0.02);
        // .2 + .6 (.2 - .1).
        assert!((found.cap - 0.26).abs() < 1e-12);
        assert!((found.score(0.9) - 1.6).abs() < 0.01);
        // Two values, 1 and -1 of equal chance, less .75: cosh(t) = exp(.75 t) at t = 1.9.. .
        let t = found.exponent;
        assert!((t.cosh() - (0.75 * t).exp()).abs() < 0.1 * t.cosh(), "{t}");
    }

    #[test]
    fn short_and_wandering_warm_ups_say_nothing() {
        assert_eq!(Baseline::learn(&[0.5; 199]), Err(Unsteady::Few(199)));
        let mut chance = Chance::new(1);
        let mut level = 0.5;
        let walk: Vec<f64> = (0..400)
            .map(|_| {
                level = (level + 0.01 * chance.normal()).clamp(0.0, 1.0);
                level
            })
            .collect();
        let wanders = Baseline::learn(&walk);
        assert!(matches!(wanders, Err(Unsteady::Wanders(_))), "{wanders:?}");
    }

    #[test]
    fn constant_streams_have_limits() {
        for level in [0.0, 0.3, 1.0] {
            let found = Baseline::learn(&[level; 200]).unwrap();
            assert!(found.sd >= LEAST_SD && found.exponent.is_finite());
            assert!(found.score(level) <= 0.0 && found.score(1.0).is_finite());
        }
    }

    proptest! {
        #[test]
        fn phi_is_found(phi in 0.0f64..0.8, seed in 0u64..500) {
            let mut chance = Chance::new(seed);
            let mut x = chance.normal();
            let gaps: Vec<f64> = (0..2000)
                .map(|_| {
                    x = phi * x + (1.0 - phi * phi).sqrt() * chance.normal();
                    (0.4 + 0.08 * x).clamp(0.0, 1.0)
                })
                .collect();
            let found = Baseline::learn(&gaps).unwrap();
            prop_assert!(found.phi > phi - 0.08 && found.phi < phi + 0.12, "{}", found.phi);
            prop_assert!((found.sd - 0.08).abs() < 0.02 && (found.mean - 0.4).abs() < 0.03);
        }

        #[test]
        fn whatever_comes_has_a_baseline_or_a_reason(gaps in prop::collection::vec(prop_oneof![Just(0.0), Just(1.0), 0.0f64..=1.0], 200..260)) {
            if let Ok(found) = Baseline::learn(&gaps) {
                prop_assert!((0.0..=PHI_MAX).contains(&found.phi));
                prop_assert!(found.sd > 0.0 && found.exponent > 0.0 && found.exponent.is_finite());
                prop_assert!(found.cap <= 1.0 && found.centre <= found.cap);
            }
        }
    }
}
