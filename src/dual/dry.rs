//! What a plan would do: its calls and their cost. Nothing is started.

use std::path::Path;

use super::error::{DualError, DualResult};
use super::journal::Journal;
use super::ledger::Ledger;
use super::permission::permitted;
use super::plan::Plan;
use super::runner::{covered, unchanged};
use super::schedule::schedule;
use super::select::select;
use super::tables::TABLES;
use crate::lake::{Lake, LakeError};

/// A call that would be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DryCall {
    /// Environment under which it is stored.
    pub environment: String,
    /// The trajectory.
    pub trajectory_id: String,
    /// `sim` or `real`.
    pub arm: &'static str,
    /// Number of the run within the arm.
    pub repeat: i32,
    /// Place of the call.
    pub turn: i32,
    /// Place of the call.
    pub index: i32,
    /// Tool.
    pub name: String,
    /// JSON text; values that would be derived from live results as recorded.
    pub arguments: String,
    /// `plan`: the plan permits it; `environment`: only a declaration of the
    /// environment can, which is asked for when the plan is run.
    pub permitted_by: &'static str,
}

/// The calls of a plan and their cost.
#[derive(Clone, Debug, Default)]
pub struct DryRun {
    /// In the order of running.
    pub calls: Vec<DryCall>,
    /// Runs.
    pub runs: u64,
    /// Calls on the real arm.
    pub real_calls: u64,
    /// What is left of the budget of the real arm.
    pub real_budget: Option<i64>,
    /// Seconds that the rate limits take at least.
    pub seconds: f64,
    /// Tools that the plan does not permit on the real arm.
    pub unsettled: Vec<String>,
}

/// Says what would be run. A plan that was begun shows what is left of it.
///
/// # Errors
/// If the plan or its trajectories cannot be read.
pub async fn dry_run(plan: &Plan, lake: &Path) -> DualResult<DryRun> {
    let opened = match Lake::open(lake) {
        Ok(lake) => Some(lake),
        Err(LakeError::NotALake { .. }) => None,
        Err(other) => return Err(other.into()),
    };
    let ledger = match &opened {
        None => None,
        Some(lake) => Some(Ledger {
            journal: Journal::open(lake.path(), TABLES)?,
            plan: plan.id(),
            budget_of: plan.name.clone(),
        }),
    };
    let begun = match &ledger {
        None => None,
        Some(ledger) => ledger.begun().await?,
    };
    let mut found = DryRun::default();
    let mut tasks = Vec::new();
    let runs = match (&ledger, begun) {
        (Some(ledger), Some((content, _))) => {
            unchanged(plan, &content)?;
            ledger.open_runs().await?
        }
        _ => {
            tasks = select(plan, opened.as_ref()).await?.tasks;
            if tasks.is_empty() {
                return Err(DualError::Nothing(
                    "the plan selects no trajectory with calls to make".into(),
                ));
            }
            covered(plan, &tasks)?;
            schedule(plan, &tasks)
        }
    };
    let mut by_arm = [0u64; 2];
    for run in runs {
        let task = match (tasks.get(run.trajectory), &ledger) {
            (Some(task), _) => Some(task.clone()),
            (None, Some(ledger)) => ledger.task(run.trajectory).await?,
            (None, None) => None,
        };
        let (Some(task), Some(arm)) = (task, plan.arm(run.arm)) else {
            continue;
        };
        found.runs += 1;
        for call in task.calls {
            by_arm[usize::from(run.arm == "real")] += 1;
            let by_plan = permitted(arm, None, &call.name);
            if !by_plan && !found.unsettled.contains(&call.name) {
                found.unsettled.push(call.name.clone());
            }
            found.calls.push(DryCall {
                environment: task.environment.clone(),
                trajectory_id: task.trajectory_id.clone(),
                arm: run.arm,
                repeat: task.there[usize::from(run.arm == "real")] + run.repeat,
                turn: call.turn,
                index: call.index,
                name: call.name,
                arguments: call.arguments,
                permitted_by: if by_plan { "plan" } else { "environment" },
            });
        }
    }
    found.unsettled.sort();
    found.real_calls = by_arm[1];
    for (arm, calls) in [("sim", by_arm[0]), ("real", by_arm[1])] {
        if let Some(rate) = plan.arm(arm).and_then(|of| of.rate) {
            found.seconds = found.seconds.max(calls as f64 / rate);
        }
    }
    if let Some(budget) = plan.arm("real").and_then(|of| of.budget) {
        found.real_budget = Some(match &ledger {
            Some(ledger) => ledger.left("real", budget).await?,
            None => budget,
        });
    }
    Ok(found)
}
