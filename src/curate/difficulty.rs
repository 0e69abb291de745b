//! How hard the tasks are, and which trajectories only the simulator can solve.

use std::collections::{BTreeMap, HashSet};

use fidelake_core::choose::{pass_at_k, pass_hat_k, smoothed_pass_rate};

use super::error::CurateResult;
use super::read::{longs, stream, text, texts};
use super::recipe::Recipe;
use super::select::Candidate;
use crate::engine::Engine;

const PASS_RATES: &str = include_str!("../../queries/curate/pass_rates.sql");
const INFEASIBLE: &str = include_str!("../../queries/curate/infeasible.sql");

/// What is known of the task of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct TaskFigures {
    /// Smoothed; of the real runs where there are any.
    pub(super) pass_rate: Option<f64>,
    pub(super) pass_at_k: Option<f64>,
    pub(super) pass_hat_k: Option<f64>,
    /// The real world did not fail at these actions for a cause of its own.
    pub(super) feasible: bool,
}

/// Runs and successes.
type Tried = (u64, u64);

/// All tasks of a lake.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    /// By environment and task: real runs, and runs of the arm at hand.
    rates: BTreeMap<(String, String), [Tried; 2]>,
    /// Of the arm at hand, by policy too.
    trials: BTreeMap<(String, String, Option<String>), Tried>,
    infeasible: HashSet<(String, String)>,
}

impl Tasks {
    /// Reads them; the views of rewards must be named.
    pub(super) async fn read(engine: &Engine, recipe: &Recipe) -> CurateResult<Self> {
        let mut tasks = Self::default();
        let mut batches = stream(engine, PASS_RATES).await?;
        while let Some(batch) = batches.next().await? {
            let [environment, task, arm, policy] =
                ["environment", "task", "arm", "policy"].map(|name| texts(&batch, name));
            let (environment, task, arm, policy) = (environment?, task?, arm?, policy?);
            let (runs, solved) = (longs(&batch, "runs")?, longs(&batch, "solved")?);
            for row in 0..batch.num_rows() {
                let whole = |n: i64| u64::try_from(n).unwrap_or_default();
                let tried = (whole(runs.value(row)), whole(solved.value(row)));
                let key = (
                    environment.value(row).to_owned(),
                    task.value(row).to_owned(),
                );
                if arm.value(row) == recipe.source.arm.as_str() {
                    let policy = text(&policy, row).filter(|_| !recipe.groups.mix_policies);
                    let own = (key.0.clone(), key.1.clone(), policy);
                    add(tasks.trials.entry(own).or_default(), tried);
                    add(&mut tasks.rates.entry(key.clone()).or_default()[1], tried);
                }
                if arm.value(row) == "real" {
                    add(&mut tasks.rates.entry(key).or_default()[0], tried);
                }
            }
        }
        let mut batches = stream(engine, INFEASIBLE).await?;
        while let Some(batch) = batches.next().await? {
            let (environment, id) = (
                texts(&batch, "environment")?,
                texts(&batch, "trajectory_id")?,
            );
            tasks.infeasible.extend(
                (0..batch.num_rows())
                    .map(|row| (environment.value(row).to_owned(), id.value(row).to_owned())),
            );
        }
        Ok(tasks)
    }

    /// What is known of the task of a run.
    pub(super) fn of(&self, run: &Candidate, k: u64, mix_policies: bool) -> TaskFigures {
        let key = (run.environment.to_string(), run.task.to_string());
        let rate = self.rates.get(&key).and_then(|[real, own]| {
            let (n, c) = if real.0 > 0 { *real } else { *own };
            (n > 0).then(|| smoothed_pass_rate(n, c))
        });
        let policy = run.policy.as_deref().filter(|_| !mix_policies);
        let own = (key.0, key.1, policy.map(str::to_owned));
        let (n, c) = self.trials.get(&own).copied().unwrap_or_default();
        let trajectory = (own.0, run.trajectory_id.to_string());
        TaskFigures {
            pass_rate: rate,
            pass_at_k: pass_at_k(n, c, k),
            pass_hat_k: pass_hat_k(n, c, k),
            feasible: !self.infeasible.contains(&trajectory),
        }
    }
}

fn add(sum: &mut Tried, more: Tried) {
    sum.0 += more.0;
    sum.1 += more.1;
}
