//! What the lake teaches about itself: noise of APIs that were repeated, fields
//! that vary by themselves, words that say much about a tool.
//!
//! An artefact is renewed by `fidelake learn` only (the first term weights are made
//! by the first profile that needs them). A profile pins what it used in
//! its inputs, so a new import changes no number, and a new artefact exactly those
//! of the trajectories that it touches.

mod evidence;
mod volatile;

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray};
use arrow::compute::concat_batches;
use arrow::record_batch::RecordBatch;
use fidelake_core::json::key::KeyHasher;

use super::compute::conform;
use super::error::{EngineError, EngineResult};
use super::session::Engine;
use super::terms::{self, Terms};
use crate::import::Progress;
use crate::lake::{At, Lake, LakeError, Started, WriteGuard, failpoint};
pub use evidence::{Evidence, stored, stored_as};
pub use volatile::Edit;

const NOISE: &str = include_str!("../../../queries/learn/noise.sql");

impl Artefact {
    fn id(&self, base: i64) -> String {
        format!("{}-{base}-{}", self.kind, &self.hash[..12])
    }
}

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
    if engine.count("SELECT count(*) FROM profiles").await? == 0 {
        let what = "there is no profile to learn from yet: run `fidelake profile` first";
        return Err(EngineError::NothingToProfile(what.into()));
    }
    let paths = volatile::learn(&engine, progress).await?;
    volatile::name_residual(lake, &engine, &paths, progress).await?;
    let (schema, noise) = engine.query(NOISE).await?;
    let noise = concat_batches(&schema, &noise).map_err(LakeError::from)?;
    let terms = Terms::count(&engine).await?;
    let mut artefacts = Vec::new();
    for (kind, table, rows) in [
        ("noise", "learned_noise", noise),
        ("volatile_paths", "volatile_paths", paths),
        (terms::TABLE, terms::TABLE, terms.rows),
    ] {
        // A lake without catalogs has no words to weigh.
        if kind == terms::TABLE && rows.num_rows() == 0 {
            continue;
        }
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
    let id = format!("learn-{base}");
    report.lake_version = base + 1;
    let counts = serde_json::json!(report);
    report.lake_version = write(lake, &id, "fidelake learn", artefacts, counts, progress).await?;
    Ok(report)
}

/// Corrects the class of a path by hand; it holds whatever is learned later.
/// Returns the lake version: the newest, if the correction holds already.
///
/// # Errors
/// If path or class are none, or the lake cannot be written.
pub async fn edit(
    lake: &mut Lake,
    _guard: WriteGuard,
    edit: &Edit,
    progress: &dyn Progress,
) -> EngineResult<i64> {
    edit.check()?;
    let engine = Engine::open(lake, &At::Newest).await?;
    if !edit.has_calls(&engine).await? {
        progress.say(&format!(
            "the lake has no call of {} in environment {} yet: this waits for some",
            edit.api, edit.environment
        ));
    }
    if edit.holds(&engine).await? {
        return Ok(engine.version().version);
    }
    let rows = edit.row()?;
    let artefact = Artefact {
        kind: "edit",
        table: "volatile_paths",
        hash: hash(&rows)?,
        rows,
    };
    // Of the version, too: an edit may be taken back and made again.
    let id = format!("edit-{}-{}", engine.version().version, artefact.hash);
    let command = format!(
        "fidelake learn --set {} {} {} {}",
        edit.environment, edit.api, edit.path, edit.class
    );
    let counts = serde_json::json!({"edited": 1});
    write(lake, &id, &command, vec![artefact], counts, progress).await
}

/// Writes artefacts as one lake version.
async fn write(
    lake: &mut Lake,
    id: &str,
    command: &str,
    artefacts: Vec<Artefact>,
    counts: serde_json::Value,
    progress: &dyn Progress,
) -> EngineResult<i64> {
    let tables: Vec<&str> = artefacts
        .iter()
        .map(|a| a.table)
        .chain(["learned"])
        .collect();
    let (mut writer, started) = lake.write("learn", id, command, &tables).await?;
    if started == Started::Resumed {
        progress.say("going on with a learning run that was interrupted");
    }
    let base = writer.base().version;
    let mut entries = Vec::new();
    for artefact in &artefacts {
        let id = artefact.id(base);
        let rows = named(&artefact.rows, &id, base)?;
        let schema = rows.schema();
        let rows = conform(artefact.table, (schema, vec![rows]))?;
        writer.push(artefact.table, 0, rows)?;
        entries.push((id, artefact));
    }
    writer.push("learned", 0, entry_rows(&entries, base)?)?;
    writer.end_chunk(0).await?;
    failpoint::pass("learn:rows");
    Ok(writer.commit(1, counts).await?.version)
}

/// The first term weights, for the profile run that needs them: rows of
/// `term_weights` and of `learned`.
pub(super) fn first_terms(terms: &Terms, base: i64) -> EngineResult<[RecordBatch; 2]> {
    let artefact = Artefact {
        kind: terms::TABLE,
        table: terms::TABLE,
        hash: hash(&terms.rows)?,
        rows: terms.rows.clone(),
    };
    let id = artefact.id(base);
    let rows = named(&artefact.rows, &id, base)?;
    let rows = conform(artefact.table, (rows.schema(), vec![rows]))?;
    Ok([rows, entry_rows(&[(id, &artefact)], base)?])
}

/// A hash of rows that come in a fixed order.
pub(super) fn hash(rows: &RecordBatch) -> EngineResult<String> {
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

/// The rows with the artefact's id and the lake version before them.
fn named(rows: &RecordBatch, id: &str, base: i64) -> EngineResult<RecordBatch> {
    let ids: ArrayRef = Arc::new(StringArray::from(vec![id; rows.num_rows()]));
    let schema = rows.schema();
    let columns = schema.fields().iter().zip(rows.columns());
    let columns = columns.map(|(field, column)| (field.name().clone(), Arc::clone(column)));
    let versions: ArrayRef = Arc::new(Int64Array::from(vec![base; rows.num_rows()]));
    let own = [("artefact_id", ids), ("lake_version", versions)];
    let own = own.map(|(name, column)| (name.to_owned(), column));
    let all = own.into_iter().chain(columns);
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
