//! The calls of the candidates: which tools in which order, with which outcomes, and
//! which call uses what an earlier one gave.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use arrow::array::{Int64Array, StringArray};
use arrow::record_batch::RecordBatch;
use datafusion::prelude::SessionContext;
use fidelake_core::choose::{FlowCall, flows};
use fidelake_core::json::key::Key;

use super::error::CurateResult;
use super::read::{Batches, ints, longs, quoted, stream_in, text, texts};
use super::select::Candidate;
use super::sorted::sorted;
use crate::engine::Engine;

/// Names by number, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Names {
    all: Vec<String>,
    places: HashMap<String, u32>,
}

impl Names {
    pub(super) fn place(&mut self, name: &str) -> u32 {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        let place = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.all.push(name.to_owned());
        self.places.insert(name.to_owned(), place);
        place
    }

    pub(super) fn name(&self, place: u32) -> &str {
        self.all.get(place as usize).map_or("", String::as_str)
    }
}

/// Calls of one run.
#[derive(Clone, Debug, Default)]
pub(super) struct Sequence {
    /// In order: the tool, and the hash of tool and arguments.
    pub(super) calls: Vec<(u32, u64)>,
    /// Outcomes of its calls, each once.
    pub(super) outcomes: Vec<u32>,
    /// Patterns that calls of its trajectory are members of, each once.
    pub(super) patterns: Vec<u32>,
}

/// Calls of all candidates, in their order.
#[derive(Debug, Default)]
pub(super) struct Sequences {
    pub(super) runs: Vec<Sequence>,
    pub(super) tools: Names,
    pub(super) outcomes: Names,
    pub(super) patterns: Names,
}

impl Sequences {
    /// Reads them.
    pub(super) async fn read(engine: &Engine, candidates: &[Candidate]) -> CurateResult<Self> {
        let context = listed(engine, candidates)?;
        let environments = environments(candidates);
        let mut found = Self {
            runs: vec![Sequence::default(); candidates.len()],
            ..Self::default()
        };
        // Where each call stands: rows come in any order.
        let mut order: Vec<Vec<(i32, i32)>> = vec![Vec::new(); candidates.len()];
        let sql = format!(
            "SELECT l.place, t.turn, t.\"index\", t.name, t.call_key FROM curation_choice AS l \
             JOIN calls AS t ON t.run_id = l.run_id \
             WHERE t.environment IN ({environments}) AND t.call_status <> 'orphan_result' AND t.name IS NOT NULL"
        );
        let mut batches = stream_in(&context, &sql).await?;
        while let Some(batch) = batches.next().await? {
            let (place, name) = (longs(&batch, "place")?, texts(&batch, "name")?);
            let (turn, index) = (ints(&batch, "turn")?, ints(&batch, "index")?);
            let key = texts(&batch, "call_key")?;
            for row in 0..batch.num_rows() {
                let Ok(at) = usize::try_from(place.value(row)) else {
                    continue;
                };
                let tool = found.tools.place(name.value(row));
                let key = Key::parse(key.value(row))
                    .unwrap_or_else(|| Key::of(key.value(row).as_bytes()));
                if let (Some(run), Some(order)) = (found.runs.get_mut(at), order.get_mut(at)) {
                    run.calls.push((tool, key.bits() as u64));
                    order.push((turn.value(row), index.value(row)));
                }
            }
        }
        for (run, order) in found.runs.iter_mut().zip(order) {
            let mut both: Vec<_> = order.into_iter().zip(run.calls.drain(..)).collect();
            both.sort_unstable();
            run.calls = both.into_iter().map(|(_, call)| call).collect();
        }
        let sql = format!(
            "SELECT DISTINCT l.place, t.outcome AS name FROM curation_choice AS l \
             JOIN observations AS t ON t.run_id = l.run_id WHERE t.environment IN ({environments}) \
             ORDER BY l.place, t.outcome"
        );
        for (at, outcome) in named(&context, &sql, &mut found.outcomes).await? {
            if let Some(run) = found.runs.get_mut(at) {
                run.outcomes.push(outcome);
            }
        }
        let sql = format!(
            "SELECT DISTINCT l.place, m.pattern_id AS name FROM curation_choice AS l \
             JOIN runs AS r ON r.run_id = l.run_id \
             JOIN pattern_members_now AS m ON m.environment = r.environment AND m.trajectory_id = r.trajectory_id \
             WHERE m.environment IN ({environments}) ORDER BY l.place, m.pattern_id"
        );
        for (at, pattern) in named(&context, &sql, &mut found.patterns).await? {
            if let Some(run) = found.runs.get_mut(at) {
                run.patterns.push(pattern);
            }
        }
        Ok(found)
    }

    /// Those of the candidates that a rule kept.
    pub(super) fn keep(&mut self, kept: &[bool]) {
        let mut at = 0;
        self.runs.retain(|_| {
            at += 1;
            kept.get(at - 1).copied().unwrap_or(false)
        });
    }
}

/// Rows of `place` and `name`: of which candidate, and the number of what it has.
async fn named(
    context: &SessionContext,
    sql: &str,
    names: &mut Names,
) -> CurateResult<Vec<(usize, u32)>> {
    let mut found = Vec::new();
    let mut batches = stream_in(context, sql).await?;
    while let Some(batch) = batches.next().await? {
        let (place, name) = (longs(&batch, "place")?, texts(&batch, "name")?);
        for row in 0..batch.num_rows() {
            let at = usize::try_from(place.value(row)).unwrap_or(usize::MAX);
            found.push((at, names.place(name.value(row))));
        }
    }
    Ok(found)
}

/// The edges of the tool graph that every candidate walks, each once: producer and consumer.
pub(super) async fn edges(
    engine: &Engine,
    candidates: &[Candidate],
    tools: &mut Names,
) -> CurateResult<Vec<Vec<(u32, u32)>>> {
    let context = listed(engine, candidates)?;
    let environments = environments(candidates);
    let ordered = |columns: &str, table: &str, order: &str| {
        format!(
            "SELECT l.place, {columns} FROM curation_choice AS l JOIN {table} AS t ON t.run_id = l.run_id \
             WHERE t.environment IN ({environments}) ORDER BY l.place{order}"
        )
    };
    let calls = ", t.turn, t.\"index\"";
    let made = ordered(
        "t.turn, t.\"index\", t.name AS one, coalesce(t.arguments, t.arguments_raw) AS two",
        "calls",
        calls,
    );
    let seen = ordered(
        "t.turn, t.\"index\", coalesce(t.structured, t.content) AS one, t.content AS two",
        "observations",
        calls,
    );
    let told = ordered(
        "0 AS turn, 0 AS \"index\", t.task AS one, t.task AS two",
        "runs",
        "",
    );
    let mut made = Cursor::new(stream_in(&context, &made).await?);
    let mut seen = Cursor::new(stream_in(&context, &seen).await?);
    let mut told = Cursor::new(stream_in(&context, &told).await?);
    let mut found = Vec::with_capacity(candidates.len());
    for place in 0..candidates.len() {
        let place = i64::try_from(place).unwrap_or(i64::MAX);
        let (made, seen) = (made.take(place).await?, seen.take(place).await?);
        let told = told.take(place).await?;
        let answers: HashMap<(i32, i32), &str> = seen
            .iter()
            .filter_map(|row| Some(((row.turn, row.index), row.one.as_deref()?)))
            .collect();
        let calls: Vec<FlowCall<'_>> = made
            .iter()
            .map(|row| FlowCall {
                name: row.one.as_deref().unwrap_or_default(),
                arguments: row.two.as_deref(),
                answer: answers.get(&(row.turn, row.index)).copied(),
            })
            .collect();
        let task = told
            .first()
            .and_then(|row| row.one.as_deref())
            .unwrap_or_default();
        let own: HashSet<(u32, u32)> = flows(task, &calls)
            .into_iter()
            .map(|flow| {
                (
                    tools.place(calls[flow.from].name),
                    tools.place(calls[flow.to].name),
                )
            })
            .collect();
        let mut own: Vec<(u32, u32)> = own.into_iter().collect();
        own.sort_unstable();
        found.push(own);
    }
    Ok(found)
}

/// A session in which the candidates are the table `curation_choice` (run_id, place).
pub(super) fn listed(engine: &Engine, candidates: &[Candidate]) -> CurateResult<SessionContext> {
    let place = |at: usize| i64::try_from(at).unwrap_or(i64::MAX);
    let list = RecordBatch::try_from_iter([
        (
            "run_id",
            Arc::new(StringArray::from_iter_values(
                candidates.iter().map(|run| &run.run_id),
            )) as _,
        ),
        (
            "place",
            Arc::new(Int64Array::from_iter_values(
                (0..candidates.len()).map(place),
            )) as _,
        ),
    ])?;
    sorted(engine, "curation_choice", list)
}

/// Their environments, for a condition.
pub(super) fn environments(candidates: &[Candidate]) -> String {
    let mut names: Vec<&str> = candidates.iter().map(|run| &*run.environment).collect();
    names.sort_unstable();
    names.dedup();
    let names: Vec<String> = names.into_iter().map(quoted).collect();
    if names.is_empty() {
        "NULL".to_owned()
    } else {
        names.join(", ")
    }
}

/// A row of an ordered stream.
struct Placed {
    place: i64,
    turn: i32,
    index: i32,
    one: Option<String>,
    two: Option<String>,
}

/// An ordered stream, one candidate at a time.
struct Cursor {
    batches: Batches,
    rows: VecDeque<Placed>,
    ended: bool,
}

impl Cursor {
    fn new(batches: Batches) -> Self {
        Self {
            batches,
            rows: VecDeque::new(),
            ended: false,
        }
    }

    /// The rows of a place, which must grow from call to call.
    async fn take(&mut self, place: i64) -> CurateResult<Vec<Placed>> {
        let mut taken = Vec::new();
        loop {
            while let Some(row) = self.rows.pop_front() {
                if row.place > place {
                    self.rows.push_front(row);
                    return Ok(taken);
                }
                if row.place == place {
                    taken.push(row);
                }
            }
            if self.ended {
                return Ok(taken);
            }
            match self.batches.next().await? {
                None => self.ended = true,
                Some(batch) => self.read(&batch)?,
            }
        }
    }

    fn read(&mut self, batch: &RecordBatch) -> CurateResult<()> {
        let place = longs(batch, "place")?;
        let (turn, index) = (ints(batch, "turn")?, ints(batch, "index")?);
        let (one, two) = (texts(batch, "one")?, texts(batch, "two")?);
        self.rows.extend((0..batch.num_rows()).map(|row| Placed {
            place: place.value(row),
            turn: turn.value(row),
            index: index.value(row),
            one: text(&one, row),
            two: text(&two, row),
        }));
        Ok(())
    }
}
