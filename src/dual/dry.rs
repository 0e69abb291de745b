//! What a plan would do: its calls and their cost. Nothing is started.

use std::path::Path;

use super::error::{DualError, DualResult};
use super::journal::Journal;
use super::ledger::Ledger;
use super::permission::permitted;
use super::plan::Plan;
use super::plan_arm::ArmPlan;
use super::runner::{covered, unchanged};
use super::schedule::schedule;
use super::select::select;
use super::tables::TABLES;
use super::task::Task;
use crate::env::Spec;
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
    /// `plan`: the plan permits it; `environment`: a declaration of the environment
    /// can, which is asked for when the plan is run; `nobody`: it is refused.
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
    /// Tools that only a declaration of the environment can permit.
    pub unsettled: Vec<String>,
    /// Tools that are refused: the plan does not permit them, nor can the environment.
    pub refused: Vec<String>,
}

/// The environment that runs a task on an arm.
fn spec<'a>(plan: &'a Plan, arm: &ArmPlan, environment: &str) -> Option<&'a Spec> {
    plan.environments.get(arm.environment(environment)?)
}

/// Whether the environment's own declarations permit calls (see [`super::permission`]).
fn asked(plan: &Plan, arm: &ArmPlan, environment: &str) -> bool {
    matches!(
        spec(plan, arm, environment),
        Some(Spec::Process(_) | Spec::Replay(_))
    )
}

/// So many calls of a task are made, as far as the plan tells: both arms end, or do not
/// begin, where one of them refuses.
fn reach(plan: &Plan, task: &Task) -> usize {
    let refused = |call: &str| {
        plan.arms
            .values()
            .any(|arm| !permitted(arm, None, call) && !asked(plan, arm, &task.environment))
    };
    match task.calls.iter().position(|call| refused(&call.name)) {
        None => task.calls.len(),
        Some(at) if plan.cut_refused => at,
        Some(_) => 0,
    }
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
            budget_of: plan.budget_of.clone(),
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
            ledger.runs_to_try().await?
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
        let until = reach(plan, &task);
        found.runs += u64::from(until > 0);
        let costs = !matches!(spec(plan, arm, &task.environment), Some(Spec::Replay(_)));
        for (at, call) in task.calls.into_iter().enumerate() {
            if at < until && costs {
                by_arm[usize::from(run.arm == "real")] += 1;
            }
            let permitted_by = match () {
                () if permitted(arm, None, &call.name) => "plan",
                () if asked(plan, arm, &task.environment) => "environment",
                () => "nobody",
            };
            let told = match permitted_by {
                "nobody" => Some(&mut found.refused),
                "environment" => Some(&mut found.unsettled),
                _ => None,
            };
            if let Some(told) = told.filter(|told| !told.contains(&call.name)) {
                told.push(call.name.clone());
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
                permitted_by,
            });
        }
    }
    found.unsettled.sort();
    found.refused.sort();
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
