//! The runs that stand for their arm.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, Int32Array, StructArray};
use arrow::datatypes::{DataType, Field, Fields, Int32Type};
use datafusion::common::Result;

use super::aggregate::collecting;
use super::scalar::{column, text, texts};
use super::{Doc, Function};

pub(super) fn functions() -> Vec<Function> {
    vec![collecting(
        Doc {
            name: "first_runs",
            signature: "first_runs(arm text, repeat int) -> struct<sim_0, sim_1, real_0, real_1>",
            doc: "The first two repeats of each arm of one trajectory: their differences are its first and its second independent measurement. Null where there is none.",
            example: "SELECT first_runs(a, r)['real_0'] AS first FROM (VALUES ('sim', CAST(0 AS INT)), ('real', CAST(5 AS INT)), ('real', CAST(3 AS INT))) AS t(a, r)",
            gives: "3",
        },
        vec![DataType::Utf8View, DataType::Int32],
        DataType::Struct(fields()),
        first_runs,
    )]
}

fn fields() -> Fields {
    ["sim_0", "sim_1", "real_0", "real_1"]
        .iter()
        .map(|name| Field::new(*name, DataType::Int32, true))
        .collect()
}

fn first_runs(columns: &[ArrayRef], ends: &[usize]) -> Result<ArrayRef> {
    let (arms, repeats) = (texts(&columns[0])?, columns[1].as_primitive::<Int32Type>());
    let mut found: [Vec<Option<i32>>; 4] = Default::default();
    for group in ends.windows(2) {
        let mut firsts = [None::<i32>; 4];
        for row in (group[0]..group[1]).filter(|&row| repeats.is_valid(row)) {
            let at = match text(&arms, row) {
                Some("sim") => 0,
                Some("real") => 2,
                _ => continue,
            };
            let repeat = repeats.value(row);
            if firsts[at].is_none_or(|first| repeat < first) {
                firsts[at + 1] = firsts[at];
                firsts[at] = Some(repeat);
            } else if firsts[at] != Some(repeat) && firsts[at + 1].is_none_or(|next| repeat < next)
            {
                firsts[at + 1] = Some(repeat);
            }
        }
        for (list, first) in found.iter_mut().zip(firsts) {
            list.push(first);
        }
    }
    let columns = found.map(|list| Arc::new(Int32Array::from(list)) as ArrayRef);
    column(StructArray::try_new(fields(), columns.to_vec(), None)?)
}
