//! Gaps of many calls: one ratio of sums, floored once, with an interval.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, Float64Array, Int64Array, StructArray};
use arrow::datatypes::{DataType, Field, Fields, Float64Type, Int64Type};
use datafusion::common::{Result, ScalarValue};
use fidelake_core::stats::{CallSums, RatioSums};

use super::aggregate::collecting;
use super::{Doc, Function};

const NUMBER: DataType = DataType::Float64;

pub(super) fn functions() -> Vec<Function> {
    vec![
        collecting(
            Doc {
                name: "gap_ratio",
                signature: "gap_ratio(weight double, raw double, reliability double) -> double",
                doc: "The gap of many calls, 0 to 1: sum(weight x raw) / sum(weight x reliability), floored once. Rows with a null are left out. Null without rows, and where the arms differ from themselves too much (mean reliability below 0.2).",
                example: "SELECT gap_ratio(1.0, x, 1.0) AS gap FROM (VALUES (0.5), (-0.25), (0.5)) AS t(x)",
                gives: "0.25",
            },
            vec![NUMBER; 3],
            NUMBER,
            ratio,
        ),
        collecting(
            Doc {
                name: "gap_region",
                signature: "gap_region(trajectory_key bigint, weight double, raw double, reliability double) -> struct<gap, se, low, high, calls, trajectories>",
                doc: "As gap_ratio, with a standard error clustered by trajectory and a 95 % interval (Student t); these are null for fewer than 5 trajectories.",
                example: "SELECT gap_region(k, 1.0, 0.5, 1.0)['trajectories'] AS n FROM (VALUES (1), (1), (2)) AS t(k)",
                gives: "2",
            },
            vec![DataType::Int64, NUMBER, NUMBER, NUMBER],
            DataType::Struct(fields()),
            region,
        ),
    ]
}

/// Rows without a null, as (row, weight, raw, reliability).
fn rows(columns: &[ArrayRef]) -> impl Iterator<Item = (usize, f64, f64, f64)> + '_ {
    let [w, d, c] = [0, 1, 2].map(|at| columns[at].as_primitive::<Float64Type>());
    let known = move |row: &usize| w.is_valid(*row) && d.is_valid(*row) && c.is_valid(*row);
    (0..w.len())
        .filter(known)
        .map(move |row| (row, w.value(row), d.value(row), c.value(row)))
}

fn ratio(columns: &[ArrayRef]) -> Result<ScalarValue> {
    let mut sums = CallSums::default();
    for (_, weight, raw, reliability) in rows(columns) {
        sums.add(weight, raw, reliability);
    }
    Ok(ScalarValue::Float64(sums.delta().value()))
}

fn fields() -> Fields {
    let number = |name: &str| Field::new(name, DataType::Float64, true);
    Fields::from(vec![
        number("gap"),
        number("se"),
        number("low"),
        number("high"),
        Field::new("calls", DataType::Int64, true),
        Field::new("trajectories", DataType::Int64, true),
    ])
}

fn region(columns: &[ArrayRef]) -> Result<ScalarValue> {
    let keys = columns[0].as_primitive::<Int64Type>();
    let mut clusters: HashMap<i64, CallSums> = HashMap::new();
    let mut calls = 0i64;
    for (row, weight, raw, reliability) in rows(&columns[1..]) {
        clusters
            .entry(keys.value(row))
            .or_default()
            .add(weight, raw, reliability);
        calls += 1;
    }
    let mut sums = RatioSums::default();
    for cluster in clusters.values() {
        sums.add(cluster);
    }
    let found = sums.estimate();
    let interval = found.interval(0.95);
    let number = |value: Option<f64>| Arc::new(Float64Array::from(vec![value])) as ArrayRef;
    let count = |value: i64| Arc::new(Int64Array::from(vec![value])) as ArrayRef;
    let columns = vec![
        number(found.delta.value()),
        number(found.se),
        number(interval.map(|i| i.0)),
        number(interval.map(|i| i.1)),
        count(calls),
        count(i64::try_from(found.trajectories).unwrap_or(i64::MAX)),
    ];
    Ok(ScalarValue::Struct(Arc::new(StructArray::try_new(
        fields(),
        columns,
        None,
    )?)))
}
