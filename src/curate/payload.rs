//! The second pass: conversations, in the order of the rows.
//!
//! The tables are sorted by trajectory, the shards by group. So each payload
//! table is joined to the short list (run, place) and sorted by place, which
//! the engine does on disk where it does not fit; then three ordered streams are
//! read side by side, one run at a time.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, Int32Array, Int64Array, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Int32Type};
use arrow::record_batch::RecordBatch;
use fidelake_core::mask::Mode;

use super::calls::{CallGap, PARTS};
use super::chat::{CallRow, MessageRow, ObservationRow, Parts};
use super::error::CurateResult;
use super::privacy::mask_json;
use super::read::{Batches, float, floats, ints, longs, quoted, stream_in, text, texts};
use super::sorted::sorted;
use super::tools::tools;
use super::weigh::Row;
use super::write::Totals;
use crate::engine::Engine;

const CALL_GAPS: &str = include_str!("../../queries/curate/call_gaps.sql");

/// A row as the lake has it.
pub(super) struct Raw {
    pub(super) place: usize,
    pub(super) parts: Parts,
    pub(super) tools: Arc<str>,
    /// The calls said to be right, as JSON.
    pub(super) gold: Option<String>,
    pub(super) gaps: Vec<CallGap>,
}

impl Raw {
    /// Bytes of its texts, roughly.
    pub(super) fn size(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let parts = &self.parts;
        let messages: usize = parts.messages.iter().map(|m| text(&m.content)).sum();
        let calls: usize = parts.calls.iter().map(|c| text(&c.arguments)).sum();
        let answers = parts.observations.iter();
        let answers: usize = answers
            .map(|o| text(&o.content) + text(&o.structured))
            .sum();
        messages + calls + answers + text(&parts.task) + text(&self.gold)
    }
}

/// What a run has beside its calls.
#[derive(Default)]
struct RunRow {
    task: Option<String>,
    catalog: Option<String>,
    gold: Option<String>,
}

/// Rows whose payloads are joined at once: what is held of the list, and of the joins with it,
/// does not grow with the number of rows.
const WINDOW: usize = 1 << 17;

/// The payloads of the rows from a given one on, in order.
pub(super) struct Payloads {
    engine: Engine,
    rows: Arc<Vec<Row>>,
    window: Window,
    /// The first row behind the window.
    end: usize,
    tools: HashMap<String, Arc<str>>,
    none: Arc<str>,
}

/// The payloads of some rows in a row.
struct Window {
    runs: Ordered<RunRow>,
    messages: Ordered<MessageRow>,
    calls: Ordered<CallRow>,
    observations: Ordered<ObservationRow>,
    /// Answers of the real arm, of repaired rows.
    repairs: Ordered<ObservationRow>,
    gaps: Ordered<CallGap>,
}

impl Payloads {
    /// Begins to read at row `from`. `totals` counts what was changed in the tool
    /// schemas of all rows.
    pub(super) async fn open(
        engine: &Engine,
        rows: &Arc<Vec<Row>>,
        from: usize,
        mask: Mode,
        totals: &mut Totals,
    ) -> CurateResult<Self> {
        let wanted = catalogs(engine, rows).await?;
        let mut tools = tools(engine, &wanted, &mut totals.chats.sanitised).await?;
        for list in tools.values_mut() {
            if let Some(masked) = mask_json(list, mask, &mut totals.masked) {
                *list = masked.into();
            }
        }
        let end = rows.len().min(from + WINDOW);
        Ok(Self {
            window: Window::open(engine, rows, from..end).await?,
            engine: engine.clone(),
            rows: Arc::clone(rows),
            end,
            tools,
            none: "[]".into(),
        })
    }

    /// The payload of the row at `place`, which must grow from call to call.
    pub(super) async fn take(&mut self, place: usize) -> CurateResult<Raw> {
        if place >= self.end {
            self.end = self.rows.len().min(place + WINDOW);
            self.window = Window::open(&self.engine, &self.rows, place..self.end).await?;
        }
        let window = &mut self.window;
        let at = i64::try_from(place).unwrap_or(i64::MAX);
        let run = window.runs.take(at).await?.pop().unwrap_or_default();
        let mut parts = Parts {
            task: run.task,
            messages: window.messages.take(at).await?,
            calls: window.calls.take(at).await?,
            observations: window.observations.take(at).await?,
            repaired: false,
        };
        let real = window.repairs.take(at).await?;
        let mut gaps = window.gaps.take(at).await?;
        if !real.is_empty() {
            // These answers are the real world's: they have no gap.
            parts.observations = real;
            parts.repaired = true;
            gaps.clear();
        }
        let tools = run.catalog.and_then(|hash| self.tools.get(&hash));
        Ok(Raw {
            place,
            parts,
            tools: Arc::clone(tools.unwrap_or(&self.none)),
            gold: run.gold,
            gaps,
        })
    }
}

/// The list of some rows: who they are, and their places among all.
fn list(rows: &[Row], at: Range<usize>) -> CurateResult<RecordBatch> {
    let place = |at: usize| i64::try_from(at).unwrap_or(i64::MAX);
    let own = rows.get(at.clone()).unwrap_or_default();
    let text_of = |value: fn(&Row) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(own.iter().map(value)))
    };
    let real = own
        .iter()
        .map(|r| r.run.repair.as_ref().map(|r| &r.real_run));
    Ok(RecordBatch::try_from_iter_with_nullable([
        ("run_id", text_of(|r| &r.run.run_id), false),
        ("environment", text_of(|r| &r.run.environment), false),
        ("trajectory_id", text_of(|r| &r.run.trajectory_id), false),
        (
            "real_run",
            Arc::new(real.collect::<StringArray>()) as ArrayRef,
            true,
        ),
        (
            "place",
            Arc::new(Int64Array::from_iter_values(at.map(place))) as ArrayRef,
            false,
        ),
    ])?)
}

/// Windows over so many rows.
fn windows(rows: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows)
        .step_by(WINDOW)
        .map(move |from| from..rows.min(from + WINDOW))
}

/// The catalogs that were offered in any of the rows.
async fn catalogs(engine: &Engine, rows: &[Row]) -> CurateResult<BTreeSet<String>> {
    const SQL: &str = "SELECT DISTINCT r.catalog_hash FROM curation_list AS l JOIN runs AS r \
                       ON r.run_id = l.run_id WHERE r.catalog_hash IS NOT NULL";
    let mut found = BTreeSet::new();
    for at in windows(rows.len()) {
        let context = sorted(engine, "curation_list", list(rows, at)?)?;
        let mut batches = stream_in(&context, SQL).await?;
        while let Some(batch) = batches.next().await? {
            let hashes = texts(&batch, "catalog_hash")?;
            found.extend(hashes.iter().flatten().map(str::to_owned));
        }
    }
    Ok(found)
}

impl Window {
    async fn open(engine: &Engine, rows: &[Row], at: Range<usize>) -> CurateResult<Self> {
        let own = rows.get(at.clone()).unwrap_or_default();
        let mut environments: Vec<&str> = own.iter().map(|r| &*r.run.environment).collect();
        environments.dedup();
        environments.sort_unstable();
        environments.dedup();
        let environments: Vec<String> = environments.into_iter().map(quoted).collect();
        let environments = match environments.is_empty() {
            // No row, no environment: nothing is equal to null.
            true => "NULL".to_owned(),
            false => environments.join(", "),
        };
        let context = sorted(engine, "curation_list", list(rows, at)?)?;
        let ordered = |columns: &str, table: &str, run: &str, order: &str| {
            format!(
                "SELECT l.place, {columns} FROM curation_list AS l JOIN {table} AS t \
                 ON t.run_id = l.{run} WHERE t.environment IN ({environments}) \
                 ORDER BY l.place{order}"
            )
        };
        let calls = ", t.turn, t.\"index\"";
        let runs = ordered("t.task, t.catalog_hash, t.gold", "runs", "run_id", "");
        let messages = ordered(
            "t.role, t.content, t.content_kind, t.name, t.calls, t.result_turn, t.result_index",
            "messages",
            "run_id",
            ", t.position",
        );
        let made = ordered(
            "t.turn, t.\"index\", t.call_id, t.name, t.requestor, t.arguments_raw, \
             t.arguments_status, t.call_status",
            "calls",
            "run_id",
            calls,
        );
        let answers = "t.turn, t.\"index\", t.content, t.content_kind, t.structured_raw";
        let seen = ordered(answers, "observations", "run_id", calls);
        let repairs = ordered(answers, "observations", "real_run", calls);
        let gaps = CALL_GAPS.replace("$environments", &environments);
        Ok(Self {
            runs: Ordered::new(stream_in(&context, &runs).await?, run_rows),
            messages: Ordered::new(stream_in(&context, &messages).await?, message_rows),
            calls: Ordered::new(stream_in(&context, &made).await?, call_rows),
            observations: Ordered::new(stream_in(&context, &seen).await?, observation_rows),
            repairs: Ordered::new(stream_in(&context, &repairs).await?, observation_rows),
            gaps: Ordered::new(stream_in(&context, &gaps).await?, gap_rows),
        })
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

fn run_rows(batch: &RecordBatch) -> CurateResult<Vec<RunRow>> {
    let (task, catalog) = (texts(batch, "task")?, texts(batch, "catalog_hash")?);
    let gold = texts(batch, "gold")?;
    let row = |row| RunRow {
        task: text(&task, row),
        catalog: text(&catalog, row),
        gold: text(&gold, row),
    };
    Ok((0..batch.num_rows()).map(row).collect())
}

fn gap_rows(batch: &RecordBatch) -> CurateResult<Vec<CallGap>> {
    let (turn, index) = (ints(batch, "turn")?, ints(batch, "index")?);
    let cause = texts(batch, "cause")?;
    let mut parts = Vec::with_capacity(PARTS.len());
    for part in PARTS {
        parts.push((
            floats(batch, &format!("{part}_raw"))?,
            floats(batch, &format!("{part}_reliability"))?,
        ));
    }
    let row = |row: usize| {
        let mut gap = CallGap {
            place: (turn.value(row), index.value(row)),
            explained: cause.value(row) == "state",
            ..CallGap::default()
        };
        for (part, (raw, reliability)) in gap.parts.iter_mut().zip(&parts) {
            *part = (float(raw, row), float(reliability, row));
        }
        gap
    };
    Ok((0..batch.num_rows()).map(row).collect())
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
