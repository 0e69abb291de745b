//! From the plan to the trajectories to run.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use fidelake_core::json::key::{Key, KeyHasher, call_key};
use fidelake_core::json::{Doc, canonical};

use super::error::{DualError, DualResult};
use super::lake_tasks;
use super::plan::{Plan, Source};
use super::rebind::{Recorded, bindings, value_of};
use super::task::{Planned, Task};
use crate::formats::run::Run;
use crate::formats::{Context, Format, read_record, unpacked};
use crate::lake::Lake;

/// What a plan wants to run, and what was passed over.
#[derive(Debug, Default)]
pub(super) struct Selection {
    pub(super) tasks: Vec<Task>,
    /// Trajectories with arguments that were masked: they cannot be sent.
    pub(super) masked: usize,
    /// Trajectories without a call to make.
    pub(super) empty: usize,
    /// Hash of the file they came from.
    pub(super) source_hash: String,
}

/// Everything that the plan selects. `lake` is absent where there is none yet.
pub(super) async fn select(plan: &Plan, lake: Option<&Lake>) -> DualResult<Selection> {
    let mut selection = match &plan.source {
        Source::File(path) => tokio::task::block_in_place(|| from_file(plan, path))?,
        Source::Where(filter) => {
            let Some(lake) = lake else {
                return Err(DualError::Nothing(
                    "[trajectories] where asks a lake that does not exist yet".into(),
                ));
            };
            lake_tasks::from_lake(plan, lake, filter).await?
        }
    };
    finish(plan, &mut selection);
    if let Some(lake) = lake {
        lake_tasks::note_repeats(lake, &mut selection.tasks).await?;
    }
    Ok(selection)
}

fn from_file(plan: &Plan, path: &Path) -> DualResult<Selection> {
    let mut selection = Selection {
        source_hash: hash(path)?,
        ..Selection::default()
    };
    let io = |e| DualError::io(path, e);
    let file = std::fs::File::open(path).map_err(io)?;
    let decoded = unpacked(file).map_err(io)?;
    let mut seen = HashSet::new();
    for (number, line) in BufReader::new(decoded).lines().enumerate() {
        let line = line.map_err(io)?;
        if line.trim().is_empty() {
            continue;
        }
        let wrong = |message: String| DualError::Trajectories {
            path: path.to_owned(),
            line: number + 1,
            message,
        };
        let doc = Doc::parse(&line).map_err(|e| wrong(format!("no JSON: {e}")))?;
        let context = Context {
            environment: plan.environment.as_deref(),
            guessed: None,
            arm: None,
            tau2: None,
            catalog: None,
        };
        let mut task = None;
        read_record(Format::Native, &doc, &context, &mut |run| {
            task = Some(of_run(plan, &run));
        })
        .map_err(|reject| {
            wrong(format!(
                "{} (a run in the native form is needed)",
                reject.message
            ))
        })?;
        // Repeats and the other arm of a trajectory name the same work.
        if let Some(task) = task
            && seen.insert((task.environment.clone(), task.trajectory_id.clone()))
        {
            selection.tasks.push(task);
        }
    }
    Ok(selection)
}

/// An error if the file of trajectories is not the one that the plan began with.
/// One that is gone is not missed: the journal has what it needs.
pub(super) fn same_source(plan: &Plan, begun_with: &str) -> DualResult<()> {
    match &plan.source {
        Source::File(path) if path.exists() && hash(path)? != begun_with => {
            Err(DualError::Changed {
                name: plan.name.clone(),
                what: format!("{} has changed", path.display()),
            })
        }
        _ => Ok(()),
    }
}

fn hash(path: &Path) -> DualResult<String> {
    let io = |e| DualError::io(path, e);
    let mut file = std::fs::File::open(path).map_err(io)?;
    let mut hasher = KeyHasher::default();
    let mut block = vec![0; 1 << 20];
    loop {
        match file.read(&mut block).map_err(io)? {
            0 => return Ok(hasher.finish().to_string()),
            n => hasher.update(&block[..n]),
        }
    }
}

fn of_run(plan: &Plan, run: &Run<'_>) -> Task {
    let owned = |text: &Option<std::borrow::Cow<'_, str>>| text.as_deref().map(str::to_owned);
    let mut task = Task {
        environment: run.environment.clone().into_owned(),
        trajectory_id: run.trajectory_id.clone().into_owned(),
        task_id: owned(&run.task_id),
        group_id: owned(&run.group_id),
        policy: owned(&run.policy),
        told: owned(&run.task),
        start_state: run.extra.as_deref().and_then(start_state),
        gold: owned(&run.gold),
        labels: owned(&run.labels),
        ..Task::default()
    };
    // A result that no call asked for is nothing to make.
    let made: Vec<_> = run
        .calls
        .iter()
        .filter(|call| call.turn >= 0 && call.name.is_some())
        .collect();
    task.calls = made
        .iter()
        .map(|call| Planned {
            turn: call.turn,
            index: call.index,
            id: owned(&call.id),
            requestor: owned(&call.requestor),
            name: call.name.clone().unwrap_or_default().into_owned(),
            arguments: call.arguments.as_deref().unwrap_or("{}").to_owned(),
            more: owned(&call.extra),
            bindings: Vec::new(),
        })
        .collect();
    if plan.rebind && !plan.gold {
        let values: Vec<Option<String>> = made
            .iter()
            .map(|call| {
                let result = call.result.as_ref()?;
                let node = result.structured.or(result.content)?;
                value_of(node)
            })
            .collect();
        let said: Vec<&str> = run
            .messages
            .iter()
            .filter(|message| message.role == "user")
            .filter_map(|message| match message.content {
                crate::formats::run::Content::Value(node) => {
                    Some(node.as_str().unwrap_or(node.raw()))
                }
                _ => None,
            })
            .chain(run.task.as_deref())
            .collect();
        bind(&mut task, &said, &values);
    }
    task
}

/// The state to start from, which stands among the keys that have no column.
pub(super) fn start_state(extra: &str) -> Option<String> {
    let doc = Doc::parse(extra).ok()?;
    Some(doc.root().get_some("start_state")?.raw().to_owned())
}

pub(super) fn bind(task: &mut Task, said: &[&str], values: &[Option<String>]) {
    let recorded: Vec<Recorded<'_>> = task
        .calls
        .iter()
        .zip(values)
        .map(|(call, value)| Recorded {
            turn: call.turn,
            arguments: &call.arguments,
            result: value.as_deref(),
        })
        .collect();
    let found = bindings(said, &recorded);
    for (call, bindings) in task.calls.iter_mut().zip(found) {
        call.bindings = bindings;
    }
}

/// Gold lists, the plan's own environment, probes, and what cannot be sent.
fn finish(plan: &Plan, selection: &mut Selection) {
    if plan.gold {
        to_gold(&mut selection.tasks);
    }
    let before = selection.tasks.len();
    selection.tasks.retain(|task| !task.calls.is_empty());
    selection.empty = before - selection.tasks.len();
    let before = selection.tasks.len();
    selection.tasks.retain(|task| {
        !task
            .calls
            .iter()
            .any(|call| call.arguments.contains("<masked:"))
    });
    selection.masked = before - selection.tasks.len();
    if let Some(limit) = plan.limit {
        selection.tasks.truncate(limit);
    }
    if plan.probe {
        selection.tasks = probes(plan, &selection.tasks);
    }
}

/// One trajectory per list of right calls: attempts at one task share theirs.
fn to_gold(tasks: &mut Vec<Task>) {
    let mut names: HashMap<(String, String), Key> = HashMap::new();
    let mut kept = Vec::new();
    for mut task in std::mem::take(tasks) {
        let Some(doc) = task.gold.as_deref().and_then(|gold| Doc::parse(gold).ok()) else {
            continue;
        };
        let calls: Vec<Planned> = doc
            .root()
            .elements()
            .enumerate()
            .filter_map(|(position, call)| {
                let arguments = call.get("arguments").or_else(|| call.get("kwargs"));
                Some(Planned {
                    turn: i32::try_from(position).ok()?,
                    id: call.get_str("id").map(str::to_owned),
                    name: call.get_str("name")?.to_owned(),
                    arguments: arguments.map_or("{}", |node| node.raw()).to_owned(),
                    ..Planned::default()
                })
            })
            .collect();
        let content = Key::of(canonical(doc.root()).0.as_bytes());
        drop(doc);
        let wanted = format!(
            "gold/{}",
            task.task_id.as_deref().unwrap_or(&task.trajectory_id)
        );
        let named = |name: &str| (task.environment.clone(), name.to_owned());
        let name = match names.get(&named(&wanted)) {
            Some(there) if *there == content => continue,
            Some(_) => format!("gold/{}", task.trajectory_id),
            None => wanted,
        };
        if names.insert(named(&name), content).is_some() {
            continue;
        }
        task.trajectory_id = name;
        task.policy = Some("gold".to_owned());
        task.calls = calls;
        kept.push(task);
    }
    *tasks = kept;
}

/// A trajectory per probed call: everything before it, the call, and the call
/// again in place. Its repeats make the same in fresh states.
fn probes(plan: &Plan, tasks: &[Task]) -> Vec<Task> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for task in tasks {
        for (position, call) in task.calls.iter().enumerate() {
            let chosen = if plan.probe_tools.is_empty() {
                plan.arms
                    .values()
                    .all(|arm| arm.reads.contains(&call.name) || arm.repeats(&call.name))
            } else {
                plan.probe_tools.contains(&call.name)
            };
            let doc = Doc::parse(&call.arguments).ok();
            let key = call_key(&call.name, doc.as_ref().map(Doc::root), &call.arguments);
            if !chosen || !seen.insert((task.environment.clone(), key)) {
                continue;
            }
            let mut calls = task.calls[..=position].to_vec();
            calls.push(Planned {
                turn: call.turn + 1,
                index: 0,
                id: None,
                ..call.clone()
            });
            let order = Key::of_parts(&[&plan.seed.to_string(), &key.to_string()]);
            found.push((
                order,
                Task {
                    trajectory_id: format!(
                        "{}#idempotency/{}.{}",
                        task.trajectory_id, call.turn, call.index
                    ),
                    gold: None,
                    calls,
                    probed: Some(position),
                    ..task.clone()
                },
            ));
        }
    }
    // A seeded choice, in the order of the trajectories.
    let mut orders: Vec<Key> = found.iter().map(|(order, _)| *order).collect();
    orders.sort_unstable();
    if let Some(last) = orders.get(plan.probe_calls) {
        found.retain(|(order, _)| order < last);
    }
    found.into_iter().map(|(_, task)| task).collect()
}
