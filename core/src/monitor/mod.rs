//! Drift in a running training: charts over streams of gaps (docs/monitor.md).

mod abrupt;
mod baseline;
mod ewma;
mod next;
mod normal;
mod observation;
mod pair;
mod regions;
mod sequence;
mod stream;

pub use baseline::{Baseline, PHI_MAX, Unsteady, WARM_UP};
pub use next::draws;
pub use observation::{Malformed, Observation, When};
pub use pair::PairReader;
pub use regions::{Region, Regions, Taken};
pub use stream::{Cause, Latch, RATE_OF_ALL, RATE_OF_ONE, SAMPLES, State, Stream, rate};

/// The dimensions, in the order in which gaps stand.
pub const DIMENSIONS: [&str; 4] = ["obs", "act", "rew", "trans"];

/// Gaps of one observation, each in `[0,1]`; `None`: not measured.
pub type Gaps = [Option<f64>; 4];
