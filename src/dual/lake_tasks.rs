//! Trajectories that stand in the lake.

use std::collections::HashMap;

use arrow::array::{Array as _, AsArray as _, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int32Type};

use super::error::{DualError, DualResult};
use super::plan::Plan;
use super::select::{Selection, bind, start_state};
use super::task::{Planned, Task};
use crate::engine::{Engine, EngineError};
use crate::lake::{At, Lake, LakeError};

const RUNS: &str = include_str!("../../queries/dual/runs.sql");
const CALLS: &str = include_str!("../../queries/dual/calls.sql");
const SAID: &str = include_str!("../../queries/dual/said.sql");
const REPEATS: &str = include_str!("../../queries/dual/repeats.sql");

/// The first run of every trajectory that the condition finds.
pub(super) async fn from_lake(plan: &Plan, lake: &Lake, filter: &str) -> DualResult<Selection> {
    let engine = Engine::open(lake, &At::Newest).await?;
    let wrong = |error: EngineError| DualError::Plan {
        place: plan.path.display().to_string(),
        message: format!("[trajectories] where: {error}"),
    };
    engine.condition(filter).map_err(wrong)?;
    let (_, batches) = engine
        .query(&RUNS.replace("{where}", filter))
        .await
        .map_err(wrong)?;
    let mut tasks: Vec<Task> = Vec::new();
    let mut by_run: HashMap<String, usize> = HashMap::new();
    let mut seen = std::collections::HashSet::new();
    for batch in &batches {
        let columns = Texts::of(
            batch,
            &[
                "environment",
                "trajectory_id",
                "run_id",
                "task_id",
                "group_id",
                "policy",
                "task",
                "gold",
                "extra",
                "labels",
            ],
        )?;
        for row in 0..batch.num_rows() {
            let text = |column: usize| columns.get(column, row);
            let key = (text(0), text(1));
            if !seen.insert(key)
                || plan
                    .limit
                    .is_some_and(|limit| !plan.gold && tasks.len() >= limit)
            {
                continue;
            }
            by_run.insert(text(2).unwrap_or_default(), tasks.len());
            tasks.push(Task {
                environment: plan
                    .environment
                    .clone()
                    .or_else(|| text(0))
                    .unwrap_or_default(),
                trajectory_id: text(1).unwrap_or_default(),
                task_id: text(3),
                group_id: text(4),
                policy: text(5),
                told: text(6),
                gold: text(7),
                start_state: text(8).as_deref().and_then(start_state),
                labels: text(9),
                ..Task::default()
            });
        }
    }
    if !plan.gold && !tasks.is_empty() {
        read_calls(plan, &engine, &mut tasks, &by_run).await?;
    }
    Ok(Selection {
        tasks,
        source_hash: format!("where {filter}"),
        ..Selection::default()
    })
}

async fn read_calls(
    plan: &Plan,
    engine: &Engine,
    tasks: &mut [Task],
    by_run: &HashMap<String, usize>,
) -> DualResult<()> {
    let ids: StringArray = by_run.keys().map(Some).collect();
    let wanted = RecordBatch::try_from_iter([("run_id", std::sync::Arc::new(ids) as _)])
        .map_err(LakeError::from)?;
    engine.name_rows("dual_wanted", &wanted.schema(), vec![wanted])?;
    let mut values: Vec<Vec<Option<String>>> = vec![Vec::new(); tasks.len()];
    let mut rows = engine.stream(CALLS).await?;
    while let Some(batch) = rows.next().await? {
        let columns = Texts::of(
            &batch,
            &[
                "run_id",
                "call_id",
                "requestor",
                "name",
                "arguments_raw",
                "structured",
                "extra",
            ],
        )?;
        let turns = ints(&batch, "turn")?;
        let indexes = ints(&batch, "index")?;
        for row in 0..batch.num_rows() {
            let text = |column: usize| columns.get(column, row);
            let Some(&at) = text(0).and_then(|run| by_run.get(&run)) else {
                continue;
            };
            tasks[at].calls.push(Planned {
                turn: turns.value(row),
                index: indexes.value(row),
                id: text(1),
                requestor: text(2),
                name: text(3).unwrap_or_default(),
                arguments: text(4).unwrap_or_else(|| "{}".to_owned()),
                more: text(6),
                bindings: Vec::new(),
            });
            values[at].push(if plan.rebind { text(5) } else { None });
        }
    }
    if plan.rebind {
        let mut said: Vec<Vec<String>> = vec![Vec::new(); tasks.len()];
        let mut rows = engine.stream(SAID).await?;
        while let Some(batch) = rows.next().await? {
            let columns = Texts::of(&batch, &["run_id", "content"])?;
            for row in 0..batch.num_rows() {
                let run = columns.get(0, row);
                if let (Some(&at), Some(text)) =
                    (run.and_then(|run| by_run.get(&run)), columns.get(1, row))
                {
                    said[at].push(text);
                }
            }
        }
        for ((task, values), mut said) in tasks.iter_mut().zip(&values).zip(said) {
            said.extend(task.told.clone());
            let said: Vec<&str> = said.iter().map(String::as_str).collect();
            bind(task, &said, values);
        }
    }
    Ok(())
}

/// Notes which repeats the lake has: ours come after them.
pub(super) async fn note_repeats(lake: &Lake, tasks: &mut [Task]) -> DualResult<()> {
    let engine = Engine::open(lake, &At::Newest).await?;
    let mut there: HashMap<(String, String), [i32; 2]> = HashMap::new();
    let mut rows = engine.stream(REPEATS).await?;
    while let Some(batch) = rows.next().await? {
        let columns = Texts::of(&batch, &["environment", "trajectory_id", "arm"])?;
        let next = ints(&batch, "next")?;
        for row in 0..batch.num_rows() {
            let text = |column: usize| columns.get(column, row).unwrap_or_default();
            let of = there.entry((text(0), text(1))).or_default();
            of[usize::from(text(2) == "real")] = next.value(row);
        }
    }
    for task in tasks {
        let key = (task.environment.clone(), task.trajectory_id.clone());
        task.there = there.get(&key).copied().unwrap_or_default();
    }
    Ok(())
}

/// Columns of texts, whatever they are stored as.
struct Texts(Vec<StringArray>);

impl Texts {
    fn of(batch: &RecordBatch, names: &[&str]) -> DualResult<Self> {
        let columns = names.iter().map(|name| {
            let column = column(batch, name, &DataType::Utf8)?;
            Ok(column.as_string::<i32>().clone())
        });
        Ok(Self(columns.collect::<DualResult<_>>()?))
    }

    fn get(&self, column: usize, row: usize) -> Option<String> {
        let column = &self.0[column];
        column.is_valid(row).then(|| column.value(row).to_owned())
    }
}

fn column(batch: &RecordBatch, name: &str, kind: &DataType) -> DualResult<arrow::array::ArrayRef> {
    let column = batch.column_by_name(name).ok_or_else(|| {
        LakeError::from(arrow::error::ArrowError::SchemaError(format!(
            "no column {name}"
        )))
    })?;
    Ok(cast(column, kind).map_err(LakeError::from)?)
}

fn ints(batch: &RecordBatch, name: &str) -> DualResult<arrow::array::Int32Array> {
    Ok(column(batch, name, &DataType::Int32)?
        .as_primitive::<Int32Type>()
        .clone())
}
