//! Predicted profiles: most trajectories never run on the other arm, and each of
//! their calls takes what is known of its region (docs/measures.md, "Along a
//! trajectory").
//!
//! How good that is, is measured, not assumed: every trajectory that did run on both
//! arms is predicted too, from the calls of other tasks only, and compared with what
//! was measured.

mod held_back;
mod regions;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, AsArray as _, Float64Array, Int64Array, RecordBatch, StringArray,
    StructArray,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Fields, Float64Type, Int64Type};
use arrow::error::ArrowError;
use datafusion::common::ScalarValue;
use fidelake_core::json::key::Key;

pub use held_back::{HeldBack, Nearness, PREDICTED};
use regions::{FOLDS, Means, PARTS, Region, Regions, Sums};

use super::error::EngineResult;
use super::session::Engine;

const SUMS: &str = include_str!("../../../queries/predict/sums.sql");
const RUNS: &str = include_str!("../../../queries/predict/runs.sql");

/// Expected gaps of a run: [`PREDICTED`] in order; `None`: unknown.
pub type ExpectedGaps = [Option<f64>; PREDICTED.len()];

/// Predictions for the runs of sim in a lake.
#[derive(Clone, Debug, Default)]
pub struct Predictions {
    /// Sorted by the hash of the run's id.
    runs: Vec<(u128, ExpectedGaps)>,
    held_back: BTreeMap<String, HeldBack>,
    all: HeldBack,
}

impl Predictions {
    /// What to expect of a run; `None` if its trajectory has a profile of its own
    /// and it is not the first run of it, or nothing is known of its environment.
    #[must_use]
    pub fn of(&self, run_id: &str) -> Option<&ExpectedGaps> {
        let key = key(run_id);
        let at = self.runs.binary_search_by_key(&key, |run| run.0).ok()?;
        self.runs.get(at).map(|run| &run.1)
    }

    /// How good the predictions were for measured trajectories, by environment.
    pub fn environments(&self) -> impl Iterator<Item = (&str, &HeldBack)> {
        let checks = self.held_back.iter();
        checks.map(|(name, check)| (name.as_str(), check))
    }

    /// The same over the whole lake.
    #[must_use]
    pub const fn held_back_all(&self) -> &HeldBack {
        &self.all
    }

    fn add(&mut self, batch: &RecordBatch) -> EngineResult<()> {
        let text = |name: &str| column(batch, name, &DataType::Utf8);
        let (runs, environments) = (text("run_id")?, text("environment")?);
        let held_back = column(batch, "held_back", &DataType::Boolean)?;
        let measured = PREDICTED.map(|(of_profile, _)| floats(batch, of_profile));
        let [a, b, c] = measured;
        let measured = [a?, b?, c?];
        let expected = column_of(batch, "expected")?;
        let expected = expected.as_struct();
        let expected = PREDICTED.map(|(_, field)| {
            expected
                .column_by_name(field)
                .map(|c| c.as_primitive::<Float64Type>().clone())
        });
        for row in 0..batch.num_rows() {
            let value = |c: &Float64Array| c.is_valid(row).then(|| c.value(row));
            let gaps = expected.each_ref().map(|c| c.as_ref().and_then(value));
            if held_back.as_boolean().value(row) {
                let own = measured.each_ref().map(value);
                let environment = environments.as_string::<i32>().value(row);
                if !self.held_back.contains_key(environment) {
                    let name = environment.to_owned();
                    self.held_back.insert(name, HeldBack::default());
                }
                if let Some(check) = self.held_back.get_mut(environment) {
                    check.add(&gaps, &own);
                }
                self.all.add(&gaps, &own);
            }
            let run = runs.as_string::<i32>().value(row);
            self.runs.push((key(run), gaps));
        }
        Ok(())
    }
}

/// Predicts the gaps of every run of sim, and checks the predictions.
///
/// # Errors
/// If a query fails.
pub async fn predict(engine: &Engine) -> EngineResult<Predictions> {
    let regions = read(engine).await?;
    let table = table(&regions)?;
    engine.name_rows("predicted_regions", &table.schema(), vec![table])?;
    let mut found = Predictions::default();
    let calls = engine.count("SELECT count(*) FROM calls").await?;
    for (low, high) in parts(calls) {
        let key = |value| ScalarValue::Int64(Some(value));
        let parameters = [("low", key(low)), ("high", key(high))];
        let mut rows = engine.stream_with(RUNS, &parameters).await?;
        while let Some(batch) = rows.next().await? {
            found.add(&batch)?;
        }
    }
    found.runs.sort_unstable_by_key(|run| run.0);
    Ok(found)
}

fn key(run_id: &str) -> u128 {
    Key::of(run_id.as_bytes()).bits()
}

/// Calls that are joined with their answers at once, about.
const PART: u64 = 500_000;

/// Ranges of trajectory keys, which are hashes, and so lie evenly: each holds about [`PART`] calls.
fn parts(calls: u64) -> impl Iterator<Item = (i64, i64)> {
    let count = i128::from(calls.div_ceil(PART).max(1));
    let edge = move |at: i128| i128::from(i64::MIN) + (at << 64) / count;
    (0..count).map(move |at| (edge(at) as i64, (edge(at + 1) - 1) as i64))
}

async fn read(engine: &Engine) -> EngineResult<Regions> {
    let mut regions = Regions::default();
    let mut rows = engine.stream(SUMS).await?;
    while let Some(batch) = rows.next().await? {
        let text = |name: &str| column(&batch, name, &DataType::Utf8);
        let (environment, api, outcome) = (text("environment")?, text("api")?, text("outcome")?);
        let fold = column(&batch, "fold", &DataType::Int64)?;
        let calls = floats(&batch, "calls")?;
        let mut parts = Vec::with_capacity(PARTS.len());
        for name in PARTS {
            parts.push(floats(&batch, name)?);
        }
        for row in 0..batch.num_rows() {
            let name = |c: &ArrayRef| c.as_string::<i32>().value(row).to_owned();
            let mut sums = Sums {
                calls: calls.value(row),
                ..Sums::default()
            };
            for (slot, part) in sums.parts.iter_mut().zip(&parts) {
                *slot = part.is_valid(row).then(|| part.value(row));
            }
            let region: Region = (name(&environment), name(&api), name(&outcome));
            regions.add(region, fold.as_primitive::<Int64Type>().value(row), &sums);
        }
    }
    Ok(regions)
}

/// The means of all regions, with all calls (fold -1) and without each fold.
fn table(regions: &Regions) -> Result<RecordBatch, ArrowError> {
    let all = std::iter::once((-1, None));
    let folds = all.chain((0..FOLDS).map(|fold| (fold, Some(fold))));
    let rows: Vec<(i64, Region, Means)> = folds
        .flat_map(|(fold, without)| {
            let means = regions.means(without).into_iter();
            means.map(move |(region, means)| (fold, region, means))
        })
        .collect();
    let text = |of: fn(&Region) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(
            rows.iter().map(|row| of(&row.1)),
        ))
    };
    let fields: Fields = PARTS
        .iter()
        .map(|name| Field::new(*name, DataType::Float64, true))
        .collect();
    let parts = (0..PARTS.len()).map(|at| -> ArrayRef {
        Arc::new(Float64Array::from_iter(rows.iter().map(|row| row.2[at])))
    });
    let parts = StructArray::try_new(fields, parts.collect(), None)?;
    RecordBatch::try_from_iter([
        ("environment", text(|r| &r.0)),
        ("api", text(|r| &r.1)),
        ("outcome", text(|r| &r.2)),
        (
            "fold",
            Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0))) as ArrayRef,
        ),
        ("parts", Arc::new(parts) as ArrayRef),
    ])
}

fn column_of(batch: &RecordBatch, name: &str) -> Result<ArrayRef, ArrowError> {
    let found = batch.column_by_name(name).cloned();
    found.ok_or_else(|| ArrowError::SchemaError(format!("no column {name}")))
}

fn column(batch: &RecordBatch, name: &str, kind: &DataType) -> Result<ArrayRef, ArrowError> {
    cast(&column_of(batch, name)?, kind)
}

fn floats(batch: &RecordBatch, name: &str) -> Result<Float64Array, ArrowError> {
    let column = column(batch, name, &DataType::Float64)?;
    Ok(column.as_primitive::<Float64Type>().clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_hold_every_key_once() {
        assert_eq!(parts(0).collect::<Vec<_>>(), [(i64::MIN, i64::MAX)]);
        let all: Vec<(i64, i64)> = parts(7 * PART).collect();
        assert_eq!((all.len(), all[0].0, all[6].1), (7, i64::MIN, i64::MAX));
        assert!(all.windows(2).all(|two| two[0].1 + 1 == two[1].0));
    }
}
