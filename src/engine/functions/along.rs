//! Sums along a trajectory, later turns weighing more.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, Float64Array, StructArray};
use arrow::datatypes::{DataType, Field, Fields, Float64Type, Int32Type};
use datafusion::common::Result;
use fidelake_core::gap::{Cause, Corrected, Noise, along};
use fidelake_core::stats::GAMMA;

use super::aggregate::collecting;
use super::scalar::{column, text, texts};
use super::{Doc, Function};

const TEXT: DataType = DataType::Utf8View;
const NUMBER: DataType = DataType::Float64;

pub(super) fn functions() -> Vec<Function> {
    vec![collecting(
        Doc {
            name: "gap_along",
            signature: "gap_along(turn int, cause text, distance double, raw double, reliability double) -> struct<delta, delta_root, delta_beh>",
            doc: "The gap along one trajectory, later turns weighing more (0.95 per turn): `delta` over all calls, `delta_root` without those that an earlier divergence explains, both 0 to 1; `delta_beh` is the unnormalised weighted sum of distances. Rows with a null are left out.",
            example: "SELECT gap_along(CAST(1 AS INT), 'structural', 0.5, 0.5, 1.0)['delta'] AS d",
            gives: "0.5",
        },
        vec![DataType::Int32, TEXT, NUMBER, NUMBER, NUMBER],
        DataType::Struct(along_fields()),
        gap_along,
    )]
}

fn along_fields() -> Fields {
    ["delta", "delta_root", "delta_beh"]
        .iter()
        .map(|name| Field::new(*name, NUMBER, true))
        .collect()
}

fn gap_along(columns: &[ArrayRef], ends: &[usize]) -> Result<ArrayRef> {
    let turns = columns[0].as_primitive::<Int32Type>();
    let cause = texts(&columns[1])?;
    let [distance, raw, reliability] =
        [2, 3, 4].map(|at| columns[at].as_primitive::<Float64Type>());
    let known =
        |row: &usize| raw.is_valid(*row) && reliability.is_valid(*row) && distance.is_valid(*row);
    let mut numbers: [Vec<Option<f64>>; 3] = Default::default();
    let mut rows: Vec<(i64, Cause, Corrected)> = Vec::new();
    for group in ends.windows(2) {
        rows.clear();
        rows.extend((group[0]..group[1]).filter(known).map(|row| {
            let cause = match text(&cause, row) {
                Some("state") => Cause::State,
                Some("flaky") => Cause::Flaky,
                Some("structural") => Cause::Structural,
                _ => Cause::None,
            };
            let call = Corrected {
                distance: distance.value(row),
                gap_raw: raw.value(row),
                reliability: reliability.value(row),
                noise_sim: None,
                noise_real: None,
                noise: Noise::Unknown,
            };
            (i64::from(turns.value(row)), cause, call)
        }));
        // The same sums whatever the order in which the rows came.
        rows.sort_by(|a, b| {
            let turns = a.0.cmp(&b.0);
            turns
                .then_with(|| a.2.gap_raw.total_cmp(&b.2.gap_raw))
                .then_with(|| a.2.reliability.total_cmp(&b.2.reliability))
                .then_with(|| a.1.name().cmp(b.1.name()))
                .then_with(|| a.2.distance.total_cmp(&b.2.distance))
        });
        let found = along(
            rows.iter().map(|(turn, cause, call)| (*turn, *cause, call)),
            GAMMA,
        );
        let values = [
            found.delta.value(),
            found.delta_root.value(),
            (!rows.is_empty()).then_some(found.delta_beh),
        ];
        for (list, value) in numbers.iter_mut().zip(values) {
            list.push(value);
        }
    }
    let numbers = numbers.map(|list| Arc::new(Float64Array::from(list)) as ArrayRef);
    column(StructArray::try_new(
        along_fields(),
        numbers.to_vec(),
        None,
    )?)
}
