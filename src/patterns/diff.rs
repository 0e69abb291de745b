//! What came, went, grew and shrank between two lake versions.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
use arrow::record_batch::RecordBatch;

use super::error::{PatternError, PatternResult};
use crate::engine::Engine;
use crate::engine::columns::{Columns, integer, number, text};
use crate::lake::{At, Lake, LakeError};

const SIZES: &str = include_str!("../../queries/patterns/sizes.sql");

/// A share of the calls by which a pattern must change to have grown or shrunk.
const CHANGE: f64 = 0.1;

/// What became of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// It was not there before.
    Came,
    /// It is not there any more.
    Went,
    /// It has a tenth more calls, or more.
    Grew,
    /// It has a tenth fewer calls, or less.
    Shrank,
    /// It is about as it was.
    Stayed,
}

impl Change {
    /// The word that tables use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Came => "came",
            Self::Went => "went",
            Self::Grew => "grew",
            Self::Shrank => "shrank",
            Self::Stayed => "stayed",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Size {
    name: String,
    calls: i64,
    gap: f64,
}

/// A pattern at both versions.
#[derive(Clone, Debug, PartialEq)]
pub struct Changed {
    /// What became of it.
    pub change: Change,
    /// Its id.
    pub pattern_id: String,
    /// Its name, the newer one.
    pub name: String,
    /// Calls then and now.
    pub calls: [Option<i64>; 2],
    /// Mean gap then and now.
    pub gap: [Option<f64>; 2],
}

/// Compares the newest patterns at two lake versions.
///
/// # Errors
/// If there is no such version, or no patterns at either.
pub async fn diff(lake: &Lake, then: i64, now: i64) -> PatternResult<Vec<Changed>> {
    let (old, new) = (at(lake, then).await?, at(lake, now).await?);
    if old.is_empty() && new.is_empty() {
        return Err(PatternError::TooLittle(format!(
            "there are no patterns at lake version {then} or {now}: `fidelake log` says when `mine` ran"
        )));
    }
    let mut out: Vec<Changed> = Vec::new();
    let ids: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for id in ids {
        let (before, after) = (old.get(id), new.get(id));
        let change = change(before.map(|s| s.calls), after.map(|s| s.calls));
        let known = after.or(before).cloned().unwrap_or_default();
        out.push(Changed {
            change,
            pattern_id: id.clone(),
            name: known.name,
            calls: [before.map(|s| s.calls), after.map(|s| s.calls)],
            gap: [before.map(|s| s.gap), after.map(|s| s.gap)],
        });
    }
    out.sort_by(|a, b| {
        let size = |c: &Changed| c.calls.iter().flatten().max().copied().unwrap_or_default();
        let order = a.change.cmp(&b.change).then(size(b).cmp(&size(a)));
        order.then_with(|| a.pattern_id.cmp(&b.pattern_id))
    });
    Ok(out)
}

fn change(before: Option<i64>, after: Option<i64>) -> Change {
    match (before, after) {
        (None, _) => Change::Came,
        (_, None) => Change::Went,
        (Some(before), Some(after)) => {
            let (before, after) = (before as f64, after as f64);
            if after >= before * (1.0 + CHANGE) && after > before {
                Change::Grew
            } else if after <= before * (1.0 - CHANGE) && after < before {
                Change::Shrank
            } else {
                Change::Stayed
            }
        }
    }
}

async fn at(lake: &Lake, version: i64) -> PatternResult<BTreeMap<String, Size>> {
    let engine = Engine::open(lake, &At::Version(version)).await?;
    let (_, batches) = engine.query(SIZES).await?;
    let mut out = BTreeMap::new();
    for batch in &batches {
        let columns = Columns(batch);
        let (ids, names) = (columns.texts("pattern_id")?, columns.texts("name")?);
        let (calls, gaps) = (columns.integers("calls")?, columns.numbers("gap")?);
        for row in 0..batch.num_rows() {
            let size = Size {
                name: text(&names, row).unwrap_or_default(),
                calls: integer(&calls, row).unwrap_or_default(),
                gap: number(&gaps, row).unwrap_or_default(),
            };
            out.insert(text(&ids, row).unwrap_or_default(), size);
        }
    }
    Ok(out)
}

impl Changed {
    /// Rows to print.
    ///
    /// # Errors
    /// If the columns do not fit together.
    pub fn batch(rows: &[Self]) -> PatternResult<RecordBatch> {
        let words = |of: &dyn Fn(&Self) -> String| -> ArrayRef {
            Arc::new(
                rows.iter()
                    .map(|row| Some(of(row)))
                    .collect::<StringArray>(),
            )
        };
        let calls = |at: usize| -> ArrayRef {
            Arc::new(rows.iter().map(|row| row.calls[at]).collect::<Int64Array>())
        };
        let gaps = |at: usize| -> ArrayRef {
            Arc::new(rows.iter().map(|row| row.gap[at]).collect::<Float64Array>())
        };
        let columns: [(&str, ArrayRef); 7] = [
            ("change", words(&|row| row.change.name().to_owned())),
            ("pattern_id", words(&|row| row.pattern_id.clone())),
            ("name", words(&|row| row.name.clone())),
            ("calls_then", calls(0)),
            ("calls_now", calls(1)),
            ("gap_then", gaps(0)),
            ("gap_now", gaps(1)),
        ];
        let all = columns.map(|(name, column)| (name, column, true));
        Ok(RecordBatch::try_from_iter_with_nullable(all).map_err(LakeError::from)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_is_a_change() {
        assert_eq!(change(None, Some(3)), Change::Came);
        assert_eq!(change(Some(3), None), Change::Went);
        assert_eq!(change(Some(20), Some(22)), Change::Grew);
        assert_eq!(change(Some(20), Some(21)), Change::Stayed);
        assert_eq!(change(Some(20), Some(18)), Change::Shrank);
        assert_eq!(change(Some(0), Some(0)), Change::Stayed);
    }
}
