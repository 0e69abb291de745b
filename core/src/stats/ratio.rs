//! The noise-corrected gap of many calls: one ratio of sums, floored once.
//!
//! `Delta = clip(sum w D / sum w C, 0, 1)`, its standard error clustered by
//! trajectory, and its interval (docs/measures.md, "Noise-corrected gap").

use super::student::student_quantile;
use super::sum::ExactSum;

/// Below this mean reliability C there is no answer.
pub const SATURATED_BELOW: f64 = 0.2;

/// Fewer trajectories than this have no standard error.
pub const MIN_TRAJECTORIES: u64 = 5;

/// The sums of one trajectory's calls, or of any set of calls without clusters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallSums {
    /// Sum of w D.
    pub d: ExactSum,
    /// Sum of w C.
    pub c: ExactSum,
    /// Sum of w.
    pub w: ExactSum,
}

impl CallSums {
    /// One call: weight w >= 0, `gap_raw` D in `[-1,1]`, `reliability` C in `[0,1]`.
    pub fn add(&mut self, weight: f64, d: f64, c: f64) {
        self.d.add_product(weight, d);
        self.c.add_product(weight, c);
        self.w.add(weight);
    }

    /// The calls of another set too.
    pub fn merge(&mut self, other: &Self) {
        self.d.merge(&other.d);
        self.c.merge(&other.c);
        self.w.merge(&other.w);
    }

    /// `Delta` of these calls.
    #[must_use]
    pub fn delta(&self) -> Delta {
        let (d, c, w) = (self.d.value(), self.c.value(), self.w.value());
        if w.is_nan() || w <= 0.0 {
            return Delta::Empty;
        }
        if c / w < SATURATED_BELOW {
            return Delta::Saturated;
        }
        Delta::Known((d / c).clamp(0.0, 1.0))
    }
}

/// What an aggregate says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Delta {
    /// No call with weight.
    Empty,
    /// The arms differ from themselves so much that nothing can be said (`noise = saturated`).
    Saturated,
    /// The gap, in `[0,1]`.
    Known(f64),
}

impl Delta {
    /// The number, if there is one.
    #[must_use]
    pub const fn value(self) -> Option<f64> {
        match self {
            Self::Known(value) => Some(value),
            _ => None,
        }
    }
}

/// The sums over the trajectories of a region. Mergeable in any order; the
/// result depends only on the set of trajectories.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RatioSums {
    /// Number of trajectories M.
    trajectories: u64,
    total: CallSums,
    dd: ExactSum,
    dc: ExactSum,
    cc: ExactSum,
}

/// What a region's sums say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioEstimate {
    /// The gap.
    pub delta: Delta,
    /// Standard error; `None` for fewer than 5 trajectories or without a gap.
    pub se: Option<f64>,
    /// Weighted mean reliability; `None` without weight.
    pub mean_reliability: Option<f64>,
    /// Number of trajectories M.
    pub trajectories: u64,
}

/// The same estimate before it is floored: what is added up, compared and tested
/// ("does the interval cover 0?"). Never what is shown as a gap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unfloored {
    /// `sum w D / sum w C`; below 0 where the arms differ less than from themselves.
    pub ratio: f64,
    /// Its standard error, clustered by trajectory; `None` below 5 trajectories.
    pub se: Option<f64>,
    /// Number of trajectories M.
    pub trajectories: u64,
}

impl Unfloored {
    /// Interval of Student t with M - 1 degrees of freedom at a confidence
    /// `level` in (0,1), not cut; `None` without a standard error.
    #[must_use]
    pub fn interval(&self, level: f64) -> Option<(f64, f64)> {
        let t = student_quantile(0.5 + level / 2.0, self.trajectories as f64 - 1.0)?;
        let half = t * self.se?;
        Some((self.ratio - half, self.ratio + half))
    }
}

impl RatioSums {
    /// One trajectory, whole: all its calls of the region.
    pub fn add(&mut self, calls: &CallSums) {
        let (d, c) = (calls.d.value(), calls.c.value());
        self.trajectories += 1;
        self.total.merge(calls);
        self.dd.add_product(d, d);
        self.dc.add_product(d, c);
        self.cc.add_product(c, c);
    }

    /// Other trajectories too; none may stand in both.
    pub fn merge(&mut self, other: &Self) {
        self.trajectories += other.trajectories;
        self.total.merge(&other.total);
        self.dd.merge(&other.dd);
        self.dc.merge(&other.dc);
        self.cc.merge(&other.cc);
    }

    /// Gap and standard error: `SE = sqrt(M/(M-1) sum e_i^2) / sum w C`,
    /// `e_i = sum over the calls of trajectory i of w (D - Delta C)`.
    #[must_use]
    pub fn estimate(&self) -> RatioEstimate {
        let delta = self.total.delta();
        let (c, w) = (self.total.c.value(), self.total.w.value());
        RatioEstimate {
            delta,
            se: delta.value().and_then(|delta| self.se_around(delta)),
            mean_reliability: (w > 0.0).then(|| c / w),
            trajectories: self.trajectories,
        }
    }

    /// The estimate before the floor; `None` without weight or if saturated.
    #[must_use]
    pub fn unfloored(&self) -> Option<Unfloored> {
        self.total.delta().value()?;
        let ratio = self.total.d.value() / self.total.c.value();
        Some(Unfloored {
            ratio,
            se: self.se_around(ratio),
            trajectories: self.trajectories,
        })
    }

    fn se_around(&self, delta: f64) -> Option<f64> {
        if self.trajectories < MIN_TRAJECTORIES {
            return None;
        }
        // sum e^2 = dd - 2 Delta dc + Delta^2 cc, summed exactly: the terms cancel.
        let mut squares = self.dd.clone();
        squares.add_scaled(-2.0 * delta, &self.dc);
        let mut once = ExactSum::default();
        once.add_scaled(delta, &self.cc);
        squares.add_scaled(delta, &once);
        let m = self.trajectories as f64;
        Some((m / (m - 1.0) * squares.value().max(0.0)).sqrt() / self.total.c.value())
    }

    /// The state as floats: M, then for each of the six sums its number of parts and the parts.
    #[must_use]
    pub fn to_parts(&self) -> Vec<f64> {
        let mut out = vec![self.trajectories as f64];
        for sum in [
            &self.total.d,
            &self.total.c,
            &self.total.w,
            &self.dd,
            &self.dc,
            &self.cc,
        ] {
            let parts = sum.to_parts();
            out.push(parts.len() as f64);
            out.extend(parts);
        }
        out
    }

    /// Reads [`Self::to_parts`] back; `None` if it is none.
    #[must_use]
    pub fn from_parts(parts: &[f64]) -> Option<Self> {
        let (&m, mut rest) = parts.split_first()?;
        let mut next = || -> Option<ExactSum> {
            let (&count, after) = rest.split_first()?;
            let (own, after) = after.split_at_checked(count as usize)?;
            rest = after;
            Some(ExactSum::from_parts(own))
        };
        let (d, c, w) = (next()?, next()?, next()?);
        let (dd, dc, cc) = (next()?, next()?, next()?);
        (rest.is_empty() && m >= 0.0).then_some(Self {
            trajectories: m as u64,
            total: CallSums { d, c, w },
            dd,
            dc,
            cc,
        })
    }
}

impl RatioEstimate {
    /// Interval of Student t with M - 1 degrees of freedom at a confidence
    /// `level` in (0,1), cut to `[0,1]`; `None` without a standard error.
    #[must_use]
    pub fn interval(&self, level: f64) -> Option<(f64, f64)> {
        let (delta, se) = (self.delta.value()?, self.se?);
        let t = student_quantile(0.5 + level / 2.0, self.trajectories as f64 - 1.0)?;
        Some(((delta - t * se).max(0.0), (delta + t * se).min(1.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn trajectory(calls: &[(f64, f64, f64)]) -> CallSums {
        let mut sums = CallSums::default();
        calls.iter().for_each(|&(w, d, c)| sums.add(w, d, c));
        sums
    }

    #[test]
    fn a_region_by_hand() {
        // Five trajectories, one call each, C = 1, D = 0 0 0 0 .5: Delta = .1,
        // e = -.1 x 4 and .4, sum e^2 = .2, SE = sqrt(5/4 x .2) / 5 = .1.
        let mut sums = RatioSums::default();
        for d in [0.0, 0.0, 0.0, 0.0, 0.5] {
            sums.add(&trajectory(&[(1.0, d, 1.0)]));
        }
        let found = sums.estimate();
        assert!((found.delta.value().unwrap() - 0.1).abs() < 1e-15);
        assert!((found.se.unwrap() - 0.1).abs() < 1e-12);
        // t(.975, 4) = 2.7764.
        let (low, high) = found.interval(0.95).unwrap();
        assert!(low == 0.0 && (high - 0.377_644_510_519_779).abs() < 1e-9);
    }

    #[test]
    fn floored_once_at_the_end() {
        let calls = trajectory(&[(1.0, -0.2, 0.8), (1.0, 0.4, 0.8)]);
        assert!((calls.delta().value().unwrap() - 0.125).abs() < 1e-12);
        assert_eq!(trajectory(&[(1.0, -0.2, 0.8)]).delta(), Delta::Known(0.0));
        assert_eq!(trajectory(&[(1.0, 0.1, 0.19)]).delta(), Delta::Saturated);
        assert_eq!(CallSums::default().delta(), Delta::Empty);
        assert_eq!(trajectory(&[(0.0, 0.1, 1.0)]).delta(), Delta::Empty);
    }

    #[test]
    fn four_trajectories_are_too_few() {
        let mut sums = RatioSums::default();
        (0..4).for_each(|_| sums.add(&trajectory(&[(1.0, 0.1, 1.0)])));
        assert_eq!(sums.estimate().se, None);
        sums.add(&trajectory(&[(1.0, 0.1, 1.0)]));
        assert!(sums.estimate().se.unwrap() < 1e-12);
    }

    #[test]
    fn below_zero_by_hand() {
        // D = -.5 once in five, C = 1: ratio -.1, e as in the region above.
        let mut sums = RatioSums::default();
        for d in [0.0, 0.0, 0.0, 0.0, -0.5] {
            sums.add(&trajectory(&[(1.0, d, 1.0)]));
        }
        let found = sums.unfloored().unwrap();
        assert!((found.ratio + 0.1).abs() < 1e-15 && (found.se.unwrap() - 0.1).abs() < 1e-12);
        let (low, high) = found.interval(0.95).unwrap();
        assert!((low + 0.377_644_510_519_779).abs() < 1e-9 && high > 0.17);
        assert_eq!(sums.estimate().delta, Delta::Known(0.0));
        assert_eq!(RatioSums::default().unfloored(), None);
    }

    fn call() -> impl Strategy<Value = (f64, f64, f64)> {
        (0.0f64..1.0, -1.0f64..1.0, 0.0f64..1.0)
    }

    proptest! {
        #[test]
        fn merging_does_not_matter(
            all in prop::collection::vec(prop::collection::vec(call(), 1..5), 5..20),
            cut in 0usize..20,
        ) {
            let region = |part: &[Vec<(f64, f64, f64)>]| {
                let mut sums = RatioSums::default();
                part.iter().for_each(|calls| sums.add(&trajectory(calls)));
                sums
            };
            let whole = region(&all);
            let cut = cut.min(all.len());
            let mut merged = region(&all[cut..]);
            merged.merge(&RatioSums::from_parts(&region(&all[..cut]).to_parts()).unwrap());
            prop_assert_eq!(whole.estimate(), merged.estimate());
            prop_assert_eq!(whole.to_parts(), merged.to_parts());

            // The direct formula.
            let found = whole.estimate();
            if let (Some(delta), Some(se)) = (found.delta.value(), found.se) {
                let (mut squares, mut total) = (0.0, 0.0);
                for calls in &all {
                    let e: f64 = calls.iter().map(|(w, d, c)| w * (d - delta * c)).sum();
                    squares += e * e;
                    total += calls.iter().map(|(w, _, c)| w * c).sum::<f64>();
                }
                let m = all.len() as f64;
                prop_assert!((se - (m / (m - 1.0) * squares).sqrt() / total).abs() < 1e-9);
            }
        }

        #[test]
        fn any_floats_are_read_or_refused(parts in prop::collection::vec(-3.0f64..9.0, 0..20)) {
            let _ = RatioSums::from_parts(&parts);
        }
    }
}
