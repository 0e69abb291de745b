//! Which real calls to spend, and what they say (docs/budget.md).
//!
//! The pool is every call of the first sim run of every trajectory. A campaign draws some of
//! them, round by round, for a plan that `fidelake dual run` takes; the draw's chances stand in
//! a label of its runs, so that the lake itself says how it came to know what it knows.

mod ask;
mod calibrate;
mod draw;
mod error;
mod pool;
mod replay;
mod rounds;
mod table;
pub(crate) mod tasks;

pub use ask::{Ask, Dimension, Estimation, RegionTold, estimate};
pub use calibrate::{Calibration, Predicted};
pub use draw::{PlanRequest, Planned, RegionPlan, plan};
pub use error::{EstimateError, EstimateResult};
pub use replay::{ReplayRequest, ReplayRow, Replayed, TargetRow, replay};
pub use table::{calibration_batch, plan_batch, predicted_batch, replay_batch, told_batch};
