//! What the rounds say of every region, and of all of them.
//!
//! Of round r a region's sum is estimated as
//!
//! ```text
//! T_r = (what was known before r) + sum of g over the rest + (rest / drawn) sum over the draw of (y - g)
//! ```
//!
//! the augmented inverse probability form (Robins, Rotnitzky and Zhao 1994; the difference
//! estimator of survey sampling), with chance drawn / rest for every unit of the rest. g is
//! fitted on earlier rounds and, by turns, on the other parts of round r's draw, which then
//! count among what is known: each turn is unbiased by itself, whatever g says. The rounds
//! are put together with weights that were fixed before any draw.

use super::fit::{Moments, Slopes};
use super::frame::{Drawn, Frame, Round};
use crate::stats::{Step, betting_interval, rate_interval, student_quantile};

/// With fewer gaps that are not 0, an interval is a betting sequence, not a normal one.
pub const FEW: usize = 10;

/// Parts of a round's draw that take turns.
const PARTS: usize = 5;

/// How gaps of a region are put together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Estimator {
    /// The mean of all draws as one sample, without a surrogate. Biased where later rounds
    /// went where earlier ones found something.
    Plain,
    /// Every round by itself, without a surrogate.
    Stratified,
    /// All draws as one sample with the surrogate, its power fitted on the same draws
    /// (PPI++: Angelopoulos, Duchi and Zrnic 2023). Unbiased in large samples only.
    PpiPlus,
    /// Every round by itself, with the cross-fitted surrogate.
    #[default]
    Augmented,
}

/// What an interval stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Nothing was bought: nothing is known.
    Unknown,
    /// Every unit is known.
    Whole,
    /// No gap was seen at all: an exact rate.
    Exact,
    /// Few gaps: a betting sequence.
    Sequence,
    /// Student's t.
    Normal,
}

/// A region's gap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Units of the region.
    pub pool: usize,
    /// Units that are known, drawn or not.
    pub known: usize,
    /// Units that were drawn.
    pub drawn: usize,
    /// Drawn units with a gap other than 0.
    pub gaps: usize,
    /// The estimate, neither cut nor shrunk; `None` without evidence.
    pub mean: Option<f64>,
    /// Its standard error; `None` for fewer than two draws.
    pub se: Option<f64>,
    /// The interval, cut to `[0,1]`.
    pub interval: Option<(f64, f64)>,
    /// What the interval stands on.
    pub basis: Basis,
    /// Standard deviation of what the surrogate leaves, within the region.
    pub spread: Option<f64>,
}

impl Estimate {
    /// Half the width of the interval; `None` without one.
    #[must_use]
    pub fn half_width(&self) -> Option<f64> {
        self.interval.map(|(low, high)| (high - low) / 2.0)
    }
}

/// All regions, and the pool as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimates {
    /// By region.
    pub regions: Vec<Estimate>,
    /// Of the whole pool, each region by its size; unknown while one of them is.
    pub overall: Estimate,
    /// The surrogate, fitted on everything.
    pub slopes: Slopes,
}

/// Estimates every region from the rounds, at confidence `1 - alpha`.
///
/// Bounded values are needed for intervals of few gaps: values and bases in `[0,1]`, or,
/// where noise was taken off, `[-1,1]`, whose negative ones count as no gap there.
#[must_use]
pub fn estimate(frame: &Frame, rounds: &[Round], estimator: Estimator, alpha: f64) -> Estimates {
    estimate_with(frame, rounds, estimator, alpha, FEW)
}

/// As [`estimate`], with betting sequences wherever fewer than `few` gaps were seen;
/// `usize::MAX`: everywhere, which holds at whatever time one looks and stops.
#[must_use]
pub fn estimate_with(
    frame: &Frame,
    rounds: &[Round],
    estimator: Estimator,
    alpha: f64,
    few: usize,
) -> Estimates {
    let bare;
    let frame = match estimator {
        Estimator::Plain | Estimator::Stratified => {
            bare = frame.without_features();
            &bare
        }
        _ => frame,
    };
    let merged;
    let rounds = match estimator {
        Estimator::Plain | Estimator::PpiPlus => {
            merged = merge(rounds, frame.regions.len());
            &merged[..]
        }
        _ => rounds,
    };
    let width = frame.width;
    let count = frame.regions.len();
    let mut earlier = vec![Moments::new(width); count];
    let mut cells: Vec<Running> = frame
        .regions
        .iter()
        .map(|units| Running::new(frame, units))
        .collect();
    for round in rounds {
        for (region, cell) in cells.iter_mut().enumerate() {
            for known in round.known.get(region).into_iter().flatten() {
                cell.knows(frame, known, None);
                earlier[region].add(frame, known, 1.0);
            }
        }
        let own_fit = estimator == Estimator::PpiPlus;
        let mut all = earlier.clone();
        for (region, drawn) in round.drawn.iter().enumerate() {
            drawn.iter().for_each(|d| all[region].add(frame, d, 1.0));
        }
        let parts: Vec<Slopes> = (0..if width == 0 { 1 } else { PARTS })
            .map(|part| {
                if width == 0 || own_fit {
                    return Slopes::fit(&all, width);
                }
                let mut others = all.clone();
                for (region, drawn) in round.drawn.iter().enumerate() {
                    let own = drawn
                        .iter()
                        .enumerate()
                        .filter(|(at, _)| at % PARTS == part);
                    own.for_each(|(_, d)| others[region].add(frame, d, -1.0));
                }
                Slopes::fit(&others, width)
            })
            .collect();
        for (region, cell) in cells.iter_mut().enumerate() {
            let drawn = round.drawn.get(region).map_or(&[][..], Vec::as_slice);
            cell.round(frame, region, round.weight, drawn, &parts, own_fit);
        }
        earlier = all;
    }
    let slopes = Slopes::fit(&earlier, width);
    finish(&cells, slopes, alpha, few)
}

/// All rounds as if they had been one draw.
fn merge(rounds: &[Round], regions: usize) -> [Round; 1] {
    let mut one = Round {
        weight: 1.0,
        drawn: vec![Vec::new(); regions],
        known: vec![Vec::new(); regions],
    };
    for round in rounds {
        for region in 0..regions {
            one.drawn[region].extend(round.drawn.get(region).into_iter().flatten());
            one.known[region].extend(round.known.get(region).into_iter().flatten());
        }
    }
    [one]
}

/// A region while its rounds are gone through.
struct Running {
    pool: f64,
    /// Sums of the features over the units that are not known.
    rest: Vec<f64>,
    left: f64,
    known_sum: f64,
    /// (weight, sum of gaps, share of the pool that was left, draws, sum of bases)
    rounds: Vec<Part>,
    /// What the surrogate leaves of every draw, and its base.
    residuals: Vec<(f64, f64)>,
    steps: Vec<Step>,
    gaps: usize,
    negative: bool,
    known: usize,
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
    fn new(frame: &Frame, units: &[usize]) -> Self {
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

    fn knows(&mut self, frame: &Frame, drawn: &Drawn, horizon: Option<f64>) {
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

    fn round(
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
    fn mean_base(&self) -> f64 {
        if self.uneven {
            self.base / self.known.max(1) as f64
        } else {
            1.0
        }
    }

    fn mean(&self) -> Option<f64> {
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
    fn squares(&self) -> (f64, f64) {
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
    fn variance(&self, spread2: f64) -> f64 {
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

/// With fewer draws than so many the spread of a region is a guess.
const SPARSE: usize = 5;

fn finish(cells: &[Running], slopes: Slopes, alpha: f64, few: usize) -> Estimates {
    let all = cells
        .iter()
        .map(Running::squares)
        .fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
    let usual = if all.1 > 0.0 { all.0 / all.1 } else { 0.0 };
    let regions: Vec<Estimate> = cells.iter().map(|cell| of_cell(cell, alpha, few)).collect();
    let pool: f64 = cells.iter().map(|cell| cell.pool).sum();
    let (mut mean, mut variance, mut fourth) = (Some(0.0), 0.0, 0.0);
    // How far the regions with few draws may be below and above what they seem.
    let (mut below, mut above) = (0.0, 0.0);
    // A ratio of sums: where gaps are undefined a region counts for less.
    let bases: f64 = cells
        .iter()
        .map(|cell| cell.pool / pool * cell.mean_base())
        .sum();
    for (cell, region) in cells.iter().zip(&regions) {
        if cell.pool == 0.0 || cell.known > 0 && cell.mean_base() == 0.0 {
            continue;
        }
        let share = cell.pool / pool * cell.mean_base() / bases;
        mean = mean.and_then(|sum| Some(sum + share * region.mean?));
        if cell.left >= 0.5
            && region.drawn < SPARSE
            && let (Some((low, high)), Some(own)) = (region.interval, region.mean)
        {
            // Its own interval holds without a spread; added up, such intervals hold together.
            below += share * (own - low).max(0.0);
            above += share * (high - own).max(0.0);
            continue;
        }
        // A region without a gap so far is not one without variance.
        let (sum, df) = cell.squares();
        let spread = (sum + 2.0 * usual) / (df + 2.0);
        let own = share * share * cell.variance(spread);
        variance += own;
        fourth += own * own / (df + 2.0);
    }
    // Satterthwaite (1946): regions with few draws and much variance decide how sure it is.
    let freedom: f64 = if fourth > 0.0 {
        (variance * variance / fourth).max(1.0)
    } else {
        1.0
    };
    let sum = |of: fn(&Estimate) -> usize| regions.iter().map(of).sum::<usize>();
    let (known, drawn, gaps) = (sum(|r| r.known), sum(|r| r.drawn), sum(|r| r.gaps));
    let whole = known as f64 > pool - 0.5;
    let se = (mean.is_some() && (all.1 >= 2.0 || whole)).then(|| variance.sqrt());
    let basis = match mean {
        None => Basis::Unknown,
        Some(_) if whole => Basis::Whole,
        Some(_) => Basis::Normal,
    };
    let few = gaps < few && !whole;
    let interval = match (mean, se) {
        // Too few gaps for a normal limit: the regions' own intervals, each at its share.
        (Some(_), _) if few => Some(regions.iter().zip(cells).fold(
            (0.0, 0.0),
            |(low, high), (r, cell)| {
                let (l, h) = r.interval.unwrap_or((0.0, 1.0));
                (low + cell.pool / pool * l, high + cell.pool / pool * h)
            },
        )),
        (Some(mean), Some(se)) => {
            let t = student_quantile(1.0 - alpha / 2.0, freedom);
            t.map(|t| cut(mean - t * se - below, mean + t * se + above))
        }
        _ => None,
    };
    let overall = Estimate {
        pool: pool as usize,
        known,
        drawn,
        gaps,
        mean,
        se,
        interval,
        basis: if few && mean.is_some() {
            Basis::Sequence
        } else {
            basis
        },
        spread: (all.1 > 0.0).then(|| usual.sqrt()),
    };
    Estimates {
        regions,
        overall,
        slopes,
    }
}

fn cut(low: f64, high: f64) -> (f64, f64) {
    (low.clamp(0.0, 1.0), high.clamp(0.0, 1.0))
}

fn of_cell(cell: &Running, alpha: f64, few: usize) -> Estimate {
    let mean = cell.mean();
    let (sum, freedom) = cell.squares();
    let spread2 = (freedom > 0.0).then(|| sum / freedom);
    let whole = cell.left < 0.5 && cell.known > 0;
    let se = if whole {
        Some(0.0)
    } else {
        spread2.map(|s| cell.variance(s).sqrt())
    };
    let drawn = cell.steps.len();
    let (basis, interval) = match mean {
        None => (Basis::Unknown, None),
        Some(mean) if whole => (Basis::Whole, Some(cut(mean, mean))),
        Some(_) if cell.gaps == 0 && few != usize::MAX => (Basis::Exact, exact(cell, drawn, alpha)),
        Some(mean) if cell.gaps < few || drawn < 2 => {
            let (low, high) = betting_interval(&cell.steps, cell.pool, alpha);
            let base = cell.mean_base();
            let low = if cell.negative { 0.0 } else { low / base };
            (
                Basis::Sequence,
                Some(cut(low.min(mean), (high / base).max(mean))),
            )
        }
        Some(mean) => {
            let t = student_quantile(1.0 - alpha / 2.0, freedom);
            let interval = t.zip(se).map(|(t, se)| cut(mean - t * se, mean + t * se));
            (Basis::Normal, interval)
        }
    };
    Estimate {
        pool: cell.pool as usize,
        known: cell.known,
        drawn,
        gaps: cell.gaps,
        mean,
        se,
        interval,
        basis,
        spread: spread2.map(f64::sqrt),
    }
}

/// No draw showed a gap: at most so many of the rest have one, and none is above 1.
fn exact(cell: &Running, drawn: usize, alpha: f64) -> Option<(f64, f64)> {
    let others = cell.known - drawn;
    let rest = cell.pool as usize - others;
    let (_, high) = rate_interval(0, drawn, rest, alpha)?;
    let known = (cell.known_sum / cell.pool).max(0.0);
    Some(cut(
        known,
        (known + high * rest as f64 / cell.pool) / cell.mean_base(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{Method, Synthetic, replay, synthetic};
    use proptest::prelude::*;

    fn drawn(unit: usize, value: f64) -> Drawn {
        Drawn {
            unit,
            value,
            base: 1.0,
        }
    }

    fn round(weight: f64, units: &[(usize, f64)]) -> Round {
        Round {
            weight,
            drawn: vec![units.iter().map(|(u, y)| drawn(*u, *y)).collect()],
            known: vec![],
        }
    }

    fn region(size: usize) -> Frame {
        Frame {
            regions: vec![(0..size).collect()],
            features: vec![],
            width: 0,
        }
    }

    #[test]
    fn two_rounds_by_hand() {
        // Ten units. Round 1: 0 and 1, mean .5. Round 2: 0 of the eight left; with what was known
        // (1 + 8 x 0) / 10 = .1. Weights 1 and 3: (.5 + 3 x .1) / 4 = .2.
        let rounds = [round(1.0, &[(0, 0.0), (1, 1.0)]), round(3.0, &[(2, 0.0)])];
        let found = estimate(&region(10), &rounds, Estimator::Stratified, 0.05).regions[0];
        assert!((found.mean.unwrap() - 0.2).abs() < 1e-12, "{found:?}");
        // As one sample: 1 of 3.
        let plain = estimate(&region(10), &rounds, Estimator::Plain, 0.05).regions[0];
        assert!((plain.mean.unwrap() - 1.0 / 3.0).abs() < 1e-12);
        // s^2 = 1/3; V = (1/4)^2 (1 - 2/10) s^2/2 + (3/4)^2 (8/10)^2 (1 - 1/8) s^2/1.
        let v = (0.0625 * 0.8 / 2.0 + 0.5625 * 0.64 * 0.875) / 3.0;
        assert!((found.se.unwrap() - f64::sqrt(v)).abs() < 1e-12);
        assert_eq!(found.basis, Basis::Sequence);
    }

    #[test]
    fn nothing_is_claimed_without_evidence() {
        let nothing = estimate(&region(10), &[], Estimator::Augmented, 0.05);
        assert_eq!(
            (nothing.regions[0].mean, nothing.regions[0].interval),
            (None, None)
        );
        assert_eq!(nothing.overall.basis, Basis::Unknown);
        // All gaps equal and none: an exact bound, no width 0.
        let zeros: Vec<_> = (0..5).map(|u| (u, 0.0)).collect();
        let found = estimate(
            &region(10),
            &[round(1.0, &zeros)],
            Estimator::Augmented,
            0.05,
        )
        .regions[0];
        assert_eq!((found.mean, found.basis), (Some(0.0), Basis::Exact));
        assert!(found.interval.unwrap().1 > 0.2, "{found:?}");
        // A region of one that was drawn is known whole.
        let one = estimate(
            &region(1),
            &[round(1.0, &[(0, 0.3)])],
            Estimator::Augmented,
            0.05,
        )
        .regions[0];
        assert_eq!(
            (one.mean, one.basis, one.interval),
            (Some(0.3), Basis::Whole, Some((0.3, 0.3)))
        );
        // Every gap the same: no division by 0.
        let same: Vec<_> = (0..12).map(|u| (u, 0.5)).collect();
        let found = estimate(
            &region(40),
            &[round(1.0, &same)],
            Estimator::Augmented,
            0.05,
        );
        assert_eq!(found.regions[0].mean, Some(0.5));
    }

    /// All draws of `n` of a tiny pool, every order: the mean of the estimates is the truth.
    #[test]
    fn every_draw_of_a_tiny_pool_together_is_unbiased() {
        let values = [0.0, 0.9, 0.2, 0.0, 0.6];
        let frame = Frame {
            regions: vec![(0..5).collect()],
            features: vec![0.1, 0.7, -0.4, 0.3, 1.0],
            width: 1,
        };
        let (mut sum, mut count) = (0.0, 0.0);
        for a in 0..5usize {
            for b in (0..5).filter(|b| *b != a) {
                // The second round draws more where the first found something.
                let more = usize::from(values[a] + values[b] > 0.5);
                for c in (0..5).filter(|c| ![a, b].contains(c)) {
                    for d in (0..5).filter(|d| ![a, b, c].contains(d)) {
                        let mut second = vec![(c, values[c])];
                        if more == 1 {
                            second.push((d, values[d]));
                        }
                        let rounds = [
                            round(0.3, &[(a, values[a]), (b, values[b])]),
                            round(0.7, &second),
                        ];
                        sum += estimate(&frame, &rounds, Estimator::Augmented, 0.05).regions[0]
                            .mean
                            .unwrap();
                        count += 1.0;
                    }
                }
            }
        }
        assert!((sum / count - 1.7 / 5.0).abs() < 1e-12, "{}", sum / count);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(6))]
        /// Bias within four Monte-Carlo errors in every region, for every method that claims to
        /// have none, whatever the pool (of three, one in a few hundred regions would show by chance).
        #[test]
        fn replays_are_unbiased(seed in 0u64..1000, correlation in 0.0f64..0.9, rate in 0.1f64..0.8) {
            const REPLAYS: u64 = 400;
            let pool = synthetic(&Synthetic { calls: 3000, apis: 6, correlation, rate, seed });
            for method in [Method::Proportional, Method::Need, Method::Augmented] {
                let mut sums = [(0.0, 0.0); 6];
                for at in 0..REPLAYS {
                    let told = replay(&pool, method, 400.0, seed * 1000 + at);
                    prop_assert!(told.cost <= 400);
                    for (sum, cell) in sums.iter_mut().zip(&told.regions) {
                        let miss = cell.mean.unwrap() - cell.truth;
                        sum.0 += miss;
                        sum.1 += miss * miss;
                    }
                }
                for (sum, squares) in sums {
                    let n = REPLAYS as f64;
                    let error = (squares / n - (sum / n).powi(2)).sqrt() / n.sqrt();
                    prop_assert!((sum / n).abs() <= 4.5 * error, "{method:?} {} {error}", sum / n);
                }
            }
        }
    }
}
