//! `fidelake estimate`: what is known of every region.

use std::collections::HashMap;

use clap::ValueEnum;
use fidelake_core::budget::{
    Basis, Drawn, Estimate, Estimates, Estimator, FEW, Round, estimate_with,
};
use fidelake_core::stats::{CallSums, RatioSums};

use super::calibrate::{Calibration, Predicted, calibrate, predict};
use super::error::{EstimateError, EstimateResult};
use super::pool::{LakePool, read};
use super::rounds::{Campaigned, chosen, rounds};
use crate::engine::Engine;

/// Confidence of all intervals.
pub(super) const ALPHA: f64 = 0.05;

/// Which gap of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Dimension {
    /// What the calls answer
    #[default]
    Obs,
    /// Whether tool and arguments are accepted
    Act,
    /// The class of the outcome
    Outcome,
    /// The state after the call
    State,
    /// The largest of these that is known
    Worst,
}

impl Dimension {
    /// The columns of `call_gaps`, as SQL: gap and reliability.
    pub(super) const fn columns(self) -> (&'static str, &'static str) {
        match self {
            Self::Obs => ("g.obs_raw", "g.obs_reliability"),
            Self::Act => ("g.act_raw", "g.act_reliability"),
            Self::Outcome => ("g.outcome_raw", "g.outcome_reliability"),
            Self::State => ("g.state_raw", "g.state_reliability"),
            Self::Worst => (
                "greatest(g.obs_raw, g.act_raw, g.outcome_raw, g.state_raw)",
                "CASE WHEN coalesce(g.obs_raw, g.act_raw, g.outcome_raw, g.state_raw) IS NOT NULL THEN 1.0 END",
            ),
        }
    }
}

/// What to estimate.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Columns whose values make the regions.
    pub by: Vec<String>,
    /// Which gap.
    pub dimension: Dimension,
    /// How draws are put together.
    pub estimator: Estimator,
    /// Whose draws; `None`: those of the only campaign there is.
    pub campaign: Option<String>,
    /// Intervals that hold whenever one looks and stops.
    pub sequence: bool,
}

/// A region as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionTold {
    /// Values of the columns of `by`; `None`: all regions together.
    pub key: Option<Vec<String>>,
    /// Estimate of the gap and what it stands on.
    pub found: Estimate,
    /// The gap drawn towards the pool's, as far as the region's own error asks for it.
    pub shrunk: Option<f64>,
    /// What the interval stands on, in a word.
    pub basis: &'static str,
}

/// All that is known of a pool.
#[derive(Clone, Debug)]
pub struct Estimation {
    /// Columns of the regions.
    pub by: Vec<String>,
    /// Regions, and the pool as the last.
    pub regions: Vec<RegionTold>,
    /// The campaign whose draws it stands on; `None`: no campaign drew anything.
    pub campaign: Option<String>,
    /// Rounds with draws.
    pub rounds: usize,
    /// Measured calls left out because the real arm has a newer version.
    pub outdated: u64,
    /// Regions whose pool has changed since their draws.
    pub moved: u64,
    /// Predicted against measured, where enough is measured.
    pub calibration: Vec<Calibration>,
    /// Every trajectory of the pool.
    pub predicted: Vec<Predicted>,
}

/// Estimates the gap of every region of the lake.
///
/// # Errors
/// If a column or campaign is not there, nothing was measured, or the lake cannot be read.
pub async fn estimate(engine: &Engine, ask: &Ask) -> EstimateResult<Estimation> {
    let pool = read(engine, ask).await?;
    let campaign = chosen(&pool, ask.campaign.as_deref())?;
    let drawn = rounds(&pool, campaign.as_deref())?;
    if drawn.known.is_empty() {
        return Err(EstimateError::TooLittle(
            "no call of the pool ran on both arms: `fidelake plan` says which to run, `fidelake dual run` runs them, and then comes `fidelake profile`".into(),
        ));
    }
    finer(&drawn, &ask.by)?;
    let told = told(&pool, &drawn, ask, campaign.is_some());
    let regions = shown(&pool, &told);
    Ok(Estimation {
        by: ask.by.clone(),
        regions,
        rounds: drawn.rounds.iter().filter(|r| r.weight > 0.0).count(),
        campaign,
        outdated: pool.outdated,
        moved: drawn.moved,
        calibration: calibrate(&pool),
        predicted: predict(&pool, &told),
    })
}

/// Draws with known chances per region of `by` say nothing of coarser regions by themselves.
fn finer(drawn: &Campaigned, by: &[String]) -> EstimateResult<()> {
    match drawn.by.iter().find(|name| !by.contains(name)) {
        Some(name) => Err(EstimateError::Usage(format!(
            "the campaign drew by {}: --by must name {name} as well (what the pool is as a whole stands in the last row)",
            drawn.by.join(",")
        ))),
        None => Ok(()),
    }
}

/// The estimates of the pool. Without a campaign what is known counts as one even draw of
/// each region, with errors clustered by trajectory.
pub(super) fn told(pool: &LakePool, drawn: &Campaigned, ask: &Ask, designed: bool) -> Estimates {
    let few = if ask.sequence { usize::MAX } else { FEW };
    if designed {
        return estimate_with(&pool.frame, &drawn.rounds, ask.estimator, ALPHA, few);
    }
    let mut round = Round {
        weight: 1.0,
        drawn: vec![Vec::new(); pool.frame.regions.len()],
        known: Vec::new(),
    };
    for (unit, of) in pool.units.iter().enumerate() {
        if let Some(found) = of.found.first() {
            round.drawn[of.region].push(found.drawn(unit));
        }
    }
    let mut told = estimate_with(
        &pool.frame,
        std::slice::from_ref(&round),
        ask.estimator,
        ALPHA,
        few,
    );
    for (region, drawn) in told.regions.iter_mut().zip(&round.drawn) {
        if region.basis == Basis::Normal {
            clustered(region, drawn, pool);
        }
    }
    let all: Vec<Drawn> = round.drawn.concat();
    if told.overall.basis == Basis::Normal {
        clustered(&mut told.overall, &all, pool);
    }
    told
}

/// The standard error of calls that came by whole trajectories.
fn clustered(region: &mut Estimate, drawn: &[Drawn], pool: &LakePool) {
    let mut by_trajectory: HashMap<(&str, &str), CallSums> = HashMap::new();
    for one in drawn {
        let unit = &pool.units[one.unit];
        let sums = by_trajectory
            .entry((&unit.environment, &unit.trajectory))
            .or_default();
        sums.d.add(one.value);
        sums.c.add(one.base);
        sums.w.add(1.0);
    }
    let mut sums = RatioSums::default();
    by_trajectory.values().for_each(|calls| sums.add(calls));
    let found = sums.unfloored();
    region.se = found.and_then(|f| f.se);
    let half = found
        .and_then(|f| f.interval(1.0 - ALPHA))
        .map(|(low, high)| (high - low) / 2.0);
    region.interval = region
        .mean
        .zip(half)
        .map(|(mean, half)| ((mean - half).clamp(0.0, 1.0), (mean + half).clamp(0.0, 1.0)));
}

fn shown(pool: &LakePool, told: &Estimates) -> Vec<RegionTold> {
    let shrunk = shrunken(told);
    let word = |found: &Estimate| match found.basis {
        Basis::Unknown => "unknown",
        Basis::Whole => "whole",
        Basis::Exact => "exact",
        Basis::Sequence => "sequence",
        Basis::Normal => "normal",
    };
    let regions = pool.keys.iter().zip(&told.regions).zip(shrunk);
    let mut shown: Vec<RegionTold> = regions
        .map(|((key, found), shrunk)| RegionTold {
            key: Some(key.clone()),
            found: *found,
            shrunk,
            basis: word(found),
        })
        .collect();
    shown.push(RegionTold {
        key: None,
        found: told.overall,
        shrunk: told.overall.mean.map(|mean| mean.clamp(0.0, 1.0)),
        basis: word(&told.overall),
    });
    shown
}

/// Every region drawn towards the mean of all (DerSimonian and Laird 1986 for the variance
/// between regions; a region of which nothing is known gets that mean).
pub(super) fn shrunken(told: &Estimates) -> Vec<Option<f64>> {
    let usual = told.overall.spread.unwrap_or(0.25);
    let known: Vec<(f64, f64)> = told
        .regions
        .iter()
        .filter_map(|r| {
            let n = r.known.max(1) as f64;
            let own = r.se.unwrap_or(usual).powi(2);
            // A region without a gap so far is not one without error.
            let least = if r.basis == Basis::Whole {
                1e-12
            } else {
                (usual * usual / (n + 2.0)) * 0.1
            };
            Some((r.mean?, own.max(least)))
        })
        .collect();
    if known.is_empty() {
        return vec![None; told.regions.len()];
    }
    let weigh = |tau: f64| -> (f64, f64) {
        known.iter().fold((0.0, 0.0), |(sum, all), (mean, v)| {
            (sum + mean / (v + tau), all + 1.0 / (v + tau))
        })
    };
    let (sum, all) = weigh(0.0);
    let fixed = sum / all;
    let spread: f64 = known
        .iter()
        .map(|(mean, v)| (mean - fixed).powi(2) / v)
        .sum();
    let squares: f64 = known.iter().map(|(_, v)| 1.0 / (v * v)).sum();
    let scale = all - squares / all;
    let tau = if scale > 0.0 {
        ((spread - (known.len() as f64 - 1.0)) / scale).max(0.0)
    } else {
        0.0
    };
    let (sum, all) = weigh(tau);
    let centre = sum / all;
    let mut at = known.iter();
    told.regions
        .iter()
        .map(|r| match r.mean {
            None => Some(centre.clamp(0.0, 1.0)),
            Some(_) => at.next().map(|(mean, v)| {
                let keep = tau / (tau + v);
                (keep * mean + (1.0 - keep) * centre).clamp(0.0, 1.0)
            }),
        })
        .collect()
}
