//! Profiles and verdicts, side by side.

use std::collections::HashMap;

/// One trajectory.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// Place of its group's label.
    pub(super) group: usize,
    /// Place of its task: the same in every group.
    pub(super) task: usize,
    pub(super) signed: Option<f64>,
    /// obs, act, rew, trans.
    pub(super) parts: [Option<f64>; 4],
    /// Gaps of answers and of acceptance.
    pub(super) ran: [Option<f64>; 2],
    pub(super) surface: Option<f64>,
    pub(super) added: Option<f64>,
    pub(super) changed: f64,
    pub(super) equal: bool,
}

/// One agent on one trajectory: the share of its runs that were right.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judged {
    pub(super) item: usize,
    pub(super) agent: usize,
    pub(super) sim: f64,
    pub(super) real: f64,
}

impl Judged {
    /// Right on sim and wrong on real, runs of either arm taken at random.
    pub(super) fn broken(&self) -> f64 {
        self.sim * (1.0 - self.real)
    }
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Data {
    pub(super) labels: Names,
    pub(super) tasks: Names,
    pub(super) agents: Names,
    pub(super) items: Vec<Item>,
    pub(super) judged: Vec<Judged>,
    /// Profiled trajectories that lack a label.
    pub(super) unlabelled: u64,
    /// By source of the right calls.
    pub(super) sources: Vec<(String, u64)>,
}

/// Names by place, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    pub(super) all: Vec<String>,
    places: HashMap<String, usize>,
}

impl Names {
    pub(super) fn place(&mut self, name: &str) -> usize {
        if let Some(&place) = self.places.get(name) {
            return place;
        }
        self.all.push(name.to_owned());
        self.places.insert(name.to_owned(), self.all.len() - 1);
        self.all.len() - 1
    }
}
