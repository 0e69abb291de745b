//! Frequent sequences of calls that end in calls of low fidelity.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
use arrow::record_batch::RecordBatch;
use fidelake_core::patterns::sequences;

use super::error::PatternResult;
use super::mine::{MineRequest, condition};
use crate::engine::Engine;
use crate::engine::columns::{Columns, text};
use crate::lake::LakeError;

const SEQUENCES: &str = include_str!("../../queries/patterns/sequences.sql");

/// Calls of a sequence, at most.
const LONGEST: usize = 4;

/// A sequence of tools.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct SequenceRow {
    /// The tools in order.
    pub tools: Vec<String>,
    /// How often it was made.
    pub calls: u64,
    /// How often its last call was low.
    pub low: u64,
    /// The share of low calls at its end, over that of its last tool after anything.
    pub lift: f64,
}

/// The sequences that end in calls of low fidelity, made at least `min_calls` times.
///
/// # Errors
/// If the condition is wrong, or the lake cannot be read.
pub async fn frequent(engine: &Engine, request: &MineRequest) -> PatternResult<Vec<SequenceRow>> {
    let condition = condition(engine, request)?;
    let sql = SEQUENCES
        .replace("{where}", &condition)
        .replace("{min_gap}", &format!("{:?}", request.min_gap));
    let mut names: Vec<String> = Vec::new();
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let mut trajectories: Vec<Vec<(u32, bool)>> = Vec::new();
    let mut current = None;
    let mut rows = engine.stream(&sql).await?;
    while let Some(batch) = rows.next().await? {
        let columns = Columns(&batch);
        let (keys, apis, low) = (
            columns.integers("trajectory_key")?,
            columns.texts("api")?,
            columns.flags("low")?,
        );
        for row in 0..batch.num_rows() {
            let key = keys.value(row);
            if current != Some(key) {
                current = Some(key);
                trajectories.push(Vec::new());
            }
            let api = text(&apis, row).unwrap_or_default();
            let number = *numbers.entry(api).or_insert_with_key(|api| {
                names.push(api.clone());
                u32::try_from(names.len() - 1).unwrap_or(u32::MAX)
            });
            if let Some(last) = trajectories.last_mut() {
                last.push((number, low.value(row)));
            }
        }
    }
    let found = sequences(&trajectories, LONGEST, request.min_calls);
    let row = |s: fidelake_core::patterns::Sequence| SequenceRow {
        tools: s.tools.iter().map(|&t| names[t as usize].clone()).collect(),
        calls: s.calls,
        low: s.low,
        lift: s.lift,
    };
    Ok(found.into_iter().map(row).collect())
}

impl SequenceRow {
    /// Rows to print.
    ///
    /// # Errors
    /// If the columns do not fit together.
    pub fn batch(rows: &[Self], places: Option<i32>) -> PatternResult<RecordBatch> {
        let scale = |x: f64| places.map_or(x, |p| (x * 10f64.powi(p)).round() / 10f64.powi(p));
        let count = |of: fn(&Self) -> u64| -> ArrayRef {
            Arc::new(
                rows.iter()
                    .map(|row| i64::try_from(of(row)).ok())
                    .collect::<Int64Array>(),
            )
        };
        let tools: StringArray = rows.iter().map(|row| Some(row.tools.join(" > "))).collect();
        let numbers = |of: fn(&Self) -> f64| -> ArrayRef {
            Arc::new(
                rows.iter()
                    .map(|row| Some(scale(of(row))))
                    .collect::<Float64Array>(),
            )
        };
        let columns: [(&str, ArrayRef); 5] = [
            ("sequence", Arc::new(tools)),
            ("calls", count(|row| row.calls)),
            ("low", count(|row| row.low)),
            (
                "share_low",
                numbers(|row| row.low as f64 / row.calls.max(1) as f64),
            ),
            ("lift", numbers(|row| row.lift)),
        ];
        let all = columns.map(|(name, column)| (name, column, true));
        Ok(RecordBatch::try_from_iter_with_nullable(all).map_err(LakeError::from)?)
    }
}
