//! A region while its rounds are gone through: what is known of it, and what each round says.

use super::fit::Slopes;
use super::frame::{Drawn, Frame};
use crate::stats::Step;

/// A region while its rounds are gone through.
pub(super) struct Running {
    pub(super) pool: f64,
    /// Sums of the features over the units that are not known.
    rest: Vec<f64>,
    pub(super) left: f64,
    pub(super) known_sum: f64,
    /// (weight, sum of gaps, share of the pool that was left, draws, sum of bases)
    rounds: Vec<Part>,
    /// What the surrogate leaves of every draw, and its base.
    residuals: Vec<(f64, f64)>,
    pub(super) steps: Vec<Step>,
    pub(super) gaps: usize,
    pub(super) negative: bool,
    pub(super) known: usize,
    /// Sums over everything known, for the ratio.
    base: f64,
    uneven: bool,
}

struct Part {
    weight: f64,
    total: f64,
    left: f64,
    drawn: f64,
}

impl Running {
    pub(super) fn new(frame: &Frame, units: &[usize]) -> Self {
        let mut rest = vec![0.0; frame.width];
        for unit in units {
            rest.iter_mut()
                .zip(frame.of(*unit))
                .for_each(|(sum, x)| *sum += x);
        }
        Self {
            pool: units.len() as f64,
            rest,
            left: units.len() as f64,
            known_sum: 0.0,
            rounds: Vec::new(),
            residuals: Vec::new(),
            steps: Vec::new(),
            gaps: 0,
            negative: false,
            known: 0,
            base: 0.0,
            uneven: false,
        }
    }

    pub(super) fn knows(&mut self, frame: &Frame, drawn: &Drawn, horizon: Option<f64>) {
        if let Some(horizon) = horizon {
            self.steps.push(Step {
                value: drawn.value.clamp(0.0, 1.0),
                reach: 0.0,
                known: self.known_sum.max(0.0),
                left: self.left,
                horizon,
            });
            self.gaps += usize::from(drawn.value.abs() > 1e-12);
            self.negative |= drawn.value < -1e-12;
        }
        self.rest
            .iter_mut()
            .zip(frame.of(drawn.unit))
            .for_each(|(sum, x)| *sum -= x);
        self.left -= 1.0;
        self.known_sum += drawn.value;
        self.known += 1;
        self.base += drawn.base;
        self.uneven |= (drawn.base - 1.0).abs() > 1e-12;
    }

    pub(super) fn round(
        &mut self,
        frame: &Frame,
        region: usize,
        weight: f64,
        drawn: &[Drawn],
        parts: &[Slopes],
        own_fit: bool,
    ) {
        let n = drawn.len();
        if n == 0 {
            return;
        }
        let turns = if own_fit { 1 } else { parts.len().min(n) };
        let (known, left) = (self.known_sum, self.left);
        let mut total = 0.0;
        for (turn, slopes) in parts.iter().enumerate().take(turns) {
            let mine = |at: usize| own_fit || turns == 1 || at % parts.len() == turn;
            let (mut others, mut own, mut count) = (0.0, 0.0, 0.0);
            let mut rest = self.rest.clone();
            let mut open = left;
            for (at, d) in drawn.iter().enumerate() {
                let x = frame.of(d.unit);
                if mine(at) {
                    let residual = d.value - slopes.at(region, x);
                    own += residual;
                    count += 1.0;
                    self.residuals.push((residual, d.base));
                } else {
                    others += d.value;
                    open -= 1.0;
                    rest.iter_mut().zip(x).for_each(|(sum, x)| *sum -= x);
                }
            }
            let predicted = slopes.at(region, &rest);
            total += count * (known + others + predicted + open / count * own);
        }
        self.rounds.push(Part {
            weight,
            total: total / n as f64,
            left,
            drawn: n as f64,
        });
        let horizon = (self.steps.len() + n) as f64;
        for d in drawn {
            self.knows(frame, d, Some(horizon));
        }
    }

    /// Mean reliability; 1 where nothing says otherwise.
    pub(super) fn mean_base(&self) -> f64 {
        if self.uneven {
            self.base / self.known.max(1) as f64
        } else {
            1.0
        }
    }

    pub(super) fn mean(&self) -> Option<f64> {
        if self.known == 0 || self.mean_base() < crate::stats::SATURATED_BELOW {
            return None;
        }
        let sum = if self.left < 0.5 {
            self.known_sum
        } else {
            let weight: f64 = self.rounds.iter().map(|part| part.weight).sum();
            if weight <= 0.0 {
                return None;
            }
            self.rounds
                .iter()
                .map(|part| part.weight * part.total)
                .sum::<f64>()
                / weight
        };
        Some(sum / self.pool / self.mean_base())
    }

    /// Sum of squares of what is left, with its degrees of freedom.
    pub(super) fn squares(&self) -> (f64, f64) {
        let n = self.residuals.len() as f64;
        if n < 2.0 {
            return (0.0, 0.0);
        }
        let slope = self.mean().unwrap_or_default();
        let left = |(r, base): &(f64, f64)| if self.uneven { r - slope * base } else { *r };
        let mean = self.residuals.iter().map(left).sum::<f64>() / n;
        let sum = self
            .residuals
            .iter()
            .map(|r| (left(r) - mean).powi(2))
            .sum::<f64>();
        (sum, n - 1.0)
    }

    /// The variance of the mean, if one unit's is `spread2`.
    pub(super) fn variance(&self, spread2: f64) -> f64 {
        if self.left < 0.5 {
            return 0.0;
        }
        let weight: f64 = self.rounds.iter().map(|part| part.weight).sum();
        let parts = self.rounds.iter().map(|part| {
            let share = part.left / self.pool;
            let open = 1.0 - part.drawn / part.left;
            (part.weight / weight * share).powi(2) * open * spread2 / part.drawn
        });
        parts.sum::<f64>() / self.mean_base().powi(2)
    }
}
