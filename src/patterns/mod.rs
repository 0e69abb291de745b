//! What the simulator gets wrong again and again: patterns of low fidelity, found by
//! clustering the calls at which the arms differ, described by rules in SQL, held against
//! noise, and named; and the probes that look closer (docs/patterns.md).

mod call;
mod core_of;
mod diff;
mod error;
mod feature;
mod guard;
mod list;
mod mine;
mod naming;
mod probe;
mod read;
mod rule;
mod sequences;
mod write;

pub use diff::{Change, Changed, diff};
pub use error::{PatternError, PatternResult};
pub use list::{Detail, Listed, detail, list};
pub use mine::{MineReport, MineRequest, mine};
pub use probe::{ProbeReport, ProbeRequest, ProbeRow, probe};
pub use sequences::{SequenceRow, frequent};
