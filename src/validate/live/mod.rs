//! The live experiment: does the profile rank kinds of change by what they do to agents
//! that act on real environments? (docs/validation.md, "Live")
//!
//! Every task is played in the clean world (arm `sim`) and in every perturbed one (arm
//! `real`) by scripted agents, success being what the benchmark checks. The runs go into
//! the lake with verdicts and labels, are profiled, and the kinds are ranked.

mod error;
mod figures;
mod found;
mod plan;
mod spool;
mod tasks;
mod unit;
mod work;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fidelake_core::mask::Mode;
use fidelake_core::perturb::Perturbation;

pub use error::{LiveError, LiveResult};
pub use found::{Live, LiveAgents, LiveBenchmark, LiveRank, LiveType};

use super::Request;
use super::ordering::ordering;
use super::read::read;
use crate::dual::agents::{Agent, Habits, Mind};
use crate::engine::{Engine, profile};
use crate::formats::Format;
use crate::import::{OnConflict, Options, Progress, import};
use crate::lake::{At, Lake};
use figures::{Figures, independent};
use unit::Told;
use work::{Setup, play_all};

/// What to play.
#[derive(Clone, Debug)]
pub struct LiveRequest {
    /// The benchmarks.
    pub plan: PathBuf,
    /// So many tasks, of all benchmarks in turns.
    pub tasks: usize,
    /// Kinds of change.
    pub types: Vec<Perturbation>,
    /// Seeds of the changes.
    pub seeds: Vec<u64>,
    /// Who plays.
    pub agents: Vec<Agent>,
    /// Tasks at a time.
    pub workers: usize,
    /// Draws of the bootstrap over tasks.
    pub resamples: usize,
    /// Patience with another writer of the lake.
    pub wait: Duration,
}

/// The 22 kinds of the paper.
pub const PAPER: usize = 22;

/// Who plays where nobody is named: every mind without habits, with retry, and with retry
/// and read-back. Waiting changes nothing, since nothing in these worlds depends on time.
#[must_use]
pub fn usual_agents() -> Vec<Agent> {
    Agent::all()
        .filter(|agent| {
            let Habits { backoff, .. } = agent.habits;
            !backoff
        })
        .collect()
}

/// Plays, stores, profiles and compares.
///
/// # Errors
/// If the plan cannot be used, an environment fails, the lake cannot be written, or the
/// user stops it. The same command goes on with what is not done.
pub async fn validate_live(
    lake: &std::path::Path,
    request: &LiveRequest,
    progress: Arc<dyn Progress>,
) -> LiveResult<Live> {
    let replays = |agent: &Agent| matches!(agent.mind, Mind::Gold | Mind::Rebinding);
    if !request.agents.iter().any(replays) {
        let why = "--agents: name one that replays as well (gold, rebinding); it is their harm that is ranked";
        return Err(LiveError::Asked(why.into()));
    }
    let setup = tokio::task::block_in_place(|| Setup::new(request, Arc::clone(&progress)))?;
    let setup = Arc::new(setup);
    let spool = work::spool(lake, request.wait, &setup.id).await?;
    let told = match spool.finished() {
        Some(told) => told,
        None => {
            progress.say(&format!(
                "experiment {}: {} tasks x {} kinds x {} seeds x {} agents",
                setup.id,
                setup.tasks.len(),
                setup.types.len(),
                setup.seeds.len(),
                setup.agents.len()
            ));
            let told = play_all(Arc::clone(&setup), Arc::clone(&spool), request.workers).await?;
            if told.iter().all(|told| told.left_out.is_some()) {
                let why = told.first().and_then(|told| told.left_out.clone());
                return Err(LiveError::Asked(format!(
                    "no task takes part: {}",
                    why.unwrap_or_default()
                )));
            }
            let file = tokio::task::block_in_place(|| spool.joined(told.len()))?;
            progress.say("storing the runs");
            store(lake, request, file, &progress).await?;
            spool.finish(&told)?;
            told
        }
    };
    progress.say("profiling");
    let (mut open, guard) = Lake::open_for_writing(lake, request.wait).await?;
    profile(&mut open, guard, progress.as_ref()).await?;
    drop(open);
    let open = Lake::open(lake)?;
    let engine = Engine::open(&open, &At::Newest).await?;
    compare(&engine, &setup, request, &told).await
}

async fn store(
    lake: &std::path::Path,
    request: &LiveRequest,
    file: PathBuf,
    progress: &Arc<dyn Progress>,
) -> LiveResult<()> {
    let options = Options {
        paths: vec![file],
        format: Some(Format::Native),
        environment: None,
        arm: None,
        mask: Mode::Secrets,
        on_conflict: OnConflict::Reject,
        command: format!("fidelake validate live {}", request.plan.display()),
    };
    let report = import(lake, &options, request.wait, Arc::clone(progress)).await?;
    match report.counts.rejected {
        0 => Ok(()),
        rejected => Err(LiveError::Rejected(rejected)),
    }
}

async fn compare(
    engine: &Engine,
    setup: &Setup,
    request: &LiveRequest,
    told: &[Told],
) -> LiveResult<Live> {
    let asked = |only: Vec<(String, String)>| Request {
        by: vec!["perturbation".into()],
        only,
        agents: Vec::new(),
        families: Vec::new(),
        resamples: request.resamples,
        seed: 0,
        fit: false,
    };
    let own = ("live".to_owned(), setup.id.clone());
    let all = read(engine, &asked(vec![own.clone()])).await?;
    let figures = Figures::of(&all, request.resamples);
    let mut ranks = [LiveAgents::Replay, LiveAgents::All].map(|agents| (agents, Vec::new()));
    for &seed in &setup.seeds {
        let only = vec![own.clone(), ("seed".to_owned(), seed.to_string())];
        let data = read(engine, &asked(only)).await?;
        let figures = Figures::of(&data, request.resamples);
        for (agents, ranks) in &mut ranks {
            ranks.push(figures.rank(*agents, Some(seed)));
        }
    }
    for (agents, ranks) in &mut ranks {
        ranks.push(figures.rank(*agents, None));
    }
    let [(_, replay), (_, of_all)] = ranks;
    let types = figures.types();
    let named = |felt: &dyn Fn(&LiveType) -> Option<f64>| -> Vec<String> {
        let none = types.iter().filter(|kind| felt(kind) == Some(0.0));
        none.map(|kind| kind.label.clone()).collect()
    };
    let (unfelt, unfelt_by_all) = (named(&|kind| kind.harm), named(&|kind| kind.harm_all));
    let names: Vec<String> = setup.agents.iter().map(Agent::name).collect();
    let sum = |of: &dyn Fn(&Told) -> u64| told.iter().map(of).sum();
    Ok(Live {
        id: setup.id.clone(),
        lake_version: engine.version().version,
        benchmarks: benchmarks(setup, told),
        seeds: setup.seeds.clone(),
        independent: names
            .iter()
            .filter(|name| independent(name))
            .cloned()
            .collect(),
        agents: names,
        plays: sum(&|told| told.plays),
        calls_made: sum(&|told| told.calls[0]),
        calls_remembered: sum(&|told| told.calls[1]),
        replay,
        all: of_all,
        unfelt,
        unfelt_by_all,
        ordering: ordering(&all, &|agent| independent(agent)),
        types,
        resamples: request.resamples as u64,
    })
}

fn benchmarks(setup: &Setup, told: &[Told]) -> Vec<LiveBenchmark> {
    let each = setup.plan.benchmarks.iter().map(|benchmark| {
        let own = told.iter().filter(|told| told.benchmark == benchmark.name);
        let mut left_out: BTreeMap<String, u64> = BTreeMap::new();
        let (mut drawn, mut used) = (0, 0);
        for told in own {
            drawn += 1;
            match &told.left_out {
                Some(why) => *left_out.entry(why.clone()).or_default() += 1,
                None => used += 1,
            }
        }
        LiveBenchmark {
            name: benchmark.name.clone(),
            drawn,
            used,
            left_out,
        }
    });
    each.collect()
}
