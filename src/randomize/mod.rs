//! Targeted randomization: which perturbations of the simulator, in which region and
//! how strong, bring it nearest to the real world for a budget (docs/randomize.md).

mod error;
mod file;
mod read;
mod work;

pub use error::RandomizeError;
pub use file::Randomization;
pub use work::{Cell, Outcome, Request, randomize};
