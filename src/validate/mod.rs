//! Does the profile predict what happens to real agents?
//!
//! Groups of trajectories (one per kind of change, by a label) have a harm: the
//! share of (trajectory, agent) pairs that were right on `sim` and are wrong on
//! `real`. [`validate`] says how well the decision gap ranks the groups by it,
//! beside the surface gap and rivals that need no thought, and how well it tells
//! single pairs apart. docs/validation.md says what was fixed before which data
//! were seen.
//!
//! Groups whose trajectories are equal on both arms in all that was told, offered
//! and answered have no gap to predict. Their harm is the floor: what agents lose by
//! running again. They are shown, and stay out of the correlations.

mod data;
mod error;
mod family;
mod fitted;
mod found;
mod live;
mod ordering;
mod pairs;
mod read;
mod scores;
mod table;

pub use error::{ValidateError, ValidateResult};
pub use family::Family;
pub use found::{
    Auc, Bin, Ceiling, Dimensions, Fitted, FloorHarm, Group, LeftOut, Rival, Validation,
};

pub use live::{
    Live, LiveAgents, LiveBenchmark, LiveError, LiveRank, LiveRequest, LiveResult, LiveType, PAPER,
    usual_agents, validate_live,
};
pub use ordering::Ordering;

use crate::engine::Engine;

/// Under which kind fitted weights are stored.
pub const DIMENSION_WEIGHTS: &str = "dimension_weights";

/// What to validate.
#[derive(Clone, Debug)]
pub struct Request {
    /// Labels whose values make the groups.
    pub by: Vec<String>,
    /// Only trajectories with these values of labels.
    pub only: Vec<(String, String)>,
    /// Only these agents; all if empty.
    pub agents: Vec<String>,
    /// Families of groups, left out one at a time.
    pub families: Vec<Family>,
    /// Draws of each bootstrap.
    pub resamples: usize,
    /// Seed of the draws.
    pub seed: u64,
    /// Whether to fit weights of the dimensions as well.
    pub fit: bool,
}

/// Compares what profiles say with what happened to the agents.
///
/// # Errors
/// If the lake has no labels, verdicts or decision gaps to compare, and what to do.
pub async fn validate(engine: &Engine, request: &Request) -> ValidateResult<Validation> {
    let data = read::read(engine, request).await?;
    table::validation(&data, request, engine.version().version)
}
