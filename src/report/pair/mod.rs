//! Two runs of one trajectory side by side: the first one of each arm.

mod canvas;
mod compare;
mod draw;
mod load;
mod rows;
mod step;

use fidelake_core::gap::Diff;

pub use draw::{Limits, draw};
pub use load::{PairError, load};
pub use rows::batch;
pub use step::explained;

/// A trajectory as it went on both arms.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Its environment.
    pub environment: String,
    /// Its id.
    pub trajectory_id: String,
    /// What the agent was told.
    pub task: Option<String>,
    /// The first sim run.
    pub sim: Option<Run>,
    /// The first real run.
    pub real: Option<Run>,
    /// The calls of both, aligned, in order.
    pub steps: Vec<Step>,
    /// Its profile; none: not computed yet, or it ran on one arm only.
    pub profile: Option<Profile>,
}

/// One run.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Its id.
    pub run_id: String,
    /// Its number within the arm.
    pub repeat: String,
    /// How many runs the arm has.
    pub of: usize,
    /// Version of its environment.
    pub version: Option<String>,
    /// Who chose the calls.
    pub policy: Option<String>,
    /// How it ended.
    pub termination: Option<String>,
    /// What judges said of it.
    pub verdicts: Vec<String>,
    /// Its calls.
    pub calls: Vec<Call>,
}

/// One call and what came back.
#[derive(Clone, Debug, Default)]
pub struct Call {
    /// Turn.
    pub turn: i32,
    /// Place within the turn.
    pub index: i32,
    /// Tool.
    pub name: String,
    /// Arguments, canonical where they are an object.
    pub arguments: String,
    /// Hash of name and arguments.
    pub key: String,
    /// Outcome; none: no answer.
    pub outcome: Option<String>,
    /// Status code as given.
    pub status: Option<String>,
    /// Time taken, ms.
    pub latency_ms: Option<f64>,
    /// The value that the answer spells.
    pub structured: Option<String>,
    /// The answer as given.
    pub content: Option<String>,
    /// How the value was found.
    pub rule: Option<String>,
    /// Whether the answer was cut.
    pub truncated: bool,
    /// The state after the call.
    pub state: Option<String>,
    /// Its hash, as given.
    pub state_hash: Option<String>,
}

/// One aligned call.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its place among the aligned calls, from 0.
    pub number: usize,
    /// The sim run's call.
    pub sim: Option<usize>,
    /// The real run's call.
    pub real: Option<usize>,
    /// How the answers differ, where both have one and the outcome is the same.
    pub diff: Option<Diff>,
    /// The outcomes differ.
    pub outcome_differs: bool,
    /// The arguments differ.
    pub arguments_differ: bool,
    /// The states after the call differ.
    pub state_differs: bool,
    /// Why it diverges, from its profile: none, structural, state, flaky.
    pub cause: Option<String>,
    /// Anything differs that is not time.
    pub diverges: bool,
    /// No call before it diverges.
    pub first: bool,
}

/// The fidelity of the trajectory; null: unknown.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// obs, act, rew, trans and their product, with standard errors.
    pub fidelity: [(Option<f64>, Option<f64>); 5],
}

impl Pair {
    /// The calls of a step.
    fn sides(&self, step: &Step) -> (Option<&Call>, Option<&Call>) {
        (
            step.sim.and_then(|at| self.sim.as_ref()?.calls.get(at)),
            step.real.and_then(|at| self.real.as_ref()?.calls.get(at)),
        )
    }

    const fn on_both_arms(&self) -> bool {
        self.sim.is_some() && self.real.is_some()
    }
}

impl Step {
    /// Whether the two answers are alike but the states behind them are not,
    /// and the cause lies before.
    fn only_carries(&self) -> bool {
        self.state_differs
            && !self.first
            && !self.outcome_differs
            && !self.arguments_differ
            && self.cause.as_deref() != Some("structural")
            && self
                .diff
                .as_ref()
                .is_none_or(|diff| diff.paths.is_empty() && diff.omitted == 0)
            && self.sim.is_some()
            && self.real.is_some()
    }
}
