//! From runs to gaps and profiles, range by range ([`super::compute`]).
//!
//! A trajectory is recomputed, whole, if and only if its inputs changed
//! ([`super::pending`]). Work goes over ranges of `trajectory_key`,
//! each bounded in bytes, so payloads never cross a join of the whole table.

use std::sync::Arc;

use arrow::array::AsArray as _;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use arrow::record_batch::RecordBatch;
use fidelake_core::json::key::KeyHasher;
use futures::StreamExt as _;
use tokio::join;
use tokio::sync::mpsc;

use super::compute::Range;
use super::error::{EngineError, EngineResult};
use super::pending::{OPERATION, Work};
use super::range::{calls_per_range, ranges};
use super::session::Engine;
use super::terms::{self, Terms};
use super::{learn, settings};
use crate::import::Progress;
use crate::lake::{At, Lake, LakeError, Started, WriteGuard, failpoint};

/// The views that are read here: to plan one takes milliseconds.
const VIEWS: [&str; 3] = [
    "learned_noise_now",
    "term_weights_now",
    "volatile_paths_now",
];

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
    guard: WriteGuard,
    progress: &dyn Progress,
) -> EngineResult<ProfileReport> {
    let engine = Engine::open_with(lake, &At::Newest, &VIEWS).await?;
    let terms = Terms::in_force(&engine).await?;
    let mut settings = settings::read(&engine, lake.path()).await?;
    settings.probe = Arc::new(terms.probe()?);
    let work = Work::find(lake, &engine, &settings, &terms).await?;
    let (pending, known) = (&work.pending, work.known);
    let base = engine.version().version;
    let id = format!("profile-{base}-{}", work_hash(pending)?);
    if let Some(stale) = stale(lake, &id)? {
        progress.say("a profile run that was interrupted had other runs, rules or artefacts before it: it is undone");
        lake.drop_intent(&stale).await?;
        // Which makes a lake version; the next look finds nothing stale.
        return Box::pin(profile(lake, guard, progress)).await;
    }
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
    let samples = settings::read_samples(&engine, pending);
    let ranges = ranges(pending, calls_per_range(&engine)?);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    if ranges.len() == 1 {
        settings.threads = workers;
    }
    // The first term weights stand in the lake with the profiles that use them.
    let first = (!terms.stored && terms.rows.num_rows() > 0)
        .then(|| learn::first_terms(&terms, base))
        .transpose()?;
    let mut tables = TABLES.to_vec();
    tables.extend(first.iter().flat_map(|_| TERM_TABLES));
    let begun = lake.write(OPERATION, &id, "fidelake profile", &tables);
    let (samples, begun) = join!(samples, begun);
    let (mut writer, started) = begun?;
    settings.samples = samples?;
    let settings = Arc::new(settings);
    for (table, rows) in TERM_TABLES.into_iter().zip(first.into_iter().flatten()) {
        writer.push(table, 0, rows)?;
    }
    if started == Started::Resumed {
        progress.say("going on with a profile run that was interrupted");
    }
    let mut report = ProfileReport::default();
    let total = pending.num_rows() as u64;
    let tasks: Vec<_> = ranges
        .iter()
        .map(|range| {
            let rows = pending.slice(range.start, range.len());
            let (engine, settings) = (work.engine.clone(), Arc::clone(&settings));
            let met = work.met;
            let task = async move { Range::compute(&engine, &settings, rows, met, base).await };
            // On a thread of its own as soon as it is polled.
            async move { tokio::spawn(task).await }
        })
        .collect();
    let mut computed = in_order(tasks, workers);
    let mut number = 0;
    while let Some(found) = computed.recv().await {
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
    if number < ranges.len() {
        return Err(EngineError::Run("a range was lost: run it again".into()));
    }
    report.unchanged = known.saturating_sub(work.recomputed);
    let last = i64::try_from(ranges.len()).unwrap_or(i64::MAX);
    report.lake_version = base + 1;
    let version = writer.commit(last, work.counts(&report)).await?;
    report.lake_version = version.version;
    Ok(report)
}

/// An interrupted profile run that was not this one. Nobody could finish it: what it
/// computed from is no longer so.
fn stale(lake: &Lake, id: &str) -> EngineResult<Option<String>> {
    let intents = lake.intents()?;
    let other = intents
        .into_iter()
        .find(|intent| intent.operation == OPERATION && intent.id != id);
    Ok(other.map(|intent| intent.id))
}

/// The results of tasks in their order, at most `workers` of them under way: beside the caller,
/// so that the next ones begin while it writes.
fn in_order<T: Send + 'static>(
    tasks: Vec<impl Future<Output = T> + Send + 'static>,
    workers: usize,
) -> mpsc::Receiver<T> {
    let (done, results) = mpsc::channel(1);
    tokio::spawn(async move {
        let mut tasks = futures::stream::iter(tasks).buffered(workers);
        while let Some(result) = tasks.next().await {
            if done.send(result).await.is_err() {
                return;
            }
        }
    });
    results
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
