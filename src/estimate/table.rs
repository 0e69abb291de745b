//! What the room found, as rows.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::error::ArrowError;

use super::ask::{Estimation, RegionTold};
use super::calibrate::{Calibration, Predicted};
use super::draw::{Planned, RegionPlan};
use super::replay::{ReplayRow, TargetRow};

type Column = (String, ArrayRef);

/// Numbers, rounded for tables where `places` says so.
fn numbers<T>(
    name: &str,
    rows: &[T],
    places: Option<i32>,
    of: impl Fn(&T) -> Option<f64>,
) -> Column {
    let rounded = |x: f64| match places {
        Some(places) => {
            let scale = 10f64.powi(places);
            // No negative zero in tables.
            (x * scale).round() / scale + 0.0
        }
        None => x,
    };
    let column: Float64Array = rows.iter().map(|row| of(row).map(rounded)).collect();
    (name.to_owned(), Arc::new(column))
}

fn counts<T>(name: &str, rows: &[T], of: impl Fn(&T) -> u64) -> Column {
    let column: Int64Array = rows.iter().map(|row| i64::try_from(of(row)).ok()).collect();
    (name.to_owned(), Arc::new(column))
}

fn texts<T>(name: &str, rows: &[T], of: impl Fn(&T) -> Option<String>) -> Column {
    let column: StringArray = rows.iter().map(of).collect();
    (name.to_owned(), Arc::new(column))
}

fn batch(columns: Vec<Column>) -> Result<RecordBatch, ArrowError> {
    RecordBatch::try_from_iter_with_nullable(
        columns
            .into_iter()
            .map(|(name, column)| (name, column, true)),
    )
}

/// Regions as rows; the last is the pool. `places`: digits that tables show.
///
/// # Errors
/// If the columns do not fit together.
pub fn told_batch(told: &Estimation, places: Option<i32>) -> Result<RecordBatch, ArrowError> {
    let rows = &told.regions;
    let mut columns: Vec<Column> = Vec::new();
    for (at, name) in told.by.iter().enumerate() {
        columns.push(texts(name, rows, |r: &RegionTold| {
            r.key
                .as_ref()
                .map_or(Some("(all)".into()).filter(|_| at == 0), |key| {
                    key.get(at).cloned()
                })
        }));
    }
    let gap = |r: &RegionTold| r.found.mean.map(|m| m.clamp(0.0, 1.0));
    columns.extend([
        counts("pool", rows, |r| r.found.pool as u64),
        counts("known", rows, |r| r.found.known as u64),
        counts("drawn", rows, |r| r.found.drawn as u64),
        counts("gaps", rows, |r| r.found.gaps as u64),
        numbers("gap_raw", rows, places, |r| r.found.mean),
        numbers("fidelity", rows, places, |r| gap(r).map(|g| 1.0 - g)),
        numbers("low", rows, places, |r| r.found.interval.map(|i| 1.0 - i.1)),
        numbers("high", rows, places, |r| {
            r.found.interval.map(|i| 1.0 - i.0)
        }),
        numbers("half_width", rows, places, |r| r.found.half_width()),
        texts("interval", rows, |r| Some(r.basis.to_owned())),
        numbers("shrunk", rows, places, |r| r.shrunk.map(|g| 1.0 - g)),
    ]);
    batch(columns)
}

/// A planned round as rows.
///
/// # Errors
/// If the columns do not fit together.
pub fn plan_batch(plan: &Planned, places: Option<i32>) -> Result<RecordBatch, ArrowError> {
    let rows = &plan.regions;
    let mut columns: Vec<Column> = Vec::new();
    for (at, name) in plan.by.iter().enumerate() {
        columns.push(texts(name, rows, |r: &RegionPlan| r.key.get(at).cloned()));
    }
    columns.extend([
        counts("pool", rows, |r| r.pool as u64),
        counts("known", rows, |r| r.known as u64),
        counts("barred", rows, |r| r.barred as u64),
        counts("draws", rows, |r| r.draws as u64),
        numbers("inclusion", rows, places, |r| Some(r.inclusion)),
        counts("real_calls", rows, |r| r.cost),
        numbers("half_width", rows, places, |r| r.half_width),
        numbers("expected", rows, places, |r| Some(r.expected)),
        numbers("staleness", rows, places, |r| Some(r.staleness)),
        texts("why", rows, |r| Some(r.why.to_owned())),
    ]);
    batch(columns)
}

/// Replays as rows.
///
/// # Errors
/// If the columns do not fit together.
pub fn replay_batch(
    rows: &[ReplayRow],
    targets: &[TargetRow],
    places: Option<i32>,
) -> Result<RecordBatch, ArrowError> {
    if rows.is_empty() && !targets.is_empty() {
        return batch(vec![
            texts("method", targets, |r| Some(r.method.to_owned())),
            numbers("real_calls", targets, places.map(|_| 0), |r| Some(r.calls)),
            numbers("of_uniform", targets, places, |r| Some(r.of_uniform)),
            numbers("of_need", targets, places, |r| Some(r.of_need)),
            numbers("rounds", targets, places.map(|_| 1), |r| Some(r.rounds)),
            numbers("coverage", targets, places, |r| Some(r.coverage)),
        ]);
    }
    batch(vec![
        numbers("budget_percent", rows, None, |r| Some(r.budget)),
        texts("method", rows, |r| Some(r.method.to_owned())),
        numbers("real_calls", rows, places.map(|_| 0), |r| Some(r.calls)),
        numbers("error", rows, places, |r| r.error),
        numbers("error_95", rows, places, |r| r.error_95),
        numbers("half_width", rows, places, |r| r.half_width),
        numbers("coverage", rows, places, |r| r.coverage),
        numbers("bias", rows, places.map(|_| 1), |r| r.bias),
        numbers("unknown", rows, places, |r| Some(r.unknown)),
        numbers("overall_error", rows, places, |r| r.overall_error),
        numbers("overall_half_width", rows, places, |r| r.overall_half_width),
        numbers("overall_coverage", rows, places, |r| r.overall_coverage),
        counts("cap_broken", rows, |r| r.broken),
    ])
}

/// Predictions as rows.
///
/// # Errors
/// If the columns do not fit together.
pub fn predicted_batch(rows: &[Predicted], places: Option<i32>) -> Result<RecordBatch, ArrowError> {
    batch(vec![
        texts("environment", rows, |r| Some(r.environment.clone())),
        texts("trajectory_id", rows, |r| Some(r.trajectory_id.clone())),
        counts("calls", rows, |r| r.calls as u64),
        counts("measured", rows, |r| r.measured as u64),
        numbers("fidelity", rows, places, |r| r.gap.map(|g| 1.0 - g)),
        numbers("se", rows, places, |r| r.se),
        texts("source", rows, |r| Some(r.source.to_owned())),
    ])
}

/// The calibration of predictions as rows.
///
/// # Errors
/// If the columns do not fit together.
pub fn calibration_batch(
    rows: &[Calibration],
    places: Option<i32>,
) -> Result<RecordBatch, ArrowError> {
    batch(vec![
        counts("trajectories", rows, |r| r.trajectories as u64),
        numbers("predicted", rows, places, |r| Some(1.0 - r.predicted)),
        numbers("measured", rows, places, |r| Some(1.0 - r.measured)),
        numbers("se", rows, places, |r| Some(r.se)),
    ])
}
