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
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::SessionContext;

use super::chat::{CallRow, MessageRow, ObservationRow, Parts};
use super::error::{CurateError, CurateResult};
use super::json::Sanitised;
use super::read::{Batches, ints, longs, quoted, stream_in, text, texts};
use super::tools::tools;
use super::weigh::Row;
use crate::engine::Engine;

/// Rows of a batch: each may hold a whole answer, and sorting holds many.
const BATCH_ROWS: usize = 512;

/// Memory for sorting; what does not fit goes to disk.
const SORT_BYTES: usize = 512 << 20;

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
            // Merging sorted partitions needs memory that cannot go to disk.
            .with_target_partitions(1)
            .with_batch_size(BATCH_ROWS);
        let runtime = RuntimeEnvBuilder::from_runtime_env(state.runtime_env())
            .with_memory_pool(Arc::new(FairSpillPool::new(SORT_BYTES)))
            .build_arc()
            .map_err(|e| CurateError::run(&e))?;
        let state = SessionStateBuilder::new_from_existing(state)
            .with_config(config)
            .with_runtime_env(runtime)
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
