//! A probability as a function of one number.

use super::basics::sigmoid;

/// `P(y = 1 | x) = sigmoid(intercept + slope x)`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Logistic {
    /// At x = 0.
    pub intercept: f64,
    /// Per unit of x.
    pub slope: f64,
}

/// Half the penalty on the square of the slope: a prior of standard deviation 10,
/// so that data which a line separates have a finite slope.
const RIDGE: f64 = 0.01;

impl Logistic {
    /// Maximum likelihood with that penalty, by Newton's method with halved steps.
    /// `None` without both kinds of y, or where x is not finite. The result depends
    /// on the order of the pairs in its last digits: sort them.
    #[must_use]
    pub fn fit(pairs: &[(f64, bool)]) -> Option<Self> {
        const ROUNDS: usize = 100;
        const STILL: f64 = 1e-10;

        let ones = pairs.iter().filter(|(_, y)| *y).count();
        if ones == 0 || ones == pairs.len() || pairs.iter().any(|(x, _)| !x.is_finite()) {
            return None;
        }
        let share = ones as f64 / pairs.len() as f64;
        let mut model = Self {
            intercept: (share / (1.0 - share)).ln(),
            slope: 0.0,
        };
        let mut now = model.loss(pairs);
        for _ in 0..ROUNDS {
            let (mut ga, mut gb) = (0.0, RIDGE * model.slope);
            let (mut haa, mut hab, mut hbb) = (1e-12, 0.0, RIDGE);
            for (x, y) in pairs {
                let p = model.of(*x);
                let miss = p - f64::from(u8::from(*y));
                let spread = p * (1.0 - p);
                ga += miss;
                gb += miss * x;
                haa += spread;
                hab += spread * x;
                hbb += spread * x * x;
            }
            let det = haa * hbb - hab * hab;
            if det <= 0.0 || !det.is_finite() {
                break;
            }
            let (da, db) = ((hbb * ga - hab * gb) / det, (haa * gb - hab * ga) / det);
            let mut part = 1.0;
            let next = loop {
                let next = Self {
                    intercept: model.intercept - part * da,
                    slope: model.slope - part * db,
                };
                let loss = next.loss(pairs);
                if loss <= now || part < 1e-6 {
                    now = loss.min(now);
                    break next;
                }
                part /= 2.0;
            };
            let moved = (next.intercept - model.intercept)
                .abs()
                .max((next.slope - model.slope).abs());
            model = next;
            if moved < STILL {
                break;
            }
        }
        Some(model)
    }

    /// The probability at x.
    #[must_use]
    pub fn of(&self, x: f64) -> f64 {
        sigmoid(self.intercept + self.slope * x)
    }

    fn loss(&self, pairs: &[(f64, bool)]) -> f64 {
        let one = |(x, y): &(f64, bool)| {
            let z = self.intercept + self.slope * x;
            // ln(1 + e^z) - y z, without overflow.
            z.max(0.0) + (-z.abs()).exp().ln_1p() - if *y { z } else { 0.0 }
        };
        pairs.iter().map(one).sum::<f64>() + RIDGE / 2.0 * self.slope * self.slope
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Chance;

    #[test]
    fn two_cells_by_hand() {
        // At 0: 1 of 4; at 1: 3 of 4. intercept ln(1/3), slope 2 ln 3 but for the penalty.
        let at = |x: f64, ones: usize| (0..4).map(move |i| (x, i < ones));
        let pairs: Vec<(f64, bool)> = (0..100)
            .flat_map(|_| at(0.0, 1).chain(at(1.0, 3)))
            .collect();
        let model = Logistic::fit(&pairs).unwrap();
        assert!((model.intercept + 3f64.ln()).abs() < 1e-3, "{model:?}");
        assert!((model.slope - 2.0 * 3f64.ln()).abs() < 1e-3);
        assert!((model.of(1.0) - 0.75).abs() < 1e-3);
    }

    #[test]
    fn a_known_curve_is_found_again_and_nothing_is_infinite() {
        let mut chance = Chance::new(5);
        let mut unit = || (chance.bits() >> 11) as f64 / (1u64 << 53) as f64;
        let truth = Logistic {
            intercept: -1.0,
            slope: 3.0,
        };
        let pairs: Vec<(f64, bool)> = (0..20_000)
            .map(|_| {
                let x = unit();
                (x, unit() < truth.of(x))
            })
            .collect();
        let found = Logistic::fit(&pairs).unwrap();
        assert!(
            (found.intercept + 1.0).abs() < 0.1 && (found.slope - 3.0).abs() < 0.2,
            "{found:?}"
        );
        // Separated.
        let split: Vec<(f64, bool)> = (0..400).map(|i| (f64::from(i) / 400.0, i >= 200)).collect();
        let found = Logistic::fit(&split).unwrap();
        assert!(found.slope.is_finite() && found.slope > 5.0, "{found:?}");
        assert_eq!(Logistic::fit(&[(0.5, true), (0.2, true)]), None);
        assert_eq!(Logistic::fit(&[(f64::NAN, true), (0.2, false)]), None);
        // All at one place: the share.
        let flat = Logistic::fit(&[(0.5, true), (0.5, true), (0.5, true), (0.5, false)]).unwrap();
        assert!((flat.of(0.5) - 0.75).abs() < 1e-6);
    }
}
