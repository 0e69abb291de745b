//! The calibrated gate: how often what was right on sim stays right on real, as a
//! function of f_low, learned from the pairs of the lake that were judged on both arms.
//!
//! Cross-fitted by task: a row's weight comes from a curve that saw no pair of its
//! task. The factor `run_rew` is left out of f here, since it is made of the very
//! verdicts that the curve is to predict.

use std::collections::HashMap;
use std::sync::Arc;

use fidelake_core::gap::{CALIBRATION_BROKEN, CALIBRATION_PAIRS, Gate, fidelity_low};
use fidelake_core::json::key::Key;
use fidelake_core::stats::Logistic;

use super::error::CurateResult;
use super::fidelity::{Judged, judge};
use super::predicted::{Known, Predicted};
use super::read::{floats, stream, texts};
use super::recipe::GatePart;
use super::region::Regions;
use super::select::profiled;
use crate::engine::Engine;

const VERDICTS: &str = include_str!("../../queries/validate/verdicts.sql");

/// Parts of the tasks, each left out of one curve.
const FOLDS: usize = 5;

/// A calibrated gate.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Calibration {
    /// Of all pairs: what is shown.
    pub(super) all: Gate,
    /// Without the pairs of each part.
    folds: [Gate; FOLDS],
    pub(super) pairs: usize,
    pub(super) broken: usize,
}

impl Calibration {
    /// The gate of a task.
    pub(super) fn gate(&self, environment: &str, task: &str) -> Gate {
        self.folds[fold(environment, task)]
    }
}

fn fold(environment: &str, task: &str) -> usize {
    let key = Key::of_parts(&["calibration", environment, task]);
    (key.bits() % FOLDS as u128) as usize
}

/// A pair right on sim: part, f_low, still right on real.
type Pair = (usize, f64, bool);

/// Learns the gate, or says why it cannot be learned.
pub(super) async fn calibrate(
    engine: &Engine,
    regions: &Regions,
    part: &GatePart,
) -> CurateResult<Result<Calibration, String>> {
    let mut known: HashMap<(String, Arc<str>), (Arc<str>, f64)> = HashMap::new();
    // Profiled runs only: what little they lack takes the mean of their environment.
    let unpredicted = Predicted::default();
    let mut of_environment = Known::new(regions, &unpredicted);
    for run in profiled(engine).await? {
        let expected = of_environment.expected(&run);
        if let Some(Judged { f, se, .. }) = judge(&run, expected.as_ref(), part) {
            let key = (run.environment.to_string(), run.trajectory_id);
            known.insert(key, (run.task, fidelity_low(f, se, part.kappa)));
        }
    }
    let mut pairs: Vec<Pair> = Vec::new();
    let mut batches = stream(engine, VERDICTS).await?;
    while let Some(batch) = batches.next().await? {
        let (environment, id) = (
            texts(&batch, "environment")?,
            texts(&batch, "trajectory_id")?,
        );
        let (sim, real) = (floats(&batch, "sim")?, floats(&batch, "real")?);
        for row in 0..batch.num_rows() {
            let key = (environment.value(row).to_owned(), id.value(row).into());
            if let Some((task, low)) = known.get(&key).filter(|_| sim.value(row) > 0.5) {
                pairs.push((fold(&key.0, task), *low, real.value(row) > 0.5));
            }
        }
    }
    Ok(learn(pairs))
}

fn learn(mut pairs: Vec<Pair>) -> Result<Calibration, String> {
    let broken = pairs.iter().filter(|(_, _, kept)| !kept).count();
    if pairs.len() < CALIBRATION_PAIRS || broken < CALIBRATION_BROKEN {
        return Err(format!(
            "the calibrated gate needs {CALIBRATION_PAIRS} pairs right on sim and judged on both arms, {CALIBRATION_BROKEN} of them wrong on real; the lake has {} and {broken}",
            pairs.len()
        ));
    }
    // The sums of a fit depend on the order in their last digits.
    pairs.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.2.cmp(&b.2)).then(a.0.cmp(&b.0)));
    let fit = |without: Option<usize>| -> Result<Gate, String> {
        let rest = pairs.iter().filter(|pair| Some(pair.0) != without);
        let rest: Vec<(f64, bool)> = rest.map(|(_, low, kept)| (*low, *kept)).collect();
        match Logistic::fit(&rest) {
            Some(curve) if curve.slope > 0.0 => Ok(Gate::Calibrated(curve)),
            Some(_) => Err("the calibrated gate has no ground: in this lake pairs of higher fidelity do not stay right more often".to_owned()),
            None => Err("the calibrated gate cannot be cross-fitted: without one fifth of the tasks all pairs have the same end".to_owned()),
        }
    };
    let mut folds = [Gate::Open; FOLDS];
    for (at, gate) in folds.iter_mut().enumerate() {
        *gate = fit(Some(at))?;
    }
    Ok(Calibration {
        all: fit(None)?,
        folds,
        pairs: pairs.len(),
        broken,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(n: usize, kept: impl Fn(f64, usize) -> bool) -> Vec<Pair> {
        (0..n)
            .map(|at| {
                let low = (at * 7 % n) as f64 / n as f64;
                (at % FOLDS, low, kept(low, at))
            })
            .collect()
    }

    #[test]
    fn a_curve_needs_pairs_and_ground() {
        // Kept with probability .5 at 0 and nearly always at 1.
        let rising = |low: f64, at: usize| ((at * 37 % 100) as f64 / 100.0) < 0.5 + low / 2.0;
        let found = learn(pairs(600, rising)).unwrap();
        assert_eq!(found.pairs, 600);
        let (low, high) = (found.all.weight(0.1), found.all.weight(0.9));
        assert!(low > 0.4 && low < 0.75 && high > 0.85, "{low} {high}");
        assert_eq!(found.all.weight(1.0), 1.0);
        // The order of the pairs does not matter.
        let mut turned = pairs(600, rising);
        turned.reverse();
        assert_eq!(learn(turned).unwrap(), found);
        assert!(learn(pairs(299, rising)).unwrap_err().contains("299"));
        assert!(
            learn(pairs(600, |_, at| at != 0))
                .unwrap_err()
                .contains("600 and 1")
        );
        let falling = learn(pairs(600, |low, at| !rising(low, at)));
        assert!(falling.unwrap_err().contains("no ground"));
    }

    #[test]
    fn a_row_is_weighed_by_a_curve_that_did_not_see_its_task() {
        // In one part everything is kept: its own curve does not know that.
        let odd = |low: f64, at: usize| {
            at.is_multiple_of(FOLDS) || ((at * 37 % 100) as f64 / 100.0) < low
        };
        let found = learn(pairs(1_000, odd)).unwrap();
        let weights = found.folds.map(|gate| gate.weight(0.3));
        assert!(weights[1..].iter().all(|w| weights[0] < *w), "{weights:?}");
        assert_eq!(found.gate("e", "t"), found.folds[fold("e", "t")]);
    }
}
