//! Distances between what two worlds answered.
//!
//! Every number is defined in docs/measures.md; each module says which part it
//! implements and what it decided where the text is silent.

mod answer;
mod cosmetic;
mod diff;
mod leaf;
mod noise;
mod observation;
mod scan;
mod tokens;
mod transition;
mod walk;

#[cfg(test)]
mod figures;
#[cfg(test)]
mod observation_tests;

pub use answer::{Answer, CosmeticWeights, DiffKind, Form, Kinds, Rules};
pub use diff::{Diff, PathDiff, SHOWN_CHARS};
pub use leaf::SHORT_CHARS;
pub use noise::{ArmNoise, Corrected, Noise, correct};
pub use observation::{Comparer, ObsGap, observation};
pub use tokens::text_similarity;
pub use transition::{
    Component, LATENCY_FLOOR_MS, StateAfter, Transition, compose, latency_distance,
    outcome_distance, state_distance,
};
