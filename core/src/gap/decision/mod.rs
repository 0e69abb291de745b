//! How much two worlds change what an agent would do (docs/measures.md,
//! "Decision gap"): a fixed lexical reader is told the task and offered the
//! tools of either world, and must pick the right tool and find its arguments.
//!
//! No model and no network: the reader is a yardstick, not an agent. It never
//! sees the right answer while it scores the tools.
//!
//! * [`Probe`] reads: words and their weights ([`TermWeights`]), the scores of
//!   the tools, the pick; every constant stands in [`ProbeConstants`];
//! * [`Probe::pair`] aligns two catalogs, once for all trajectories that were
//!   offered them;
//! * [`right_calls`] says which calls are right, and who says so;
//! * [`decide`] compares two [`Episode`]s over the right calls, and splits the
//!   difference over obs, act and rew;
//! * [`Agent`] is what a policy of one's own implements to stand in the place of the
//!   probe;
//! * [`Logged`] are decisions that were logged elsewhere, and stand in its place.

mod agent;
mod bag;
mod constants;
mod gap;
mod ground;
mod logged;
mod mix;
mod pair;
mod place;
mod right;
mod terms;

#[cfg(test)]
mod tests;

pub use agent::{Agent, Offer, Probe};
pub use constants::ProbeConstants;
pub use gap::{CallDecision, Decision, decide, shapley};
pub use ground::{Episode, Seen};
pub use logged::Logged;
pub use mix::{Dimension, Mix};
pub use pair::{Offered, Pair};
pub use place::{GoldSource, Made, Placed, right_calls};
pub use right::RightCall;
pub use terms::{TermWeights, tool_words};
