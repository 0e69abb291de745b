//! Repair: the answers of the simulator are replaced by those of the real world,
//! where the same calls were made there.
//!
//! Down-weighting throws a rollout away little by little; where its calls are
//! valid in the real world and were made there, its only fault is what came
//! back, and that can be put right. What the agent was told and offered stays
//! that of the simulator, so the decision gap stays in the row's fidelity.

use std::sync::Arc;

use arrow::array::{Array as _, AsArray as _, Int64Array, StringArray};
use arrow::record_batch::RecordBatch;
use serde::Serialize;

use super::error::{CurateError, CurateResult};
use super::fidelity::{Judged, judge};
use super::predicted::Known;
use super::read::{float, floats, longs, stream, texts};
use super::recipe::{Arm, GatePart, Recipe};
use super::select::Candidate;
use crate::engine::Engine;

/// What a row is repaired with.
#[derive(Clone, Debug, Default)]
pub(super) struct Repair {
    /// The run of the real arm whose answers stand in the row.
    pub(super) real_run: String,
    /// The reward is the real run's own.
    pub(super) real_reward: bool,
    /// What the row would be without the repair.
    pub(super) before: Option<Judged>,
}

/// What became of the rows below the threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct RepairCounts {
    /// f below which rows are repaired.
    below: f64,
    /// Rows below it.
    considered: u64,
    pub(super) repaired: u64,
    /// Of these: with the reward that the judge gave the real run.
    with_real_reward: u64,
    /// No run of the real arm, or none with calls.
    without_real_run: u64,
    /// The real run made other calls, or not all of them were answered.
    other_calls: u64,
    /// The real world refuses a call that the simulator took.
    refused: u64,
}

impl RepairCounts {
    /// Repaired, of so many below the threshold.
    pub(super) const fn of(&self) -> (u64, u64) {
        (self.repaired, self.considered)
    }
}

const SQL: &str = include_str!("../../queries/curate/repair.sql");

/// Positions in the factors of a profile.
const OBS: usize = 0;
const ACT: usize = 1;
const REW: usize = 2;
const TRANS: usize = 3;

/// Repairs what the recipe asks for.
pub(super) async fn repair(
    engine: &Engine,
    recipe: &Recipe,
    part: &GatePart,
    known: &mut Known<'_>,
    runs: &mut [Candidate],
) -> CurateResult<Option<RepairCounts>> {
    let Some(below) = recipe
        .repair
        .below
        .filter(|_| recipe.source.arm == Arm::Sim)
    else {
        return Ok(None);
    };
    let mut counts = RepairCounts {
        below,
        ..RepairCounts::default()
    };
    let low = low(runs, part, known, below);
    counts.considered = low.len() as u64;
    counts.without_real_run = counts.considered;
    if low.is_empty() {
        return Ok(Some(counts));
    }
    engine
        .context()
        .register_batch("curation_low", list(runs, &low)?)
        .map_err(|e| CurateError::run(&e))?;
    let mut batches = stream(engine, SQL).await?;
    while let Some(batch) = batches.next().await? {
        let (place, real) = (longs(&batch, "place")?, texts(&batch, "real_run")?);
        let reward = floats(&batch, "real_reward")?;
        let (same, refused) = (flags(&batch, "same")?, flags(&batch, "refused")?);
        for row in 0..batch.num_rows() {
            let Some((at, before)) = usize::try_from(place.value(row))
                .ok()
                .and_then(|at| low.get(at))
            else {
                continue;
            };
            counts.without_real_run -= 1;
            if !same[row] {
                counts.other_calls += 1;
            } else if refused[row] {
                counts.refused += 1;
            } else {
                let reward = float(&reward, row).filter(|r| r.is_finite());
                counts.repaired += 1;
                counts.with_real_reward += u64::from(reward.is_some());
                if let Some(run) = runs.get_mut(*at) {
                    put_right(run, real.value(row), reward, *before);
                }
            }
        }
    }
    Ok(Some(counts))
}

/// The runs below the threshold: where they stand, and how they were judged.
fn low(
    runs: &[Candidate],
    part: &GatePart,
    known: &mut Known<'_>,
    below: f64,
) -> Vec<(usize, Judged)> {
    let judged = runs.iter().enumerate().filter_map(|(at, run)| {
        let expected = known.expected(run);
        Some((at, judge(run, expected.as_ref(), part)?))
    });
    judged.filter(|(_, judged)| judged.f < below).collect()
}

fn list(runs: &[Candidate], low: &[(usize, Judged)]) -> CurateResult<RecordBatch> {
    let text = |value: fn(&Candidate) -> &str| -> arrow::array::ArrayRef {
        let texts = low.iter().filter_map(|(at, _)| runs.get(*at)).map(value);
        Arc::new(StringArray::from_iter_values(texts))
    };
    let places = (0..low.len()).map(|at| i64::try_from(at).unwrap_or(i64::MAX));
    let places = Arc::new(Int64Array::from_iter_values(places)) as _;
    Ok(RecordBatch::try_from_iter([
        ("place", places),
        ("run_id", text(|run| &run.run_id)),
        ("environment", text(|run| &run.environment)),
        ("trajectory_id", text(|run| &run.trajectory_id)),
    ])?)
}

fn flags(batch: &RecordBatch, name: &str) -> CurateResult<Vec<bool>> {
    let missing = || arrow::error::ArrowError::SchemaError(format!("no column {name}"));
    let column = batch.column_by_name(name).ok_or_else(missing)?.as_boolean();
    Ok((0..column.len())
        .map(|row| column.is_valid(row) && column.value(row))
        .collect())
}

/// The profile is now that of real answers: nothing is lost by them, by what is
/// accepted, or by what happens next.
fn put_right(run: &mut Candidate, real_run: &str, reward: Option<f64>, before: Judged) {
    let real = [OBS, ACT, TRANS]
        .into_iter()
        .chain(reward.is_some().then_some(REW));
    let profile = run.profile.get_or_insert_default();
    for at in real {
        profile.gaps[at] = Some(0.0);
        profile.fidelity[at] = Some(1.0);
    }
    let known: Vec<f64> = profile.fidelity.iter().flatten().copied().collect();
    profile.mean = fidelake_core::stats::mean(&known);
    run.reward = reward.unwrap_or(run.reward);
    run.repair = Some(Box::new(Repair {
        real_run: real_run.to_owned(),
        real_reward: reward.is_some(),
        before: Some(before),
    }));
}
