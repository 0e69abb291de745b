//! The second pass: conversations, in the order of the rows.
//!
//! The tables are sorted by trajectory, the shards by group. So each payload
//! table is joined to the short list (run, place) and sorted by place, which
//! the engine does on disk where it does not fit; then three ordered streams are
//! read side by side, one run at a time.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array as _, AsArray as _, Int32Array, Int64Array, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Int32Type};
use arrow::record_batch::RecordBatch;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::SessionContext;
use fidelake_core::json::{Doc, push_json_string};

use super::chat::{CallRow, MessageRow, ObservationRow, Parts};
use super::error::{CurateError, CurateResult};
use super::json::{Sanitised, push_value, separate};
use super::read::{Batches, ints, longs, quoted, stream_in, text, texts};
use super::weigh::Row;
use crate::engine::Engine;

/// Rows of a batch: each may hold a whole answer, and sorting holds many.
const BATCH_ROWS: usize = 512;

/// The payloads of all rows, in order.
pub(super) struct Payloads {
    runs: Ordered<(Option<String>, Option<String>)>,
    messages: Ordered<MessageRow>,
    calls: Ordered<CallRow>,
    observations: Ordered<ObservationRow>,
    tools: HashMap<String, Arc<str>>,
    none: Arc<str>,
}

impl Payloads {
    /// Begins to read. `sanitised` counts what was changed in tool schemas.
    pub(super) async fn open(
        engine: &Engine,
        rows: &[Row],
        sanitised: &mut Sanitised,
    ) -> CurateResult<Self> {
        let place = |at: usize| i64::try_from(at).unwrap_or(i64::MAX);
        let list = RecordBatch::try_from_iter([
            (
                "run_id",
                Arc::new(StringArray::from_iter_values(
                    rows.iter().map(|r| &r.run.run_id),
                )) as _,
            ),
            (
                "place",
                Arc::new(Int64Array::from_iter_values((0..rows.len()).map(place))) as _,
            ),
        ])?;
        let state = engine.context().state();
        // A new default catalog would hide the lake's tables.
        let config = state
            .config()
            .clone()
            .with_create_default_catalog_and_schema(false)
            .with_batch_size(BATCH_ROWS);
        let state = SessionStateBuilder::new_from_existing(state)
            .with_config(config)
            .build();
        let context = SessionContext::new_with_state(state);
        context
            .register_batch("curation_list", list)
            .map_err(|e| CurateError::run(&e))?;
        let mut environments: Vec<&str> = rows.iter().map(|r| &*r.run.environment).collect();
        environments.dedup();
        environments.sort_unstable();
        environments.dedup();
        let environments: Vec<String> = environments.into_iter().map(quoted).collect();
        let environments = environments.join(", ");
        let ordered = |columns: &str, table: &str, order: &str| {
            format!(
                "SELECT l.place, {columns} FROM curation_list AS l JOIN {table} AS t \
                 ON t.run_id = l.run_id WHERE t.environment IN ({environments}) \
                 ORDER BY l.place{order}"
            )
        };
        let calls = ", t.turn, t.\"index\"";
        let runs = ordered("t.task, t.catalog_hash", "runs", "");
        let messages = ordered(
            "t.role, t.content, t.content_kind, t.name, t.calls, t.result_turn, t.result_index",
            "messages",
            ", t.position",
        );
        let made = ordered(
            "t.turn, t.\"index\", t.call_id, t.name, t.requestor, t.arguments_raw, \
             t.arguments_status, t.call_status",
            "calls",
            calls,
        );
        let seen = ordered(
            "t.turn, t.\"index\", t.content, t.content_kind, t.structured_raw",
            "observations",
            calls,
        );
        Ok(Self {
            tools: tools(&context, sanitised).await?,
            runs: Ordered::new(stream_in(&context, &runs).await?, run_rows),
            messages: Ordered::new(stream_in(&context, &messages).await?, message_rows),
            calls: Ordered::new(stream_in(&context, &made).await?, call_rows),
            observations: Ordered::new(stream_in(&context, &seen).await?, observation_rows),
            none: "[]".into(),
        })
    }

    /// The payload of the row at `place`, which must grow from call to call.
    pub(super) async fn take(&mut self, place: usize) -> CurateResult<(Parts, Arc<str>)> {
        let place = i64::try_from(place).unwrap_or(i64::MAX);
        let run = self.runs.take(place).await?.pop();
        let (task, catalog) = run.unwrap_or_default();
        let parts = Parts {
            task,
            messages: self.messages.take(place).await?,
            calls: self.calls.take(place).await?,
            observations: self.observations.take(place).await?,
        };
        let tools = catalog.and_then(|hash| self.tools.get(&hash));
        Ok((parts, Arc::clone(tools.unwrap_or(&self.none))))
    }
}

/// Rows of one table, grouped by place.
struct Ordered<T> {
    batches: Batches,
    read: fn(&RecordBatch) -> CurateResult<Vec<T>>,
    /// Places and rows that were read and not taken.
    ahead: std::collections::VecDeque<(i64, T)>,
}

impl<T> Ordered<T> {
    fn new(batches: Batches, read: fn(&RecordBatch) -> CurateResult<Vec<T>>) -> Self {
        Self {
            batches,
            read,
            ahead: std::collections::VecDeque::new(),
        }
    }

    async fn take(&mut self, place: i64) -> CurateResult<Vec<T>> {
        let mut taken = Vec::new();
        loop {
            while let Some((at, row)) = self.ahead.pop_front() {
                if at == place {
                    taken.push(row);
                } else if at > place {
                    self.ahead.push_front((at, row));
                    return Ok(taken);
                }
            }
            let Some(batch) = self.batches.next().await? else {
                return Ok(taken);
            };
            let places = longs(&batch, "place")?;
            let rows = (self.read)(&batch)?;
            self.ahead.extend(places.values().iter().copied().zip(rows));
        }
    }
}

fn run_rows(batch: &RecordBatch) -> CurateResult<Vec<(Option<String>, Option<String>)>> {
    let (task, catalog) = (texts(batch, "task")?, texts(batch, "catalog_hash")?);
    Ok((0..batch.num_rows())
        .map(|row| (text(&task, row), text(&catalog, row)))
        .collect())
}

fn message_rows(batch: &RecordBatch) -> CurateResult<Vec<MessageRow>> {
    let (role, content) = (texts(batch, "role")?, texts(batch, "content")?);
    let (kind, name) = (texts(batch, "content_kind")?, texts(batch, "name")?);
    let (turn, index) = (ints(batch, "result_turn")?, ints(batch, "result_index")?);
    let calls = places(batch)?;
    let row = |(row, calls): (usize, Vec<(i32, i32)>)| MessageRow {
        role: role.value(row).to_owned(),
        content: text(&content, row),
        kind: kind.value(row).to_owned(),
        name: text(&name, row),
        calls,
        result: place(&turn, &index, row),
    };
    Ok(calls.into_iter().enumerate().map(row).collect())
}

fn place(turn: &Int32Array, index: &Int32Array, row: usize) -> Option<(i32, i32)> {
    (turn.is_valid(row) && index.is_valid(row)).then(|| (turn.value(row), index.value(row)))
}

/// The column `calls` of messages: (turn, index) pairs.
fn places(batch: &RecordBatch) -> CurateResult<Vec<Vec<(i32, i32)>>> {
    let int = |name: &str| Field::new(name, DataType::Int32, true);
    let pair = DataType::Struct(vec![int("turn"), int("index")].into());
    let kind = DataType::List(Arc::new(Field::new("element", pair, true)));
    let missing = || arrow::error::ArrowError::SchemaError("no column calls".into());
    let column = cast(batch.column_by_name("calls").ok_or_else(missing)?, &kind)?;
    let lists = column.as_list::<i32>();
    let one = |row: usize| {
        if lists.is_null(row) {
            return Vec::new();
        }
        let pairs = lists.value(row);
        let pairs = pairs.as_struct();
        let (turn, index) = (
            pairs.column(0).as_primitive::<Int32Type>(),
            pairs.column(1).as_primitive::<Int32Type>(),
        );
        (0..pairs.len())
            .filter_map(|at| place(turn, index, at))
            .collect()
    };
    Ok((0..lists.len()).map(one).collect())
}

fn call_rows(batch: &RecordBatch) -> CurateResult<Vec<CallRow>> {
    let (turn, index) = (ints(batch, "turn")?, ints(batch, "index")?);
    let (id, name) = (texts(batch, "call_id")?, texts(batch, "name")?);
    let (requestor, arguments) = (texts(batch, "requestor")?, texts(batch, "arguments_raw")?);
    let (status, call) = (
        texts(batch, "arguments_status")?,
        texts(batch, "call_status")?,
    );
    let row = |row: usize| CallRow {
        turn: turn.value(row),
        index: index.value(row),
        id: text(&id, row),
        name: text(&name, row),
        requestor: text(&requestor, row),
        arguments: text(&arguments, row),
        arguments_status: status.value(row).to_owned(),
        call_status: call.value(row).to_owned(),
    };
    Ok((0..batch.num_rows()).map(row).collect())
}

fn observation_rows(batch: &RecordBatch) -> CurateResult<Vec<ObservationRow>> {
    let (turn, index) = (ints(batch, "turn")?, ints(batch, "index")?);
    let (content, kind) = (texts(batch, "content")?, texts(batch, "content_kind")?);
    let structured = texts(batch, "structured_raw")?;
    let row = |row: usize| ObservationRow {
        turn: turn.value(row),
        index: index.value(row),
        content: text(&content, row),
        kind: kind.value(row).to_owned(),
        structured: text(&structured, row),
    };
    Ok((0..batch.num_rows()).map(row).collect())
}

/// The catalogs of the rows, each once, in the OpenAI form. They are held in
/// memory: a lake has many runs and few catalogs.
async fn tools(
    context: &SessionContext,
    sanitised: &mut Sanitised,
) -> CurateResult<HashMap<String, Arc<str>>> {
    let sql = "SELECT c.catalog_hash, c.name, c.description, c.parameters, c.parameters_under, c.tool \
               FROM catalogs AS c LEFT SEMI JOIN ( \
                   SELECT r.catalog_hash FROM runs AS r LEFT SEMI JOIN curation_list AS l \
                   ON l.run_id = r.run_id \
               ) AS wanted ON wanted.catalog_hash = c.catalog_hash \
               WHERE c.tool_index >= 0 AND c.name IS NOT NULL \
               ORDER BY c.catalog_hash, c.tool_index";
    let mut open: Option<(String, String)> = None;
    let mut done = HashMap::new();
    let mut close = |open: Option<(String, String)>| {
        if let Some((hash, mut list)) = open {
            list.push(']');
            done.insert(hash, Arc::from(list));
        }
    };
    let mut batches = stream_in(context, sql).await?;
    while let Some(batch) = batches.next().await? {
        let (hash, name) = (texts(&batch, "catalog_hash")?, texts(&batch, "name")?);
        let description = texts(&batch, "description")?;
        let (parameters, under) = (
            texts(&batch, "parameters")?,
            texts(&batch, "parameters_under")?,
        );
        let tool = texts(&batch, "tool")?;
        for row in 0..batch.num_rows() {
            if open
                .as_ref()
                .is_none_or(|(known, _)| known != hash.value(row))
            {
                close(open.replace((hash.value(row).to_owned(), "[".to_owned())));
            }
            let Some((_, list)) = &mut open else { continue };
            let mut first = list.len() == 1;
            separate(list, &mut first);
            let tool = Tool {
                name: name.value(row),
                description: text(&description, row),
                parameters: text(&parameters, row),
                under: text(&under, row),
                raw: text(&tool, row),
            };
            tool.push(list, sanitised);
        }
    }
    close(open);
    Ok(done)
}

struct Tool<'a> {
    name: &'a str,
    description: Option<String>,
    parameters: Option<String>,
    under: Option<String>,
    raw: Option<String>,
}

impl Tool<'_> {
    fn push(&self, out: &mut String, sanitised: &mut Sanitised) {
        out.push_str("{\"type\":\"function\",\"function\":{\"name\":");
        push_json_string(self.name, out);
        out.push_str(",\"description\":");
        push_json_string(self.description.as_deref().unwrap_or_default(), out);
        out.push_str(",\"parameters\":");
        if self.as_given(out, sanitised).is_none() {
            match self.parameters.as_deref().map(Doc::parse) {
                Some(Ok(doc)) => push_value(doc.root(), out, sanitised),
                _ => out.push_str("{\"type\":\"object\",\"properties\":{}}"),
            }
        }
        out.push_str("}}");
    }

    /// The schema in the order of its source, which the canonical form does not keep.
    fn as_given(&self, out: &mut String, sanitised: &mut Sanitised) -> Option<()> {
        let doc = Doc::parse(self.raw.as_deref()?).ok()?;
        let root = doc.root();
        let inner = root
            .get_some("function")
            .filter(|f| !f.is_empty())
            .unwrap_or(root);
        push_value(inner.get_some(self.under.as_deref()?)?, out, sanitised);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_keeps_the_order_of_its_schema() {
        let mut sanitised = Sanitised::default();
        let mut push = |tool: Tool<'_>| {
            let mut out = String::new();
            tool.push(&mut out, &mut sanitised);
            out
        };
        let tool = Tool {
            name: "f",
            description: Some("does \"it\"".into()),
            parameters: Some(r#"{"properties":{},"type":"object"}"#.into()),
            under: Some("inputSchema".into()),
            raw: Some(r#"{"name":"f","inputSchema":{"type":"object","properties":{"b":{"default":NaN}}}}"#.into()),
        };
        assert_eq!(
            push(tool),
            r#"{"type":"function","function":{"name":"f","description":"does \"it\"","parameters":{"type":"object","properties":{"b":{"default":null}}}}}"#
        );
        let bare = Tool {
            name: "g",
            description: None,
            parameters: None,
            under: None,
            raw: None,
        };
        assert!(push(bare).contains(r#""parameters":{"type":"object","properties":{}}"#));
        assert_eq!(sanitised.not_finite, 1);
    }
}
