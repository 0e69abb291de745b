//! What there is to do, and how it went in the clean world.

use super::super::rebind::{Binding, Recorded, bindings, value_of_text};
use crate::env::Start;

/// A right call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Right {
    /// Tool.
    pub name: String,
    /// JSON text.
    pub arguments: String,
    /// The content of its answer in the clean world, JSON text.
    pub result: Option<String>,
}

/// Which read shows what a write did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadBack {
    /// The tool that writes.
    pub after: String,
    /// The tool that shows it; of the write's arguments it gets those that it knows.
    pub call: String,
}

/// One task with its right calls, in the order in which they are made, one at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Episode {
    /// The trajectory.
    pub trajectory: String,
    /// What the agent was told.
    pub told: Option<String>,
    /// What it was told in the clean world, where that was something else.
    pub told_clean: Option<String>,
    /// State to start from.
    pub start: Start,
    /// What is right.
    pub calls: Vec<Right>,
    /// Declarations of the clean world's tools, JSON text: what the agent learnt there.
    pub tools: Vec<String>,
    /// Which reads show what writes did.
    pub read_backs: Vec<ReadBack>,
    /// After which right calls the state counts as well, beside the end: the ends of the
    /// turns where a benchmark looks there.
    pub looks: Vec<usize>,
}

impl Episode {
    /// What the agent was told in the clean world.
    pub(super) fn clean(&self) -> Option<&str> {
        self.told_clean.as_deref().or(self.told.as_deref())
    }

    /// Which arguments came from earlier answers of the clean world.
    pub(super) fn bindings(&self) -> Vec<Vec<Binding>> {
        let values: Vec<Option<String>> = self
            .calls
            .iter()
            .map(|call| value_of_text(call.result.as_deref()?))
            .collect();
        let recorded: Vec<Recorded<'_>> = self
            .calls
            .iter()
            .zip(&values)
            .enumerate()
            .map(|(turn, (call, value))| Recorded {
                turn: i32::try_from(turn).unwrap_or(i32::MAX),
                arguments: &call.arguments,
                result: value.as_deref(),
            })
            .collect();
        let told: Vec<&str> = self.clean().into_iter().collect();
        bindings(&told, &recorded)
    }
}
