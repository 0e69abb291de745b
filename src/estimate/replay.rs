//! `fidelake simulate-budget`: a pool whose gaps are all known, bought many times as if they were not.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use fidelake_core::budget::{
    Cell, Method, Pool, Reached, Replay, Synthetic, calls_to_target, synthetic,
};
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use super::ask::{Ask, Dimension};
use super::error::{EstimateError, EstimateResult};
use super::pool::read;
use crate::engine::Engine;
use crate::import::Progress;

/// What to replay.
#[derive(Clone, Debug)]
pub struct ReplayRequest {
    /// A pool that is made up, instead of that of a lake.
    pub synthetic: Option<Synthetic>,
    /// Columns of the regions of a lake.
    pub by: Vec<String>,
    /// Which gap of a lake.
    pub dimension: Dimension,
    /// Tools of a lake that change nothing: they are no prefix.
    pub reads: BTreeSet<String>,
    /// Budgets, in hundredths of the pool's calls.
    pub budgets: Vec<f64>,
    /// Ways to spend them.
    pub methods: Vec<Method>,
    /// Replays of each.
    pub replays: u64,
    /// Seed of the first; the others follow.
    pub seed: u64,
    /// Half-width to reach in every region.
    pub target: Option<f64>,
    /// Smaller regions are in the pool, not in the figures of regions.
    pub least: usize,
}

/// One method at one budget.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayRow {
    /// The method's name.
    pub method: &'static str,
    /// Hundredths of the pool's calls.
    pub budget: f64,
    /// Mean real calls spent.
    pub calls: f64,
    /// Mean absolute error of a region's fidelity; like the others unknown if no replay knew any.
    pub error: Option<f64>,
    /// 95 % of the errors are below.
    pub error_95: Option<f64>,
    /// Mean half-width of regions with an interval.
    pub half_width: Option<f64>,
    /// Share of regions' intervals that hold the truth.
    pub coverage: Option<f64>,
    /// Mean error of regions in Monte-Carlo errors.
    pub bias: Option<f64>,
    /// Share of regions of which nothing was bought.
    pub unknown: f64,
    /// Mean absolute error of the pool's fidelity.
    pub overall_error: Option<f64>,
    /// Mean half-width of the pool's interval.
    pub overall_half_width: Option<f64>,
    /// Share of the pool's intervals that hold the truth.
    pub overall_coverage: Option<f64>,
    /// Replays that spent more than the budget.
    pub broken: u64,
}

/// Real calls until every region is known well enough.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetRow {
    /// The method's name.
    pub method: &'static str,
    /// Mean real calls.
    pub calls: f64,
    /// Of those of uniform draws.
    pub of_uniform: f64,
    /// Of those of draws by need without a surrogate.
    pub of_need: f64,
    /// Mean rounds.
    pub rounds: f64,
    /// Share of intervals that hold the truth.
    pub coverage: f64,
}

/// A pool replayed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replayed {
    /// Calls of the pool.
    pub pool: usize,
    /// Regions, and those large enough to be told.
    pub regions: (usize, usize),
    /// Mean gap.
    pub gap: f64,
    /// Share of calls with a gap.
    pub rate: f64,
    /// Mean real calls that a call of the pool costs, with its prefix.
    pub price: f64,
    /// By budget and method.
    pub rows: Vec<ReplayRow>,
    /// By method, where a target was asked for.
    pub targets: Vec<TargetRow>,
    /// Whether the user stopped it.
    pub stopped: bool,
}

/// Replays a pool.
///
/// # Errors
/// If the request cannot be met, or the lake cannot be read or holds too little.
pub async fn replay(
    engine: Option<&Engine>,
    request: &ReplayRequest,
    progress: &dyn Progress,
) -> EstimateResult<Replayed> {
    let bad = request
        .budgets
        .iter()
        .find(|b| !(b.is_finite() && **b > 0.0 && **b <= 1000.0));
    if let Some(bad) = bad {
        return Err(EstimateError::Usage(format!(
            "--budgets {bad}: write hundredths of the pool's calls, above 0"
        )));
    }
    if request.replays < 2 {
        return Err(EstimateError::Usage(
            "--replays: two or more show how far they scatter".into(),
        ));
    }
    let pool = match (&request.synthetic, engine) {
        (Some(made), _) => synthetic(made),
        (None, Some(engine)) => of_lake(engine, request).await?,
        (None, None) => {
            return Err(EstimateError::TooLittle(
                "there is no lake to replay".into(),
            ));
        }
    };
    Ok(tokio::task::block_in_place(|| {
        run(&pool, request, progress)
    }))
}

/// The measured calls of a lake.
async fn of_lake(engine: &Engine, request: &ReplayRequest) -> EstimateResult<Pool> {
    let ask = Ask {
        by: request.by.clone(),
        dimension: request.dimension,
        estimator: Default::default(),
        campaign: None,
        sequence: false,
    };
    let lake = read(engine, &ask).await?;
    let mut pool = Pool {
        frame: lake.frame.clone(),
        values: vec![0.0; lake.units.len()],
        bases: vec![0.0; lake.units.len()],
        costs: vec![1; lake.units.len()],
    };
    let mut current = "";
    let mut prefix = 0;
    for (at, unit) in lake.units.iter().enumerate() {
        if unit.trajectory != current {
            (current, prefix) = (&unit.trajectory, 0);
        }
        pool.costs[at] = 1 + prefix;
        prefix += u32::from(!request.reads.contains(&unit.api));
        if let Some(found) = unit.found.first() {
            (pool.values[at], pool.bases[at]) = (found.value, found.base);
        }
    }
    for region in &mut pool.frame.regions {
        region.retain(|unit| {
            lake.units[*unit]
                .found
                .first()
                .is_some_and(|f| f.base > 0.0)
        });
    }
    pool.frame.regions.retain(|region| !region.is_empty());
    if pool.frame.len() < 10 {
        return Err(EstimateError::TooLittle(format!(
            "{} calls of the lake are measured on both arms; a replay needs ten: import more and run `fidelake profile`, or replay a made-up pool (--synthetic)",
            pool.frame.len()
        )));
    }
    Ok(compact(&pool))
}

/// Only the units that are in a region.
fn compact(pool: &Pool) -> Pool {
    let mut small = Pool::default();
    small.frame.width = pool.frame.width;
    for units in &pool.frame.regions {
        let mut region = Vec::new();
        for unit in units {
            region.push(small.values.len());
            small.values.push(pool.values[*unit]);
            small.bases.push(pool.bases[*unit]);
            small.costs.push(pool.costs[*unit]);
            small.frame.features.extend(pool.frame.of(*unit));
        }
        small.frame.regions.push(region);
    }
    small
}

fn run(pool: &Pool, request: &ReplayRequest, progress: &dyn Progress) -> Replayed {
    let n = pool.values.len() as f64;
    let mut told = Replayed {
        pool: pool.values.len(),
        regions: (
            pool.frame.regions.len(),
            pool.frame
                .regions
                .iter()
                .filter(|r| r.len() >= request.least)
                .count(),
        ),
        gap: pool.truth(&pool.frame.regions.concat()).unwrap_or_default(),
        rate: pool.values.iter().filter(|v| v.abs() > 1e-12).count() as f64 / n,
        price: pool.costs.iter().map(|c| f64::from(*c)).sum::<f64>() / n,
        ..Replayed::default()
    };
    let targets = request.target.map_or(0, |_| 3);
    let work = (request.budgets.len() * request.methods.len() + targets) as u64 * request.replays;
    let done = AtomicU64::new(0);
    let step = || progress.items(done.fetch_add(1, Ordering::Relaxed) + 1, work);
    for share in &request.budgets {
        let budget = (n * share / 100.0).floor();
        for method in &request.methods {
            // The same seeds for every method: differences are not those of chance.
            let replays: Vec<Replay> = (0..request.replays)
                .into_par_iter()
                .filter_map(|at| {
                    (!progress.stop()).then(|| {
                        step();
                        fidelake_core::budget::replay(pool, *method, budget, seed(request.seed, at))
                    })
                })
                .collect();
            if progress.stop() {
                told.stopped = true;
                return told;
            }
            told.rows
                .push(row(method.name(), *share, budget, &replays, request.least));
        }
    }
    if let Some(target) = request.target {
        for method in [Method::Uniform, Method::Need, Method::Augmented] {
            let reached: Vec<Reached> = (0..request.replays)
                .into_par_iter()
                .filter_map(|at| {
                    (!progress.stop()).then(|| {
                        step();
                        calls_to_target(pool, method, target, seed(request.seed, at))
                    })
                })
                .collect();
            if progress.stop() {
                told.stopped = true;
                return told;
            }
            let mean = |of: fn(&Reached) -> f64| {
                reached.iter().map(of).sum::<f64>() / reached.len() as f64
            };
            told.targets.push(TargetRow {
                method: method.name(),
                calls: mean(|r| r.cost as f64),
                rounds: mean(|r| r.rounds as f64),
                coverage: mean(|r| r.covered as f64) / mean(|r| r.regions as f64),
                ..TargetRow::default()
            });
        }
        let (uniform, need) = (told.targets[0].calls, told.targets[1].calls);
        for row in &mut told.targets {
            row.of_uniform = row.calls / uniform;
            row.of_need = row.calls / need;
        }
    }
    told
}

fn seed(first: u64, at: u64) -> u64 {
    first.wrapping_mul(1_000_003).wrapping_add(at)
}

fn holds(cell: &Cell) -> Option<bool> {
    cell.interval
        .map(|(low, high)| low - 1e-9 <= cell.truth && cell.truth <= high + 1e-9)
}

fn row(
    method: &'static str,
    share: f64,
    budget: f64,
    replays: &[Replay],
    least: usize,
) -> ReplayRow {
    let n = replays.len() as f64;
    let cells: Vec<&Cell> = replays
        .iter()
        .flat_map(|r| &r.regions)
        .filter(|c| c.pool >= least)
        .collect();
    let mean = |values: &[f64]| {
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let width = |cell: &Cell| cell.interval.map(|(low, high)| (high - low) / 2.0);
    let covered = |cells: &[&Cell]| {
        let held: Vec<f64> = cells
            .iter()
            .filter_map(|c| holds(c))
            .map(|held| f64::from(u8::from(held)))
            .collect();
        mean(&held)
    };
    let miss = |cell: &Cell| cell.mean.map(|mean| mean - cell.truth);
    let mut errors: Vec<f64> = cells.iter().filter_map(|c| miss(c)).map(f64::abs).collect();
    errors.sort_by(f64::total_cmp);
    // One mean error per replay: its regions share a budget.
    let means: Vec<f64> = replays
        .iter()
        .filter_map(|r| {
            let own: Vec<f64> = r
                .regions
                .iter()
                .filter(|c| c.pool >= least)
                .filter_map(miss)
                .collect();
            mean(&own)
        })
        .collect();
    let known = means.len() as f64;
    let bias = mean(&means).filter(|_| known > 1.0).map(|centre| {
        let squares = means.iter().map(|m| (m - centre).powi(2)).sum::<f64>();
        let scatter = (squares / (known - 1.0) / known).sqrt();
        if scatter > 1e-12 {
            centre / scatter
        } else {
            0.0
        }
    });
    let overall: Vec<&Cell> = replays.iter().map(|r| &r.overall).collect();
    ReplayRow {
        method,
        budget: share,
        calls: replays.iter().map(|r| r.cost as f64).sum::<f64>() / n,
        error: mean(&errors),
        error_95: errors.get(errors.len() * 95 / 100).copied(),
        half_width: mean(&cells.iter().filter_map(|c| width(c)).collect::<Vec<_>>()),
        coverage: covered(&cells),
        bias,
        unknown: cells.iter().filter(|c| c.mean.is_none()).count() as f64
            / cells.len().max(1) as f64,
        overall_error: mean(
            &overall
                .iter()
                .filter_map(|c| miss(c))
                .map(f64::abs)
                .collect::<Vec<_>>(),
        ),
        overall_half_width: mean(&overall.iter().filter_map(|c| width(c)).collect::<Vec<_>>()),
        overall_coverage: covered(&overall),
        broken: replays.iter().filter(|r| r.cost as f64 > budget).count() as u64,
    }
}
