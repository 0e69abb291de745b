//! Order-free sums, ratio estimators, intervals, distances of samples.

mod basics;
mod betting;
mod cells;
mod chance;
mod decay;
mod divergence;
mod draw;
mod fit;
mod hypergeometric;
mod latency;
mod logistic;
mod rank;
mod rate;
mod ratio;
mod student;
mod sum;

pub use basics::{TrajectorySe, quantile, sigmoid};
pub use betting::{Step, betting_interval, plain_steps};
pub use cells::Cells;
pub use chance::Chance;
pub use decay::{DecaySums, GAMMA, behavior_gap, temporal_weight};
pub use divergence::{MIN_PER_ARM, js_divergence, wasserstein1};
pub use draw::{chances, draw_evenly, draw_systematic};
pub use fit::{ridge, ridge_from};
pub use hypergeometric::{holm, share_above, shares_differ};
pub use latency::Latency;
pub use logistic::Logistic;
pub use rank::{auc, kendall, pearson, ranks, spearman};
pub use rate::rate_interval;
pub use ratio::{
    CallSums, Delta, MIN_TRAJECTORIES, RatioEstimate, RatioSums, SATURATED_BELOW, Unfloored,
};
pub use student::{student_cdf, student_quantile};
pub use sum::{ExactSum, mean};
