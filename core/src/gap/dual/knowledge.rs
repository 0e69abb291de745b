//! What is known of an environment beside its runs.

use std::rc::Rc;

use super::part::Learned;
use crate::gap::rules::CompiledRules;

/// What is declared of an environment's tools, and what was learned of them.
pub trait Knowledge {
    /// The noise of an API, learned from other trajectories.
    fn learned(&self, api: &str) -> Learned;

    /// How the answers of an API are compared. What was learned from other
    /// trajectories is left out where a trajectory has `own_noise`.
    fn rules(&self, api: &str, own_noise: bool) -> Option<Rc<CompiledRules>>;

    /// Whether a tool may change something, where declared.
    fn mutates(&self, api: &str) -> Option<bool>;

    /// Whether `read`, called next after `write`, shows the state that it left.
    fn reads_back(&self, write: &str, read: &str) -> bool;
}

/// Nothing is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoKnowledge;

impl Knowledge for NoKnowledge {
    fn learned(&self, _: &str) -> Learned {
        Learned::default()
    }

    fn rules(&self, _: &str, _: bool) -> Option<Rc<CompiledRules>> {
        None
    }

    fn mutates(&self, _: &str) -> Option<bool> {
        None
    }

    fn reads_back(&self, _: &str, _: &str) -> bool {
        false
    }
}
