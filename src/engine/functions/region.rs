//! Gaps of many calls: one ratio of sums, floored once, with an interval.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, Float64Array, Int64Array, StructArray};
use arrow::datatypes::{DataType, Field, Fields, Float64Type, Int64Type};
use datafusion::common::Result;
use fidelake_core::gap::Lending;
use fidelake_core::stats::{CallSums, RatioSums};

use super::aggregate::collecting;
use super::scalar::column;
use super::{Doc, Function};

const NUMBER: DataType = DataType::Float64;

pub(super) fn functions() -> Vec<Function> {
    vec![
        collecting(
            Doc {
                name: "gap_ratio",
                signature: "gap_ratio(weight double, raw double, reliability double) -> double",
                doc: "The gap of many calls, 0 to 1: sum(weight x raw) / sum(weight x reliability), floored once. Rows with a null or without weight are left out. Null without rows, and where the arms differ from themselves too much (mean reliability below 0.2).",
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
            |columns, ends| region(columns, None, ends),
        ),
        collecting(
            Doc {
                name: "gap_region_learned",
                signature: "gap_region_learned(trajectory_key bigint, weight double, raw double, reliability double, api varchar, noise_sim double, noise_real double) -> struct<gap, se, low, high, calls, trajectories>",
                doc: "As gap_region, for calls of which some borrow the noise of an arm from others: noise_sim and noise_real are the means of a call's own repeats (the *_noise_* columns of call_gaps). The gap is the same; the trajectories that lent to the region's borrowers carry the error of what they lent, so that the interval is wide enough.",
                example: "SELECT gap_region_learned(k, 1.0, 0.5, 1.0, 'a', NULL, NULL)['gap'] AS gap FROM (VALUES (1), (2)) AS t(k)",
                gives: "0.5",
            },
            vec![
                DataType::Int64,
                NUMBER,
                NUMBER,
                NUMBER,
                DataType::Utf8,
                NUMBER,
                NUMBER,
            ],
            DataType::Struct(fields()),
            |columns, ends| region(columns, Some(&columns[4..]), ends),
        ),
    ]
}

/// A row as (row, weight, raw, reliability), if it has weight and all are numbers.
fn rows(columns: &[ArrayRef]) -> impl Fn(usize) -> Option<(usize, f64, f64, f64)> + '_ {
    let [w, d, c] = [0, 1, 2].map(|at| columns[at].as_primitive::<Float64Type>());
    move |row| {
        let known = w.is_valid(row) && d.is_valid(row) && c.is_valid(row);
        let (w, d, c) = (w.value(row), d.value(row), c.value(row));
        // What weighs nothing is no evidence, and no trajectory either.
        (known && w > 0.0 && (w + d + c).is_finite()).then_some((row, w, d, c))
    }
}

fn ratio(columns: &[ArrayRef], ends: &[usize]) -> Result<ArrayRef> {
    let known = rows(columns);
    let gap = |group: &[usize]| {
        let mut sums = CallSums::default();
        for (_, weight, raw, reliability) in (group[0]..group[1]).filter_map(&known) {
            sums.add(weight, raw, reliability);
        }
        sums.delta().value()
    };
    column(ends.windows(2).map(gap).collect::<Float64Array>())
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

/// `noise`: API, own noise of sim and of real.
fn region(columns: &[ArrayRef], noise: Option<&[ArrayRef]>, ends: &[usize]) -> Result<ArrayRef> {
    let noise = noise.map(|noise| {
        let apis = noise[0].as_string::<i32>();
        let own = [1, 2].map(|arm| noise[arm].as_primitive::<Float64Type>());
        move |row: usize| {
            let own = own.map(|arm| arm.is_valid(row).then(|| arm.value(row)));
            (
                if apis.is_valid(row) {
                    apis.value(row)
                } else {
                    ""
                },
                own,
            )
        }
    });
    let keys = columns[0].as_primitive::<Int64Type>();
    let known = rows(&columns[1..]);
    let mut numbers: [Vec<Option<f64>>; 4] = Default::default();
    let mut counts: [Vec<i64>; 2] = Default::default();
    for group in ends.windows(2) {
        let mut clusters: HashMap<i64, CallSums> = HashMap::new();
        let mut lending = Lending::default();
        let mut calls = 0i64;
        for (row, weight, raw, reliability) in (group[0]..group[1]).filter_map(&known) {
            clusters
                .entry(keys.value(row))
                .or_default()
                .add(weight, raw, reliability);
            if let Some(noise) = &noise {
                let (api, own) = noise(row);
                lending.add(keys.value(row), api, weight, reliability, own);
            }
            calls += 1;
        }
        lending.charge(&mut clusters);
        let mut sums = RatioSums::default();
        for cluster in clusters.values() {
            sums.add(cluster);
        }
        let found = sums.estimate();
        let interval = found.interval(0.95);
        let values = [
            found.delta.value(),
            found.se,
            interval.map(|i| i.0),
            interval.map(|i| i.1),
        ];
        for (list, value) in numbers.iter_mut().zip(values) {
            list.push(value);
        }
        counts[0].push(calls);
        counts[1].push(i64::try_from(found.trajectories).unwrap_or(i64::MAX));
    }
    let numbers = numbers.map(|list| Arc::new(Float64Array::from(list)) as ArrayRef);
    let counts = counts.map(|list| Arc::new(Int64Array::from(list)) as ArrayRef);
    let columns = numbers.into_iter().chain(counts).collect();
    column(StructArray::try_new(fields(), columns, None)?)
}
