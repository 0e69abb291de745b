//! The groups as rows, for formats that are flat.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Float64Array, StringArray, UInt64Array};
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;

use crate::validate::{Group, Validation};

/// One row per group, columns as in the JSON.
///
/// # Errors
/// If Arrow refuses the columns.
pub fn batch(found: &Validation) -> Result<RecordBatch, ArrowError> {
    type Of = fn(&Group) -> Option<f64>;
    const NUMBERS: [(&str, Of); 9] = [
        ("harm", |g| g.harm),
        ("harm_se", |g| g.harm_se),
        ("net", |g| g.net),
        ("decision", |g| g.decision),
        ("surface", |g| g.surface),
        ("obs", |g| g.obs),
        ("act", |g| g.act),
        ("rew", |g| g.rew),
        ("trans", |g| g.trans),
    ];

    let groups = &found.groups;
    let labels = groups.iter().map(|group| group.label.as_str());
    let counts = groups.iter().map(|group| group.n);
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("label", Arc::new(StringArray::from_iter_values(labels))),
        ("n", Arc::new(UInt64Array::from_iter_values(counts))),
    ];
    for (name, of) in NUMBERS {
        let numbers: Float64Array = groups.iter().map(of).collect();
        columns.push((name, Arc::new(numbers)));
    }
    let floor = groups.iter().map(|group| Some(group.floor));
    columns.push(("floor", Arc::new(floor.collect::<BooleanArray>())));
    RecordBatch::try_from_iter(columns)
}
