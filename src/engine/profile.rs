//! From runs to gaps and profiles, by the SQL in `queries/profile/`.
//!
//! A trajectory is recomputed, whole, if and only if its inputs changed
//! ([`super::pending`]). Work goes over ranges of `trajectory_key`,
//! each bounded in bytes, so payloads never cross a join of the whole table.

use std::sync::Arc;

use arrow::array::AsArray as _;
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use fidelake_core::json::key::KeyHasher;
use futures::StreamExt as _;

use super::error::{EngineError, EngineResult};
use super::functions::Settings;
use super::pending::{OPERATION, Work};
use super::range::{calls_per_range, name_range, ranges};
use super::session::Engine;
use super::spread::spread;
use super::terms::{self, Terms};
use super::{learn, settings};
use crate::import::Progress;
use crate::lake::{At, Lake, LakeError, Started, WriteGuard, failpoint, schema};

const DECISIONS: &str = include_str!("../../queries/profile/decisions.sql");
const COMPARED: &str = include_str!("../../queries/profile/compared.sql");
const CALL_GAPS: &str = include_str!("../../queries/profile/call_gaps.sql");
const EVIDENCE: &str = include_str!("../../queries/profile/evidence.sql");
const PROFILES: &str = include_str!("../../queries/profile/profiles.sql");

/// The examples of the calls, in lists.
const EXAMPLES: &str = "SELECT environment, trajectory_id, trajectory_key, slot, turn, index, generation, api, evidence FROM gaps";

/// What a profile run writes, in the order of committing.
const TABLES: [&str; 3] = ["call_gaps", "profiles", "evidence"];

/// What the first one writes too.
const TERM_TABLES: [&str; 2] = [terms::TABLE, "learned"];

/// What a profile run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ProfileReport {
    /// Trajectories whose profile was computed.
    pub trajectories: u64,
    /// Calls that both arms have.
    pub pairs: u64,
    /// Calls that only one arm has.
    pub one_sided: u64,
    /// Trajectories whose profile stands as it was.
    pub unchanged: u64,
    /// The lake version that was made; the newest one if nothing was to do.
    pub lake_version: i64,
}

/// Computes what is missing or out of date.
///
/// # Errors
/// If no trajectory ran on both arms, or the lake cannot be read or written.
pub async fn profile(
    lake: &mut Lake,
    _guard: WriteGuard,
    progress: &dyn Progress,
) -> EngineResult<ProfileReport> {
    let engine = Engine::open(lake, &At::Newest).await?;
    let terms = Terms::in_force(&engine).await?;
    let mut settings = settings::read(&engine, lake.path()).await?;
    settings.probe = Arc::new(terms.probe()?);
    let work = Work::find(lake, &engine, &settings, &terms).await?;
    let (pending, known) = (&work.pending, work.known);
    let base = engine.version().version;
    if pending.num_rows() == 0 {
        if known == 0 {
            return Err(nothing(&engine, lake).await?);
        }
        return Ok(ProfileReport {
            unchanged: known,
            lake_version: base,
            ..ProfileReport::default()
        });
    }
    settings::read_samples(&engine, pending, &mut settings).await?;
    let ranges = ranges(pending, calls_per_range(&engine)?);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    if ranges.len() == 1 {
        settings.threads = workers;
    }
    let settings = Arc::new(settings);
    let id = format!("profile-{base}-{}", work_hash(pending)?);
    // The first term weights stand in the lake with the profiles that use them.
    let first = (!terms.stored && terms.rows.num_rows() > 0)
        .then(|| learn::first_terms(&terms, base))
        .transpose()?;
    let mut tables = TABLES.to_vec();
    tables.extend(first.iter().flat_map(|_| TERM_TABLES));
    let (mut writer, started) = lake
        .write(OPERATION, &id, "fidelake profile", &tables)
        .await?;
    for (table, rows) in TERM_TABLES.into_iter().zip(first.into_iter().flatten()) {
        writer.push(table, 0, rows)?;
    }
    if started == Started::Resumed {
        progress.say("going on with a profile run that was interrupted");
    }
    let mut report = ProfileReport::default();
    let total = pending.num_rows() as u64;
    let tasks = ranges.iter().map(|range| {
        let rows = pending.slice(range.start, range.len());
        let (engine, settings) = (work.engine.clone(), Arc::clone(&settings));
        let met = work.met;
        let task = async move { Range::compute(&engine, &settings, rows, met, base).await };
        // On a thread of its own as soon as it is polled, results in order.
        async move { tokio::spawn(task).await }
    });
    // One more than can be computed at once: while a range is written, none is begun.
    let mut computed = futures::stream::iter(tasks).buffered(workers + 1);
    let mut number = 0;
    while let Some(found) = computed.next().await {
        if progress.stop() {
            return Err(writer.interrupted().into());
        }
        let found = found.map_err(|e| EngineError::Run(e.to_string()))??;
        report.trajectories += found.profiles.num_rows() as u64;
        let both = found.pairs();
        report.pairs += both;
        report.one_sided += found.gaps.num_rows() as u64 - both;
        let chunk = i64::try_from(number).unwrap_or(i64::MAX);
        writer.push("call_gaps", chunk, found.gaps)?;
        writer.push("evidence", chunk, found.evidence)?;
        writer.push("profiles", chunk, found.profiles)?;
        writer.end_chunk(chunk).await?;
        failpoint::pass("profile:range");
        progress.items(ranges[number].end as u64, total);
        number += 1;
    }
    drop(computed);
    report.unchanged = known.saturating_sub(work.recomputed);
    let last = i64::try_from(ranges.len()).unwrap_or(i64::MAX);
    report.lake_version = base + 1;
    let version = writer.commit(last, work.counts(&report)).await?;
    report.lake_version = version.version;
    Ok(report)
}

/// A hash of what is to be computed. An interrupted run goes on only if it is the
/// same: other rules or another engine would cut other ranges.
fn work_hash(pending: &RecordBatch) -> EngineResult<String> {
    let mut hasher = KeyHasher::default();
    if let Some(inputs) = pending.column_by_name("inputs") {
        let inputs = cast(inputs, &DataType::Utf8).map_err(LakeError::from)?;
        for input in inputs.as_string::<i32>().iter().flatten() {
            hasher.update(input.as_bytes());
            hasher.update(b"\n");
        }
    }
    Ok(hasher.hex()[..12].to_owned())
}

/// What the queries say of one range.
struct Range {
    gaps: RecordBatch,
    evidence: RecordBatch,
    profiles: RecordBatch,
}

impl Range {
    async fn compute(
        engine: &Engine,
        settings: &Arc<Settings>,
        pending: RecordBatch,
        total: u64,
        generation: i64,
    ) -> EngineResult<Self> {
        // A session of its own, because the ranges name their rows alike.
        let engine = engine.fork(settings).await?;
        let offered = any(&pending, "offered");
        name_range(&engine, pending, total).await?;
        name_decisions(&engine, offered).await?;
        let parameters = [("generation", ScalarValue::Int64(Some(generation)))];
        let (schema, rows) = spread(engine.query(COMPARED).await?, "calls")?;
        engine.name_rows("compared", &schema, rows)?;
        let (schema, rows) = engine.query_with(CALL_GAPS, &parameters).await?;
        engine.name_rows("gaps", &schema, rows.clone())?;
        let (examples, found) = spread(engine.query(EXAMPLES).await?, "evidence")?;
        engine.name_rows("examples", &examples, found)?;
        let evidence = conform("evidence", engine.query_with(EVIDENCE, &parameters).await?)?;
        let profiles = conform("profiles", engine.query_with(PROFILES, &parameters).await?)?;
        Ok(Self {
            gaps: conform("call_gaps", (schema, rows))?,
            evidence,
            profiles,
        })
    }

    /// Calls that both arms have.
    fn pairs(&self) -> u64 {
        let side = self.gaps.column_by_name("side");
        side.map_or(0, |side| {
            let side = side.as_string::<i32>().iter();
            side.filter(|side| *side == Some("both")).count() as u64
        })
    }
}

/// Names the rows `decisions`. Payloads are read for them only if `offered` says that
/// a trajectory of the range was offered tools on both arms.
async fn name_decisions(engine: &Engine, offered: bool) -> EngineResult<()> {
    let (schema, rows) = match offered {
        true => engine.query(DECISIONS).await?,
        false => {
            let planned = engine.plan(DECISIONS).await?;
            (Arc::clone(planned.schema().inner()), Vec::new())
        }
    };
    engine.name_rows("decisions", &schema, rows)
}

/// Whether a flag is set in any row.
fn any(rows: &RecordBatch, flag: &str) -> bool {
    let flags = rows.column_by_name(flag).and_then(|c| c.as_boolean_opt());
    flags.is_some_and(|flags| flags.iter().flatten().any(|set| set))
}

/// Gives query results the exact columns of a table.
pub(super) fn conform(
    table: &str,
    (schema, rows): (SchemaRef, Vec<RecordBatch>),
) -> EngineResult<RecordBatch> {
    let rows = concat_batches(&schema, &rows).map_err(LakeError::from)?;
    let wanted = schema::table(table)
        .map(schema::TableSchema::arrow)
        .ok_or_else(|| EngineError::Run(format!("there is no table {table}")))?;
    let mut columns = Vec::with_capacity(wanted.fields().len());
    for field in wanted.fields() {
        let column = rows.column_by_name(field.name()).ok_or_else(|| {
            EngineError::Run(format!(
                "queries/profile: no column {} for table {table}",
                field.name()
            ))
        })?;
        columns.push(cast(column, field.data_type()).map_err(LakeError::from)?);
    }
    Ok(RecordBatch::try_new(wanted, columns).map_err(LakeError::from)?)
}

/// Why there is nothing to profile, and what to do.
async fn nothing(engine: &Engine, lake: &Lake) -> EngineResult<EngineError> {
    let sim = engine
        .count("SELECT count(*) FROM runs WHERE arm = 'sim'")
        .await?;
    let real = engine
        .count("SELECT count(*) FROM runs WHERE arm = 'real'")
        .await?;
    Ok(EngineError::NothingToProfile(match (sim, real) {
        (0, 0) => match lake.intents()?.first() {
            Some(unfinished) => format!(
                "the lake has no runs yet, and `{}` was interrupted: the same command finishes it",
                unfinished.command
            ),
            None => "the lake has no runs yet: `fidelake import` brings them".into(),
        },
        (n, 0) => format!(
            "all {n} runs are of arm sim: a profile needs the same trajectories on arm real as well (`fidelake import --arm real`)"
        ),
        (0, n) => format!(
            "all {n} runs are of arm real: a profile needs the same trajectories on arm sim as well (`fidelake import --arm sim`)"
        ),
        (sim, real) => format!(
            "no trajectory ran on both arms: the {sim} runs on sim and the {real} runs on real have no environment and trajectory_id in common"
        ),
    }))
}
