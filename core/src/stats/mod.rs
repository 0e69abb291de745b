//! Order-free sums, ratio estimators, intervals.

mod basics;
mod decay;
mod ratio;
mod student;
mod sum;

pub use basics::{TrajectorySe, quantile, sigmoid};
pub use decay::{DecaySums, GAMMA};
pub use ratio::{CallSums, Delta, MIN_TRAJECTORIES, RatioEstimate, RatioSums, SATURATED_BELOW};
pub use student::{student_cdf, student_quantile};
pub use sum::{ExactSum, mean};
