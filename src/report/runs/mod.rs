//! Runs of the lake as lines of the native run form (docs/design.md, 8).
//!
//! Ranges of `trajectory_key`, by which files are sorted, keep memory bounded.
//! What is derived is not written: an import of the lines derives it again.

mod columns;
mod line;

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::error::ArrowError;

use crate::engine::{Engine, EngineError};
use columns::{Columns, Row};
use line::{Parts, line};

const WANTED: &str = include_str!("../../../queries/export/wanted.sql");
const RUNS: &str = include_str!("../../../queries/export/runs.sql");
const CALLS: &str = include_str!("../../../queries/export/calls.sql");
const MESSAGES: &str = include_str!("../../../queries/export/messages.sql");
const VERDICTS: &str = include_str!("../../../queries/export/verdicts.sql");
const CATALOGS: &str = include_str!("../../../queries/export/catalogs.sql");

/// So many runs are read at once, and the rest of their last trajectory.
const RUNS_AT_ONCE: usize = 200;

/// Why runs cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The lake, or the condition.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Rows that have another form than they should.
    #[error("rows of the lake cannot be read: {0}")]
    Rows(#[from] ArrowError),
    /// The output.
    #[error(transparent)]
    Output(#[from] std::io::Error),
}

/// Writes the runs that meet a condition on table `runs`; how many there were.
///
/// # Errors
/// If the condition is wrong, the lake cannot be read, or the output ends.
pub async fn write_runs(
    engine: &Engine,
    filter: Option<&str>,
    out: &mut (impl Write + Send),
) -> Result<u64, ExportError> {
    let written = run_lines(engine, filter, &mut |_, line| writeln!(out, "{line}")).await?;
    out.flush()?;
    Ok(written)
}

/// Hands out the runs that meet a condition, each with its id; how many there were.
///
/// # Errors
/// As [`write_runs`], and if `take` fails.
pub async fn run_lines(
    engine: &Engine,
    filter: Option<&str>,
    take: &mut (dyn FnMut(&str, String) -> std::io::Result<()> + Send),
) -> Result<u64, ExportError> {
    if let Some(filter) = filter {
        engine.condition(filter)?;
    }
    let wanted = rows(engine, &WANTED.replace("{where}", filter.unwrap_or("true"))).await?;
    let mut written = 0;
    let mut left = wanted.as_slice();
    while !left.is_empty() {
        let mut end = left.len().min(RUNS_AT_ONCE);
        let key = |at: usize| left.get(at).and_then(|row: &Row| row.get("trajectory_key"));
        while end < left.len() && key(end) == key(end - 1) {
            end += 1;
        }
        let (range, after) = left.split_at(end);
        written += lines_of_range(engine, range, take).await?;
        left = after;
    }
    Ok(written)
}

async fn lines_of_range(
    engine: &Engine,
    range: &[Row],
    take: &mut (dyn FnMut(&str, String) -> std::io::Result<()> + Send),
) -> Result<u64, ExportError> {
    let (from, to) = (key(range.first()), key(range.last()));
    let ids: StringArray = range.iter().map(|row| row.get("run_id")).collect();
    let ids = RecordBatch::try_from_iter([("run_id", Arc::new(ids) as ArrayRef)])?;
    engine.name_rows("export_runs", &ids.schema(), vec![ids])?;
    let sql = |text: &str| text.replace("{from}", from).replace("{to}", to);

    let mut catalogs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in rows(engine, CATALOGS).await? {
        let hash = row.get("catalog_hash").unwrap_or_default();
        let tools = catalogs.entry(hash.to_owned()).or_default();
        // A list without tools has one row, without a tool.
        tools.extend(row.get("tool").map(str::to_owned));
    }
    let mut parts: HashMap<String, Parts> = HashMap::new();
    for row in rows(engine, &sql(CALLS)).await? {
        of_run(&mut parts, &row).calls.push(row);
    }
    for row in rows(engine, &sql(MESSAGES)).await? {
        of_run(&mut parts, &row).messages.push(row);
    }
    for row in rows(engine, &sql(VERDICTS)).await? {
        of_run(&mut parts, &row).verdicts.push(row);
    }
    let runs = rows(engine, &sql(RUNS)).await?;
    for run in &runs {
        let part = of_run(&mut parts, run);
        part.catalog = run
            .get("catalog_hash")
            .and_then(|hash| catalogs.get(hash).cloned());
        take(run.get("run_id").unwrap_or_default(), line(run, part))?;
    }
    Ok(runs.len() as u64)
}

fn key(row: Option<&Row>) -> &str {
    row.and_then(|row| row.get("trajectory_key")).unwrap_or("0")
}

fn of_run<'a>(parts: &'a mut HashMap<String, Parts>, row: &Row) -> &'a mut Parts {
    let run = row.get("run_id").unwrap_or_default();
    parts.entry(run.to_owned()).or_default()
}

async fn rows(engine: &Engine, sql: &str) -> Result<Vec<Row>, ExportError> {
    let (_, batches) = engine.query(sql).await?;
    let mut rows = Vec::new();
    for batch in &batches {
        let columns = Arc::new(Columns::of(batch)?);
        rows.extend((0..batch.num_rows()).map(|row| columns.row(row)));
    }
    Ok(rows)
}
