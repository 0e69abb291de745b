//! The gap of transition of a cell, and its interval.
//!
//! `trans = 1 - prod(1 - w_k c_k)` over the aggregated components. Its standard
//! error is that of the ratio, carried through by the delta method: with
//! `s_k = w_k prod over j != k of (1 - w_j c_j)`, the slope of `trans` by `c_k`,
//! trajectory i contributes
//!
//! `e_i = sum over k of s_k (D_ik - c_k C_ik) / C_k`,
//!
//! D_ik and C_ik being its sums of `w D` and `w C` of component k, and C_k the
//! cell's. `SE = sqrt(M/(M-1) sum e_i^2)`: for one component exactly the formula
//! of docs/measures.md. Clustered by trajectory, as components of one trajectory
//! are no more independent than its calls; the products of components within a
//! trajectory are in the sum of squares. Like every linearisation it is good
//! where the components are estimated well, so M >= 5 is asked for here too.

use fidelake_core::gap::{Component, compose};
use fidelake_core::stats::{MIN_TRAJECTORIES, SATURATED_BELOW, student_quantile};

/// How many components `trans` has.
const K: usize = Component::ALL.len();

/// The components, in the order of their sums.
pub(super) const COMPONENTS: [&str; K] = [
    "outcome",
    "state",
    "idempotency",
    "read_after_write",
    "latency",
];

/// Sums per trajectory: of `w D` and of `w C` of every component.
pub(super) const SUMS: [&str; 2 * K] = [
    "outcome_d",
    "outcome_c",
    "state_d",
    "state_c",
    "idempotency_d",
    "idempotency_c",
    "read_after_write_d",
    "read_after_write_c",
    "latency_d",
    "latency_c",
];

/// The sums of one cell.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    /// Weight of the calls where the component was measured.
    pub(super) w: [f64; K],
    /// In the order of [`SUMS`].
    pub(super) sums: [f64; 2 * K],
    /// Products over trajectories, `[a][b]` for a <= b.
    pub(super) products: [[f64; 2 * K]; 2 * K],
    pub(super) trajectories: i64,
}

/// Gap and interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Estimate {
    pub(super) gap: Option<f64>,
    pub(super) interval: Option<(f64, f64)>,
}

fn weight(component: usize) -> f64 {
    Component::ALL[component].weight()
}

impl Sums {
    pub(super) fn estimate(&self) -> Estimate {
        let mut parts = [None; K];
        for (k, part) in parts.iter_mut().enumerate() {
            let (d, c) = (self.sums[2 * k], self.sums[2 * k + 1]);
            if self.w[k] > 0.0 && c / self.w[k] >= SATURATED_BELOW {
                *part = Some((d / c).clamp(0.0, 1.0));
            }
        }
        let gap = compose(parts).trans;
        Estimate {
            gap,
            interval: gap.and_then(|gap| self.interval(gap, parts)),
        }
    }

    fn interval(&self, gap: f64, parts: [Option<f64>; K]) -> Option<(f64, f64)> {
        let m = u64::try_from(self.trajectories)
            .ok()
            .filter(|&m| m >= MIN_TRAJECTORIES)? as f64;
        // e_i as one linear form of the sums of a trajectory.
        let mut form = [0.0; 2 * K];
        for k in 0..K {
            let Some(value) = parts[k] else { continue };
            let others = (0..K).filter(|&j| j != k);
            let slope = weight(k)
                * others
                    .map(|j| 1.0 - weight(j) * parts[j].unwrap_or(0.0))
                    .product::<f64>();
            form[2 * k] = slope / self.sums[2 * k + 1];
            form[2 * k + 1] = -slope * value / self.sums[2 * k + 1];
        }
        let mut squares = 0.0;
        for a in 0..2 * K {
            for b in a..2 * K {
                let twice = if a == b { 1.0 } else { 2.0 };
                squares += twice * form[a] * form[b] * self.products[a][b];
            }
        }
        let se = (m / (m - 1.0) * squares.max(0.0)).sqrt();
        let t = student_quantile(0.975, m - 1.0)?;
        Some(((gap - t * se).max(0.0), (gap + t * se).min(1.0)))
    }
}

#[cfg(test)]
mod tests {
    use fidelake_core::stats::{CallSums, RatioSums};

    use super::*;

    fn sums(trajectories: &[[f64; 2 * K]]) -> Sums {
        let mut out = Sums {
            trajectories: trajectories.len() as i64,
            ..Sums::default()
        };
        for row in trajectories {
            for a in 0..2 * K {
                out.sums[a] += row[a];
                for b in a..2 * K {
                    out.products[a][b] += row[a] * row[b];
                }
            }
            for k in 0..K {
                out.w[k] += row[2 * k + 1];
            }
        }
        out
    }

    /// The first sums; the others are 0.
    fn row(known: &[f64]) -> [f64; 2 * K] {
        let mut row = [0.0; 2 * K];
        row[..known.len()].copy_from_slice(known);
        row
    }

    #[test]
    fn one_component_is_the_ratio_itself() {
        let gaps = [0.0, 0.2, 0.1, 0.9, 0.4, 0.0];
        let rows: Vec<[f64; 2 * K]> = gaps.iter().map(|&d| row(&[d, 1.0])).collect();
        let found = sums(&rows).estimate();
        let mut ratio = RatioSums::default();
        for d in gaps {
            let mut calls = CallSums::default();
            calls.add(1.0, d, 1.0);
            ratio.add(&calls);
        }
        let expected = ratio.estimate();
        assert!((found.gap.unwrap() - expected.delta.value().unwrap()).abs() < 1e-12);
        let (low, high) = expected.interval(0.95).unwrap();
        let (found_low, found_high) = found.interval.unwrap();
        assert!((low - found_low).abs() < 1e-9 && (high - found_high).abs() < 1e-9);
    }

    /// Leaving out one trajectory at a time gives the same standard error,
    /// nearly: an independent way to the same number.
    #[test]
    fn the_jackknife_agrees() {
        let rows: Vec<[f64; 2 * K]> = (0..200)
            .map(|i| {
                let noise = |k: u64| ((i * 7919 + k * 104_729) % 1009) as f64 / 1009.0;
                let shared = noise(1);
                row(&[
                    f64::from(u8::from(shared < 0.3)),
                    1.0,
                    0.4 * shared,
                    1.0,
                    noise(3),
                    1.0,
                ])
            })
            .collect();
        let whole = sums(&rows).estimate();
        let left: Vec<f64> = (0..rows.len())
            .map(|out| {
                let rest: Vec<_> = rows
                    .iter()
                    .enumerate()
                    .filter(|(i, _)| *i != out)
                    .map(|(_, r)| *r)
                    .collect();
                sums(&rest).estimate().gap.unwrap()
            })
            .collect();
        let n = rows.len() as f64;
        let mean = left.iter().sum::<f64>() / n;
        let jackknife =
            ((n - 1.0) / n * left.iter().map(|g| (g - mean).powi(2)).sum::<f64>()).sqrt();
        let (low, high) = whole.interval.unwrap();
        let se = (high - low) / 2.0 / student_quantile(0.975, n - 1.0).unwrap();
        assert!((se / jackknife - 1.0).abs() < 0.02, "{se} {jackknife}");
    }

    #[test]
    fn unknown_stays_unknown() {
        assert_eq!(sums(&[[0.0; 2 * K]; 9]).estimate(), Estimate::default());
        let few = sums(&[row(&[0.5, 1.0]); 4]).estimate();
        assert_eq!(
            few,
            Estimate {
                gap: Some(0.5),
                interval: None
            }
        );
    }
}
