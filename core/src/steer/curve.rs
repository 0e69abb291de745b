//! The gap of a cell against the intensity of its perturbation.

/// What was measured at one intensity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Intensity, [0,1].
    pub intensity: f64,
    /// Gap of the region in the perturbation's own dimension, [0,1].
    pub gap: f64,
    /// Gap of the region in the other dimensions, joined, [0,1].
    pub other: f64,
}

/// A perturbation in a region.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    region: usize,
    visits: f64,
    points: Vec<Point>,
}

impl Curve {
    /// A curve of a region (an index; curves of one region share its gap), with the
    /// share of all calls that are made there, [0,1]. Several points of one intensity
    /// count as their mean. `None` without a point at 0 and one above it, or if a
    /// number is out of its range.
    #[must_use]
    pub fn new(region: usize, visits: f64, points: &[Point]) -> Option<Self> {
        let unit = |x: f64| (0.0..=1.0).contains(&x);
        let fits = |p: &Point| unit(p.intensity) && unit(p.gap) && unit(p.other);
        if !unit(visits) || !points.iter().all(fits) {
            return None;
        }
        let mut sorted = points.to_vec();
        sorted.sort_by(|a, b| a.intensity.total_cmp(&b.intensity));
        let mut merged: Vec<(Point, f64)> = Vec::new();
        for point in sorted {
            match merged.last_mut() {
                Some((last, n)) if last.intensity == point.intensity => {
                    *n += 1.0;
                    last.gap += (point.gap - last.gap) / *n;
                    last.other += (point.other - last.other) / *n;
                }
                _ => merged.push((point, 1.0)),
            }
        }
        let points: Vec<Point> = merged.into_iter().map(|(point, _)| point).collect();
        let from_zero = points.first().is_some_and(|p| p.intensity == 0.0);
        (from_zero && points.len() > 1).then_some(Self {
            region,
            visits,
            points,
        })
    }

    /// Its region.
    #[must_use]
    pub fn region(&self) -> usize {
        self.region
    }

    /// Share of all calls that are made there.
    #[must_use]
    pub fn visits(&self) -> f64 {
        self.visits
    }

    /// The gap without any perturbation.
    #[must_use]
    pub fn base(&self) -> f64 {
        self.points[0].gap
    }

    /// The greatest intensity that was measured: nothing is said beyond it.
    #[must_use]
    pub fn reach(&self) -> f64 {
        self.points[self.points.len() - 1].intensity
    }

    /// What was measured.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Linear between the points; beyond the last one as there.
    #[must_use]
    pub fn at(&self, intensity: f64) -> Point {
        let after = self.points.partition_point(|p| p.intensity <= intensity);
        let a = self.points[after.saturating_sub(1)];
        let Some(b) = self.points.get(after) else {
            return Point { intensity, ..a };
        };
        let part = ((intensity - a.intensity) / (b.intensity - a.intensity)).clamp(0.0, 1.0);
        Point {
            intensity,
            gap: a.gap + (b.gap - a.gap) * part,
            other: a.other + (b.other - a.other) * part,
        }
    }

    /// Where the visited gap falls fastest from an intensity on, counted per unit: the
    /// greatest mean slope to any point beyond. Below 0 if it only rises, `None` at
    /// the end. A chord and not the next piece, so that a bump of noise hides nothing.
    #[must_use]
    pub fn gradient(&self, intensity: f64) -> Option<(f64, f64)> {
        let here = self.at(intensity).gap;
        self.points
            .iter()
            .filter(|p| p.intensity > intensity + 1e-12)
            .map(|p| {
                let slope = self.visits * (here - p.gap) / (p.intensity - intensity);
                (slope, p.intensity)
            })
            .reduce(|a, b| if b.0 > a.0 { b } else { a })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(intensity: f64, gap: f64) -> Point {
        Point {
            intensity,
            gap,
            other: 0.0,
        }
    }

    #[test]
    fn worked_by_hand() {
        let points = [
            point(0.0, 0.4),
            point(0.2, 0.3),
            point(0.4, 0.1),
            point(0.4, 0.3),
        ];
        let curve = Curve::new(0, 0.5, &points).unwrap();
        // The two at .4 are .2 together; half of the calls are made here.
        assert!((curve.at(0.3).gap - 0.25).abs() < 1e-12);
        assert_eq!(curve.reach(), 0.4);
        let (slope, until) = curve.gradient(0.0).unwrap();
        assert!(
            (slope - 0.5 * 0.5).abs() < 1e-12 && until == 0.2,
            "{slope} {until}"
        );
        assert!(curve.gradient(0.4).is_none());
    }

    #[test]
    fn what_cannot_be_a_curve() {
        assert!(Curve::new(0, 1.0, &[point(0.1, 0.2), point(0.3, 0.1)]).is_none());
        assert!(Curve::new(0, 1.0, &[point(0.0, 0.2)]).is_none());
        assert!(Curve::new(0, 1.0, &[point(0.0, f64::NAN), point(0.3, 0.1)]).is_none());
    }
}
