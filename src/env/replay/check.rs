//! How well a replay would answer: every recorded call asked of the others.
//!
//! The call's own trajectory is left out, all its runs and repeats. What is found
//! is compared with what was really answered.

use std::path::Path;

use fidelake_core::gap::{Answer as Value, Comparer, Form};
use rayon::prelude::*;

use super::index::{Found, Index};
use super::stored::Stored;
use super::{Replay, load};

/// Figures at one threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct CheckRow {
    /// Largest distance of arguments.
    pub threshold: f64,
    /// Recorded calls with answers.
    pub calls: u64,
    /// Found as the same call after the same state-changing calls.
    pub exact_place: u64,
    /// Found as the same call after others.
    pub exact_call: u64,
    /// Found as a near call.
    pub near: u64,
    /// Not found.
    pub missed: u64,
    /// Mean gap of the answers found exactly, [0,1]; 0 if there are none.
    pub gap_exact: f64,
    /// Mean gap of the answers of near calls, [0,1]; 0 if there are none.
    pub gap_near: f64,
    /// Of the near ones: with the very answer.
    pub near_equal: u64,
    /// Mean distance of the arguments of the near ones.
    pub distance_near: f64,
}

/// Leaves every recorded call out once, for each threshold.
///
/// # Errors
/// If the lake has no such recordings.
pub async fn check(
    lake: &Path,
    replay: &Replay,
    thresholds: &[f64],
) -> Result<Vec<CheckRow>, String> {
    let index = load::load(lake, replay).await?;
    Ok(tokio::task::block_in_place(|| {
        thresholds
            .iter()
            .map(|threshold| row(&index, *threshold))
            .collect()
    }))
}

fn row(index: &Index, threshold: f64) -> CheckRow {
    let found: Vec<Option<(Found, f64)>> = index
        .recorded
        .par_iter()
        .map(|asked| {
            let (found, at) = index
                .exact(asked.key, asked.history, None, |other| {
                    other.trajectory != asked.trajectory
                })
                .or_else(|| {
                    let (name, arguments) = (&asked.name, &asked.arguments);
                    let without = Some(&*asked.trajectory);
                    index.near(name, arguments, asked.history, threshold, without)
                })?;
            Some((found, gap(&asked.answer, &index.recorded[at].answer)))
        })
        .collect();
    let mut row = CheckRow {
        threshold,
        calls: found.len() as u64,
        ..CheckRow::default()
    };
    // In the order of recording, so that the sums are the same on every machine.
    for one in found {
        match one {
            None => row.missed += 1,
            Some((Found::Near(distance), gap)) => {
                row.near += 1;
                row.near_equal += u64::from(gap == 0.0);
                row.gap_near += gap;
                row.distance_near += distance;
            }
            Some((found, gap)) => {
                row.exact_place += u64::from(found == Found::Place);
                row.exact_call += u64::from(found == Found::Call);
                row.gap_exact += gap;
            }
        }
    }
    let mean = |sum: f64, n: u64| if n == 0 { 0.0 } else { sum / n as f64 };
    row.gap_exact = mean(row.gap_exact, row.exact_place + row.exact_call);
    row.gap_near = mean(row.gap_near, row.near);
    row.distance_near = mean(row.distance_near, row.near);
    row
}

fn gap(real: &Stored, found: &Stored) -> f64 {
    let (a, b) = (&real.value, &found.value);

    let answer = |text, form| Value {
        text,
        form,
        ..Value::default()
    };
    Comparer::default()
        .observe(answer(&a.0, form(&a.1)), answer(&b.0, form(&b.1)))
        .gap
}

/// As the engine reads the column: what spells a value is compared as one.
fn form(rule: &str) -> Form {
    match rule {
        "" => Form::Text,
        rule if rule.contains("python_repr") => Form::PythonRepr,
        _ => Form::Json,
    }
}
