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

use super::finish::finish;
use super::fit::{Moments, Slopes};
use super::frame::{Frame, Round};
use super::running::Running;

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

#[cfg(test)]
#[path = "cell_tests.rs"]
mod tests;
