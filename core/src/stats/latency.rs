//! How long a call takes, fitted so that it can be drawn.

use super::basics::quantile;
use super::chance::Chance;

/// From so many on the times speak for themselves.
const EMPIRICAL: usize = 20;
/// So many quantiles are kept, the ends included.
const KEPT: usize = 257;

/// Times of one kind of call, in the unit that they were given in.
#[derive(Clone, Debug, PartialEq)]
pub enum Latency {
    /// Quantiles at even distances, from the least to the greatest.
    Empirical(Vec<f64>),
    /// Mean and standard deviation (n - 1) of the logarithm.
    LogNormal {
        /// Mean.
        mu: f64,
        /// Standard deviation; 0 for a single time.
        sigma: f64,
    },
}

impl Latency {
    /// Fits times: their quantiles from 20 on, below that a log-normal. Times that
    /// are not above 0 and finite are left out; `None` without any.
    #[must_use]
    pub fn fit(times: &[f64]) -> Option<Self> {
        let mut times: Vec<f64> = times
            .iter()
            .copied()
            .filter(|time| *time > 0.0 && time.is_finite())
            .collect();
        times.sort_unstable_by(f64::total_cmp);
        let n = times.len();
        if n >= EMPIRICAL {
            let place = |at: usize| quantile(&times, at as f64 / (KEPT - 1) as f64);
            return Some(Self::Empirical((0..KEPT).filter_map(place).collect()));
        }
        if n == 0 {
            return None;
        }
        let logs: Vec<f64> = times.iter().map(|time| time.ln()).collect();
        let mu = logs.iter().sum::<f64>() / n as f64;
        let squares: f64 = logs.iter().map(|log| (log - mu).powi(2)).sum();
        let sigma = if n > 1 {
            (squares / (n - 1) as f64).sqrt()
        } else {
            0.0
        };
        Some(Self::LogNormal { mu, sigma })
    }

    /// One time.
    #[must_use]
    pub fn draw(&self, chance: &mut Chance) -> f64 {
        match self {
            Self::Empirical(quantiles) => {
                let place = chance.unit() * (quantiles.len() - 1) as f64;
                let below = place as usize;
                let above = (below + 1).min(quantiles.len() - 1);
                quantiles[below] + (quantiles[above] - quantiles[below]) * place.fract()
            }
            Self::LogNormal { mu, sigma } => (mu + sigma * chance.normal()).exp(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn worked_by_hand() {
        // Logarithms 0 and 2: mean 1, standard deviation sqrt(2).
        let fit = Latency::fit(&[1.0, 2f64.exp(), f64::NAN, -1.0, 0.0]);
        let Some(Latency::LogNormal { mu, sigma }) = fit else {
            panic!("{fit:?}")
        };
        assert!((mu - 1.0).abs() < 1e-12 && (sigma - 2f64.sqrt()).abs() < 1e-12);
        assert_eq!(Latency::fit(&[]), None);
        let one = Latency::fit(&[7.0]).unwrap();
        assert!((one.draw(&mut Chance::new(1)) - 7.0).abs() < 1e-9);
    }

    #[test]
    fn draws_have_the_quantiles_of_the_times() {
        let times: Vec<f64> = (1..=1000).map(|n| f64::from(n).powi(2)).collect();
        let fit = Latency::fit(&times).unwrap();
        let mut chance = Chance::new(3);
        let drawn: Vec<f64> = (0..20_000).map(|_| fit.draw(&mut chance)).collect();
        for p in [0.1, 0.5, 0.9] {
            let (a, b) = (quantile(&times, p).unwrap(), quantile(&drawn, p).unwrap());
            // Five standard deviations of the lowest, which is the least certain.
            assert!((a / b - 1.0).abs() < 0.22, "{p}: {a} {b}");
        }
    }

    proptest! {
        #[test]
        fn empirical_draws_stay_between_the_ends(times in prop::collection::vec(0.001f64..1e6, 20..60), seed: u64) {
            let fit = Latency::fit(&times).unwrap();
            let (least, most) = (quantile(&times, 0.0).unwrap(), quantile(&times, 1.0).unwrap());
            let drawn = fit.draw(&mut Chance::new(seed));
            prop_assert!(least <= drawn && drawn <= most);
        }
    }
}
