//! The runner: all runs of a plan, several at a time, and what is left of them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::error::{DualError, DualResult};
use super::fold;
use super::forget::forget_untouched;
use super::holder::Holder;
use super::jobs::{Jobs, drive};
use super::journal::Journal;
use super::ledger::Ledger;
use super::permission::Refused;
use super::plan::Plan;
use super::schedule::schedule;
use super::select::{Selection, same_source, select};
use super::shared::Shared;
use super::tables::TABLES;
use super::task::Task;
use crate::import::Progress;
use crate::lake::Lake;

/// What a command did, and what it left.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Runs that this command finished.
    pub done: u64,
    /// Runs of the plan that are not finished, without the refused ones.
    pub left: u64,
    /// Runs that came into the lake.
    pub folded: u64,
    /// Runs of the plan that ended before their last call.
    pub cut_short: u64,
    /// Calls of the plan without an answer that can be read.
    pub unanswered: u64,
    /// Records that the import refused.
    pub rejected: u64,
    /// Values that were masked.
    pub masked: u64,
    /// What is not permitted on the real arm.
    pub refused: Refused,
    /// Trajectories passed over at the beginning because their arguments are masked.
    pub masked_arguments: u64,
    /// Environments that failed, with what was seen last.
    pub failed: BTreeMap<String, String>,
    /// Whether a budget does not reach for what is left.
    pub no_budget: bool,
    /// Whether the user stopped it.
    pub stopped: bool,
    /// Why finished runs wait in the journal.
    pub fold_failed: Option<String>,
    /// Whether nothing was to do.
    pub nothing_new: bool,
}

/// Runs a plan, or goes on with it.
///
/// # Errors
/// If the plan has a mistake or was begun otherwise, its trajectories cannot be
/// read, or the lake cannot be written. Environments that fail are no error: what
/// they left is in the report.
pub async fn run(
    plan: Plan,
    lake: &Path,
    wait: Duration,
    progress: Arc<dyn Progress>,
) -> DualResult<Report> {
    // Makes the lake where there is none, and brings it to today's tables.
    let (opened, guard) = Lake::open_or_create(lake, wait).await?;
    let path = opened.path().to_owned();
    drop(guard);
    let _holder = Holder::take(&path, &plan.name)?;
    let ledger = Ledger {
        journal: Journal::open(&path, TABLES)?,
        plan: plan.id(),
        budget_of: plan.budget_of.clone(),
    };
    let mut report = Report::default();
    begin(&plan, &ledger, &opened, &mut report).await?;
    drop(opened);
    let budgets = plan
        .arms
        .iter()
        .map(|(arm, of)| (*arm, of.budget))
        .collect();
    ledger.recover(budgets).await?;
    // What an earlier command finished comes first: it may hold up the lake.
    fold::sweep(&ledger, &path).await?;
    let mut folded = fold::fold(&plan, &ledger, &path, wait).await?;
    if let Some(intent) = fold::unfinished(&path)? {
        return Err(DualError::Unfinished {
            operation: intent.operation,
            id: intent.id,
            command: intent.command,
        });
    }
    let runs = ledger.open_runs().await?;
    report.nothing_new = runs.is_empty() && folded.runs == 0;
    let shared = Arc::new(Shared::new(plan, ledger, &path)?);
    let jobs = Jobs::of(&shared, runs, &mut report).await?;
    let jobs = Arc::new(jobs);
    let more = drive(&shared, &jobs, &path, wait, &progress).await;
    shared.close().await;
    let (during, failed) = more?;
    folded = folded.and(during);
    report.fold_failed = failed;
    match fold::fold(&shared.plan, &shared.ledger, &path, wait).await {
        Ok(last) => {
            folded = folded.and(last);
            report.fold_failed = None;
        }
        Err(error) => report.fold_failed = Some(error.to_string()),
    }
    report.done = jobs.done.load(Ordering::Relaxed);
    report.folded = folded.runs;
    report.rejected = folded.rejected;
    report.masked = folded.masked;
    report.left = shared.ledger.open_runs().await?.len() as u64;
    (report.cut_short, report.unanswered) = shared.ledger.trouble().await?;
    report.no_budget = jobs.no_budget.load(Ordering::Relaxed);
    report.stopped = progress.stop() && report.left > 0;
    for (name, world) in &shared.worlds {
        if let Some(why) = world.breaker.why()
            && (world.breaker.is_down() || report.left > 0)
        {
            report.failed.insert(name.clone(), why);
        }
    }
    Ok(report)
}

/// Writes the plan down, or checks that it is the one that was.
async fn begin(plan: &Plan, ledger: &Ledger, lake: &Lake, report: &mut Report) -> DualResult<()> {
    if let Some((content, source)) = ledger.begun().await? {
        let same = unchanged(plan, &content).and_then(|()| same_source(plan, &source));
        // A plan that made no call yet may still be put right.
        if same.is_ok() || !forget_untouched(ledger).await? {
            return same;
        }
    }
    let Selection {
        tasks,
        masked,
        empty,
        source_hash,
    } = select(plan, Some(lake)).await?;
    report.masked_arguments = masked as u64;
    if tasks.is_empty() {
        return Err(DualError::Nothing(format!(
            "the plan selects no trajectory with calls to make ({empty} without calls, {masked} with masked arguments)"
        )));
    }
    covered(plan, &tasks)?;
    let runs = schedule(plan, &tasks);
    ledger.begin(plan, source_hash, tasks, runs).await
}

/// An error if the plan was begun with other contents.
pub(super) fn unchanged(plan: &Plan, content: &str) -> DualResult<()> {
    if content == plan.content {
        return Ok(());
    }
    Err(DualError::Changed {
        name: plan.name.clone(),
        what: "other trajectories, environments, arms, repeats, seed, mask or --rebind".into(),
    })
}

/// Every trajectory must have an environment on every arm.
pub(super) fn covered(plan: &Plan, tasks: &[Task]) -> DualResult<()> {
    for task in tasks {
        for (arm, of) in &plan.arms {
            if of.environment(&task.environment).is_none() {
                return Err(DualError::Plan {
                    place: plan.path.display().to_string(),
                    message: format!(
                        "[{arm}] names no environment for trajectories of {:?}: add `{} = \"...\"`, or leave them out in [trajectories]",
                        task.environment, task.environment
                    ),
                });
            }
        }
    }
    Ok(())
}
