//! Which runs, in which order.
//!
//! Within a trajectory: sim, real, real, sim, and so on. Whatever drifts over
//! time, a load or a clock, then falls on both arms alike.

use fidelake_core::json::key::Key;

use super::plan::Plan;
use super::task::Task;

/// One run to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RunPlan {
    /// Number within the plan, from 0.
    pub(super) run: i64,
    /// Number of its trajectory.
    pub(super) trajectory: usize,
    pub(super) arm: &'static str,
    /// Number within the arm, from 0.
    pub(super) repeat: i32,
}

/// All runs of a plan, in order.
pub(super) fn schedule(plan: &Plan, tasks: &[Task]) -> Vec<RunPlan> {
    let mut runs: Vec<RunPlan> = Vec::new();
    for (trajectory, task) in tasks.iter().enumerate() {
        let most = |arm: &str| {
            plan.arm(arm)
                .map_or(0, |of| repeats(plan, of.repeats, of.share, task))
        };
        let (sim, real) = (most("sim"), most("real"));
        for repeat in 0..sim.max(real) {
            let pair = [("sim", sim), ("real", real)];
            let order = if repeat % 2 == 0 { [0, 1] } else { [1, 0] };
            for (arm, number) in order.map(|at| pair[at]) {
                if repeat < number {
                    runs.push(RunPlan {
                        run: i64::try_from(runs.len()).unwrap_or(i64::MAX),
                        trajectory,
                        arm,
                        repeat,
                    });
                }
            }
        }
    }
    runs
}

/// How often one trajectory runs on an arm: once, unless it is in the sample of
/// those that are repeated. The sample is the same for both arms.
fn repeats(plan: &Plan, repeats: i32, share: f64, task: &Task) -> i32 {
    if plan.probe {
        // Twice: the same in two fresh states.
        return repeats.max(2);
    }
    let seed = plan.seed.to_string();
    let key = Key::of_parts(&["repeats", &seed, &task.environment, &task.trajectory_id]);
    let place = (key.bits() >> 75) as f64 / (1u64 << 53) as f64;
    if place < share { repeats } else { 1 }
}
