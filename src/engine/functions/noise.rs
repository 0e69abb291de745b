//! The correction of distances for the arms' own noise.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, Float64Array, StringArray, StructArray};
use arrow::datatypes::{DataType, Field, Fields, Float64Type};
use datafusion::common::{Result, exec_err};
use fidelake_core::gap::correct_pairs;

use super::aggregate::collecting;
use super::scalar::{column, text, texts};
use super::{Doc, Function};

pub(super) fn functions() -> Vec<Function> {
    vec![collecting(
        Doc {
            name: "noise_corrected",
            signature: "noise_corrected(pair text, distance double) -> struct<distance, raw, reliability, noise>",
            doc: "From the distances of pairs of runs (`sr` between the arms, `ss` and `rr` within them): the mean distance, the gap less the arms' own noise (unfloored), the reliability beside it, and where the noise comes from. Null without an `sr` pair.",
            example: "SELECT noise_corrected(p, d)['raw'] AS raw FROM (VALUES ('sr', 0.5), ('ss', 0.2), ('rr', 0.0)) AS t(p, d)",
            gives: "0.4",
        },
        vec![DataType::Utf8View, DataType::Float64],
        DataType::Struct(fields()),
        noise_corrected,
    )]
}

fn fields() -> Fields {
    Fields::from(vec![
        Field::new("distance", DataType::Float64, true),
        Field::new("raw", DataType::Float64, true),
        Field::new("reliability", DataType::Float64, true),
        Field::new("noise", DataType::Utf8, true),
    ])
}

/// Distances between the arms, within sim and within real.
pub(super) type PairsOf = [Vec<f64>; 3];

/// The distances of every group, by kind of pair. A pair without a distance is NaN:
/// the arm was repeated, but its runs cannot be compared here (they ended differently).
pub(super) fn pairs_of(
    function: &str,
    columns: &[ArrayRef],
    ends: &[usize],
) -> Result<Vec<PairsOf>> {
    let (pairs, distances) = (
        texts(&columns[0])?,
        columns[1].as_primitive::<Float64Type>(),
    );
    let mut out = Vec::with_capacity(ends.len());
    for group in ends.windows(2) {
        let mut of = PairsOf::default();
        for row in group[0]..group[1] {
            let at = match text(&pairs, row) {
                Some("sr") => 0,
                Some("ss") => 1,
                Some("rr") => 2,
                None => continue,
                Some(other) => return exec_err!("{function}: no pair is called {other}"),
            };
            let distance = distances.is_valid(row).then(|| distances.value(row));
            of[at].push(distance.unwrap_or(f64::NAN));
        }
        out.push(of);
    }
    Ok(out)
}

fn noise_corrected(columns: &[ArrayRef], ends: &[usize]) -> Result<ArrayRef> {
    let mut numbers: [Vec<Option<f64>>; 3] = Default::default();
    let mut labels = Vec::with_capacity(ends.len());
    for [between, sim, real] in &pairs_of("noise_corrected", columns, ends)? {
        let found = correct_pairs(between, sim, real, [None, None]);
        let values = [
            found.map(|f| f.distance),
            found.map(|f| f.gap_raw),
            found.map(|f| f.reliability),
        ];
        for (list, value) in numbers.iter_mut().zip(values) {
            list.push(value);
        }
        labels.push(found.map(|f| f.noise.name()));
    }
    let numbers = numbers.map(|list| Arc::new(Float64Array::from(list)) as ArrayRef);
    let labels: ArrayRef = Arc::new(StringArray::from(labels));
    let columns = numbers.into_iter().chain([labels]).collect();
    column(StructArray::try_new(fields(), columns, None)?)
}
