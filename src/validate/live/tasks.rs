//! The tasks of the benchmarks, and which of them are drawn.

use fidelake_core::json::key::Key;
use fidelake_core::json::{Doc, Kind};

use super::error::{LiveError, LiveResult};
use super::plan::{Benchmark, Check, Plan};
use crate::dual::agents::{Episode, Right};
use crate::env::Start;

/// A task, as it is before anything was played.
#[derive(Clone, Debug)]
pub(super) struct Task {
    /// Place of its benchmark in the plan.
    pub(super) benchmark: usize,
    /// Results and tools are not known yet.
    pub(super) episode: Episode,
}

/// `count` tasks, of all benchmarks in turns, each benchmark's in an order of its own that
/// hangs on their names alone: a smaller experiment takes the first of a larger one.
pub(super) fn drawn(plan: &Plan, count: usize) -> LiveResult<Vec<Task>> {
    let mut lists = Vec::new();
    for (place, benchmark) in plan.benchmarks.iter().enumerate() {
        let text = plan.tasks(benchmark)?;
        let mut tasks = Vec::new();
        for (at, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let episode = episode(line, benchmark).map_err(|why| LiveError::Tasks {
                benchmark: benchmark.name.clone(),
                command: format!("line {} of its tasks", at + 1),
                why,
            })?;
            if !episode.calls.is_empty() {
                tasks.push(Task {
                    benchmark: place,
                    episode,
                });
            }
        }
        tasks.sort_by_cached_key(|task| Key::of_parts(&["live task", &task.episode.trajectory]));
        tasks.reverse();
        lists.push(tasks);
    }
    let mut drawn = Vec::new();
    while drawn.len() < count {
        let before = drawn.len();
        for list in &mut lists {
            if drawn.len() < count {
                drawn.extend(list.pop());
            }
        }
        if drawn.len() == before {
            break;
        }
    }
    if drawn.is_empty() {
        let why = "there is no task with right calls in any benchmark";
        return Err(LiveError::Asked(why.into()));
    }
    Ok(drawn)
}

fn episode(line: &str, benchmark: &Benchmark) -> Result<Episode, String> {
    let doc = Doc::parse(line).map_err(|error| format!("no JSON: {error}"))?;
    let root = doc.root();
    let gold = root.get_some("gold");
    let gold = gold.filter(|gold| gold.kind() == Kind::Array);
    let gold = gold.ok_or("no list `gold` of right calls")?;
    let mut calls = Vec::new();
    let mut turns = Vec::new();
    for call in gold.elements() {
        calls.push(Right {
            name: call
                .get_str("name")
                .ok_or("a right call without name")?
                .to_owned(),
            arguments: call
                .get_some("arguments")
                .map_or("{}".to_owned(), |arguments| arguments.raw().to_owned()),
            result: None,
        });
        turns.push(call.get_some("turn").and_then(|turn| turn.as_i64()));
    }
    let looks = match benchmark.check {
        Check::End => Vec::new(),
        Check::Turns => (1..turns.len())
            .filter(|&at| turns[at] != turns[at - 1])
            .map(|at| at - 1)
            .collect(),
    };
    let id = root.get_str("trajectory_id").ok_or("no trajectory_id")?;
    let start = root.get_some("start_state");
    Ok(Episode {
        trajectory: id.to_owned(),
        told: root.get_str("task").map(str::to_owned),
        start: start.map_or(Start::Fresh, |state| Start::Given(state.raw().to_owned())),
        calls,
        read_backs: benchmark.read_backs(),
        looks,
        ..Episode::default()
    })
}
