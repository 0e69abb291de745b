//! From the journal to the lake: finished runs, in batches, exactly once.
//!
//! A batch is a fixed set of runs. Its runs are written as lines of the native
//! form into a file that is kept until the batch is done, and handed to the
//! import, which masks, rejects and numbers them as it does everything else and
//! knows a source by its bytes. Then the batch's rows of the ledger are written,
//! under an id of their own. Then the payloads leave the journal, and the file
//! goes. Killed anywhere, the next command does what is missing and no more.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fidelake_core::json::key::{Key, trajectory_key};
use rusqlite::{Connection, params};

use super::error::{DualError, DualResult};
use super::journal::Journal;
use super::ledger::Ledger;
use super::lines::line;
use super::plan::Plan;
use crate::formats::Format;
use crate::import::{OnConflict, Options, Progress, import};
use crate::lake::rows::Table;
use crate::lake::{Lake, LakeError, LakeResult, failpoint};

/// So many runs are one batch at most.
const RUNS: i64 = 1000;

/// What came into the lake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Folded {
    pub(super) runs: u64,
    pub(super) rejected: u64,
    pub(super) masked: u64,
}

impl Folded {
    /// Both together.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            runs: self.runs + other.runs,
            rejected: self.rejected + other.rejected,
            masked: self.masked + other.masked,
        }
    }
}

/// Folds batches that were begun, then new ones. The lake's lock is held only
/// while a batch is written.
pub(super) async fn fold(
    plan: &Plan,
    ledger: &Ledger,
    lake: &Path,
    wait: Duration,
) -> DualResult<Folded> {
    let mut all = Folded::default();
    loop {
        let Some(batch) = next_batch(ledger).await? else {
            break;
        };
        let done = fold_batch(plan, ledger, lake, batch, wait).await?;
        all.runs += done.runs;
        all.rejected += done.rejected;
        all.masked += done.masked;
    }
    if all.runs > 0 {
        let lake = lake.to_owned();
        tokio::task::block_in_place(|| Journal::tidy(&lake))?;
    }
    Ok(all)
}

/// The oldest batch that is not in the lake yet; a new one if there are runs for it.
async fn next_batch(ledger: &Ledger) -> DualResult<Option<i64>> {
    let plan = ledger.plan.clone();
    ledger
        .journal
        .run(move |db| {
            let sql = "SELECT min(batch) FROM dual_runs WHERE plan_id = ?1 AND folded = 0 AND batch IS NOT NULL";
            let begun: Option<i64> = db.query_row(sql, [&plan], |row| row.get(0))?;
            if begun.is_some() {
                return Ok(begun);
            }
            let sql = "UPDATE dual_plans SET batch = batch + 1 WHERE plan_id = ?1
                       AND EXISTS (SELECT 1 FROM dual_runs WHERE plan_id = ?1 AND status = 'done' AND batch IS NULL)
                       RETURNING batch";
            let mut statement = db.prepare(sql)?;
            let mut rows = statement.query([&plan])?;
            let Some(row) = rows.next()? else { return Ok(None) };
            let batch: i64 = row.get(0)?;
            drop(rows);
            let sql = "UPDATE dual_runs SET batch = ?2 WHERE plan_id = ?1 AND run IN (
                           SELECT run FROM dual_runs WHERE plan_id = ?1 AND status = 'done' AND batch IS NULL
                           ORDER BY run LIMIT ?3)";
            db.execute(sql, params![plan, batch, RUNS])?;
            Ok(Some(batch))
        })
        .await
}

async fn fold_batch(
    plan: &Plan,
    ledger: &Ledger,
    lake: &Path,
    batch: i64,
    wait: Duration,
) -> DualResult<Folded> {
    let file = spool(lake, &ledger.plan, batch);
    failpoint::pass("dual:batch_begun");
    let runs = compose(ledger, batch, &file).await?;
    failpoint::pass("dual:batch_composed");
    let command = format!("fidelake dual run {}", plan.path.display());
    let options = Options {
        paths: vec![file.clone()],
        format: Some(Format::Native),
        environment: None,
        arm: None,
        mask: plan.mask,
        on_conflict: OnConflict::NextRepeat,
        command: command.clone(),
    };
    let report = import(lake, &options, wait, Arc::new(Silent)).await?;
    failpoint::pass("dual:batch_imported");
    write_ledger(ledger, lake, batch, &command, wait).await?;
    failpoint::pass("dual:ledger_written");
    clear(ledger, batch).await?;
    failpoint::pass("dual:batch_cleared");
    remove(&file)?;
    Ok(Folded {
        runs,
        rejected: report.counts.rejected,
        masked: report.masked,
    })
}

fn spool(lake: &Path, plan: &str, batch: i64) -> PathBuf {
    lake.join("_fidelake")
        .join("dual")
        .join(format!("{plan}.{batch}.jsonl"))
}

/// Removes what a kill between the last two steps left behind.
pub(super) async fn sweep(ledger: &Ledger, lake: &Path) -> DualResult<()> {
    let plan = ledger.plan.clone();
    let folded: Vec<i64> = ledger
        .journal
        .run(move |db| {
            let sql = "SELECT DISTINCT batch FROM dual_runs WHERE plan_id = ?1 AND folded = 1";
            let mut statement = db.prepare(sql)?;
            let rows = statement.query_map([&plan], |row| row.get(0))?;
            rows.collect()
        })
        .await?;
    for batch in folded {
        remove(&spool(lake, &ledger.plan, batch))?;
    }
    Ok(())
}

fn remove(file: &Path) -> DualResult<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(DualError::io(file, error))
        }
        _ => Ok(()),
    }
}

/// Writes the runs of a batch, whole or not at all. A file that is there is kept:
/// an import may have begun with its bytes.
async fn compose(ledger: &Ledger, batch: i64, file: &Path) -> DualResult<u64> {
    let plan = ledger.plan.clone();
    let runs: Vec<i64> = ledger
        .journal
        .run(move |db| {
            let sql = "SELECT run FROM dual_runs WHERE plan_id = ?1 AND batch = ?2 ORDER BY run";
            let mut statement = db.prepare(sql)?;
            let rows = statement.query_map(params![plan, batch], |row| row.get(0))?;
            rows.collect()
        })
        .await?;
    let count = runs.len() as u64;
    if file.exists() {
        return Ok(count);
    }
    let part = file.with_extension("part");
    let io = |e| DualError::io(&part, e);
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).map_err(|e| DualError::io(folder, e))?;
    }
    let mut out = std::io::BufWriter::new(private(&part).map_err(io)?);
    for run in runs {
        let plan = ledger.plan.clone();
        let text = ledger.journal.run(move |db| line(db, &plan, run)).await?;
        out.write_all(text.as_bytes()).map_err(io)?;
        out.write_all(b"\n").map_err(io)?;
    }
    let done = out.into_inner().map_err(|e| io(e.into_error()))?;
    done.sync_all().map_err(io)?;
    std::fs::rename(&part, file).map_err(|e| DualError::io(file, e))?;
    Ok(count)
}

/// A file for this user alone: nothing in it is masked yet.
fn private(path: &Path) -> std::io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Writes the batch's rows of table `ledger`, unless they are there.
async fn write_ledger(
    ledger: &Ledger,
    lake: &Path,
    batch: i64,
    command: &str,
    wait: Duration,
) -> DualResult<()> {
    let id = format!("{}.{batch}", ledger.plan);
    let plan = ledger.plan.clone();
    let mut rows = ledger
        .journal
        .run(move |db| ledger_rows(db, &plan, batch))
        .await?;
    let calls = rows.rows();
    let rows = rows.finish().map_err(LakeError::from)?;
    let (mut lake, _guard) = Lake::open_or_create(lake, wait).await?;
    if lake
        .versions()?
        .iter()
        .any(|version| version.operation == "dual" && version.id == id)
    {
        return Ok(());
    }
    let (mut writer, _) = lake.write("dual", &id, command, &["ledger"]).await?;
    writer.push("ledger", 0, rows)?;
    writer
        .commit(0, serde_json::json!({ "calls": calls }))
        .await?;
    Ok(())
}

fn ledger_rows(db: &Connection, plan: &str, batch: i64) -> rusqlite::Result<Table> {
    let sql = "SELECT t.environment, t.trajectory_id, r.arm, r.stored_repeat, c.seq, c.position, c.name,
                   c.call_key, c.purpose, c.status, c.fault, c.budgeted, c.sent, c.answered, c.latency
               FROM dual_calls c
               JOIN dual_runs r ON r.plan_id = c.plan_id AND r.run = c.run
               JOIN dual_trajectories t ON t.plan_id = c.plan_id AND t.trajectory = r.trajectory
               WHERE c.plan_id = ?1 AND r.batch = ?2 ORDER BY c.seq";
    let mut table = Table::new("ledger");
    let mut statement = db.prepare(sql)?;
    let mut rows = statement.query(params![plan, batch])?;
    while let Some(row) = rows.next()? {
        let environment: String = row.get(0)?;
        let trajectory: String = row.get(1)?;
        let arm: String = row.get(2)?;
        let repeat: i32 = row.get(3)?;
        let run_id = Key::of_parts(&[&environment, &trajectory, &arm, &repeat.to_string()]);
        table
            .text(&environment)
            .text(&trajectory)
            .int64(trajectory_key(&environment, &trajectory))
            .text(&run_id.to_string())
            .text(plan)
            .int64(row.get(4)?)
            .int64(batch)
            .text(&arm)
            .int32(Some(repeat))
            .int32(Some(row.get(5)?))
            .text(&row.get::<_, String>(6)?)
            .text(&row.get::<_, String>(7)?)
            .text(&row.get::<_, String>(8)?)
            .text(&row.get::<_, String>(9)?)
            .opt_text(row.get::<_, Option<String>>(10)?.as_deref())
            .boolean(Some(row.get(11)?))
            .time(Some(row.get(12)?))
            .time(row.get(13)?)
            .float64(row.get(14)?)
            .end_row();
    }
    Ok(table)
}

/// The payloads of a batch leave the journal.
async fn clear(ledger: &Ledger, batch: i64) -> DualResult<()> {
    let plan = ledger.plan.clone();
    ledger
        .journal
        .run(move |db| {
            let of_batch = "SELECT run FROM dual_runs WHERE plan_id = ?1 AND batch = ?2";
            let sql = format!("UPDATE dual_calls SET arguments = NULL, answer = NULL WHERE plan_id = ?1 AND run IN ({of_batch})");
            db.execute(&sql, params![plan, batch])?;
            let sql = "UPDATE dual_runs SET folded = 1, notes = NULL WHERE plan_id = ?1 AND batch = ?2";
            db.execute(sql, params![plan, batch])?;
            let sql = "UPDATE dual_trajectories SET task = NULL WHERE plan_id = ?1 AND task IS NOT NULL
                       AND trajectory NOT IN (SELECT trajectory FROM dual_runs WHERE plan_id = ?1 AND folded = 0)";
            db.execute(sql, [&plan])?;
            let sql = "DELETE FROM dual_catalogs WHERE plan_id = ?1 AND catalog NOT IN (
                           SELECT catalog FROM dual_runs WHERE plan_id = ?1 AND folded = 0 AND catalog IS NOT NULL)";
            db.execute(sql, [&plan])?;
            Ok(())
        })
        .await
}

/// A batch is small: it is written to its end.
struct Silent;

impl Progress for Silent {
    fn say(&self, _line: &str) {}
    fn bytes(&self, _done: u64, _total: u64) {}
    fn items(&self, _done: u64, _total: u64) {}
    fn stop(&self) -> bool {
        false
    }
}

/// A write of the lake that began and did not end.
pub(super) fn unfinished(lake: &Path) -> LakeResult<Option<crate::lake::Intent>> {
    Ok(Lake::open(lake)?.intents()?.into_iter().next())
}
