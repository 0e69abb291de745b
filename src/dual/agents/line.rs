//! What agents did as a run in the native form.

use fidelake_core::json::Doc;
use fidelake_core::json::key::Key;

use super::super::answer::{Object, one_line, received};
use super::act::Played;
use super::episode::Episode;

/// Under which run it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arm<'a> {
    /// Environment in the lake.
    pub environment: &'a str,
    /// Trajectory in the lake.
    pub trajectory: &'a str,
    /// `sim` or `real`.
    pub name: &'a str,
    /// Number of the run within the arm.
    pub repeat: i32,
    /// Labels of the run.
    pub labels: &'a [(&'a str, &'a str)],
    /// Whether latencies are written: they are never the same twice.
    pub latencies: bool,
}

/// One line: the calls that one agent made, and for each agent whether it succeeded
/// (judge `state`).
#[must_use]
pub fn line(episode: &Episode, arm: &Arm<'_>, shown: &Played, verdicts: &[(&str, bool)]) -> String {
    let gold: Vec<String> = episode
        .calls
        .iter()
        .map(|call| {
            let mut object = Object::default();
            object
                .text("name", &call.name)
                .raw("arguments", &one_line(&call.arguments));
            object.finish()
        })
        .collect();
    let last = shown.calls.len().saturating_sub(1);
    let calls = shown.calls.iter().enumerate().map(|(turn, made)| {
        let state = shown.state.as_deref().filter(|_| turn == last);
        call(turn, made, state, arm.latencies)
    });
    let calls: Vec<String> = calls.collect();
    let tools: Vec<String> = shown.tools.iter().map(|tool| one_line(tool)).collect();
    let verdicts: Vec<String> = verdicts
        .iter()
        .map(|(agent, success)| {
            let mut object = Object::default();
            object
                .text("judge", "state")
                .text("agent", agent)
                .raw("success", &success.to_string());
            object.finish()
        })
        .collect();
    let mut labels = Object::default();
    for (key, value) in arm.labels {
        labels.text(key, value);
    }
    let mut out = Object::default();
    out.raw("fidelake", "1")
        .text("trajectory_id", arm.trajectory)
        .text("environment", arm.environment)
        .text("arm", arm.name)
        .raw("repeat", &arm.repeat.to_string())
        .opt_text("environment_version", shown.version.as_deref())
        .text("origin", "live")
        .text("task_id", &episode.trajectory)
        .opt_text("task", episode.told.as_deref())
        .raw("catalog", &format!("[{}]", tools.join(",")))
        .raw("gold", &format!("[{}]", gold.join(",")))
        .raw("calls", &format!("[{}]", calls.join(",")))
        .raw("verdicts", &format!("[{}]", verdicts.join(",")))
        .raw("labels", &labels.finish());
    out.finish()
}

/// A call; `state` is the one at the end of the run, told with its last call.
fn call(turn: usize, made: &super::act::Made, state: Option<&str>, latencies: bool) -> String {
    let mut object = Object::default();
    object
        .raw("turn", &turn.to_string())
        .text("name", &made.name);
    match Doc::parse(&made.arguments) {
        Ok(_) => object.raw("arguments", &one_line(&made.arguments)),
        Err(_) => object.text("arguments_raw", &made.arguments),
    };
    object.text("purpose", made.purpose);
    let mut answer = made.answer.clone();
    if !latencies {
        answer.latency_ms = f64::NAN;
    }
    if let Some(state) = state
        && answer.state.is_none()
        && answer.state_hash.is_none()
    {
        answer.state_hash = Some(Key::of(state.as_bytes()).to_string());
    }
    object.raw("result", &received(&answer, &[]).answer);
    object.finish()
}
