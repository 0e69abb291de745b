//! Columns as calls.

use arrow::array::{
    Array as _, ArrayRef, AsArray as _, BooleanArray, Float64Array, Int32Array, Int64Array,
    StringViewArray,
};
use arrow::datatypes::{Float64Type, Int32Type, Int64Type};
use datafusion::common::{Result, exec_err};
use fidelake_core::gap::{Firsts, RunCall, StateAfter};
use fidelake_core::json::key::Key;
use fidelake_core::model::Arm;

use crate::engine::functions::answers::stored;
use crate::engine::functions::scalar::{text, texts};

/// The arguments of `compare_runs`, in their order.
pub(super) struct Input {
    environment: StringViewArray,
    trajectory: Int64Array,
    arm: StringViewArray,
    /// repeat, turn, index.
    place: [Int32Array; 3],
    name: StringViewArray,
    key: StringViewArray,
    arguments: StringViewArray,
    structured: StringViewArray,
    content: StringViewArray,
    rule: StringViewArray,
    truncated: BooleanArray,
    outcome: StringViewArray,
    state: StringViewArray,
    state_hash: StringViewArray,
    latency: Float64Array,
    firsts: [Int32Array; 4],
}

impl Input {
    pub(super) fn new(columns: &[ArrayRef]) -> Result<Self> {
        let int = |at: usize| columns[at].as_primitive::<Int32Type>().clone();
        let arms = texts(&columns[2])?;
        if let Some(other) = arms.iter().flatten().find(|arm| Arm::parse(arm).is_none()) {
            return exec_err!("compare_runs: there is no arm {other:?}; there are sim and real");
        }
        Ok(Self {
            environment: texts(&columns[0])?,
            trajectory: columns[1].as_primitive::<Int64Type>().clone(),
            arm: arms,
            place: [3, 4, 5].map(int),
            name: texts(&columns[6])?,
            key: texts(&columns[7])?,
            arguments: texts(&columns[8])?,
            structured: texts(&columns[9])?,
            content: texts(&columns[10])?,
            rule: texts(&columns[11])?,
            truncated: columns[12].as_boolean().clone(),
            outcome: texts(&columns[13])?,
            state: texts(&columns[14])?,
            state_hash: texts(&columns[15])?,
            latency: columns[16].as_primitive::<Float64Type>().clone(),
            firsts: [17, 18, 19, 20].map(int),
        })
    }

    /// The trajectory of a row; there may be no row.
    pub(super) fn trajectory(&self, row: usize) -> i64 {
        let known = row < self.trajectory.len() && self.trajectory.is_valid(row);
        if known { self.trajectory.value(row) } else { 0 }
    }

    pub(super) fn environment(&self, row: usize) -> &str {
        let known = row < self.environment.len();
        known
            .then(|| text(&self.environment, row))
            .flatten()
            .unwrap_or_default()
    }

    pub(super) fn firsts(&self, row: usize) -> Firsts {
        let number = |at: usize| {
            let column = &self.firsts[at];
            (row < column.len() && column.is_valid(row)).then(|| column.value(row))
        };
        Firsts {
            sim: [number(0), number(1)],
            real: [number(2), number(3)],
        }
    }

    /// A row as a call; `None` where it has no arm or no place.
    pub(super) fn call(&self, row: usize) -> Option<RunCall<'_>> {
        let number = |column: &Int32Array| column.is_valid(row).then(|| column.value(row));
        let [repeat, turn, index] = &self.place;
        Some(RunCall {
            arm: Arm::parse(text(&self.arm, row)?)?,
            repeat: number(repeat)?,
            turn: number(turn)?,
            index: number(index)?,
            name: text(&self.name, row).unwrap_or_default(),
            key: text(&self.key, row)
                .and_then(Key::parse)
                .map_or(0, Key::bits),
            arguments: text(&self.arguments, row).unwrap_or_default(),
            answer: stored(
                text(&self.structured, row),
                text(&self.content, row),
                text(&self.rule, row),
                self.truncated.is_valid(row) && self.truncated.value(row),
            ),
            outcome: text(&self.outcome, row),
            state: StateAfter {
                value: text(&self.state, row),
                hash: text(&self.state_hash, row),
            },
            latency_ms: self.latency.is_valid(row).then(|| self.latency.value(row)),
        })
    }
}
