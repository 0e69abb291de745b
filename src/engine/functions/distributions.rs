//! Two samples against each other: outcomes, latencies, distances of runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, AsArray as _, Float64Array, StringViewArray, StructArray,
};
use arrow::datatypes::{DataType, Field, Fields, Float64Type};
use datafusion::common::{Result, exec_err};
use fidelake_core::gap::energy_gap;
use fidelake_core::stats::{MIN_PER_ARM, js_divergence, wasserstein1};

use super::aggregate::collecting;
use super::noise::pairs_of;
use super::scalar::{column, text, texts};
use super::{Doc, Function};

const TEXT: DataType = DataType::Utf8View;
const NUMBER: DataType = DataType::Float64;

pub(super) fn functions() -> Vec<Function> {
    vec![
        collecting(
            Doc {
                name: "js_divergence",
                signature: "js_divergence(arm text, category text) -> double",
                doc: "How far apart the arms' distributions of a category are: Jensen-Shannon divergence, base 2, 0 to 1. Null below 20 values per arm, where it would read high on identical worlds.",
                example: "SELECT js_divergence(arm, outcome) AS d FROM (SELECT CASE WHEN n % 2 = 0 THEN 'sim' ELSE 'real' END AS arm, CASE WHEN n % 2 = 0 THEN 'ok' ELSE 'timeout' END AS outcome FROM (SELECT unnest(generate_series(1, 40)) AS n))",
                gives: "1.0",
            },
            vec![TEXT, TEXT],
            NUMBER,
            jensen_shannon,
        ),
        collecting(
            Doc {
                name: "wasserstein",
                signature: "wasserstein(arm text, value double) -> double",
                doc: "How far apart the arms' distributions of a number are, in its own unit: Wasserstein-1, the mean shift needed to turn one into the other. Null below 20 finite values per arm.",
                example: "SELECT wasserstein(arm, x) AS d FROM (SELECT CASE WHEN n % 2 = 0 THEN 'sim' ELSE 'real' END AS arm, CASE WHEN n % 2 = 0 THEN 1.0 ELSE 3.5 END AS x FROM (SELECT unnest(generate_series(1, 40)) AS n))",
                gives: "2.5",
            },
            vec![TEXT, NUMBER],
            NUMBER,
            wasserstein,
        ),
        collecting(
            Doc {
                name: "energy_gap",
                signature: "energy_gap(pair text, distance double) -> struct<gap, raw, reliability, noise>",
                doc: "The gap of two worlds from distances of pairs of runs (`sr` between the arms, `ss` and `rr` within them), in the energy form: raw = sr - (ss + rr) / 2, reliability = 1 - (ss + rr) / 2, gap = raw / reliability, 0 to 1. The gap is null where the arms differ from themselves too much (reliability below 0.2).",
                example: "SELECT energy_gap(p, d)['gap'] AS gap FROM (VALUES ('sr', 0.75), ('ss', 0.5), ('rr', 0.5)) AS t(p, d)",
                gives: "0.5",
            },
            vec![TEXT, NUMBER],
            DataType::Struct(fields()),
            energy,
        ),
    ]
}

/// The arm of a row: 0 sim, 1 real.
fn arm(arms: &StringViewArray, row: usize, function: &str) -> Result<Option<usize>> {
    match text(arms, row) {
        None => Ok(None),
        Some("sim") => Ok(Some(0)),
        Some("real") => Ok(Some(1)),
        Some(other) => exec_err!("{function}: no arm is called {other}; there are sim and real"),
    }
}

fn jensen_shannon(columns: &[ArrayRef], ends: &[usize]) -> Result<ArrayRef> {
    let (arms, categories) = (texts(&columns[0])?, texts(&columns[1])?);
    let mut out = Vec::with_capacity(ends.len());
    for group in ends.windows(2) {
        let mut counts: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
        for row in group[0]..group[1] {
            let Some(arm) = arm(&arms, row, "js_divergence")? else {
                continue;
            };
            if let Some(category) = text(&categories, row) {
                counts.entry(category).or_default()[arm] += 1;
            }
        }
        let of = |arm: usize| counts.values().map(|c| c[arm]).collect::<Vec<u64>>();
        let (sim, real) = (of(0), of(1));
        let enough = |counts: &[u64]| counts.iter().sum::<u64>() >= MIN_PER_ARM as u64;
        let known = enough(&sim) && enough(&real);
        out.push(known.then(|| js_divergence(&sim, &real)).flatten());
    }
    column(Float64Array::from(out))
}

fn wasserstein(columns: &[ArrayRef], ends: &[usize]) -> Result<ArrayRef> {
    let (arms, values) = (
        texts(&columns[0])?,
        columns[1].as_primitive::<Float64Type>(),
    );
    let mut out = Vec::with_capacity(ends.len());
    for group in ends.windows(2) {
        let mut of: [Vec<f64>; 2] = Default::default();
        for row in group[0]..group[1] {
            let known = values.is_valid(row) && values.value(row).is_finite();
            if let Some(arm) = arm(&arms, row, "wasserstein")?.filter(|_| known) {
                of[arm].push(values.value(row));
            }
        }
        let [sim, real] = &mut of;
        let known = sim.len() >= MIN_PER_ARM && real.len() >= MIN_PER_ARM;
        out.push(known.then(|| wasserstein1(sim, real)).flatten());
    }
    column(Float64Array::from(out))
}

fn fields() -> Fields {
    let number = |name: &str| Field::new(name, NUMBER, true);
    Fields::from(vec![
        number("gap"),
        number("raw"),
        number("reliability"),
        Field::new("noise", DataType::Utf8, true),
    ])
}

fn energy(columns: &[ArrayRef], ends: &[usize]) -> Result<ArrayRef> {
    let mut numbers: [Vec<Option<f64>>; 3] = Default::default();
    let mut labels = Vec::with_capacity(ends.len());
    for pairs in pairs_of("energy_gap", columns, ends)? {
        let [between, sim, real] = &pairs;
        let found = energy_gap(between, sim, real);
        let corrected = found.map(|found| found.corrected);
        let values = [
            found.and_then(|found| found.gap.value()),
            corrected.map(|f| f.gap_raw),
            corrected.map(|f| f.reliability),
        ];
        for (list, value) in numbers.iter_mut().zip(values) {
            list.push(value);
        }
        labels.push(corrected.map(|f| f.noise.name()));
    }
    let numbers = numbers.map(|list| Arc::new(Float64Array::from(list)) as ArrayRef);
    let labels: ArrayRef = Arc::new(arrow::array::StringArray::from(labels));
    let columns = numbers.into_iter().chain([labels]).collect();
    column(StructArray::try_new(fields(), columns, None)?)
}
