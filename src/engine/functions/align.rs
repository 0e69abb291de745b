//! Which call of one run is which call of another.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, Int32Array, StringArray, StructArray};
use arrow::datatypes::{DataType, Field, Fields, Int32Type};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{Result, ScalarValue};
use fidelake_core::gap::{CallRef, align};
use fidelake_core::json::key::Key;

use super::aggregate::collecting;
use super::scalar::{text, texts};
use super::{Doc, Function};

const INT: DataType = DataType::Int32;
const TEXT: DataType = DataType::Utf8View;

pub(super) fn functions() -> Vec<Function> {
    vec![collecting(
        Doc {
            name: "align_calls",
            signature: "align_calls(arm text, repeat int, turn int, index int, name text, call_key text) -> list<struct<arm, repeat, turn, index, slot>>",
            doc: "Gives every call of all runs of one trajectory a slot, so that the same call has the same slot in every run: by turn and index where the names agree, else by call key, then by name, in order. Slots count from 0.",
            example: "SELECT align_calls(a, z, z, z, n, k)[1]['slot'] AS slot FROM (VALUES ('sim', CAST(0 AS INT), 'f', 'x')) AS v(a, z, n, k)",
            gives: "0",
        },
        vec![TEXT, INT, INT, INT, TEXT, TEXT],
        DataType::List(Arc::new(Field::new_list_field(
            DataType::Struct(fields()),
            true,
        ))),
        compute,
    )]
}

fn fields() -> Fields {
    Fields::from(vec![
        Field::new("arm", DataType::Utf8, true),
        Field::new("repeat", INT, true),
        Field::new("turn", INT, true),
        Field::new("index", INT, true),
        Field::new("slot", INT, true),
    ])
}

fn compute(columns: &[ArrayRef]) -> Result<ScalarValue> {
    let (arms, names, keys) = (
        texts(&columns[0])?,
        texts(&columns[4])?,
        texts(&columns[5])?,
    );
    let [repeats, turns, indexes] = [1, 2, 3].map(|at| columns[at].as_primitive::<Int32Type>());
    // Runs in a fixed order: sim before real, by repeat.
    let mut runs: BTreeMap<(bool, &str, i32), Vec<usize>> = BTreeMap::new();
    for row in 0..arms.len() {
        let arm = text(&arms, row).unwrap_or_default();
        runs.entry((arm != "sim", arm, repeats.value(row)))
            .or_default()
            .push(row);
    }
    let call = |row: usize| CallRef {
        turn: turns.value(row),
        index: indexes.value(row),
        name: text(&names, row).unwrap_or_default(),
        key: text(&keys, row).and_then(Key::parse).map_or(0, Key::bits),
    };
    // The calls seen so far, each by its first row, in order.
    let mut slots: Vec<usize> = Vec::new();
    // For every row the row that stands for its slot.
    let mut stands_for = vec![0usize; arms.len()];
    for rows in runs.values_mut() {
        rows.sort_by_key(|&row| (turns.value(row), indexes.value(row)));
        let known: Vec<CallRef<'_>> = slots.iter().map(|&row| call(row)).collect();
        let found: Vec<CallRef<'_>> = rows.iter().map(|&row| call(row)).collect();
        let mut merged = Vec::with_capacity(slots.len() + rows.len());
        for (left, right) in align(&known, &found) {
            let slot = left.map_or_else(|| right.map_or(0, |r| rows[r]), |l| slots[l]);
            merged.push(slot);
            if let Some(right) = right {
                stands_for[rows[right]] = slot;
            }
        }
        slots = merged;
    }
    let mut place = vec![0i32; arms.len()];
    for (at, &row) in slots.iter().enumerate() {
        place[row] = i32::try_from(at).unwrap_or(i32::MAX);
    }
    let order: Vec<usize> = runs.into_values().flatten().collect();
    let ints = |pick: &dyn Fn(usize) -> i32| -> ArrayRef {
        Arc::new(Int32Array::from_iter_values(
            order.iter().map(|&row| pick(row)),
        ))
    };
    let columns: Vec<ArrayRef> = vec![
        Arc::new(
            order
                .iter()
                .map(|&row| text(&arms, row))
                .collect::<StringArray>(),
        ),
        ints(&|row| repeats.value(row)),
        ints(&|row| turns.value(row)),
        ints(&|row| indexes.value(row)),
        ints(&|row| place[stands_for[row]]),
    ];
    let rows = StructArray::try_new(fields(), columns, None)?;
    Ok(SingleRowListArrayBuilder::new(Arc::new(rows)).build_list_scalar())
}
