//! How far a run can be believed, and the gate that follows from all of them
//! (docs/measures.md, "Gate").

use std::collections::HashSet;

use fidelake_core::gap::{Gaps, Gate};
use fidelake_core::stats::mean;

use super::calibrate::Calibration;
use super::recipe::{Arm, GateKind, GatePart, Recipe};
use super::region::{DIMENSIONS, Expected, PerFactor};
use super::select::Candidate;

/// The fidelity of a run and how sure it is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Judged {
    pub(super) f: f64,
    pub(super) mean: Option<f64>,
    pub(super) se: Option<f64>,
    pub(super) source: &'static str,
}

/// f from those factors of the run's profile that the recipe looks at, unknown ones
/// as expected of its environment; `None` without any evidence, or with a profile of
/// which less is known than the recipe asks for.
pub(super) fn judge(
    run: &Candidate,
    expected: Option<&PerFactor<Option<Expected>>>,
    part: &GatePart,
) -> Option<Judged> {
    let own = run.profile.as_ref().map(|p| p.gaps).unwrap_or_default();
    let mut own = own.map(|gap| gap.map(|g| g.clamp(0.0, 1.0)));
    let mut expected = *expected?;
    for ((own, expected), chosen) in own.iter_mut().zip(&mut expected).zip(part.factors) {
        if !chosen {
            (*own, *expected) = (None, None);
        }
    }
    if own.iter().all(Option::is_none) && expected.iter().all(Option::is_none) {
        return None;
    }
    let known = own.iter().flatten().count();
    if known < part.min_dimensions {
        return None;
    }
    if run
        .profile
        .as_ref()
        .is_some_and(|p| p.pairs < part.min_pairs)
    {
        return None;
    }
    let mut gaps = own;
    let mut imputed = Vec::new();
    for ((gap, expected), at) in gaps.iter_mut().zip(&expected).zip(0..) {
        if let (None, Some(expected)) = (&gap, expected) {
            *gap = Some(expected.mean);
            imputed.push((at, expected.spread));
        }
    }
    // A factor that was measured nowhere is left out for every run alike.
    let [obs, act, rew, trans, decision] = gaps.map(|gap| gap.or(Some(0.0)));
    let all = Gaps {
        decision,
        run_obs: obs,
        run_act: act,
        run_rew: rew,
        trans,
    };
    let f = all.fidelity()?;
    // d f / d gap is the product of the others.
    let others = |skip: usize| -> f64 {
        gaps.iter()
            .enumerate()
            .filter(|(at, _)| *at != skip)
            .map(|(_, gap)| 1.0 - gap.unwrap_or(0.0))
            .product()
    };
    let own_variance = match (&run.profile, known) {
        (Some(profile), 1..) => profile.se.map(|se| se * se),
        _ => Some(0.0),
    };
    let variance = imputed.iter().try_fold(own_variance, |sum, (at, spread)| {
        let part = (*spread)? * others(*at);
        Some(sum.map(|sum| sum + part * part))
    });
    let source = run.profile.as_ref().map_or("", |p| &*p.source);
    Some(Judged {
        f,
        mean: mean_fidelity(run, &gaps, known),
        se: variance.flatten().map(f64::sqrt),
        source: match (known, imputed.is_empty(), source) {
            (0, _, _) => "predicted",
            (_, true, "measured") => "measured",
            (_, _, "predicted") => "predicted",
            _ => "mixed",
        },
    })
}

/// The seed's mean: of the profile's known dimensions, else of what is expected.
fn mean_fidelity(run: &Candidate, gaps: &PerFactor<Option<f64>>, known: usize) -> Option<f64> {
    let own = run.profile.as_ref().and_then(|p| p.mean);
    if known > 0 && own.is_some() {
        return own;
    }
    let expected: Vec<f64> = gaps[..DIMENSIONS]
        .iter()
        .flatten()
        .map(|gap| 1.0 - gap)
        .collect();
    mean(&expected)
}

/// A gate, and how it came about.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Gates {
    /// What is shown; of a calibrated one the curve of all pairs.
    pub(super) shown: Gate,
    pub(super) calibration: Option<Calibration>,
    /// Trajectories that the constants of a quantile gate come from.
    pub(super) from: u64,
    /// Why it is not the gate that was asked for.
    pub(super) instead: Option<String>,
}

impl Gates {
    /// The gate of a run.
    pub(super) fn of(&self, run: &Candidate) -> Gate {
        match &self.calibration {
            Some(calibration) => calibration.gate(&run.environment, &run.task),
            None => self.shown,
        }
    }
}

/// The gate and its constants, from one fidelity per trajectory that has a
/// profile of its own. Predictions are the same number over and over: with them
/// the quantiles would say how many there are. They count where nothing else does.
pub(super) fn gate(
    recipe: &Recipe,
    runs: &[Candidate],
    calibration: Option<Result<Calibration, String>>,
) -> Gates {
    let mut seen = HashSet::new();
    let (mut own, mut predicted) = (Vec::new(), Vec::new());
    for run in runs {
        let Some(judged) = run.judged else { continue };
        if !seen.insert((&*run.environment, &*run.trajectory_id)) {
            continue;
        }
        match judged.source {
            "predicted" => predicted.push(judged.f),
            _ => own.push(judged.f),
        }
    }
    let fidelities = if own.is_empty() { predicted } else { own };
    let mut gates = Gates {
        shown: Gate::Open,
        calibration: None,
        from: fidelities.len() as u64,
        instead: None,
    };
    if recipe.source.arm == Arm::Real {
        return gates;
    }
    let quantile = || Gate::quantile(&fidelities).unwrap_or(Gate::Open);
    gates.shown = match (recipe.gate.kind, recipe.gate.constants, calibration) {
        (GateKind::None, _, _) => Gate::Open,
        (GateKind::Seed, _, _) => Gate::Seed,
        (GateKind::Quantile, Some((alpha, beta)), _) => Gate::Quantile { alpha, beta },
        (GateKind::Quantile, None, _) => quantile(),
        (GateKind::Calibrated, _, Some(Ok(calibration))) => {
            gates.calibration = Some(calibration);
            gates.calibration.as_ref().map_or(Gate::Open, |c| c.all)
        }
        (GateKind::Calibrated, _, why) => {
            gates.instead = why.and_then(Result::err);
            quantile()
        }
    };
    gates
}
