//! What may be called on the real arm.
//!
//! A tool is permitted if the plan lists it (`reads`, `allow`), or if the
//! environment itself declares that it changes nothing and is of a kind whose
//! declarations come from whoever wrote the adapter. What an MCP server or an
//! API's description says of itself is a hint: it permits nothing.

use std::collections::{BTreeMap, HashMap};

use super::plan_arm::ArmPlan;
use super::task::Task;
use crate::env::Tool;

/// What an environment says of its tools.
#[derive(Clone, Debug)]
pub(super) struct Declared {
    /// Whether its word permits a call.
    trusted: bool,
    /// Whether it answers from recordings: no call of it changes anything.
    harmless: bool,
    mutates: HashMap<String, Option<bool>>,
}

impl Declared {
    pub(super) fn of(kind: &str, tools: &[Tool]) -> Self {
        Self {
            trusted: matches!(kind, "process" | "replay"),
            harmless: kind == "replay",
            mutates: tools
                .iter()
                .map(|tool| (tool.name.clone(), tool.mutates))
                .collect(),
        }
    }

    fn reads(&self, tool: &str) -> bool {
        self.mutates.get(tool) == Some(&Some(false))
    }
}

/// Whether a call of this tool may be made.
pub(super) fn permitted(arm: &ArmPlan, declared: Option<&Declared>, tool: &str) -> bool {
    arm.permits(tool) || declared.is_some_and(|of| of.harmless || (of.trusted && of.reads(tool)))
}

/// Whether a call of this tool leaves the state as it is. Hints count here: they
/// shorten what is made again.
pub(super) fn reading(arm: &ArmPlan, declared: &Declared, tool: &str) -> bool {
    arm.reads.contains(tool) || declared.reads(tool)
}

/// How many calls of a task may be made before the first that is not permitted.
pub(super) fn permitted_calls(arm: &ArmPlan, declared: Option<&Declared>, task: &Task) -> usize {
    task.calls
        .iter()
        .take_while(|call| permitted(arm, declared, &call.name))
        .count()
}

/// Tools that are not permitted, with the number of trajectories that call them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Trajectories that are not run as a whole.
    pub trajectories: u64,
    /// Trajectories by the tool at which they are refused first.
    pub tools: BTreeMap<String, u64>,
}

impl Refused {
    pub(super) fn add(&mut self, tool: &str) {
        self.trajectories += 1;
        *self.tools.entry(tool.to_owned()).or_insert(0) += 1;
    }
}
