//! From the lake into the index.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{AsArray as _, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use arrow::error::ArrowError;
use datafusion::common::ScalarValue;
use fidelake_core::json::key::Key;
use fidelake_core::json::{Doc, push_json_string};
use fidelake_core::mend::{Leaf, leaves};

use super::super::Tool;
use super::Replay;
use super::index::{Index, Rank, Recorded, related};
use super::mend::{Lesson, Mends};
use super::stored::Stored;
use super::world::{Seen, World};
use crate::engine::columns::{Columns, integer, number, text};
use crate::engine::{Engine, EngineResult, Said};
use crate::lake::{At, Lake};

const RECORDED: &str = include_str!("../../../queries/replay/recorded.sql");
const TOOLS: &str = include_str!("../../../queries/replay/tools.sql");
const VISIBLE: &str = include_str!("../../../queries/replay/visible.sql");

/// Reads all recorded calls of the environment; they stay in memory.
pub(super) async fn load(folder: &Path, replay: &Replay) -> Result<Index, String> {
    let mut all = read_lake(folder, replay).await?;
    let changing = all.changing(replay);
    let rows = std::mem::take(&mut all.rows);
    Ok(all.of(rows, changing, replay))
}

/// What stands in the lake.
pub(super) struct Recordings {
    version: i64,
    pub(super) rows: Vec<Row>,
    declared: Vec<(String, String)>,
    visible: Vec<(Arc<str>, f64)>,
    said: Said,
}

impl Recordings {
    /// The index over those rows that are `kept`.
    pub(super) fn index(&self, replay: &Replay, kept: impl Fn(&Row) -> bool) -> Index {
        let rows = self.rows.iter().filter(|row| kept(row)).cloned().collect();
        self.of(rows, self.changing(replay), replay)
    }

    /// What changes something: known from all rows.
    fn changing(&self, replay: &Replay) -> BTreeMap<String, bool> {
        changing(&self.rows, &self.declared, replay, &self.said)
    }

    fn of(&self, rows: Vec<Row>, changing: BTreeMap<String, bool>, replay: &Replay) -> Index {
        let mut index = Index::of(self.version, changing);
        index.has_catalog = !self.declared.is_empty();
        index.tools = tools(self.declared.clone(), &rows, &index);
        let lessons = fill(&mut index, rows);
        if replay.calibrated {
            index.world = World::fit(&seen(&lessons), self.visible.clone());
        }
        if replay.mend || replay.templates {
            let lessons: Vec<Lesson> = lessons.into_iter().map(|(lesson, _)| lesson).collect();
            index.mends = Mends::learn(&lessons);
        }
        index
    }
}

pub(super) async fn read_lake(folder: &Path, replay: &Replay) -> Result<Recordings, String> {
    let fail = |e: &dyn std::fmt::Display| e.to_string();
    let lake = Lake::open(folder).map_err(|e| fail(&e))?;
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
    let ask = async |sql: &str| {
        let sql = sql.replace("{where}", filter);
        let asked = engine.query_with(&sql, &parameters).await;
        asked.map(|(_, batches)| batches).map_err(|e| fail(&e))
    };
    let mut rows = Vec::new();
    for batch in &ask(RECORDED).await? {
        read(batch, &mut rows).map_err(|e| fail(&e))?;
    }
    if rows.is_empty() {
        return Err(format!(
            "the lake has no recorded answers of environment {:?} that fit; `fidelake sql \"SELECT environment, count(*) FROM runs GROUP BY 1\"` lists what there is",
            replay.environment
        ));
    }
    let declared = offered(&ask(TOOLS).await?).map_err(|e| fail(&e))?;
    let said = Said::read(folder).map_err(|e| fail(&e))?;
    let visible = match replay.calibrated {
        true => visible(&ask(VISIBLE).await?).map_err(|e| fail(&e))?,
        false => Vec::new(),
    };
    Ok(Recordings {
        version: engine.version().version,
        rows,
        declared,
        visible,
        said,
    })
}

/// Puts the calls into the index, each with its place; gives them back with the time
/// that they took.
fn fill(index: &mut Index, rows: Vec<Row>) -> Vec<(Lesson, Option<f64>)> {
    let mut lessons = Vec::new();
    let mut answers: HashMap<Key, Arc<Stored>> = HashMap::new();
    let (mut run, mut history) = (String::new(), Index::start());
    let mut writes: Vec<(Key, Vec<Leaf>)> = Vec::new();
    for row in rows {
        if run != row.run {
            (run, history) = (row.run.clone(), Index::start());
            writes.clear();
        }
        let before = history;
        let names = leaves(&row.arguments);
        let related = related(writes.iter().map(|(key, names)| (*key, &**names)), &names);
        let changes = index.changes(&row.name);
        if changes {
            history = Index::after(history, row.key);
            writes.push((row.key, names));
        }
        let Some(answer) = row.answer else { continue };
        // Many calls have one answer; it stands in memory once.
        let hash = Key::of(format!("{answer:?}").as_bytes());
        let answer = Arc::clone(answers.entry(hash).or_insert_with(|| Arc::new(answer)));
        let (name, arguments): (Arc<str>, Arc<str>) = (row.name.into(), row.arguments.into());
        lessons.push((
            Lesson {
                run: row.run.into(),
                name: Arc::clone(&name),
                arguments: Arc::clone(&arguments),
                key: row.key,
                history: before,
                changes,
                real: row.real,
                answer: Arc::clone(&answer),
            },
            row.latency_ms,
        ));
        index.add(Recorded {
            trajectory: row.trajectory.into(),
            name,
            key: row.key,
            arguments,
            history: before,
            related,
            rank: Rank {
                real: row.real,
                lasting: !answer.is_transient(),
                live: row.live,
                began: row.began,
            },
            answer,
        });
    }
    lessons
}

/// The real calls, each with whether a write came before it.
fn seen(lessons: &[(Lesson, Option<f64>)]) -> Vec<Seen> {
    let mut all = Vec::new();
    for run in lessons.chunk_by(|(a, _), (b, _)| a.run == b.run) {
        let mut written = false;
        for (lesson, latency_ms) in run.iter().filter(|(lesson, _)| lesson.real) {
            all.push(Seen {
                name: Arc::clone(&lesson.name),
                written,
                latency_ms: *latency_ms,
                answer: Arc::clone(&lesson.answer),
            });
            written |= lesson.changes;
        }
    }
    all
}

/// A call in the order of its run; `None`: what came back is no answer of the tool.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) run: String,
    pub(super) trajectory: String,
    pub(super) name: String,
    pub(super) arguments: String,
    key: Key,
    state_hash: Option<String>,
    pub(super) real: bool,
    live: bool,
    /// Start of the run, microseconds.
    began: i64,
    latency_ms: Option<f64>,
    pub(super) answer: Option<Stored>,
}

fn read(batch: &RecordBatch, rows: &mut Vec<Row>) -> EngineResult<()> {
    let columns = Columns(batch);
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
        "outcome",
        "arm",
        "origin",
    ];
    let texts = names
        .iter()
        .map(|name| columns.texts(name))
        .collect::<Result<Vec<_>, _>>()?;
    let numbers = ["is_error", "status", "rpc_code", "truncated", "started_at"]
        .iter()
        .map(|name| columns.integers(name))
        .collect::<Result<Vec<_>, _>>()?;
    let latency = columns.numbers("latency_ms")?;
    for row in 0..batch.num_rows() {
        let get = |column: usize| text(&texts[column], row);
        let int = |column: usize| integer(&numbers[column], row);
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
            outcome: get(14).unwrap_or_default(),
            value,
        });
        rows.push(Row {
            run: get(0).unwrap_or_default(),
            trajectory: get(1).unwrap_or_default(),
            name: get(2).unwrap_or_default(),
            arguments: get(3).or_else(|| get(4)).unwrap_or_else(|| "{}".to_owned()),
            key,
            state_hash: get(12),
            real: get(15).as_deref() == Some("real"),
            live: get(16).as_deref() == Some("live"),
            began: int(4).unwrap_or(i64::MIN),
            latency_ms: number(&latency, row),
            answer,
        });
    }
    Ok(())
}

/// What was itself replayed or generated would make a copy of a copy; a lost or late
/// answer is none.
fn no_answer(extra: &str) -> bool {
    Doc::parse(extra).is_ok_and(|doc| {
        let root = doc.root();
        root.get_some("fault").is_some()
            || root
                .get_str("origin")
                .is_some_and(|origin| origin.starts_with("replay") || origin == "generated")
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

/// A tool changes nothing if the description says so, or the lake's rules; else if
/// the state hash was the same after every one of its calls as before it, as far as it
/// was recorded; else if its declaration says so.
fn changing(
    rows: &[Row],
    declared: &[(String, String)],
    replay: &Replay,
    said: &Said,
) -> BTreeMap<String, bool> {
    let hints = declared
        .iter()
        .filter_map(|(name, declaration)| Some((name.clone(), hint(declaration)?)));
    let mut found: BTreeMap<String, bool> = hints.collect();
    let mut seen: BTreeMap<String, bool> = BTreeMap::new();
    for pair in rows.windows(2) {
        let [before, after] = pair else { continue };
        if before.run == after.run
            && let (Some(a), Some(b)) = (&before.state_hash, &after.state_hash)
        {
            *seen.entry(after.name.clone()).or_insert(false) |= a != b;
        }
    }
    found.extend(seen);
    for name in rows.iter().map(|row| &row.name) {
        if let Some(mutates) = said.declared.mutates(&replay.environment, name) {
            found.insert(name.clone(), mutates);
        }
    }
    for tool in &replay.reads {
        found.insert(tool.clone(), false);
    }
    found
}

/// What a declaration says of changing something.
fn hint(declaration: &str) -> Option<bool> {
    let doc = Doc::parse(declaration).ok()?;
    let root = doc.root();
    let own = ["mutates", "mutates_state"];
    let own = own
        .iter()
        .find_map(|key| root.get(key).and_then(|n| n.as_bool()));
    own.or_else(|| {
        let read_only = root.get("annotations")?.get("readOnlyHint")?.as_bool()?;
        Some(!read_only)
    })
}

/// Names and declarations of the catalog.
fn offered(batches: &[RecordBatch]) -> Result<Vec<(String, String)>, ArrowError> {
    let mut tools = Vec::new();
    for batch in batches {
        let names = cast(batch.column(0), &DataType::Utf8)?;
        let texts = cast(batch.column(1), &DataType::Utf8)?;
        for pair in names
            .as_string::<i32>()
            .iter()
            .zip(texts.as_string::<i32>())
        {
            if let (Some(name), Some(text)) = pair {
                tools.push((name.to_owned(), text.to_owned()));
            }
        }
    }
    Ok(tools)
}

fn visible(batches: &[RecordBatch]) -> Result<Vec<(Arc<str>, f64)>, ArrowError> {
    let mut found = Vec::new();
    for batch in batches {
        let names = cast(batch.column(0), &DataType::Utf8)?;
        let calls = cast(batch.column(1), &DataType::Float64)?;
        for pair in names
            .as_string::<i32>()
            .iter()
            .zip(calls.as_primitive::<Float64Type>())
        {
            if let (Some(name), Some(calls)) = pair {
                found.push((name.into(), calls));
            }
        }
    }
    Ok(found)
}

fn tools(declared: Vec<(String, String)>, rows: &[Row], index: &Index) -> Vec<Tool> {
    let tool = |name: String, declaration: String| Tool {
        mutates: index.changing.get(&name).copied(),
        name,
        declaration,
    };
    if !declared.is_empty() {
        let all = declared.into_iter();
        return all.map(|(name, text)| tool(name, text)).collect();
    }
    // No catalog was recorded: what was called is what there is.
    let names: std::collections::BTreeSet<&str> = rows.iter().map(|row| &*row.name).collect();
    let bare = |name: &str| {
        let mut declaration = String::from("{\"name\":");
        push_json_string(name, &mut declaration);
        tool(name.to_owned(), declaration + "}")
    };
    names.into_iter().map(bare).collect()
}
