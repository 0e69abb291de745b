//! Decisions as columns.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Builder, Int32Builder, ListArray, StringBuilder, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Fields};
use datafusion::common::Result;
use fidelake_core::gap::{Decision, GoldSource, Placed};

use super::item;
use crate::engine::functions::scalar::column;

const NUMBERS: [&str; 10] = [
    "signed",
    "sim",
    "real",
    "obs",
    "act",
    "rew",
    "all_calls",
    "flow",
    "pick_shift",
    "task",
];
const OF_CALL: [&str; 4] = ["pick_sim", "pick_real", "ground_sim", "ground_real"];

fn call_fields() -> Fields {
    let places = [
        Field::new("turn", DataType::Int32, true),
        Field::new("index", DataType::Int32, true),
        Field::new("name", DataType::Utf8, true),
    ];
    let numbers = OF_CALL.map(|name| Field::new(name, DataType::Float64, true));
    places.into_iter().chain(numbers).collect()
}

pub(crate) fn fields() -> Fields {
    let source = Field::new("source", DataType::Utf8, true);
    let numbers = NUMBERS.map(|name| Field::new(name, DataType::Float64, true));
    let calls = [
        Field::new("right_calls", DataType::Int32, true),
        Field::new(
            "calls",
            DataType::List(item(DataType::Struct(call_fields()))),
            true,
        ),
    ];
    std::iter::once(source)
        .chain(numbers)
        .chain(calls)
        .collect()
}

#[derive(Default)]
struct Calls {
    turns: Int32Builder,
    indexes: Int32Builder,
    names: StringBuilder,
    numbers: [Float64Builder; 4],
}

pub(super) struct Output {
    known: Vec<bool>,
    sources: StringBuilder,
    numbers: [Float64Builder; NUMBERS.len()],
    counts: Int32Builder,
    lengths: Vec<usize>,
    calls: Calls,
}

impl Output {
    pub(super) fn new(rows: usize) -> Self {
        Self {
            known: Vec::with_capacity(rows),
            sources: StringBuilder::new(),
            numbers: Default::default(),
            counts: Int32Builder::new(),
            lengths: Vec::with_capacity(rows),
            calls: Calls::default(),
        }
    }

    /// A trajectory of which nothing is known.
    pub(super) fn unknown(&mut self) {
        self.known.push(false);
        self.sources.append_null();
        self.numbers
            .iter_mut()
            .for_each(Float64Builder::append_null);
        self.counts.append_null();
        self.lengths.push(0);
    }

    pub(super) fn push(
        &mut self,
        source: GoldSource,
        decision: &Decision,
        placed: &[Placed<'_>],
        task: f64,
    ) {
        self.known.push(true);
        self.sources.append_value(source.name());
        let [obs, act, rew] = [0, 1, 2].map(|at| decision.split.map(|split| split[at]));
        let values = [
            decision.signed,
            decision.sim,
            decision.real,
            obs,
            act,
            rew,
            decision.all_calls,
            decision.flow,
            decision.pick_shift,
            Some(task),
        ];
        for (builder, value) in self.numbers.iter_mut().zip(values) {
            // A difference of equals may be -0.0, which would be printed so.
            builder.append_option(value.map(|value| value + 0.0));
        }
        let count = decision.signed.map(|_| placed.len());
        let count = count.map(|n| i32::try_from(n).unwrap_or(i32::MAX));
        self.counts.append_option(count);
        let mut length = 0;
        for (call, (right, place)) in decision.calls.iter().zip(placed) {
            let Some((turn, index)) = *place else {
                continue;
            };
            length += 1;
            self.calls.turns.append_value(turn);
            self.calls.indexes.append_value(index);
            self.calls.names.append_value(right.sim.0);
            let values = [call.pick[0], call.pick[1], call.ground[0], call.ground[1]];
            for (builder, value) in self.calls.numbers.iter_mut().zip(values) {
                builder.append_value(value);
            }
        }
        self.lengths.push(length);
    }

    pub(super) fn finish(mut self) -> Result<ArrayRef> {
        let calls = &mut self.calls;
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(calls.turns.finish()),
            Arc::new(calls.indexes.finish()),
            Arc::new(calls.names.finish()),
        ];
        let numbers = calls.numbers.iter_mut();
        columns.extend(numbers.map(|b| Arc::new(b.finish()) as ArrayRef));
        let calls: ArrayRef = Arc::new(StructArray::try_new(call_fields(), columns, None)?);
        let ends = OffsetBuffer::from_lengths(self.lengths);
        let list = ListArray::try_new(item(DataType::Struct(call_fields())), ends, calls, None)?;
        let mut columns: Vec<ArrayRef> = vec![Arc::new(self.sources.finish())];
        let numbers = self.numbers.iter_mut();
        columns.extend(numbers.map(|b| Arc::new(b.finish()) as ArrayRef));
        columns.extend([Arc::new(self.counts.finish()) as ArrayRef, Arc::new(list)]);
        column(StructArray::try_new(
            fields(),
            columns,
            Some(self.known.into()),
        )?)
    }
}
