//! The calls at which the arms differ, as few numbers each.

use std::collections::HashMap;

use fidelake_core::patterns::Signature;

use super::feature::{Field, Vocabulary};

/// A trajectory that has such calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trajectory {
    pub(super) environment: String,
    pub(super) id: String,
    pub(super) key: i64,
    pub(super) held_out: bool,
}

/// Why a call differs, as the profile says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    Structural,
    State,
    Flaky,
    None,
}

impl Cause {
    pub(super) fn of(text: &str) -> Self {
        match text {
            "structural" => Self::Structural,
            "state" => Self::State,
            "flaky" => Self::Flaky,
            _ => Self::None,
        }
    }
}

/// One call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    /// In [`Calls::trajectories`].
    pub(super) trajectory: u32,
    pub(super) slot: i32,
    pub(super) turn: i32,
    pub(super) index: i32,
    /// In [`Calls::kinds`].
    pub(super) kind: u32,
    pub(super) gap: f64,
    pub(super) weight: f64,
    pub(super) cause: Cause,
    /// What is left of its difference after the arms' own noise; `None`: not repeated.
    pub(super) excess: Option<f64>,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Calls {
    pub(super) vocabulary: Vocabulary,
    pub(super) trajectories: Vec<Trajectory>,
    /// Features, sorted: what calls of one kind have in common.
    pub(super) kinds: Vec<Vec<u32>>,
    pub(super) calls: Vec<Call>,
    numbers: HashMap<Vec<u32>, u32>,
    places: HashMap<i64, u32>,
}

impl Calls {
    /// The number of a kind.
    pub(super) fn kind(&mut self, mut features: Vec<u32>) -> u32 {
        features.sort_unstable();
        features.dedup();
        if let Some(&number) = self.numbers.get(&features) {
            return number;
        }
        let number = u32::try_from(self.kinds.len()).unwrap_or(u32::MAX);
        self.kinds.push(features.clone());
        self.numbers.insert(features, number);
        number
    }

    /// The number of a trajectory.
    pub(super) fn trajectory(&mut self, key: i64, make: impl FnOnce() -> Trajectory) -> u32 {
        if let Some(&number) = self.places.get(&key) {
            return number;
        }
        let number = u32::try_from(self.trajectories.len()).unwrap_or(u32::MAX);
        self.trajectories.push(make());
        self.places.insert(key, number);
        number
    }

    pub(super) fn held_out(&self, call: &Call) -> bool {
        self.trajectories[call.trajectory as usize].held_out
    }

    /// The number of a call among all calls of a lake, for sets of them.
    pub(super) fn place(&self, call: &Call) -> u64 {
        place(self.trajectories[call.trajectory as usize].key, call.slot)
    }

    /// A kind as a signature. Paths count together: two sets without a path in common are
    /// as far apart as two values of another field.
    pub(super) fn signature(&self, kind: u32, count: u64) -> Signature {
        let features = &self.kinds[kind as usize];
        let paths = features
            .iter()
            .filter(|f| self.vocabulary.of(**f).0 == Field::Path)
            .count();
        let scale = |field: Field| {
            let share = if field == Field::Path {
                (paths as f64).sqrt()
            } else {
                1.0
            };
            field.weight() * std::f64::consts::FRAC_1_SQRT_2 / share
        };
        let features = features
            .iter()
            .map(|&f| (f, scale(self.vocabulary.of(f).0)));
        Signature {
            features: features.collect(),
            count,
        }
    }
}

/// A call's number: collisions are as likely as those of 64-bit hashes.
pub(super) fn place(trajectory_key: i64, slot: i32) -> u64 {
    trajectory_key
        .cast_unsigned()
        .wrapping_add(u64::from(slot.cast_unsigned()).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

impl Calls {
    /// The value of a field of a call.
    pub(super) fn value(&self, call: &Call, field: Field) -> &str {
        self.vocabulary
            .value(&self.kinds[call.kind as usize], field)
    }

    /// Distinct signatures.
    pub(super) fn kinds_of_calls(&self) -> usize {
        let mut kinds: Vec<u32> = self.calls.iter().map(|call| call.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds.len()
    }
}
