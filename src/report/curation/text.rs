//! A curation in a few lines for a terminal, and all of its numbers as rows.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow::error::ArrowError;

use super::{Curation, Kind, WAYS, Ways};
use crate::report::{padded, safe};

/// Width of the names of the lines.
const NAME: usize = 28;

/// The short form: runs, fidelity by dimension, the share of low fidelity.
#[must_use]
pub fn draw(curation: &Curation) -> String {
    let mut out = padded("", NAME);
    for (name, _) in WAYS {
        let _ = write!(out, "{name:>10}");
    }
    out.push('\n');
    line(&mut out, "runs", curation.runs, |x| format!("{x:.0}"));
    for part in curation.parts.iter().filter(|p| p.kind == Kind::Means) {
        for one in &part.lines {
            line(&mut out, &one.label, one.values, |x| format!("{x:.3}"));
        }
    }
    out.truncate(out.trim_end().len());
    out
}

fn line(out: &mut String, name: &str, values: Ways, show: impl Fn(f64) -> String) {
    out.push_str(&padded(&safe(name), NAME));
    for value in values {
        let _ = write!(out, "{:>10}", value.map_or_else(|| "-".to_owned(), &show));
    }
    out.push('\n');
}

/// One row per line of every part: part, label, and the four numbers.
///
/// # Errors
/// If the rows cannot be put together.
pub fn batch(curation: &Curation) -> Result<RecordBatch, ArrowError> {
    let runs = [("Runs", "runs", curation.runs)].into_iter();
    let lines = curation.parts.iter().flat_map(|part| {
        let of = |line| -> (&str, &str, Ways) {
            let line: &super::Line = line;
            (part.title, &line.label, line.values)
        };
        part.lines.iter().map(of)
    });
    let rows: Vec<(&str, &str, Ways)> = runs.chain(lines).collect();
    let text = |of: fn(&(&str, &str, Ways)) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(of)))
    };
    let mut columns = vec![
        ("part", text(|row| row.0.to_owned())),
        ("label", text(|row| row.1.to_owned())),
    ];
    for (at, (name, _)) in WAYS.into_iter().enumerate() {
        let values = rows.iter().map(|row| row.2[at]);
        columns.push((name, Arc::new(Float64Array::from_iter(values)) as ArrayRef));
    }
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, c)| (name, c, true)))
}
