//! Scripted agents: they act on a live environment without a model, so that the harm of
//! a different world can be measured.
//!
//! All know what is right in the clean world (`gold`). They differ in what they make of
//! another one: whether they take names and values for given, and what they do when a call
//! fails. None of them knows of perturbations.

mod act;
mod episode;
mod habit;
mod line;
mod pick;
mod slots;

pub use act::{Made, Patience, Played, play};
pub use episode::{Episode, ReadBack, Right};
pub use habit::{Agent, Habits, Mind};
pub use line::{Arm, line};
