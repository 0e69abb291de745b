//! The surrogate: a ridge regression within regions, whose slope every region may scale.
//!
//! Two steps, both Bayesian in their shrinkage. One slope for all regions, shrunk towards 0
//! by the positive part of James and Stein (1961), so that a surrogate that knows nothing
//! costs nothing. Then one factor per region: its own regression on the common prediction,
//! worth its labels against `PRIOR_LABELS` that say 1. Intercepts do not matter: in the
//! difference of pool and draw they cancel.

use super::frame::{Drawn, Frame};

/// Labels that a region's factor of 1 is worth.
const PRIOR_LABELS: f64 = 20.0;

/// Fewer labels fit nothing.
const LEAST_LABELS: f64 = 10.0;

/// Sums of one region's labels: n, x, y, xx, xy, yy.
#[derive(Clone, Debug)]
pub(super) struct Moments {
    n: f64,
    x: Vec<f64>,
    y: f64,
    xx: Vec<f64>,
    xy: Vec<f64>,
    yy: f64,
}

impl Moments {
    pub(super) fn new(width: usize) -> Self {
        Self {
            n: 0.0,
            x: vec![0.0; width],
            y: 0.0,
            xx: vec![0.0; width * width],
            xy: vec![0.0; width],
            yy: 0.0,
        }
    }

    pub(super) fn add(&mut self, frame: &Frame, drawn: &Drawn, sign: f64) {
        let x = frame.of(drawn.unit);
        let y = drawn.value;
        self.n += sign;
        self.y += sign * y;
        self.yy += sign * y * y;
        for (at, a) in x.iter().enumerate() {
            self.x[at] += sign * a;
            self.xy[at] += sign * a * y;
            for (to, b) in x.iter().enumerate() {
                self.xx[at * x.len() + to] += sign * a * b;
            }
        }
    }

    /// Sums of squares around the region's means: xx, xy, yy.
    fn centred(&self) -> (Vec<f64>, Vec<f64>, f64) {
        let width = self.x.len();
        if self.n < 1.5 {
            return (vec![0.0; width * width], vec![0.0; width], 0.0);
        }
        let xx = (0..width * width)
            .map(|at| self.xx[at] - self.x[at / width] * self.x[at % width] / self.n);
        let xy = (0..width).map(|at| self.xy[at] - self.x[at] * self.y / self.n);
        (
            xx.collect(),
            xy.collect(),
            (self.yy - self.y * self.y / self.n).max(0.0),
        )
    }
}

/// A fitted surrogate: the slopes of every region.
#[derive(Clone, Debug, PartialEq)]
pub struct Slopes {
    /// Common slopes, after shrinkage.
    pub common: Vec<f64>,
    /// What each region multiplies them by.
    pub factor: Vec<f64>,
}

impl Slopes {
    /// One that says nothing.
    #[must_use]
    pub fn none(width: usize, regions: usize) -> Self {
        Self {
            common: vec![0.0; width],
            factor: vec![0.0; regions],
        }
    }

    /// The part of a prediction that differs within a region.
    #[must_use]
    pub fn at(&self, region: usize, x: &[f64]) -> f64 {
        let dot: f64 = self.common.iter().zip(x).map(|(b, x)| b * x).sum();
        self.factor[region] * dot
    }

    /// The fit of labels whose sums stand in `regions`.
    pub(super) fn fit(regions: &[Moments], width: usize) -> Self {
        let none = Self::none(width, regions.len());
        let labels: f64 = regions.iter().map(|r| r.n).sum();
        if width == 0 || labels < LEAST_LABELS {
            return none;
        }
        let centred: Vec<_> = regions.iter().map(Moments::centred).collect();
        let (mut xx, mut xy, mut yy) = (vec![0.0; width * width], vec![0.0; width], 0.0);
        for (a, b, c) in &centred {
            xx.iter_mut().zip(a).for_each(|(sum, a)| *sum += a);
            xy.iter_mut().zip(b).for_each(|(sum, b)| *sum += b);
            yy += c;
        }
        // A ridge so light that it only keeps apart what is collinear.
        let trace: f64 = (0..width).map(|at| xx[at * width + at]).sum();
        let ridge = (1e-3 * trace / width as f64).max(1e-12);
        let mut penal = xx.clone();
        (0..width).for_each(|at| penal[at * width + at] += ridge);
        let Some(mut common) = solve(penal, xy.clone(), width) else {
            return none;
        };
        let groups = regions.iter().filter(|r| r.n > 0.5).count() as f64;
        let signal = quadratic(&xx, &common, width);
        let explained: f64 = common.iter().zip(&xy).map(|(b, s)| b * s).sum();
        let freedom = (labels - groups - width as f64).max(1.0);
        let noise = (yy - explained).max(0.0) / freedom;
        if signal <= 1e-15 {
            return none;
        }
        let keep = (1.0 - width as f64 * noise / signal).max(0.0);
        common.iter_mut().for_each(|b| *b *= keep);
        let typical = quadratic(&xx, &common, width) / (labels - groups).max(1.0);
        let factor = centred.iter().map(|(xx, xy, _)| {
            let ff = quadratic(xx, &common, width);
            let fy: f64 = common.iter().zip(xy).map(|(b, s)| b * s).sum();
            let prior = PRIOR_LABELS * typical;
            if ff + prior <= 1e-15 {
                return 0.0;
            }
            ((fy + prior) / (ff + prior)).clamp(0.0, 3.0)
        });
        let factor = factor.collect();
        Self { common, factor }
    }
}

fn quadratic(a: &[f64], b: &[f64], width: usize) -> f64 {
    (0..width * width)
        .map(|at| a[at] * b[at / width] * b[at % width])
        .sum()
}

/// Solves a symmetric positive system by Cholesky; `None` if it is none.
fn solve(mut a: Vec<f64>, mut b: Vec<f64>, n: usize) -> Option<Vec<f64>> {
    for i in 0..n {
        for j in 0..=i {
            let mut sum = a[i * n + j];
            for k in 0..j {
                sum -= a[i * n + k] * a[j * n + k];
            }
            if i == j {
                if sum.is_nan() || sum <= 0.0 {
                    return None;
                }
                a[i * n + i] = sum.sqrt();
            } else {
                a[i * n + j] = sum / a[j * n + j];
            }
        }
    }
    for i in 0..n {
        for k in 0..i {
            b[i] -= a[i * n + k] * b[k];
        }
        b[i] /= a[i * n + i];
    }
    for i in (0..n).rev() {
        for k in i + 1..n {
            b[i] -= a[k * n + i] * b[k];
        }
        b[i] /= a[i * n + i];
    }
    Some(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(points: &[(usize, f64, f64)], regions: usize) -> Slopes {
        let frame = Frame {
            regions: vec![Vec::new(); regions],
            features: points.iter().map(|p| p.1).collect(),
            width: 1,
        };
        let mut sums = vec![Moments::new(1); regions];
        for (unit, (region, _, y)) in points.iter().enumerate() {
            let drawn = Drawn {
                unit,
                value: *y,
                base: 1.0,
            };
            sums[*region].add(&frame, &drawn, 1.0);
        }
        Slopes::fit(&sums, 1)
    }

    #[test]
    fn a_line_is_found_and_noise_is_not() {
        // y = region + x / 2, exactly: slope 1/2 in both regions.
        let line: Vec<_> = (0..20)
            .map(|i| (i % 2, i as f64 / 10.0, (i % 2) as f64 + i as f64 / 20.0))
            .collect();
        let slopes = fitted(&line, 2);
        assert!((slopes.at(0, &[1.0]) - 0.5).abs() < 1e-2, "{slopes:?}");
        // y that knows nothing of x: less than one standard error of slope is shrunk to 0.
        let noise: Vec<_> = (0..20)
            .map(|i| (0, (i % 2) as f64, ((i / 2) % 2) as f64))
            .collect();
        assert_eq!(fitted(&noise, 1).at(0, &[1.0]), 0.0);
        // Nine labels say nothing.
        assert_eq!(fitted(&line[..9], 2).at(0, &[1.0]), 0.0);
    }

    #[test]
    fn a_system_by_hand() {
        // 4a + 2b = 8, 2a + 3b = 8: a = 1, b = 2.
        let x = solve(vec![4.0, 2.0, 2.0, 3.0], vec![8.0, 8.0], 2).unwrap();
        assert!((x[0] - 1.0).abs() < 1e-12 && (x[1] - 2.0).abs() < 1e-12);
        assert_eq!(solve(vec![0.0], vec![1.0], 1), None);
    }
}
