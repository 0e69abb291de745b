//! One task in all worlds: what becomes of every agent, as runs of a lake.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fidelake_core::perturb::{ActsOn, Dimension, Perturbation};
use serde::{Deserialize, Serialize};

use super::error::{LiveError, LiveResult};
use super::tasks::Task;
use super::work::Setup;
use crate::dual::agents::{Agent, Arm, Episode, Habits, Mind, Patience, Played, line, play};
use crate::env::perturb::{Around, Item, Perturbations};
use crate::env::{Environment, Fault, Kept};

/// What became of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Told {
    pub(super) benchmark: String,
    pub(super) task: String,
    /// Why it takes no part; `None` if it does.
    pub(super) left_out: Option<String>,
    /// Episodes that agents played.
    pub(super) plays: u64,
    /// Calls that were made, and those that were answered from memory.
    pub(super) calls: [u64; 2],
    pub(super) seconds: f64,
}

/// The agent whose runs are profiled. It is none of those that are judged there: its
/// chance is that of repeat 0, theirs that of other repeats.
const PROFILED: Agent = Agent {
    mind: Mind::Gold,
    habits: Habits {
        retry: false,
        backoff: false,
        read_back: false,
    },
};

/// Nothing in these worlds depends on time, so nobody waits.
fn patience() -> Patience {
    Patience {
        backoff: Duration::ZERO,
        longest: Duration::ZERO,
        ..Patience::default()
    }
}

/// Which repeat an agent's chance is that of: the same in every experiment.
fn repeat_of(agent: &Agent) -> i32 {
    let place = Agent::all().position(|known| known == *agent);
    i32::try_from(place.unwrap_or_default()).unwrap_or(i32::MAX - 1) + 1
}

struct Work<'a> {
    setup: &'a Setup,
    name: &'a str,
    kept: &'a Kept,
    plays: u64,
}

/// Plays a task; `None` if the user wants to stop. The lines are runs in the native form.
pub(super) async fn unit(
    setup: &Setup,
    task: &Task,
    kept: &Kept,
) -> LiveResult<Option<(Vec<String>, Told)>> {
    let began = Instant::now();
    let before = kept.calls();
    let mut work = Work {
        setup,
        name: &setup.plan.benchmarks[task.benchmark].name,
        kept,
        plays: 0,
    };
    kept.forget();
    let made = work.task(&task.episode).await?;
    let after = kept.calls();
    let Some((lines, left_out)) = made else {
        return Ok(None);
    };
    if let Some(why) = kept.unsteady().filter(|_| left_out.is_none()) {
        return Err(work.failed(&task.episode, why));
    }
    let told = Told {
        benchmark: work.name.to_owned(),
        task: task.episode.trajectory.clone(),
        left_out,
        plays: work.plays,
        calls: [after[0] - before[0], after[1] - before[1]],
        seconds: began.elapsed().as_secs_f64(),
    };
    Ok(Some((lines, told)))
}

impl Work<'_> {
    fn failed(&self, episode: &Episode, why: String) -> LiveError {
        LiveError::World {
            benchmark: self.name.to_owned(),
            task: episode.trajectory.clone(),
            why,
        }
    }

    async fn play(
        &mut self,
        world: &Arc<dyn Environment>,
        episode: &Episode,
        agent: &Agent,
        repeat: i32,
    ) -> LiveResult<Played> {
        self.plays += 1;
        let opened = world.open(&episode.start).await;
        let mut session = opened.map_err(|error| self.failed(episode, error.to_string()))?;
        let played = play(session.as_mut(), episode, agent, repeat, &patience()).await;
        session.close().await;
        let played = played.map_err(|error| self.failed(episode, error.to_string()))?;
        // What the world itself lost says nothing about an agent.
        let broken = played.calls.iter().find(|made| {
            let fault = made.answer.fault;
            matches!(fault, Some(Fault::Lost | Fault::Late | Fault::NotSent))
        });
        if let Some(made) = broken {
            let note = made.answer.notes.first();
            let why = note.map_or("no answer", |note| &note.text);
            return Err(self.failed(episode, format!("call of {}: {why}", made.name)));
        }
        Ok(played)
    }

    async fn task(&mut self, given: &Episode) -> LiveResult<Option<(Vec<String>, Option<String>)>> {
        let clean_world: Arc<dyn Environment> = Arc::new(self.kept.clone());
        let nothing = Episode {
            calls: Vec::new(),
            looks: Vec::new(),
            ..given.clone()
        };
        let nothing = self.play(&clean_world, &nothing, &PROFILED, 0).await?;
        let clean = self.play(&clean_world, given, &PROFILED, 0).await?;
        // Made again, not remembered.
        self.kept.forget();
        let again = self.play(&clean_world, given, &PROFILED, 0).await?;
        let same_answers = clean.calls.iter().zip(&again.calls);
        let same = same_answers
            .clone()
            .all(|(a, b)| a.answer.content == b.answer.content);
        if !same || !again.succeeded(&clean) {
            let why = "the right calls end differently when they are made again";
            return Ok(Some((Vec::new(), Some(why.into()))));
        }
        if clean.state.is_none() {
            let why = "the environment shows no state to check".to_owned();
            return Err(self.failed(given, why));
        }
        let passed = clean.on_the_way.iter().all(|state| *state == nothing.state);
        if clean.state == nothing.state && passed {
            let why = "it is done by doing nothing: the right calls change no state";
            return Ok(Some((Vec::new(), Some(why.into()))));
        }
        let mut episode = given.clone();
        for (call, made) in episode.calls.iter_mut().zip(&clean.calls) {
            call.result.clone_from(&made.answer.content);
        }
        episode.tools.clone_from(&clean.tools);
        episode.told_clean.clone_from(&given.told);
        let setup = self.setup;
        let mut on_sim = Vec::new();
        for agent in &setup.agents {
            let repeat = repeat_of(agent);
            let played = self.play(&clean_world, &episode, agent, repeat).await?;
            on_sim.push((agent.name(), played.succeeded(&clean)));
        }
        let mut lines = Vec::new();
        for &seed in &setup.seeds {
            for &kind in &setup.types {
                if setup.progress.stop() {
                    return Ok(None);
                }
                let made = self.world(&episode, &clean, &on_sim, kind, seed).await?;
                lines.extend(made);
            }
        }
        Ok(Some((lines, None)))
    }

    /// Both arms of the task under one perturbation.
    async fn world(
        &mut self,
        episode: &Episode,
        clean: &Played,
        on_sim: &[(String, bool)],
        kind: Perturbation,
        seed: u64,
    ) -> LiveResult<[String; 2]> {
        let targets: BTreeSet<String> = episode.calls.iter().map(|c| c.name.clone()).collect();
        let targeted = matches!(kind.dimension(), Dimension::Action | Dimension::Reward)
            && kind.acts_on() == ActsOn::Catalog;
        let set = Perturbations::new(
            &[Item {
                name: kind.as_str().to_owned(),
                tools: targeted.then_some(targets),
                ..Item::default()
            }],
            seed,
        )?;
        let around = Around {
            own_repeats: true,
            ..Around::default()
        };
        let world = set.around(Arc::new(self.kept.clone()), around)?;
        let mut there = episode.clone();
        there.told = episode
            .told
            .as_deref()
            .map(|told| set.task(&episode.trajectory, told));
        let shown = self.play(&world, &there, &PROFILED, 0).await?;
        let mut on_real = Vec::new();
        let setup = self.setup;
        for agent in &setup.agents {
            let repeat = repeat_of(agent);
            let played = self.play(&world, &there, agent, repeat).await?;
            on_real.push((agent.name(), played.succeeded(clean)));
        }
        // What is right there: the same calls, by the names that their tools have.
        let tools: Vec<&str> = clean.tools.iter().map(String::as_str).collect();
        let offers = set.catalog(&episode.trajectory, &tools, None);
        for call in &mut there.calls {
            let own = offers
                .iter()
                .find(|o| o.behind.as_deref() == Some(&call.name));
            if let Some(offer) = own {
                call.name.clone_from(&offer.name);
            }
        }
        let seed = seed.to_string();
        let trajectory = format!(
            "{}/{}/{}/{seed}",
            setup.id,
            episode.trajectory,
            kind.as_str()
        );
        let labels = [
            ("live", &*setup.id),
            ("benchmark", self.name),
            ("perturbation", kind.as_str()),
            ("seed", &seed),
        ];
        let arm = |name| Arm {
            environment: self.name,
            trajectory: &trajectory,
            name,
            repeat: 0,
            labels: &labels,
            latencies: false,
        };
        let sim = line(episode, &arm("sim"), clean, &borrowed(on_sim));
        let real = line(&there, &arm("real"), &shown, &borrowed(&on_real));
        Ok([sim, real])
    }
}

fn borrowed(verdicts: &[(String, bool)]) -> Vec<(&str, bool)> {
    let each = verdicts.iter();
    each.map(|(agent, success)| (agent.as_str(), *success))
        .collect()
}
