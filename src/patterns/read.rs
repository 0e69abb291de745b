//! Calls as the lake has them.

use std::collections::BTreeMap;

use arrow::array::{Array as _, AsArray as _, RecordBatch};
use fidelake_core::patterns::{Row, call_excess};

use super::call::{Call, Calls, Cause, Trajectory};
use super::error::{PatternError, PatternResult};
use super::feature::Field;
use crate::engine::Engine;
use crate::engine::columns::{Columns, integer, number, text};
use crate::import::Progress;

const CALLS: &str = include_str!("../../queries/patterns/calls.sql");
const ALIKE: &str = include_str!("../../queries/patterns/alike.sql");

/// Paths of one call that make features; the first by kind and name.
const PATHS: usize = 12;

/// A query of ours with the user's condition and the seed put in.
pub(super) fn filled(sql: &str, condition: &str, seed: u64) -> String {
    sql.replace("{where}", condition)
        .replace("{seed}", &seed.to_string())
}

/// Reads the calls at which the arms differ.
pub(super) async fn calls(
    engine: &Engine,
    condition: &str,
    seed: u64,
    progress: &dyn Progress,
) -> PatternResult<Calls> {
    let mut all = Calls::default();
    let mut rows = engine.stream(&filled(CALLS, condition, seed)).await?;
    while let Some(batch) = rows.next().await? {
        if progress.stop() {
            return Err(PatternError::Stopped);
        }
        read_batch(&batch, &mut all)?;
    }
    Ok(all)
}

fn read_batch(batch: &RecordBatch, all: &mut Calls) -> PatternResult<()> {
    let columns = Columns(batch);
    let single = Field::SINGLE
        .iter()
        .map(|field| columns.texts(field.column()))
        .collect::<Result<Vec<_>, _>>()?;
    let [ids, causes] = [columns.texts("trajectory_id")?, columns.texts("cause")?];
    let keys = columns.integers("trajectory_key")?;
    let places = ["slot", "turn", "index"].map(|name| columns.integers(name));
    let [slots, turns, indexes] = places;
    let (slots, turns, indexes) = (slots?, turns?, indexes?);
    let (gaps, weights) = (columns.numbers("gap")?, columns.numbers("weight")?);
    let (raws, distances) = (columns.numbers("raw")?, columns.numbers("distance")?);
    let held_out = columns.flags("held_out")?;
    let paths = batch
        .column_by_name("paths")
        .and_then(|column| column.as_list_opt::<i32>().cloned());
    let small = |n: i64| i32::try_from(n).unwrap_or(i32::MAX);
    for row in 0..batch.num_rows() {
        let mut features = Vec::with_capacity(Field::SINGLE.len() + 2);
        for (field, column) in Field::SINGLE.iter().zip(&single) {
            let value = if column.is_valid(row) {
                column.value(row)
            } else {
                ""
            };
            features.push(all.vocabulary.number(*field, value));
        }
        if let Some(paths) = paths.as_ref().filter(|paths| paths.is_valid(row)) {
            let list = paths.value(row);
            let list = arrow::compute::cast(&list, &arrow::datatypes::DataType::Utf8)
                .map_err(crate::lake::LakeError::from)?;
            let list = list.as_string::<i32>();
            for path in list.iter().flatten().take(PATHS) {
                features.push(all.vocabulary.number(Field::Path, path));
            }
        }
        let kind = all.kind(features);
        let key = keys.value(row);
        let trajectory = all.trajectory(key, || Trajectory {
            environment: text(&single[0], row).unwrap_or_default(),
            id: text(&ids, row).unwrap_or_default(),
            key,
            held_out: held_out.value(row),
        });
        let excess = number(&raws, row)
            .zip(number(&distances, row))
            .and_then(|(raw, distance)| call_excess(raw, distance));
        all.calls.push(Call {
            trajectory,
            slot: small(slots.value(row)),
            turn: small(turns.value(row)),
            index: small(indexes.value(row)),
            kind,
            gap: number(&gaps, row).unwrap_or_default(),
            weight: number(&weights, row).unwrap_or_default(),
            cause: Cause::of(&text(&causes, row).unwrap_or_default()),
            excess,
        });
    }
    Ok(())
}

/// The calls at which the arms agree, by their features: what a rule must leave out.
pub(super) async fn alike(
    engine: &Engine,
    condition: &str,
    seed: u64,
    all: &mut Calls,
) -> PatternResult<Vec<Row>> {
    let (_, batches) = engine.query(&filled(ALIKE, condition, seed)).await?;
    let mut found: BTreeMap<Vec<u32>, u64> = BTreeMap::new();
    for batch in &batches {
        let columns = Columns(batch);
        let single = Field::SINGLE
            .iter()
            .map(|field| columns.texts(field.column()))
            .collect::<Result<Vec<_>, _>>()?;
        let counts = columns.integers("calls")?;
        for row in 0..batch.num_rows() {
            let mut features: Vec<u32> = Vec::with_capacity(Field::SINGLE.len());
            for (field, column) in Field::SINGLE.iter().zip(&single) {
                let value = if column.is_valid(row) {
                    column.value(row)
                } else {
                    ""
                };
                features.push(all.vocabulary.number(*field, value));
            }
            features.sort_unstable();
            let count = integer(&counts, row).and_then(|n| u64::try_from(n).ok());
            *found.entry(features).or_default() += count.unwrap_or_default();
        }
    }
    let row = |(features, outside)| Row {
        features,
        inside: 0,
        outside,
    };
    Ok(found.into_iter().map(row).collect())
}
