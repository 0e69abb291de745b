//! All tasks, several at a time.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fidelake_core::json::key::Key;
use fidelake_core::perturb::Perturbation;

use super::LiveRequest;
use super::error::{LiveError, LiveResult};
use super::plan::Plan;
use super::spool::Spool;
use super::tasks::{Task, drawn};
use super::unit::{Told, unit};
use crate::dual::agents::Agent;
use crate::env::Kept;
use crate::import::Progress;

/// Renewed when agents, worlds or lines change in what they do: then nothing that was
/// done before is gone on with.
const METHOD: &str = "live 1";

/// What is played.
pub(super) struct Setup {
    pub(super) plan: Plan,
    pub(super) tasks: Vec<Task>,
    pub(super) types: Vec<Perturbation>,
    pub(super) seeds: Vec<u64>,
    pub(super) agents: Vec<Agent>,
    /// Of all that decides what comes out.
    pub(super) id: String,
    pub(super) progress: Arc<dyn Progress>,
}

impl Setup {
    pub(super) fn new(request: &LiveRequest, progress: Arc<dyn Progress>) -> LiveResult<Self> {
        let plan = Plan::read(&request.plan)?;
        let tasks = drawn(&plan, request.tasks)?;
        let mut parts = vec![METHOD.to_owned(), plan.text.clone()];
        parts.extend(tasks.iter().map(|task| format!("{:?}", task.episode)));
        parts.extend(request.types.iter().map(|kind| kind.as_str().to_owned()));
        parts.extend(request.seeds.iter().map(u64::to_string));
        parts.extend(request.agents.iter().map(Agent::name));
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let id = Key::of_parts(&parts).to_string();
        Ok(Self {
            plan,
            tasks,
            types: request.types.clone(),
            seeds: request.seeds.clone(),
            agents: request.agents.clone(),
            id: id[..12].to_owned(),
            progress,
        })
    }
}

/// Plays what is not done yet and keeps it. What became of every task, in order.
pub(super) async fn play_all(
    setup: Arc<Setup>,
    spool: Arc<Spool>,
    workers: usize,
) -> LiveResult<Vec<Told>> {
    let total = setup.tasks.len();
    let before = (0..total).filter(|&at| spool.done(at).is_some()).count();
    if before > 0 {
        let line = format!("going on: {before} of {total} tasks are done already");
        setup.progress.say(&line);
    }
    let next = Arc::new(AtomicUsize::new(0));
    let done = Arc::new(AtomicUsize::new(before));
    let mut running = tokio::task::JoinSet::new();
    for _ in 0..workers.clamp(1, total) {
        let (setup, spool) = (Arc::clone(&setup), Arc::clone(&spool));
        let (next, done) = (Arc::clone(&next), Arc::clone(&done));
        running.spawn(async move {
            let mut worlds = HashMap::new();
            let worked = worker(&setup, &spool, &next, &done, &mut worlds).await;
            for kept in worlds.values() {
                kept.close().await;
            }
            // Others need not begin what cannot be used.
            if worked.is_err() {
                next.store(total, Ordering::Relaxed);
            }
            worked
        });
    }
    let mut first = Ok(());
    while let Some(ended) = running.join_next().await {
        let ended = ended.unwrap_or_else(|error| Err(LiveError::Asked(error.to_string())));
        if first.is_ok() {
            first = ended;
        }
    }
    first?;
    let told: Option<Vec<Told>> = (0..total).map(|at| spool.done(at)).collect();
    told.ok_or_else(|| LiveError::Stopped {
        done: done.load(Ordering::Relaxed),
        total,
    })
}

async fn worker(
    setup: &Setup,
    spool: &Spool,
    next: &AtomicUsize,
    done: &AtomicUsize,
    worlds: &mut HashMap<usize, Kept>,
) -> LiveResult<()> {
    loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let Some(task) = setup.tasks.get(at) else {
            return Ok(());
        };
        if spool.done(at).is_some() {
            continue;
        }
        if setup.progress.stop() {
            return Ok(());
        }
        let kept = match worlds.get(&task.benchmark) {
            Some(kept) => kept,
            None => {
                let benchmark = &setup.plan.benchmarks[task.benchmark];
                let kept = Kept::new(setup.plan.environment(benchmark)?);
                worlds.entry(task.benchmark).or_insert(kept)
            }
        };
        let Some((lines, told)) = unit(setup, task, kept).await? else {
            return Ok(());
        };
        tokio::task::block_in_place(|| spool.keep(at, &lines, &told))?;
        let count = done.fetch_add(1, Ordering::Relaxed) + 1;
        setup.progress.items(count as u64, setup.tasks.len() as u64);
    }
}

/// The folder of an experiment, in a lake that is there.
pub(super) async fn spool(
    lake: &Path,
    wait: std::time::Duration,
    id: &str,
) -> LiveResult<Arc<Spool>> {
    drop(crate::lake::Lake::open_or_create(lake, wait).await?);
    Ok(Arc::new(Spool::open(lake, id)?))
}
