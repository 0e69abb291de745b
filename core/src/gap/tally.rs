//! What a walk adds up, and who listens to it.

use super::kinds::{DiffKind, Kinds, Loss};
use super::scan::Leaves;

/// Who listens to a walk. The plain comparison listens to nothing, so paths
/// cost it nothing; the explaining one keeps them.
pub(super) trait Sink {
    /// Steps into the value under a key (canonical, quotes included).
    fn key(&mut self, _key: &str) {}
    /// Steps into an element.
    fn index(&mut self, _index: u32) {}
    /// Steps out again.
    fn leave(&mut self) {}
    /// Something is lost here.
    fn lost(&mut self, _loss: Loss, _left: Option<&str>, _right: Option<&str>) {}
    /// A point to go back to.
    fn mark(&self) -> usize {
        0
    }
    /// Forgets everything since `mark`, and stands at the root again.
    fn rewind(&mut self, _mark: usize) {}
    /// What was lost right after `mark` costs only this share of it.
    fn relieve(&mut self, _mark: usize, _share: f64) {}
    /// Everything lost since `mark` is one difference of order.
    fn reorder(&mut self, _mark: usize, _weight: f64, _left: &str, _right: &str) {}
}

/// The sink that does not listen.
pub(super) struct Quiet;
impl Sink for Quiet {}

/// The sums of a walk. Losses are in paths; the `mass` ones in bytes of leaves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) shared: u32,
    pub(super) union: u32,
    pub(super) structure: f64,
    pub(super) value: f64,
    pub(super) mass: u64,
    pub(super) structure_mass: f64,
    pub(super) value_mass: f64,
    pub(super) kinds: Kinds,
}

impl Tally {
    pub(super) fn share(&mut self, mass: usize) {
        self.shared = self.shared.saturating_add(1);
        self.union = self.union.saturating_add(1);
        self.mass += mass as u64;
    }

    pub(super) fn share_all(&mut self, leaves: Leaves) {
        self.shared = self.shared.saturating_add(leaves.count);
        self.union = self.union.saturating_add(leaves.count);
        self.mass += leaves.mass;
    }

    pub(super) fn lose(&mut self, loss: Loss, mass: usize) {
        self.value += loss.weight;
        self.value_mass += loss.weight * mass as f64;
        self.kinds.add(loss.kind, 1);
    }

    /// Paths, and bytes, that are shared and not lost.
    pub(super) fn kept(&self) -> (f64, f64) {
        (
            f64::from(self.union) - self.structure - self.value,
            self.mass as f64 - self.structure_mass - self.value_mass,
        )
    }

    /// Takes the sums of a part.
    pub(super) fn take(&mut self, part: &Self) {
        self.shared = self.shared.saturating_add(part.shared);
        self.union = self.union.saturating_add(part.union);
        self.structure += part.structure;
        self.value += part.value;
        self.mass += part.mass;
        self.structure_mass += part.structure_mass;
        self.value_mass += part.value_mass;
        for (kind, paths) in [
            (DiffKind::Missing, part.kinds.missing),
            (DiffKind::Extra, part.kinds.extra),
            (DiffKind::Type, part.kinds.type_),
            (DiffKind::Value, part.kinds.value),
            (DiffKind::Order, part.kinds.order),
            (DiffKind::Cosmetic, part.kinds.cosmetic),
        ] {
            self.kinds.add(kind, paths);
        }
    }
}
