//! From what the rounds gathered to estimates with intervals.

use super::cell::{Basis, Estimate, Estimates};
use super::fit::Slopes;
use super::running::Running;
use crate::stats::{betting_interval, rate_interval, student_quantile};

/// With fewer draws than so many the spread of a region is a guess.
const SPARSE: usize = 5;

pub(super) fn finish(cells: &[Running], slopes: Slopes, alpha: f64, few: usize) -> Estimates {
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
