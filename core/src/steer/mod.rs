//! Randomization where it helps: how much a gap falls with the intensity of a
//! perturbation, and how a budget of intensity is spread by that.
//!
//! A [`Curve`] is one cell, a perturbation in a region: the region's gap at several
//! intensities in the simulator, weighed by how much of all calls are made there. The
//! fidelity gradient is its slope downwards. [`targeted`] spends step by step where
//! that is steepest; [`uniform`] gives every cell the same, and is the rival.

mod curve;
mod spread;

pub use curve::{Curve, Point};
pub use spread::{Spread, gap_after, targeted, uniform};
