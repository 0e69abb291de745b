//! What is known of an environment beside its runs.

use super::part::Learned;

/// What is declared of an environment's tools, and what was learned of them.
pub trait Knowledge {
    /// The noise of an API, learned from other trajectories.
    fn learned(&self, api: &str) -> Learned;

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

    fn mutates(&self, _: &str) -> Option<bool> {
        None
    }

    fn reads_back(&self, _: &str, _: &str) -> bool {
        false
    }
}
