//! A budget of intensity, spread over cells.

use super::curve::Curve;

/// Intensities per cell, and what they leave.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// One per curve, in their order.
    pub intensity: Vec<f64>,
    /// Sum of the intensities.
    pub total: f64,
    /// Visited gap before: sum over regions of visits times gap.
    pub before: f64,
    /// Visited gap that is left.
    pub left: f64,
    /// Share of the gap before that is covered: 1 - left / before; 0 without a gap.
    pub covered: f64,
    /// What is added where nothing is gained: visits times what the gap rises in its
    /// own dimension, and in the others.
    pub noise: f64,
}

/// The visited gap with these intensities. What several perturbations take off one
/// region adds up, down to 0.
#[must_use]
pub fn gap_after(curves: &[Curve], intensity: &[f64]) -> f64 {
    let regions = curves.iter().map(|c| c.region() + 1).max().unwrap_or(0);
    let mut cells: Vec<Option<(f64, f64, f64)>> = vec![None; regions];
    for (curve, intensity) in curves.iter().zip(intensity) {
        let cell = cells[curve.region()].get_or_insert((curve.visits(), curve.base(), 0.0));
        cell.2 += curve.base() - curve.at(*intensity).gap;
    }
    let left = |(visits, base, taken): &(f64, f64, f64)| visits * (base - taken).clamp(0.0, 1.0);
    cells.iter().flatten().map(left).sum()
}

fn spread(curves: &[Curve], intensity: Vec<f64>) -> Spread {
    let before = gap_after(curves, &vec![0.0; curves.len()]);
    let left = gap_after(curves, &intensity);
    let noise = curves.iter().zip(&intensity).map(|(curve, intensity)| {
        let (then, now) = (curve.points()[0], curve.at(*intensity));
        curve.visits() * ((now.gap - then.gap).max(0.0) + (now.other - then.other).max(0.0))
    });
    Spread {
        total: intensity.iter().sum(),
        before,
        left,
        covered: if before > 0.0 {
            1.0 - left / before
        } else {
            0.0
        },
        noise: noise.sum(),
        intensity,
    }
}

/// Spends the budget step by step on the cell whose visited gap falls fastest, up to
/// the intensity where it falls no more. Cells where it does not fall get nothing, so
/// the whole budget need not be spent. Of equals the first.
#[must_use]
pub fn targeted(curves: &[Curve], budget: f64, step: f64) -> Spread {
    let mut intensity = vec![0.0; curves.len()];
    let mut rest = budget.max(0.0);
    let step = step.clamp(1e-4, 1.0);
    while rest > 1e-9 {
        let now = gap_after(curves, &intensity);
        let mut best: Option<(f64, usize, f64)> = None;
        for (at, curve) in curves.iter().enumerate() {
            let Some((slope, until)) = curve.gradient(intensity[at]) else {
                continue;
            };
            let by = step.min(rest).min(until - intensity[at]);
            // Another perturbation may have taken this region's gap already.
            let mut tried = intensity.clone();
            tried[at] = until;
            let falls = now - gap_after(curves, &tried) > 1e-12;
            if slope > 0.0 && falls && best.is_none_or(|(most, _, _)| slope > most) {
                best = Some((slope, at, by));
            }
        }
        let Some((_, at, by)) = best else { break };
        intensity[at] += by;
        rest -= by;
    }
    spread(curves, intensity)
}

/// The same total for all cells alike: what a cell cannot take, since it was not
/// measured so far, goes to the others.
#[must_use]
pub fn uniform(curves: &[Curve], total: f64) -> Spread {
    let mut intensity = vec![0.0; curves.len()];
    let mut rest = total.max(0.0);
    loop {
        let room: Vec<usize> = (0..curves.len())
            .filter(|at| intensity[*at] + 1e-12 < curves[*at].reach())
            .collect();
        if room.is_empty() || rest < 1e-12 {
            break;
        }
        let share = rest / room.len() as f64;
        for at in room {
            let by = share.min(curves[at].reach() - intensity[at]);
            intensity[at] += by;
            rest -= by;
        }
    }
    spread(curves, intensity)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Curve, Point};
    use super::*;

    /// A world fails with chance p, the simulator with chance q: the noise-corrected
    /// gap of outcomes is (p - q)^2 / (1 - p (1 - p) - q (1 - q)).
    fn failing(region: usize, visits: f64, p: f64) -> Curve {
        let points: Vec<Point> = (0..=5)
            .map(|at| {
                let q = f64::from(at) * 0.1;
                let gap = (p - q).powi(2) / (1.0 - p * (1.0 - p) - q * (1.0 - q));
                Point {
                    intensity: q,
                    gap,
                    other: 0.0,
                }
            })
            .collect();
        Curve::new(region, visits, &points).unwrap()
    }

    #[test]
    fn the_budget_goes_where_the_worlds_differ() {
        // Two of ten regions fail for real, at .3; the budget reaches for both.
        let curves: Vec<Curve> = (0..10)
            .map(|at| failing(at, 0.1, if at < 2 { 0.3 } else { 0.0 }))
            .collect();
        let ours = targeted(&curves, 0.6, 0.05);
        let evenly = uniform(&curves, ours.total);
        assert!((ours.total - 0.6).abs() < 1e-9);
        assert!(
            ours.left < 1e-9 && ours.covered > 0.999 && ours.noise == 0.0,
            "{ours:?}"
        );
        assert!((evenly.intensity[7] - 0.06).abs() < 1e-9);
        assert!(evenly.covered < 0.5 && evenly.noise > 0.0, "{evenly:?}");
    }

    #[test]
    fn nothing_is_spent_where_nothing_falls() {
        let curves = [failing(0, 1.0, 0.0)];
        let ours = targeted(&curves, 1.0, 0.1);
        assert_eq!((ours.total, ours.covered, ours.noise), (0.0, 0.0, 0.0));
        assert_eq!(targeted(&[], 1.0, 0.1).before, 0.0);
    }

    proptest! {
        #[test]
        fn never_worse_than_nothing_and_never_over_budget(
            cells in prop::collection::vec((0.0f64..1.0, prop::collection::vec(0.0f64..1.0, 2..6)), 1..6),
            budget in 0.0f64..2.0,
        ) {
            let n = cells.len() as f64;
            let curves: Vec<Curve> = cells.iter().enumerate().map(|(at, (visits, gaps))| {
                let points: Vec<Point> = gaps.iter().enumerate().map(|(k, gap)| Point {
                    intensity: k as f64 / 10.0, gap: *gap, other: 0.0 }).collect();
                Curve::new(at, visits / n, &points).unwrap()
            }).collect();
            let ours = targeted(&curves, budget, 0.05);
            prop_assert!(ours.total <= budget + 1e-9);
            let evenly = uniform(&curves, ours.total);
            prop_assert!((evenly.total - ours.total).abs() < 1e-6);
            for (curve, intensity) in curves.iter().zip(&ours.intensity) {
                prop_assert!(*intensity <= curve.reach() + 1e-9);
            }
        }
    }
}
