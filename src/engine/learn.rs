//! What the lake teaches about itself: noise of APIs that were repeated.
//!
//! An artefact is renewed by `fidelake learn` only. A profile pins what it used in
//! its inputs, so a new import changes no number, and a new artefact exactly those
//! of the trajectories that it touches.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray};
use arrow::compute::concat_batches;
use arrow::record_batch::RecordBatch;
use fidelake_core::json::key::KeyHasher;

use super::error::EngineResult;
use super::profile::conform;
use super::session::Engine;
use crate::import::Progress;
use crate::lake::{At, Lake, LakeError, Started, WriteGuard, failpoint};

/// What is learned: kind, its table, and the query.
const ARTEFACTS: [(&str, &str, &str); 1] = [(
    "noise",
    "learned_noise",
    include_str!("../../queries/learn/noise.sql"),
)];

/// What was learned.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct LearnReport {
    /// Kinds of artefacts that changed, with their number of rows.
    pub renewed: Vec<(String, u64)>,
    /// Kinds that are as they were.
    pub unchanged: Vec<String>,
    /// The newest lake version.
    pub lake_version: i64,
}

struct Artefact {
    kind: &'static str,
    table: &'static str,
    hash: String,
    rows: RecordBatch,
}

/// Learns everything anew from the newest profiles.
///
/// # Errors
/// If the lake cannot be read or written.
pub async fn learn(
    lake: &mut Lake,
    _guard: WriteGuard,
    progress: &dyn Progress,
) -> EngineResult<LearnReport> {
    let engine = Engine::open(lake, &At::Newest).await?;
    let base = engine.version().version;
    let mut report = LearnReport {
        lake_version: base,
        ..LearnReport::default()
    };
    let mut artefacts = Vec::new();
    for (kind, table, sql) in ARTEFACTS {
        let (schema, rows) = engine.query(sql).await?;
        let rows = concat_batches(&schema, &rows).map_err(LakeError::from)?;
        let hash = hash(&rows)?;
        if known(&engine, kind).await?.as_deref() == Some(&hash) {
            report.unchanged.push(kind.to_owned());
            continue;
        }
        report
            .renewed
            .push((kind.to_owned(), rows.num_rows() as u64));
        artefacts.push(Artefact {
            kind,
            table,
            hash,
            rows,
        });
    }
    if artefacts.is_empty() {
        return Ok(report);
    }
    let tables: Vec<&str> = artefacts
        .iter()
        .map(|a| a.table)
        .chain(["learned"])
        .collect();
    let id = format!("learn-{base}");
    let (mut writer, started) = lake.write("learn", &id, "fidelake learn", &tables).await?;
    if started == Started::Resumed {
        progress.say("going on with a learning run that was interrupted");
    }
    let mut entries = Vec::new();
    for artefact in &artefacts {
        let id = format!("{}-{base}-{}", artefact.kind, &artefact.hash[..12]);
        let rows = named(&artefact.rows, &id)?;
        let schema = rows.schema();
        writer.push(
            artefact.table,
            0,
            conform(artefact.table, (schema, vec![rows]))?,
        )?;
        entries.push((id, artefact));
    }
    writer.push("learned", 0, entry_rows(&entries, base)?)?;
    writer.end_chunk(0).await?;
    failpoint::pass("learn:rows");
    report.lake_version = base + 1;
    let version = writer.commit(1, serde_json::json!(report)).await?;
    report.lake_version = version.version;
    Ok(report)
}

/// A hash of rows that come in a fixed order.
fn hash(rows: &RecordBatch) -> EngineResult<String> {
    let mut text = Vec::new();
    let mut writer = arrow::csv::Writer::new(&mut text);
    writer.write(rows).map_err(LakeError::from)?;
    drop(writer);
    let mut hasher = KeyHasher::default();
    hasher.update(&text);
    Ok(hasher.hex())
}

/// The hash of the newest artefact of a kind.
async fn known(engine: &Engine, kind: &str) -> EngineResult<Option<String>> {
    let sql = format!(
        "SELECT arrow_cast(rows_hash, 'Utf8') FROM learned WHERE kind = '{kind}' ORDER BY lake_version DESC LIMIT 1"
    );
    let (_, rows) = engine.query(&sql).await?;
    let first = rows.first().filter(|batch| batch.num_rows() > 0);
    let text = first.map(|batch| {
        let column = arrow::array::AsArray::as_string::<i32>(batch.column(0));
        column.value(0).to_owned()
    });
    Ok(text)
}

/// The rows with the artefact's id before them.
fn named(rows: &RecordBatch, id: &str) -> EngineResult<RecordBatch> {
    let ids: ArrayRef = Arc::new(StringArray::from(vec![id; rows.num_rows()]));
    let schema = rows.schema();
    let columns = schema.fields().iter().zip(rows.columns());
    let columns = columns.map(|(field, column)| (field.name().clone(), Arc::clone(column)));
    let all = std::iter::once(("artefact_id".to_owned(), ids)).chain(columns);
    Ok(
        RecordBatch::try_from_iter_with_nullable(all.map(|(n, c)| (n, c, true)))
            .map_err(LakeError::from)?,
    )
}

fn entry_rows(entries: &[(String, &Artefact)], base: i64) -> EngineResult<RecordBatch> {
    let texts = |pick: &dyn Fn(&(String, &Artefact)) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(entries.iter().map(pick)))
    };
    let count = |rows: &RecordBatch| i64::try_from(rows.num_rows()).unwrap_or(i64::MAX);
    let columns: [(&str, ArrayRef); 5] = [
        ("artefact_id", texts(&|e| e.0.clone())),
        ("kind", texts(&|e| e.1.kind.to_owned())),
        (
            "lake_version",
            Arc::new(Int64Array::from(vec![base; entries.len()])),
        ),
        ("rows_hash", texts(&|e| e.1.hash.clone())),
        (
            "rows",
            Arc::new(Int64Array::from_iter_values(
                entries.iter().map(|e| count(&e.1.rows)),
            )),
        ),
    ];
    let rows = RecordBatch::try_from_iter(columns).map_err(LakeError::from)?;
    conform("learned", (rows.schema(), vec![rows]))
}
