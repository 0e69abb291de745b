//! The runner: all runs of a plan, several at a time, and what is left of them.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::error::{DualError, DualResult};
use super::fold::{self, Folded};
use super::holder::Holder;
use super::journal::Journal;
use super::ledger::{Ending, Ledger};
use super::permission::{Declared, Refused, permitted_calls};
use super::plan::Plan;
use super::run::{self, Outcome};
use super::schedule::{RunPlan, schedule};
use super::select::{Selection, same_source, select};
use super::shared::Shared;
use super::tables::TABLES;
use super::task::Task;
use crate::env::Start;
use crate::import::Progress;
use crate::lake::Lake;

/// Finished runs go into the lake when so many have gathered.
const FOLD_FROM: u64 = 500;

/// What a command did, and what it left.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Runs that this command finished.
    pub done: u64,
    /// Runs of the plan that are not finished, without the refused ones.
    pub left: u64,
    /// Runs that came into the lake.
    pub folded: u64,
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
        budget_of: plan.name.clone(),
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
    folded = add(folded, during);
    report.fold_failed = failed;
    match fold::fold(&shared.plan, &shared.ledger, &path, wait).await {
        Ok(last) => {
            folded = add(folded, last);
            report.fold_failed = None;
        }
        Err(error) => report.fold_failed = Some(error.to_string()),
    }
    report.done = jobs.done.load(Ordering::Relaxed);
    report.folded = folded.runs;
    report.rejected = folded.rejected;
    report.masked = folded.masked;
    report.left = shared.ledger.open_runs().await?.len() as u64;
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

fn add(a: Folded, b: Folded) -> Folded {
    Folded {
        runs: a.runs + b.runs,
        rejected: a.rejected + b.rejected,
        masked: a.masked + b.masked,
    }
}

/// Writes the plan down, or checks that it is the one that was.
async fn begin(plan: &Plan, ledger: &Ledger, lake: &Lake, report: &mut Report) -> DualResult<()> {
    if let Some((content, source)) = ledger.begun().await? {
        unchanged(plan, &content)?;
        return same_source(plan, &source);
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

/// The runs to make, by trajectory, and what came of them.
#[derive(Debug)]
struct Jobs {
    /// Trajectory, calls to make, runs in order.
    list: Vec<(usize, usize, Vec<RunPlan>)>,
    next: AtomicUsize,
    done: AtomicU64,
    total: u64,
    no_budget: AtomicBool,
    /// Finished and not folded.
    waiting: AtomicU64,
    fold: Notify,
    error: Mutex<Option<DualError>>,
}

impl Jobs {
    /// Groups the runs, and leaves out what is not permitted on the real arm.
    async fn of(shared: &Shared, runs: Vec<RunPlan>, report: &mut Report) -> DualResult<Self> {
        let mut list: Vec<(usize, usize, Vec<RunPlan>)> = Vec::new();
        for run in runs {
            match list.last_mut() {
                Some((trajectory, _, of)) if *trajectory == run.trajectory => of.push(run),
                _ => list.push((run.trajectory, 0, vec![run])),
            }
        }
        let mut declared: HashMap<String, Option<Declared>> = HashMap::new();
        let mut kept = Vec::new();
        for (trajectory, _, runs) in list {
            let Some(task) = shared.ledger.task(trajectory).await? else {
                continue;
            };
            let until = allowed(shared, &task, &mut declared).await?;
            if let Some(call) = task.calls.get(until) {
                report.refused.add(&call.name);
                if until == 0 || !shared.plan.cut_refused || task.probed.is_some() {
                    for run in &runs {
                        let ending = Ending {
                            status: "refused",
                            ..Ending::default()
                        };
                        shared.ledger.end_run(run.run, ending).await?;
                    }
                    continue;
                }
            }
            kept.push((trajectory, until, runs));
        }
        Ok(Self {
            total: kept.iter().map(|(_, _, runs)| runs.len() as u64).sum(),
            list: kept,
            next: AtomicUsize::new(0),
            done: AtomicU64::new(0),
            no_budget: AtomicBool::new(false),
            waiting: AtomicU64::new(0),
            fold: Notify::new(),
            error: Mutex::new(None),
        })
    }

    fn failed(&self, error: DualError) {
        let mut place = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        place.get_or_insert(error);
        drop(place);
        self.fold.notify_one();
    }

    fn broken(&self) -> bool {
        self.error
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
    }
}

/// How many calls of a task may be made. The environment is asked for its own
/// declarations only where the plan does not settle it.
async fn allowed(
    shared: &Shared,
    task: &Task,
    declared: &mut HashMap<String, Option<Declared>>,
) -> DualResult<usize> {
    let Some(arm) = shared.arms.get("real") else {
        return Ok(task.calls.len());
    };
    let by_plan = permitted_calls(&arm.plan, None, task);
    if by_plan == task.calls.len() {
        return Ok(by_plan);
    }
    let Some(name) = arm.plan.environment(&task.environment) else {
        return Ok(by_plan);
    };
    if !declared.contains_key(name) {
        let of = match shared.worlds.get(name) {
            None => None,
            Some(world) => {
                let listed = async {
                    let mut session = world.session(&Start::Fresh).await?;
                    let tools = session.tools().await;
                    session.close().await;
                    tools
                };
                match listed.await {
                    Ok(tools) => Some(Declared::of(world.environment.kind(), &tools)),
                    Err(error) => {
                        world.breaker.failed(&error.to_string(), Instant::now());
                        None
                    }
                }
            }
        };
        declared.insert(name.to_owned(), of);
    }
    match declared.get(name) {
        Some(Some(of)) => Ok(permitted_calls(&arm.plan, Some(of), task)),
        // It did not start: its runs will say so, nothing is refused yet.
        _ => Ok(task.calls.len()),
    }
}

/// Makes the runs while finished ones are folded.
async fn drive(
    shared: &Arc<Shared>,
    jobs: &Arc<Jobs>,
    lake: &Path,
    wait: Duration,
    progress: &Arc<dyn Progress>,
) -> DualResult<(Folded, Option<String>)> {
    let workers = shared
        .arms
        .values()
        .map(|arm| arm.plan.concurrency)
        .sum::<usize>();
    let mut set = tokio::task::JoinSet::new();
    for _ in 0..workers.min(jobs.list.len().max(1)) {
        let (shared, jobs) = (Arc::clone(shared), Arc::clone(jobs));
        let progress = Arc::clone(progress);
        set.spawn(async move {
            if let Err(error) = work(&shared, &jobs, progress.as_ref()).await {
                jobs.failed(error);
            }
        });
    }
    let mut folded = Folded::default();
    let mut failed = None;
    loop {
        tokio::select! {
            joined = set.join_next() => match joined {
                None => break,
                Some(Ok(())) => {}
                Some(Err(error)) => jobs.failed(DualError::Journal {
                    path: lake.to_owned(),
                    why: format!("a run was cut short: {error}"),
                }),
            },
            () = jobs.fold.notified(), if failed.is_none() => {
                jobs.waiting.store(0, Ordering::Relaxed);
                match fold::fold(&shared.plan, &shared.ledger, lake, wait).await {
                    Ok(more) => folded = add(folded, more),
                    // Somebody else is writing: at the end we try again.
                    Err(error) => failed = Some(error.to_string()),
                }
            }
        }
    }
    let error = jobs
        .error
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    match error {
        Some(error) => Err(error),
        None => Ok((folded, failed)),
    }
}

/// Makes a run, again where its environment failed: a failure may be one of a
/// moment. The breaker counts all of them.
async fn tried(
    shared: &Shared,
    plan: &RunPlan,
    task: &Task,
    until: usize,
    stop: &(dyn Fn() -> bool + Sync),
) -> DualResult<Outcome> {
    let mut tries = 0;
    loop {
        let outcome = run::run(shared, plan, task, until, stop).await?;
        tries += 1;
        if outcome != Outcome::Down || tries >= shared.plan.breaker.failures || stop() {
            return Ok(outcome);
        }
    }
}

async fn work(shared: &Shared, jobs: &Jobs, progress: &dyn Progress) -> DualResult<()> {
    loop {
        let at = jobs.next.fetch_add(1, Ordering::Relaxed);
        let Some((trajectory, until, runs)) = jobs.list.get(at) else {
            return Ok(());
        };
        let Some(task) = shared.ledger.task(*trajectory).await? else {
            continue;
        };
        for plan in runs {
            let stop = || progress.stop() || jobs.broken();
            if stop() {
                return Ok(());
            }
            match tried(shared, plan, &task, *until, &stop).await? {
                Outcome::Done => {
                    let done = jobs.done.fetch_add(1, Ordering::Relaxed) + 1;
                    progress.items(done, jobs.total);
                    if jobs.waiting.fetch_add(1, Ordering::Relaxed) + 1 >= FOLD_FROM {
                        jobs.fold.notify_one();
                    }
                }
                // Others go on: another arm or environment may work.
                Outcome::Down => {}
                Outcome::NoBudget => jobs.no_budget.store(true, Ordering::Relaxed),
                Outcome::Stopped => return Ok(()),
            }
        }
    }
}
