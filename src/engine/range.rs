//! Ranges of trajectories: work that is bounded in bytes.

use arrow::array::AsArray as _;
use arrow::compute::cast;
use arrow::datatypes::Int64Type;
use arrow::record_batch::RecordBatch;

use super::error::EngineResult;
use super::held::Held;
use super::session::Engine;

/// Payload bytes per range, about.
const RANGE_BYTES: u64 = 192 << 20;

/// Calls per range at most.
const RANGE_CALLS: u64 = 120_000;

/// What reading two catalogs costs, in calls.
const OFFERED_CALLS: u64 = 16;

/// The tables that the queries of a range read.
const TABLES: [&str; 4] = ["calls", "observations", "runs", "verdicts"];

/// Trajectories are few if they are less than this share of those that a scan of
/// their range would meet.
const FEW: f64 = 0.2;

/// Names the trajectories of a range `pending_range`, and the rows of their tables
/// `range_calls` and so on, in a session of the range's own. `total` is the number of
/// trajectories of the lake.
pub(super) async fn name_range(
    engine: &Engine,
    pending: RecordBatch,
    total: u64,
) -> EngineResult<()> {
    let keys = pending
        .column_by_name("trajectory_key")
        .map(|keys| keys.as_primitive::<Int64Type>().values().to_vec())
        .unwrap_or_default();
    let (lo, hi) = (
        keys.first().copied().unwrap_or_default(),
        keys.last().copied().unwrap_or_default(),
    );
    let mut condition = format!("trajectory_key BETWEEN {lo} AND {hi}");
    // Keys are hashes: as many as their part of all numbers.
    let part = (i128::from(hi) - i128::from(lo)) as f64 / 2f64.powi(64);
    let met = total as f64 * part;
    if (keys.len() as f64) < FEW * met {
        // Scattered ones, of a new import: without this all payloads are unpacked.
        let list: Vec<String> = keys.iter().map(i64::to_string).collect();
        condition = format!("{condition} AND trajectory_key IN ({})", list.join(", "));
        engine.read_late();
    }
    engine.name_rows("pending_range", &pending.schema(), vec![pending])?;
    for table in TABLES {
        let sql = format!("SELECT * FROM {table} WHERE {condition}");
        engine.view(&format!("range_{table}"), &sql).await?;
    }
    Ok(())
}

/// Cuts the trajectories, sorted by key, into ranges of about so many calls. All
/// trajectories of one key stay together.
pub(super) fn ranges(pending: &RecordBatch, per_range: u64) -> Vec<std::ops::Range<usize>> {
    let number = |name: &str| {
        let column = pending
            .column_by_name(name)
            .and_then(|c| cast(c, &arrow::datatypes::DataType::Int64).ok());
        column.map(|c| c.as_primitive::<Int64Type>().clone())
    };
    let (Some(keys), Some(calls)) = (number("trajectory_key"), number("calls")) else {
        return Vec::new();
    };
    let offered = pending.column_by_name("offered");
    let offered = offered.and_then(|c| c.as_boolean_opt());
    let mut ranges = Vec::new();
    let (mut start, mut size) = (0, 0u64);
    for row in 0..keys.len() {
        let own = u64::try_from(calls.value(row)).unwrap_or_default() + 1;
        let reads = offered.is_some_and(|offered| offered.value(row));
        let own = own + if reads { OFFERED_CALLS } else { 0 };
        let new_key = row > start && keys.value(row) != keys.value(row - 1);
        if new_key && size + own > per_range {
            ranges.push(start..row);
            (start, size) = (row, 0);
        }
        size += own;
    }
    if start < keys.len() {
        ranges.push(start..keys.len());
    }
    ranges
}

/// So many calls make a range, from the mean size of an observation.
pub(super) fn calls_per_range(engine: &Engine) -> EngineResult<u64> {
    // Parquet files hold their text at about a sixth of its size.
    const UNPACKED: u64 = 6;

    let Held { bytes, rows } = engine.held("observations")?;
    if rows == 0 {
        return Ok(RANGE_CALLS);
    }
    let each = (bytes * UNPACKED / rows).max(1);
    Ok((RANGE_BYTES / each).clamp(100, RANGE_CALLS))
}
