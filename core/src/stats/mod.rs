//! Order-free sums, ratio estimators, intervals, distances of samples.

mod basics;
mod cells;
mod chance;
mod decay;
mod divergence;
mod fit;
mod rank;
mod ratio;
mod student;
mod sum;

pub use basics::{TrajectorySe, quantile, sigmoid};
pub use cells::Cells;
pub use chance::Chance;
pub use decay::{DecaySums, GAMMA, behavior_gap, temporal_weight};
pub use divergence::{MIN_PER_ARM, js_divergence, wasserstein1};
pub use fit::{ridge, ridge_from};
pub use rank::{auc, kendall, pearson, ranks, spearman};
pub use ratio::{
    CallSums, Delta, MIN_TRAJECTORIES, RatioEstimate, RatioSums, SATURATED_BELOW, Unfloored,
};
pub use student::{student_cdf, student_quantile};
pub use sum::{ExactSum, mean};
