//! `fidelake plan`: which calls to run for real next, and why.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use fidelake_core::budget::{
    AIM, Estimator, Objective, Outlook, Request, allocate, half_width, outlooks,
};
use fidelake_core::json::key::Key;
use fidelake_core::stats::{Chance, draw_evenly};

use super::ask::{Ask, Dimension, told};
use super::error::{EstimateError, EstimateResult};
use super::pool::{LakePool, read};
use super::rounds::{Campaigned, DrawLabel, rounds};
use super::tasks::{Template, Written, write};
use crate::dual::{Campaign, campaign, is_name};
use crate::engine::Engine;

/// Share of the budget that a campaign's first round takes.
const PILOT: f64 = 0.2;

/// A day, in microseconds.
const DAY: f64 = 86_400e6;

/// What to plan.
#[derive(Clone, Debug)]
pub struct PlanRequest {
    /// A plan of `fidelake dual run` that says where and how calls are made.
    pub template: PathBuf,
    /// Name of the campaign.
    pub name: String,
    /// Real calls of the whole campaign; a share of the pool's calls if `percent`.
    pub budget: f64,
    /// Whether `budget` is in hundredths of the pool's calls.
    pub percent: bool,
    /// Columns of the regions.
    pub by: Vec<String>,
    /// Which gap.
    pub dimension: Dimension,
    /// Half-width that is enough.
    pub target: Option<f64>,
    /// Rounds; 1: everything at once.
    pub rounds: u32,
    /// What draws are for.
    pub objective: Objective,
    /// Share of each round that goes to all regions by size.
    pub floor: f64,
    /// Seed of the draws.
    pub seed: u64,
}

/// What a region gets.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionPlan {
    /// Values of the columns of `by`.
    pub key: Vec<String>,
    /// Calls of the region.
    pub pool: usize,
    /// Calls that are known.
    pub known: usize,
    /// Calls that cannot be bought: not permitted, or their arguments are masked.
    pub barred: usize,
    /// Calls drawn.
    pub draws: usize,
    /// The chance of each that could be drawn.
    pub inclusion: f64,
    /// Real calls that the draws cost.
    pub cost: u64,
    /// Half-width now; `None`: nothing is known.
    pub half_width: Option<f64>,
    /// Half-width to expect.
    pub expected: f64,
    /// What age and a moved mix of calls make of what is known, at least 1.
    pub staleness: f64,
    /// Why it gets what it gets.
    pub why: &'static str,
}

/// A planned round.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The plan's file; `None`: nothing is to be bought.
    pub plan: Option<PathBuf>,
    /// Number of the round, from 1.
    pub round: u32,
    /// Columns of the regions.
    pub by: Vec<String>,
    /// Regions.
    pub regions: Vec<RegionPlan>,
    /// Real calls of this round.
    pub cost: u64,
    /// Of the whole campaign: allowed, and spent so far.
    pub budget: u64,
    /// Spent so far.
    pub spent: u64,
    /// Seconds by the rate limit.
    pub seconds: f64,
    /// Measured calls left out because the real arm has a newer version.
    pub outdated: u64,
}

/// Plans the next round of a campaign, and writes its plan beside the template.
///
/// # Errors
/// If the request cannot be met, an earlier round is not done, or nothing can be bought.
pub async fn plan(engine: &Engine, lake: &Path, request: &PlanRequest) -> EstimateResult<Planned> {
    check(request)?;
    let template = Template::read(&request.template)?;
    let ledger = campaign(lake, &request.name).await?;
    let ask = Ask {
        by: request.by.clone(),
        dimension: request.dimension,
        estimator: Estimator::Augmented,
        campaign: None,
        sequence: false,
    };
    let pool = read(engine, &ask).await?;
    let round = next_round(&ledger, &pool, &request.name)?;
    let drawn = rounds(&pool, Some(&request.name))?;
    if !drawn.by.is_empty() && drawn.by != request.by {
        return Err(EstimateError::Usage(format!(
            "the first round of {} drew by {}: all rounds of a campaign have the same --by",
            request.name,
            drawn.by.join(",")
        )));
    }
    let all = if request.percent {
        pool.units.len() as f64 * request.budget / 100.0
    } else {
        request.budget
    };
    let budget = all.floor() as u64;
    if budget == 0 {
        return Err(EstimateError::Usage(format!(
            "--budget is 0 calls of {}: it buys nothing",
            pool.units.len()
        )));
    }
    let spent = u64::try_from(ledger.spent).unwrap_or_default();
    if spent >= budget {
        return Err(EstimateError::TooLittle(format!(
            "the budget is spent: {spent} of {budget} real calls; `fidelake estimate` says what they told, a larger --budget goes on"
        )));
    }
    let left = (budget - spent) as f64;
    let share = match round {
        _ if request.rounds <= 1 => left,
        1 => (budget as f64 * PILOT).min(left),
        _ => left / f64::from(request.rounds.saturating_sub(round - 1).max(1)),
    };
    let market = Market::new(&pool, &drawn, &template);
    let (looks, widths) = looks(&pool, &drawn, &ask, &market);
    let wish = Request {
        budget: share,
        floor: request.floor,
        target: request.target.map(|target| match round < request.rounds {
            true => target * AIM,
            false => target,
        }),
        objective: request.objective,
    };
    let enough = request.target.is_some_and(|target| {
        widths
            .iter()
            .zip(&looks)
            .all(|(w, l)| l.left == 0 || w.is_some_and(|w| w * l.staleness.sqrt() <= target))
    });
    let counts = if enough {
        vec![0; looks.len()]
    } else {
        allocate(&looks, &wish)
    };
    let chosen = market.choose(&pool, &counts, share, request, round);
    let cost: u64 = chosen.iter().map(|c| c.cost).sum();
    let regions = told_regions(&pool, &market, &looks, &widths, &chosen, request.target);
    let written = if chosen.is_empty() {
        None
    } else {
        let labels = labels(&pool, &market, &chosen, request, round, cost);
        let written = Written {
            name: format!("{}-{round}", request.name),
            campaign: request.name.clone(),
            budget,
        };
        Some(write(engine, &template, &pool, &market.reads, &labels, &written).await?)
    };
    Ok(Planned {
        plan: written,
        round,
        by: request.by.clone(),
        regions,
        cost,
        budget,
        spent,
        seconds: template.rate.map_or(0.0, |rate| cost as f64 / rate),
        outdated: pool.outdated,
    })
}

fn check(request: &PlanRequest) -> EstimateResult<()> {
    if !is_name(&request.name) || request.name.len() > 58 {
        return Err(EstimateError::Usage(
            "--name: write 1 to 58 letters, digits, '-', '_' or '.'; it names the campaign in the ledger".into(),
        ));
    }
    if !(request.budget.is_finite() && request.budget > 0.0) {
        return Err(EstimateError::Usage(
            "--budget: write a number of real calls above 0, or hundredths of the pool as in 20%"
                .into(),
        ));
    }
    if !(0.0..=1.0).contains(&request.floor) {
        return Err(EstimateError::Usage(
            "--floor: write a share from 0 to 1".into(),
        ));
    }
    match request.target {
        Some(target) if !(target > 0.0 && target < 0.5) => Err(EstimateError::Usage(
            "--target halfwidth: write a number above 0 and below 0.5".into(),
        )),
        _ => Ok(()),
    }
}

/// The number of the next round: the last one must be over, and profiled.
fn next_round(ledger: &Campaign, pool: &LakePool, name: &str) -> EstimateResult<u32> {
    let Some(last) = ledger.rounds.last() else {
        return Ok(1);
    };
    if last.open > 0 || last.waiting > 0 {
        return Err(EstimateError::TooLittle(format!(
            "round {} is not over: {} runs are left, {} are not in the lake; `fidelake dual run {}.toml` goes on with it",
            last.number, last.open, last.waiting, last.plan
        )));
    }
    let seen = pool
        .units
        .iter()
        .flat_map(|unit| &unit.found)
        .filter_map(|f| f.draw.as_ref());
    let profiled = seen
        .filter(|d| d.campaign == name)
        .any(|d| d.round == last.number);
    if !profiled && last.refused == 0 && pool.outdated == 0 {
        return Err(EstimateError::TooLittle(format!(
            "nothing that round {} drew is measured yet: run `fidelake profile`",
            last.number
        )));
    }
    Ok(last.number + 1)
}

/// A call that is bought.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Chosen {
    pub(super) unit: usize,
    pub(super) cost: u64,
}

/// What can be bought, and what it costs.
struct Market {
    reads: BTreeSet<String>,
    /// Real calls of each unit; `None`: known, or not to be had.
    costs: Vec<Option<u64>>,
    barred: Vec<usize>,
}

impl Market {
    fn new(pool: &LakePool, drawn: &Campaigned, template: &Template) -> Self {
        let mut costs = vec![None; pool.units.len()];
        let mut barred = vec![0; pool.frame.regions.len()];
        let mut current = ("", "");
        // Of the trajectory so far: state-changing calls, and whether all of them may be made.
        let (mut prefix, mut open) = (0, true);
        for (at, unit) in pool.units.iter().enumerate() {
            if (unit.environment.as_str(), unit.trajectory.as_str()) != current {
                current = (&unit.environment, &unit.trajectory);
                (prefix, open) = (0, true);
            }
            let may = template.permits(&unit.api) && !unit.masked;
            if !drawn.known.contains(&at) {
                if may && open {
                    costs[at] = Some(template.times(prefix + 1));
                } else {
                    barred[unit.region] += 1;
                }
            }
            if !template.reads.contains(&unit.api) {
                prefix += 1;
                open &= may;
            }
        }
        Self {
            reads: template.reads.clone(),
            costs,
            barred,
        }
    }

    /// Units of a region that can be bought.
    fn of<'a>(&'a self, units: &'a [usize]) -> impl Iterator<Item = (usize, u64)> + 'a {
        units
            .iter()
            .filter_map(|unit| Some((*unit, self.costs[*unit]?)))
    }

    fn prices(&self, pool: &LakePool) -> Vec<f64> {
        let price = |units: &Vec<usize>| {
            let (sum, n) = self
                .of(units)
                .fold((0, 0u64), |(sum, n), (_, cost)| (sum + cost, n + 1));
            if n == 0 { 1.0 } else { sum as f64 / n as f64 }
        };
        pool.frame.regions.iter().map(price).collect()
    }

    /// Draws so many of each region evenly, one of each in turn, while the budget reaches.
    fn choose(
        &self,
        pool: &LakePool,
        counts: &[usize],
        budget: f64,
        request: &PlanRequest,
        round: u32,
    ) -> Vec<Chosen> {
        let mut orders: Vec<Vec<Chosen>> = Vec::new();
        for (region, units) in pool.frame.regions.iter().enumerate() {
            let able: Vec<(usize, u64)> = self.of(units).collect();
            let seed = Key::of_parts(&[
                "draw",
                &request.seed.to_string(),
                &request.name,
                &round.to_string(),
                &pool.keys[region].join("\u{0}"),
            ]);
            let mut chance = Chance::new((seed.bits() >> 64) as u64);
            let order = draw_evenly(able.len(), counts[region], &mut chance);
            orders.push(
                order
                    .into_iter()
                    .map(|at| Chosen {
                        unit: able[at].0,
                        cost: able[at].1,
                    })
                    .collect(),
            );
        }
        let most = orders.iter().map(Vec::len).max().unwrap_or(0);
        let (mut chosen, mut spent) = (Vec::new(), 0);
        for turn in 0..most {
            for order in &orders {
                if let Some(one) = order.get(turn)
                    && (spent + one.cost) as f64 <= budget
                {
                    spent += one.cost;
                    chosen.push(*one);
                }
            }
        }
        chosen
    }
}

/// Outlooks and present half-widths of all regions.
fn looks(
    pool: &LakePool,
    drawn: &Campaigned,
    ask: &Ask,
    market: &Market,
) -> (Vec<Outlook>, Vec<Option<f64>>) {
    let designed = drawn.rounds.iter().any(|round| round.weight > 0.0);
    let found = told(pool, drawn, ask, designed);
    let plain_ask = Ask {
        estimator: Estimator::Stratified,
        ..ask.clone()
    };
    let plain = told(pool, drawn, &plain_ask, designed);
    let mut looks = outlooks(&found, &plain, &market.prices(pool), &staleness(pool));
    for (look, units) in looks.iter_mut().zip(&pool.frame.regions) {
        look.left = market.of(units).count();
        if !designed {
            // What was known before the campaign is no draw of it.
            look.drawn = 0;
        }
    }
    (
        looks,
        found.regions.iter().map(|r| r.half_width()).collect(),
    )
}

/// How much wider what is known of each region must be taken: a month of age adds as much
/// variance as the region has; so does a region that the newest policy visits and evidence does not.
fn staleness(pool: &LakePool) -> Vec<f64> {
    let newest = pool
        .units
        .iter()
        .filter(|u| u.started.is_some())
        .max_by_key(|u| u.started);
    let policy = newest.map(|unit| unit.policy.as_str());
    let (mut visits, mut known) = (HashMap::new(), HashMap::new());
    let (mut all_visits, mut all_known) = (0.0, 0.0);
    for unit in &pool.units {
        if policy.is_none_or(|policy| policy == unit.policy) {
            *visits.entry(unit.region).or_insert(0.0) += 1.0;
            all_visits += 1.0;
        }
        if !unit.found.is_empty() {
            *known.entry(unit.region).or_insert(0.0) += 1.0;
            all_known += 1.0;
        }
    }
    let of = |(region, units): (usize, &Vec<usize>)| {
        let evidence = units
            .iter()
            .flat_map(|unit| &pool.units[*unit].found)
            .filter_map(|f| f.started)
            .max();
        let Some(seen) = known.get(&region) else {
            return 1.0;
        };
        let age = match (pool.newest, evidence) {
            (Some(now), Some(then)) => ((now - then) as f64 / DAY / 30.0).clamp(0.0, 12.0),
            _ => 0.0,
        };
        let visited = visits.get(&region).copied().unwrap_or(0.0) / f64::max(all_visits, 1.0);
        let moved = if visited > 0.0 {
            (1.0 - (seen / f64::max(all_known, 1.0)) / visited).max(0.0)
        } else {
            0.0
        };
        1.0 + age + moved
    };
    pool.frame.regions.iter().enumerate().map(of).collect()
}

fn labels(
    pool: &LakePool,
    market: &Market,
    chosen: &[Chosen],
    request: &PlanRequest,
    round: u32,
    cost: u64,
) -> Vec<(Chosen, DrawLabel)> {
    let mut drawn = vec![0u64; pool.frame.regions.len()];
    chosen
        .iter()
        .for_each(|c| drawn[pool.units[c.unit].region] += 1);
    let label = |(order, one): (usize, &Chosen)| {
        let unit = &pool.units[one.unit];
        let units = &pool.frame.regions[unit.region];
        let able = market.of(units).count() as u64;
        let label = DrawLabel {
            campaign: request.name.clone(),
            round,
            weight: cost as f64,
            order: order as u64,
            by: request.by.clone(),
            drawn: drawn[unit.region],
            of: able + market.barred[unit.region] as u64,
            inclusion: drawn[unit.region] as f64 / able.max(1) as f64,
            trajectory: unit.trajectory.clone(),
            turn: unit.turn,
            index: unit.index,
        };
        (*one, label)
    };
    chosen.iter().enumerate().map(label).collect()
}

fn told_regions(
    pool: &LakePool,
    market: &Market,
    looks: &[Outlook],
    widths: &[Option<f64>],
    chosen: &[Chosen],
    target: Option<f64>,
) -> Vec<RegionPlan> {
    let mut counts = vec![(0usize, 0u64); looks.len()];
    for one in chosen {
        let count = &mut counts[pool.units[one.unit].region];
        count.0 += 1;
        count.1 += one.cost;
    }
    let of = |region: usize| {
        let (look, (draws, cost)) = (&looks[region], counts[region]);
        let units = &pool.frame.regions[region];
        let known = units
            .iter()
            .filter(|unit| !pool.units[**unit].found.is_empty())
            .count();
        let why = match widths[region] {
            _ if look.left == 0 && market.barred[region] > 0 => "cannot be bought",
            _ if look.left == 0 => "known whole",
            _ if draws == 0 => "enough, or too dear for this round",
            None => "nothing known",
            Some(_) if look.staleness > 1.5 => "stale",
            Some(width) if target.is_some_and(|target| width <= target) => "floor",
            Some(_) => "wide",
        };
        RegionPlan {
            key: pool.keys[region].clone(),
            pool: units.len(),
            known,
            barred: market.barred[region],
            draws,
            inclusion: draws as f64 / look.left.max(1) as f64,
            cost,
            half_width: widths[region],
            expected: half_width(look, look.drawn + draws).min(widths[region].unwrap_or(0.5)),
            staleness: look.staleness,
            why,
        }
    };
    (0..looks.len()).map(of).collect()
}
