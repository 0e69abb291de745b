//! What is to be run: a trajectory as a list of calls.

use serde::{Deserialize, Serialize};

use super::rebind::Binding;

/// A trajectory to run, as the journal keeps it until its runs are in the lake.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) environment: String,
    pub(super) trajectory_id: String,
    pub(super) task_id: Option<String>,
    pub(super) group_id: Option<String>,
    pub(super) policy: Option<String>,
    /// What the agent was told.
    pub(super) told: Option<String>,
    /// State to start from, JSON text.
    pub(super) start_state: Option<String>,
    /// The calls said to be right, JSON text.
    pub(super) gold: Option<String>,
    /// Labels of the source, a JSON object.
    #[serde(default)]
    pub(super) labels: Option<String>,
    pub(super) calls: Vec<Planned>,
    /// Repeats that the lake has already, on `sim` and on `real`: ours come after them.
    pub(super) there: [i32; 2],
    /// Position of the call that is probed; it stands there twice.
    pub(super) probed: Option<usize>,
}

/// One call to make.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Planned {
    pub(super) turn: i32,
    pub(super) index: i32,
    pub(super) id: Option<String>,
    pub(super) requestor: Option<String>,
    pub(super) name: String,
    /// JSON text as recorded.
    pub(super) arguments: String,
    /// What else the source says of it: keys that have no column, a JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) more: Option<String>,
    /// Where its values came from, where they are to be derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) bindings: Vec<Binding>,
}

impl Task {
    /// The repeat under which a run of an arm is stored.
    pub(super) fn stored_repeat(&self, arm: &str, repeat: i32) -> i32 {
        self.there[usize::from(arm == "real")] + repeat
    }
}
