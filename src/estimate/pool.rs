//! The pool of a lake: its calls, their regions, what is known of each.

use std::collections::{BTreeMap, HashMap};

use fidelake_core::budget::{Drawn, Frame};

use super::ask::{Ask, Dimension};
use super::error::{EstimateError, EstimateResult};
use super::rounds::DrawLabel;
use crate::engine::Engine;
use crate::engine::columns::{Columns, integer, number, text};

const POOL: &str = include_str!("../../queries/estimate/pool.sql");
const GAPS: &str = include_str!("../../queries/estimate/gaps.sql");

/// Columns that regions can be made of.
const BY: [&str; 6] = [
    "environment",
    "api",
    "outcome",
    "policy",
    "task_id",
    "environment_version",
];

/// Features of a call: all are known without a real call.
const WIDTH: usize = 6;

/// One call of the pool.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unit {
    pub(super) environment: String,
    pub(super) trajectory: String,
    pub(super) turn: i64,
    pub(super) index: i64,
    pub(super) api: String,
    pub(super) region: usize,
    /// Whether its arguments cannot be sent.
    pub(super) masked: bool,
    pub(super) policy: String,
    /// Start of its run, microseconds.
    pub(super) started: Option<i64>,
    /// What is known of it by a run on both arms, with the draw that it came from.
    pub(super) found: Vec<Found>,
}

/// What a run on both arms showed of a unit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) value: f64,
    pub(super) base: f64,
    /// The label of the draw; `None`: no campaign drew it.
    pub(super) draw: Option<DrawLabel>,
    /// Whether the draw was for this unit, or passed it on the way.
    pub(super) target: bool,
    pub(super) started: Option<i64>,
}

/// The calls of a lake.
#[derive(Debug, Default)]
pub(super) struct LakePool {
    pub(super) units: Vec<Unit>,
    pub(super) frame: Frame,
    /// Values of the columns of `by`, by region.
    pub(super) keys: Vec<Vec<String>>,
    /// Measured calls left out because the real arm has a newer version since.
    pub(super) outdated: u64,
    /// The newest time that the lake knows, microseconds.
    pub(super) newest: Option<i64>,
}

type Place = (String, String, i64, i64);

/// Reads the pool and everything that is known of it.
pub(super) async fn read(engine: &Engine, ask: &Ask) -> EstimateResult<LakePool> {
    for (at, name) in ask.by.iter().enumerate() {
        if !BY.contains(&name.as_str()) {
            return Err(EstimateError::Usage(format!(
                "there is no column {name:?} to make regions of; there are {}",
                BY.join(", ")
            )));
        }
        if ask.by[..at].contains(name) {
            return Err(EstimateError::Usage(format!("--by names {name} twice")));
        }
    }
    if ask.by.is_empty() {
        return Err(EstimateError::Usage("--by names no column".into()));
    }
    let mut pool = LakePool::default();
    let mut places: HashMap<Place, usize> = HashMap::new();
    let mut raw: Vec<[f64; WIDTH]> = Vec::new();
    let mut regions: BTreeMap<Vec<String>, Vec<usize>> = BTreeMap::new();
    let mut seen: HashMap<(String, String), f64> = HashMap::new();
    let mut current = (String::new(), String::new());
    let mut rows = engine.stream(POOL).await?;
    while let Some(batch) = rows.next().await? {
        let columns = Columns(&batch);
        let names = [
            "environment",
            "trajectory_id",
            "api",
            "outcome",
            "policy",
            "call_key",
        ];
        let texts = names.map(|name| columns.texts(name));
        let [environment, trajectory, api, outcome, policy, key] = texts;
        let (environment, trajectory, api) = (environment?, trajectory?, api?);
        let (outcome, policy, key) = (outcome?, policy?, key?);
        let by = ask
            .by
            .iter()
            .map(|name| columns.texts(name))
            .collect::<Result<Vec<_>, _>>()?;
        let (turn, index) = (columns.integers("turn")?, columns.integers("index")?);
        let (answer, arguments) = (
            columns.numbers("answer_size")?,
            columns.numbers("arguments_size")?,
        );
        let (masked, started) = (columns.flags("masked")?, columns.integers("started_at")?);
        for row in 0..batch.num_rows() {
            let at = pool.units.len();
            let of = (
                environment.value(row).to_owned(),
                trajectory.value(row).to_owned(),
            );
            if of != current {
                seen.clear();
                current = of;
            }
            // How often the same call was made before, and how many calls there were.
            let before: f64 = seen.values().sum();
            let same = seen
                .entry((api.value(row).to_owned(), key.value(row).to_owned()))
                .or_default();
            raw.push([
                (1.0 + answer.value(row)).ln(),
                (1.0 + arguments.value(row)).ln(),
                f64::from(u8::from(outcome.value(row) != "ok")),
                (1.0 + before).ln(),
                same.min(3.0),
                f64::from(u8::from(answer.value(row) == 0.0)),
            ]);
            *same += 1.0;
            let values = by
                .iter()
                .map(|column| text(column, row).unwrap_or_else(|| "-".into()));
            regions.entry(values.collect()).or_default().push(at);
            let unit = Unit {
                environment: environment.value(row).to_owned(),
                trajectory: trajectory.value(row).to_owned(),
                turn: turn.value(row),
                index: index.value(row),
                api: api.value(row).to_owned(),
                region: 0,
                masked: masked.value(row),
                policy: policy.value(row).to_owned(),
                started: integer(&started, row),
                found: Vec::new(),
            };
            pool.newest = pool.newest.max(unit.started);
            let place = (
                unit.environment.clone(),
                unit.trajectory.clone(),
                unit.turn,
                unit.index,
            );
            places.insert(place, at);
            pool.units.push(unit);
        }
    }
    if pool.units.is_empty() {
        return Err(EstimateError::TooLittle(
            "the lake holds no calls of the sim arm: `fidelake import` brings them".into(),
        ));
    }
    for (region, (key, units)) in regions.into_iter().enumerate() {
        units
            .iter()
            .for_each(|unit| pool.units[*unit].region = region);
        pool.keys.push(key);
        pool.frame.regions.push(units);
    }
    pool.frame.features = standard(&raw);
    pool.frame.width = WIDTH;
    known(engine, ask.dimension, &places, &mut pool).await?;
    Ok(pool)
}

/// Features on one scale: mean 0, deviation 1 over the pool, cut at 4; constant ones are 0.
fn standard(raw: &[[f64; WIDTH]]) -> Vec<f64> {
    let n = raw.len() as f64;
    let mut scales = [(0.0, 0.0); WIDTH];
    for (at, scale) in scales.iter_mut().enumerate() {
        let mean = raw.iter().map(|row| row[at]).sum::<f64>() / n;
        let variance = raw.iter().map(|row| (row[at] - mean).powi(2)).sum::<f64>() / n;
        *scale = (mean, variance.sqrt());
    }
    let scaled = |row: &[f64; WIDTH]| {
        let one = |(x, (mean, sd)): (&f64, &(f64, f64))| {
            if *sd > 1e-9 {
                ((x - mean) / sd).clamp(-4.0, 4.0)
            } else {
                0.0
            }
        };
        row.iter().zip(&scales).map(one).collect::<Vec<f64>>()
    };
    raw.iter().flat_map(scaled).collect()
}

/// What runs on both arms showed.
async fn known(
    engine: &Engine,
    dimension: Dimension,
    places: &HashMap<Place, usize>,
    pool: &mut LakePool,
) -> EstimateResult<()> {
    let (value, base) = dimension.columns();
    let sql = GAPS.replace("{raw}", value).replace("{reliability}", base);
    let mut found: Vec<(usize, Found, String)> = Vec::new();
    // The version that the real arm of each environment has now: that of its latest run.
    let mut now: HashMap<String, (Option<i64>, String)> = HashMap::new();
    let mut rows = engine.stream(&sql).await?;
    while let Some(batch) = rows.next().await? {
        let columns = Columns(&batch);
        let (environment, trajectory) = (
            columns.texts("environment")?,
            columns.texts("trajectory_id")?,
        );
        let (turn, index) = (columns.integers("turn")?, columns.integers("index")?);
        let (raw, reliability) = (columns.numbers("raw")?, columns.numbers("reliability")?);
        let (budget, version) = (columns.texts("budget")?, columns.texts("version")?);
        let started = columns.integers("started_at")?;
        for row in 0..batch.num_rows() {
            let started = integer(&started, row);
            pool.newest = pool.newest.max(started);
            let latest = now.entry(environment.value(row).to_owned()).or_default();
            if latest.1.is_empty() || started > latest.0 {
                *latest = (started, version.value(row).to_owned());
            }
            let draw = text(&budget, row).and_then(|label| DrawLabel::parse(&label));
            let name = draw
                .as_ref()
                .map_or(trajectory.value(row), |draw| &draw.trajectory);
            let place = (
                environment.value(row).to_owned(),
                name.to_owned(),
                turn.value(row),
                index.value(row),
            );
            let Some(&unit) = places.get(&place) else {
                continue;
            };
            let target = draw
                .as_ref()
                .is_some_and(|d| (d.turn, d.index) == (place.2, place.3));
            // Where the gap is undefined the call says nothing of it, and it was bought all the same.
            let (value, base) = match (number(&raw, row), number(&reliability, row)) {
                (Some(value), Some(base)) => (value, base),
                _ => (0.0, 0.0),
            };
            found.push((
                unit,
                Found {
                    value,
                    base,
                    draw,
                    target,
                    started,
                },
                version.value(row).to_owned(),
            ));
        }
    }
    for (unit, found, version) in found {
        let unit = &mut pool.units[unit];
        // Evidence of a version that is gone says nothing of today's.
        if now
            .get(&unit.environment)
            .is_some_and(|latest| latest.0.is_some() && latest.1 != version)
        {
            pool.outdated += 1;
            continue;
        }
        unit.found.push(found);
    }
    Ok(())
}

impl Found {
    pub(super) fn drawn(&self, unit: usize) -> Drawn {
        Drawn {
            unit,
            value: self.value,
            base: self.base,
        }
    }
}
