//! The numbers of fidelake: values in, numbers out.
//!
//! No Arrow, no async, no files. Everything here is a pure function of its
//! arguments, so it can be tested by itself and called from SQL, from an
//! importer or from a running training alike.

pub mod budget;
pub mod choose;
pub mod gap;
pub mod json;
pub mod mask;
pub mod mend;
pub mod model;
pub mod monitor;
pub mod patterns;
pub mod perturb;
pub mod stats;
pub mod steer;
