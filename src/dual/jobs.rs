//! The work of one command: what is permitted is run, several runs at a time,
//! while finished ones are folded.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::error::{DualError, DualResult};
use super::fold::{self, Folded};
use super::ledger::Ending;
use super::permission::{Declared, permitted_calls};
use super::run::{self, Outcome};
use super::runner::Report;
use super::schedule::RunPlan;
use super::shared::Shared;
use super::task::Task;
use crate::env::Start;
use crate::import::Progress;

/// Finished runs go into the lake when so many have gathered.
const FOLD_FROM: u64 = 500;

/// The runs to make, by trajectory, and what came of them.
#[derive(Debug)]
pub(super) struct Jobs {
    /// Trajectory, calls to make, runs in order.
    list: Vec<(usize, usize, Vec<RunPlan>)>,
    next: AtomicUsize,
    pub(super) done: AtomicU64,
    total: u64,
    pub(super) no_budget: AtomicBool,
    /// Finished and not folded.
    waiting: AtomicU64,
    fold: Notify,
    error: Mutex<Option<DualError>>,
}

impl Jobs {
    /// Groups the runs, and leaves out what is not permitted on the real arm.
    pub(super) async fn of(
        shared: &Shared,
        runs: Vec<RunPlan>,
        report: &mut Report,
    ) -> DualResult<Self> {
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
pub(super) async fn drive(
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
                    Ok(more) => folded = folded.and(more),
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
