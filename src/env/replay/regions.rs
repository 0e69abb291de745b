//! How far the simulator is from the real world, region by region, before and after
//! its answers are replaced.
//!
//! Every real run of a trajectory that both arms ran is asked again, with the real
//! runs of its fifth of the trajectories left out of everything that answers or
//! teaches. So what is said of "after" holds for tasks that were never run for real.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fidelake_core::gap::{Answer as Value, Comparer, Form};
use fidelake_core::json::Doc;
use fidelake_core::json::key::Key;

use super::super::{Answer, Origin, Request, Session as _};
use super::Replay;
use super::load::{Row, read_lake};
use super::session::ReplaySession;
use super::stored::{Stored, said};

const FOLDS: i64 = 5;

/// A region before and after.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct RegionRow {
    /// The tool.
    pub api: String,
    /// Real calls for which the simulator has an answer of its own.
    pub calls: u64,
    /// Mean gap of the simulator's own answers, [0,1]; 1 where one arm refuses what the
    /// other does.
    pub before: f64,
    /// Mean gap of what is answered now.
    pub after: f64,
    /// Answered by a recording of the very call.
    pub recorded: u64,
    /// Answered by something made of recordings.
    pub generated: u64,
}

/// All regions, in the order of their names. Empty if no trajectory ran on both arms.
///
/// # Errors
/// If the lake has no recordings that fit.
pub async fn regions(lake: &Path, replay: &Replay) -> Result<Vec<RegionRow>, String> {
    let now = Replay {
        calibrated: false,
        ..replay.clone()
    };
    let then = Replay {
        mend: false,
        templates: false,
        threshold: Some(0.0),
        ..now.clone()
    };
    let recordings = read_lake(lake, &now).await?;
    let mut found: BTreeMap<String, RegionRow> = BTreeMap::new();
    let sim = Arc::new(recordings.index(&then, |row| !row.real));
    for fold in 0..FOLDS {
        let held_out = |row: &Row| row.real && fold_of(&row.trajectory) == fold;
        let index = Arc::new(recordings.index(&now, |row| !held_out(row)));
        let runs = recordings.rows.chunk_by(|a, b| a.run == b.run);
        for run in runs.filter(|run| held_out(&run[0])) {
            let mut before = ReplaySession::new(Arc::clone(&sim), &then);
            let mut after = ReplaySession::new(Arc::clone(&index), &now);
            for row in run {
                let request = Request {
                    name: &row.name,
                    arguments: &row.arguments,
                    timeout: Duration::from_secs(1),
                };
                let (old, new) = (before.call(request).await, after.call(request).await);
                let Some(real) = &row.answer else { continue };
                if old.fault.is_some() {
                    continue;
                }
                let region = found.entry(row.name.clone()).or_default();
                region.calls += 1;
                region.before += gap(real, &old);
                region.after += gap(real, &new);
                match new.origin {
                    Origin::Generated => region.generated += 1,
                    Origin::ReplayExact => region.recorded += 1,
                    Origin::Live | Origin::ReplayNear => {}
                }
            }
        }
    }
    let mut rows: Vec<RegionRow> = Vec::new();
    for (api, mut row) in found {
        row.api = api;
        row.before /= row.calls as f64;
        row.after /= row.calls as f64;
        rows.push(row);
    }
    Ok(rows)
}

fn fold_of(trajectory: &str) -> i64 {
    Key::of(trajectory.as_bytes()).as_i64().rem_euclid(FOLDS)
}

fn gap(real: &Stored, answer: &Answer) -> f64 {
    let well = answer.fault.is_none()
        && answer.is_error != Some(true)
        && answer.status.is_none_or(|status| status < 400);
    if well != real.is_ok() {
        return 1.0;
    }
    let text = |content: &Option<String>| content.as_deref().and_then(said).unwrap_or_default();
    let (a, b) = (text(&real.content), text(&answer.content));
    let form = |text: &str| match Doc::parse(text) {
        Ok(_) => Form::Json,
        Err(_) => Form::Text,
    };
    let value = |text, form| Value {
        text,
        form,
        ..Value::default()
    };
    Comparer::default()
        .observe(value(&a, form(&a)), value(&b, form(&b)))
        .gap
}
