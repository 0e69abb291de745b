//! Rare behaviour of the real world, spliced into simulated trajectories.
//!
//! A failure that the real world shows now and then, and the simulator never, is put before a
//! call that went well: the call fails with an answer that was really given, is made again, and
//! the run goes on as it was. Nothing is made up: what comes before the failure, the failure
//! and the repeated call behind it must all have been seen in the real world, and there may
//! not be more of it than an exact test lets pass for the real share. docs/augment.md.

mod choose;
mod error;
mod plan;
mod read;
mod splice;

pub use choose::{Choice, Limits};
pub use error::AugmentError;
pub use plan::{Augmentation, Kind, augmentation};
pub use splice::{Splice, splice};
