//! From the lake into the index.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array as _, AsArray as _, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::common::ScalarValue;
use fidelake_core::json::key::Key;
use fidelake_core::json::{Doc, push_json_string};

use super::super::Tool;
use super::Replay;
use super::index::{Index, Recorded, Stored};
use crate::engine::Engine;
use crate::lake::{At, Lake};

const RECORDED: &str = include_str!("../../../queries/replay/recorded.sql");
const TOOLS: &str = include_str!("../../../queries/replay/tools.sql");

/// Reads all recorded calls of the environment; they stay in memory.
pub(super) async fn load(lake: &Path, replay: &Replay) -> Result<Index, String> {
    let fail = |e: &dyn std::fmt::Display| e.to_string();
    let lake = Lake::open(lake).map_err(|e| fail(&e))?;
    let at = replay.version.map_or(At::Newest, At::Version);
    let engine = Engine::open(&lake, &at).await.map_err(|e| fail(&e))?;
    let filter = replay.r#where.as_deref().unwrap_or("true");
    engine
        .condition(filter)
        .map_err(|e| format!("where: {e}"))?;
    let parameters = [(
        "environment",
        ScalarValue::from(replay.environment.as_str()),
    )];
    let sql = RECORDED.replace("{where}", filter);
    let (_, batches) = engine
        .query_with(&sql, &parameters)
        .await
        .map_err(|e| fail(&e))?;
    let mut rows = Vec::new();
    for batch in &batches {
        read(batch, &mut rows).map_err(|e| fail(&e))?;
    }
    if rows.is_empty() {
        return Err(format!(
            "the lake has no recorded answers of environment {:?} that fit; `fidelake sql \"SELECT environment, count(*) FROM runs GROUP BY 1\"` lists what there is",
            replay.environment
        ));
    }
    let mut index = Index::of(engine.version().version, changing(&rows, replay));
    let (_, batches) = engine
        .query_with(TOOLS, &parameters)
        .await
        .map_err(|e| fail(&e))?;
    index.tools = tools(&batches, &rows, &index).map_err(|e| fail(&e))?;
    let mut answers: HashMap<Key, Arc<Stored>> = HashMap::new();
    let (mut run, mut history) = (String::new(), Index::start());
    for row in rows {
        if run != row.run {
            (run, history) = (row.run.clone(), Index::start());
        }
        let before = history;
        if index.changes(&row.name) {
            history = Index::after(history, row.key);
        }
        if let Some(answer) = row.answer {
            // Many calls have one answer; it stands in memory once.
            let hash = Key::of(format!("{answer:?}").as_bytes());
            let answer = Arc::clone(answers.entry(hash).or_insert_with(|| Arc::new(answer)));
            index.add(Recorded {
                trajectory: row.trajectory.into(),
                name: row.name.into(),
                key: row.key,
                arguments: row.arguments.into(),
                history: before,
                answer,
            });
        }
    }
    Ok(index)
}

/// A call in the order of its run; `None`: what came back is no answer of the tool.
struct Row {
    run: String,
    trajectory: String,
    name: String,
    arguments: String,
    key: Key,
    state_hash: Option<String>,
    answer: Option<Stored>,
}

fn read(batch: &RecordBatch, rows: &mut Vec<Row>) -> Result<(), arrow::error::ArrowError> {
    let text = |name: &str| -> Result<StringArray, arrow::error::ArrowError> {
        let column = batch
            .column_by_name(name)
            .ok_or_else(|| arrow::error::ArrowError::SchemaError(format!("no column {name}")))?;
        Ok(cast(column, &DataType::Utf8)?.as_string::<i32>().clone())
    };
    let number = |name: &str| -> Result<arrow::array::Int64Array, arrow::error::ArrowError> {
        let column = batch
            .column_by_name(name)
            .ok_or_else(|| arrow::error::ArrowError::SchemaError(format!("no column {name}")))?;
        Ok(cast(column, &DataType::Int64)?
            .as_primitive::<Int64Type>()
            .clone())
    };
    let names = [
        "run_id",
        "trajectory_id",
        "name",
        "arguments",
        "arguments_raw",
        "call_key",
        "content",
        "content_kind",
        "structured",
        "structured_rule",
        "structured_raw",
        "error_type",
        "state_hash",
        "extra",
    ];
    let texts = names
        .iter()
        .map(|name| text(name))
        .collect::<Result<Vec<_>, _>>()?;
    let numbers = ["is_error", "status", "rpc_code", "truncated"]
        .iter()
        .map(|name| number(name))
        .collect::<Result<Vec<_>, _>>()?;
    for row in 0..batch.num_rows() {
        let get = |column: usize| {
            texts[column]
                .is_valid(row)
                .then(|| texts[column].value(row).to_owned())
        };
        let int = |column: usize| {
            numbers[column]
                .is_valid(row)
                .then(|| numbers[column].value(row))
        };
        let Some(key) = get(5).as_deref().and_then(Key::parse) else {
            continue;
        };
        let content = get(6);
        let kind = get(7).unwrap_or_default();
        let answered = kind != "absent" && !get(13).as_deref().is_some_and(no_answer);
        let value = match (get(8), &content) {
            (Some(value), _) => (value, get(9).unwrap_or_default()),
            (None, text) => (text.clone().unwrap_or_default(), String::new()),
        };
        let answer = answered.then(|| Stored {
            content: content.map(|text| spelled(&kind, text)),
            structured: get(10),
            is_error: int(0).map(|flag| flag != 0),
            status: int(1),
            rpc_code: int(2),
            error_type: get(11),
            truncated: int(3).map(|flag| flag != 0),
            state_hash: get(12),
            value,
        });
        rows.push(Row {
            run: get(0).unwrap_or_default(),
            trajectory: get(1).unwrap_or_default(),
            name: get(2).unwrap_or_default(),
            arguments: get(3).or_else(|| get(4)).unwrap_or_else(|| "{}".to_owned()),
            key,
            state_hash: get(12),
            answer,
        });
    }
    Ok(())
}

/// What was itself replayed would make a copy of a copy; a lost or late answer is none.
fn no_answer(extra: &str) -> bool {
    Doc::parse(extra).is_ok_and(|doc| {
        let root = doc.root();
        root.get_some("fault").is_some()
            || root
                .get_str("origin")
                .is_some_and(|origin| origin.starts_with("replay"))
    })
}

/// The content as JSON text again.
fn spelled(kind: &str, text: String) -> String {
    match kind {
        "text" => {
            let mut json = String::with_capacity(text.len() + 2);
            push_json_string(&text, &mut json);
            json
        }
        "text_part" => {
            let mut json = String::from("[{\"type\":\"text\",\"text\":");
            push_json_string(&text, &mut json);
            json + "}]"
        }
        "null" => "null".to_owned(),
        _ => text,
    }
}

/// A tool changes nothing if the description says so, or if the state hash was the
/// same after every one of its calls as before it, as far as it was recorded.
fn changing(rows: &[Row], replay: &Replay) -> BTreeMap<String, bool> {
    let mut seen: BTreeMap<String, bool> = BTreeMap::new();
    for pair in rows.windows(2) {
        let [before, after] = pair else { continue };
        if before.run == after.run
            && let (Some(a), Some(b)) = (&before.state_hash, &after.state_hash)
        {
            *seen.entry(after.name.clone()).or_insert(false) |= a != b;
        }
    }
    for tool in &replay.reads {
        seen.insert(tool.clone(), false);
    }
    seen
}

fn tools(
    batches: &[RecordBatch],
    rows: &[Row],
    index: &Index,
) -> Result<Vec<Tool>, arrow::error::ArrowError> {
    let mutates = |name: &str| index.changing.get(name).copied();
    let mut tools = Vec::new();
    for batch in batches {
        let names = cast(batch.column(0), &DataType::Utf8)?;
        let texts = cast(batch.column(1), &DataType::Utf8)?;
        for (name, text) in names
            .as_string::<i32>()
            .iter()
            .zip(texts.as_string::<i32>())
        {
            if let (Some(name), Some(text)) = (name, text) {
                tools.push(Tool {
                    name: name.to_owned(),
                    declaration: text.to_owned(),
                    mutates: mutates(name),
                });
            }
        }
    }
    if tools.is_empty() {
        // No catalog was recorded: what was called is what there is.
        let names: std::collections::BTreeSet<&str> = rows.iter().map(|row| &*row.name).collect();
        for name in names {
            let mut declaration = String::from("{\"name\":");
            push_json_string(name, &mut declaration);
            tools.push(Tool {
                name: name.to_owned(),
                declaration: declaration + "}",
                mutates: mutates(name),
            });
        }
    }
    Ok(tools)
}
