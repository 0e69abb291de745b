//! Expectations of single runs, finer than those of their environment: what is known
//! of the calls that a run makes (`engine::predict`).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::Serialize;

use super::error::CurateResult;
use super::recipe::{Arm, Recipe};
use super::region::{Expected, FACTORS, PerFactor, Regions};
use super::select::Candidate;
use crate::engine::Engine;
use crate::engine::predict::{HeldBack, Nearness, PREDICTED, Predictions, predict};

/// Below so many checked trajectories of an environment its spread is the lake's.
const MIN_CHECKED: u64 = 5;

/// What was predicted for the runs of a curation; nothing where nothing had to be.
#[derive(Debug, Default)]
pub(super) struct Predicted(Option<Found>);

#[derive(Debug)]
struct Found {
    predictions: Predictions,
    /// By environment: how far predictions are off.
    spreads: HashMap<String, Spreads>,
    /// The same over the lake.
    lake: Spreads,
}

type Spreads = [Option<f64>; PREDICTED.len()];

/// What to expect of a run: by its calls, else by its environment.
#[derive(Debug)]
pub(super) struct Known<'a> {
    regions: &'a Regions,
    predicted: &'a Predicted,
    environments: HashMap<Arc<str>, Option<Expectation>>,
}

/// One expectation per factor; `None` where it was measured nowhere.
type Expectation = PerFactor<Option<Expected>>;

impl<'a> Known<'a> {
    pub(super) fn new(regions: &'a Regions, predicted: &'a Predicted) -> Self {
        Self {
            regions,
            predicted,
            environments: HashMap::new(),
        }
    }

    /// `None` if nothing is known of its environment.
    pub(super) fn expected(&mut self, run: &Candidate) -> Option<Expectation> {
        let environment = self
            .environments
            .entry(Arc::clone(&run.environment))
            .or_insert_with(|| self.regions.expected(&run.environment));
        let mut expected = (*environment)?;
        self.predicted.refine(run, &mut expected);
        Some(expected)
    }
}

/// How near the predictions of a gap came where it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Check {
    trajectories: u64,
    mean_error: f64,
    mean_error_of_mean: f64,
    bias: f64,
    spread: f64,
    correlation: Option<f64>,
}

impl From<Nearness> for Check {
    fn from(found: Nearness) -> Self {
        Self {
            trajectories: found.trajectories,
            mean_error: found.mean_error,
            mean_error_of_mean: found.mean_error_of_mean,
            bias: found.bias,
            spread: found.spread,
            correlation: found.correlation,
        }
    }
}

impl Predicted {
    /// Predicts if a run lacks a gap that could be predicted.
    pub(super) async fn of(
        engine: &Engine,
        recipe: &Recipe,
        runs: &[Candidate],
    ) -> CurateResult<Self> {
        let lacks = |run: &Candidate| match &run.profile {
            None => true,
            Some(profile) => places().any(|(_, at)| profile.gaps[at].is_none()),
        };
        if recipe.source.arm == Arm::Real || !runs.iter().any(lacks) {
            return Ok(Self::default());
        }
        let predictions = predict(engine).await?;
        let spreads = |check: &HeldBack| std::array::from_fn(|which| spread(check, which));
        Ok(Self(Some(Found {
            lake: spreads(predictions.held_back_all()),
            spreads: predictions
                .environments()
                .map(|(name, check)| (name.to_owned(), spreads(check)))
                .collect(),
            predictions,
        })))
    }

    /// Puts what is known of this run in the place of what is known of its environment.
    fn refine(&self, run: &Candidate, expected: &mut Expectation) {
        let Some(found) = &self.0 else { return };
        let Some(own) = found.predictions.of(&run.run_id) else {
            return;
        };
        let spreads = found.spreads.get(&*run.environment);
        for (which, at) in places() {
            // A factor that was measured nowhere stays out for every run alike.
            if let (Some(mean), Some(expected)) = (own[which], &mut expected[at]) {
                let own = spreads.and_then(|spreads| spreads[which]);
                let spread = own.or(found.lake[which]);
                *expected = Expected { mean, spread };
            }
        }
    }

    /// How good the predictions are, per factor; empty if nothing was predicted.
    pub(super) fn checks(&self) -> BTreeMap<&'static str, Check> {
        let Some(found) = &self.0 else {
            return BTreeMap::new();
        };
        let all = found.predictions.held_back_all();
        places()
            .filter_map(|(which, at)| Some((FACTORS[at], all.nearness(which)?.into())))
            .collect()
    }
}

/// Numbers of what is predicted, with their places among the factors.
fn places() -> impl Iterator<Item = (usize, usize)> {
    PREDICTED
        .iter()
        .enumerate()
        .filter_map(|(which, (name, _))| {
            let at = FACTORS.iter().position(|factor| factor == name)?;
            Some((which, at))
        })
}

fn spread(check: &HeldBack, which: usize) -> Option<f64> {
    let found = check.nearness(which)?;
    (found.trajectories >= MIN_CHECKED).then_some(found.spread)
}
