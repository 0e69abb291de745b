//! From gaps to intensities.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use fidelake_core::perturb::{Dimension, Perturbation};
use fidelake_core::steer::{Curve, Point, Spread, targeted, uniform};

use super::error::RandomizeError;
use super::read::{Measured, measured};
use crate::engine::Engine;
use crate::lake::{At, Lake};

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The environment; `NAME--anything` counts as it.
    pub environment: String,
    /// Sum of the intensities over all cells.
    pub budget: f64,
    /// What is spent at a time.
    pub step: f64,
    /// A cell with fewer calls at an intensity is not looked at there.
    pub least_calls: i64,
    /// A gap that falls by less is taken as flat.
    pub least_fall: f64,
}

/// A perturbation in a region.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Cell {
    /// What is put around the simulator.
    pub perturbation: String,
    /// The dimension that it acts on.
    pub dimension: &'static str,
    /// The region: calls of this API.
    pub api: String,
    /// Share of all calls that are made there.
    pub visits: f64,
    /// Gap without it, [0,1].
    pub gap: f64,
    /// How much the visited gap falls per unit of intensity, at its steepest from 0 on.
    pub gradient: f64,
    /// What it gets.
    pub intensity: f64,
    /// What it would get if all got the same.
    pub uniform: f64,
    /// Gap at its intensity, as it was measured between the points beside it.
    pub gap_after: f64,
    /// Intensities at which it was measured, with the gap at each.
    pub measured: Vec<(f64, f64)>,
}

/// What came of it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Outcome {
    /// The environment.
    pub environment: String,
    /// Lake version that was read.
    pub lake_version: i64,
    /// What might be spent.
    pub budget: f64,
    /// All cells.
    pub cells: Vec<Cell>,
    /// The targeted spread.
    pub targeted: Figures,
    /// The same total for all cells alike.
    pub uniform: Figures,
    /// Trajectories left out: several perturbations at once, or no intensity said.
    pub left_out: usize,
    /// Cells left out: too few calls, or measured at no intensity above 0.
    pub thin: usize,
}

/// Figures of a spread.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Figures {
    /// Sum of the intensities.
    pub total: f64,
    /// Visited gap before.
    pub before: f64,
    /// Visited gap that is left.
    pub left: f64,
    /// Share of it that is covered.
    pub covered: f64,
    /// Visited gap that is added where nothing is gained.
    pub noise: f64,
}

impl Figures {
    fn of(spread: &Spread) -> Self {
        Self {
            total: spread.total,
            before: spread.before,
            left: spread.left,
            covered: spread.covered,
            noise: spread.noise,
        }
    }
}

/// Estimates the gradients and spends the budget.
///
/// # Errors
/// If the lake cannot be read, or has not the runs that gradients need.
pub async fn randomize(lake: &Lake, request: &Request) -> Result<Outcome, RandomizeError> {
    let engine = Engine::open(lake, &At::Newest).await?;
    let (cells, left_out) = measured(&engine, &request.environment).await?;
    spend(&cells, request, engine.version().version, left_out)
}

fn spend(
    measured: &[Measured],
    request: &Request,
    lake_version: i64,
    left_out: usize,
) -> Result<Outcome, RandomizeError> {
    let base: BTreeMap<&str, &Measured> = measured
        .iter()
        .filter(|one| one.perturbation.is_empty() && one.calls >= request.least_calls)
        .map(|one| (&*one.api, one))
        .collect();
    if base.is_empty() {
        return Err(RandomizeError::NoBase(request.environment.clone()));
    }
    let all: f64 = base.values().map(|one| one.calls as f64).sum();
    let mut groups: BTreeMap<(&str, &str), Vec<&Measured>> = BTreeMap::new();
    for one in measured.iter().filter(|one| !one.perturbation.is_empty()) {
        let group = groups.entry((&one.perturbation, &one.api)).or_default();
        group.push(one);
    }
    // A region is an API in one dimension: what acts on one gap shares it.
    let mut regions: BTreeMap<(&'static str, &str), usize> = BTreeMap::new();
    let (mut curves, mut cells, mut thin) = (Vec::new(), Vec::new(), 0);
    for ((name, api), points) in &groups {
        let (Some(kind), Some(plain)) = (Perturbation::parse(name), base.get(api)) else {
            thin += 1;
            continue;
        };
        let dimension = kind.dimension();
        let next = regions.len();
        let region = *regions.entry((dimension.as_str(), *api)).or_insert(next);
        let visits = plain.calls as f64 / all;
        let enough = points.iter().filter(|one| one.calls >= request.least_calls);
        let enough = enough.map(|one| point(one, dimension));
        let zero = point(plain, dimension);
        let mut points: Vec<Point> = std::iter::once(zero).chain(enough).collect();
        let least = points.iter().map(|p| p.gap).fold(zero.gap, f64::min);
        if zero.gap - least < request.least_fall {
            // What falls by so little may be chance; what rises stays as measured.
            for point in &mut points {
                point.gap = point.gap.max(zero.gap);
            }
        }
        let Some(curve) = Curve::new(region, visits, &points) else {
            thin += 1;
            continue;
        };
        cells.push(Cell {
            perturbation: (*name).to_owned(),
            dimension: dimension.as_str(),
            api: (*api).to_owned(),
            visits,
            gap: curve.base(),
            gradient: curve.gradient(0.0).map_or(0.0, |(slope, _)| slope),
            intensity: 0.0,
            uniform: 0.0,
            gap_after: 0.0,
            measured: curve
                .points()
                .iter()
                .map(|p| (p.intensity, p.gap))
                .collect(),
        });
        curves.push(curve);
    }
    if curves.is_empty() {
        return Err(RandomizeError::NoCurves(request.environment.clone()));
    }
    let ours = targeted(&curves, request.budget, request.step);
    let evenly = uniform(&curves, ours.total);
    for (at, cell) in cells.iter_mut().enumerate() {
        // Steps add up with dust behind the point.
        cell.intensity = (ours.intensity[at] * 1e6).round() / 1e6;
        cell.uniform = (evenly.intensity[at] * 1e6).round() / 1e6;
        cell.gap_after = curves[at].at(ours.intensity[at]).gap;
    }
    cells.sort_by(|a, b| {
        b.intensity
            .total_cmp(&a.intensity)
            .then(b.gradient.total_cmp(&a.gradient))
    });
    Ok(Outcome {
        environment: request.environment.clone(),
        lake_version,
        budget: request.budget,
        cells,
        targeted: Figures::of(&ours),
        uniform: Figures::of(&evenly),
        left_out,
        thin,
    })
}

/// The gap in the perturbation's dimension, and the others joined.
fn point(one: &Measured, dimension: Dimension) -> Point {
    let (obs, act, trans) = (one.obs, one.act, one.trans);
    let joined = |a: f64, b: f64| 1.0 - (1.0 - a) * (1.0 - b);
    let (gap, other) = match dimension {
        Dimension::Observation => (obs, joined(act, trans)),
        Dimension::Action => (act, joined(obs, trans)),
        // Metadata is told before any call: at calls it shows as what they answer.
        Dimension::Reward => (obs, joined(act, trans)),
        // A call that is refused is not accepted either: the two are one.
        Dimension::Transition => (joined(act, trans), obs),
    };
    Point {
        intensity: one.intensity,
        gap: gap.clamp(0.0, 1.0),
        other: other.clamp(0.0, 1.0),
    }
}

impl Outcome {
    /// The file for `fidelake simulate --randomization`. `evenly` writes the uniform
    /// spread, to compare with.
    #[must_use]
    pub fn toml(&self, evenly: bool) -> String {
        let figures = if evenly {
            &self.uniform
        } else {
            &self.targeted
        };
        let mut text = format!(
            "# Made by `fidelake randomize` from lake version {}: {} of the visited gap is covered.\n\
             # The list may stand in a plan, too, under kind = \"perturb\".\n\
             version = 1\nenvironment = {}\nbudget = {:?}\ntotal = {:?}\n",
            self.lake_version,
            percent(figures.covered),
            quoted(&self.environment),
            self.budget,
            (figures.total * 1e6).round() / 1e6,
        );
        let intensity = |cell: &Cell| if evenly { cell.uniform } else { cell.intensity };
        for cell in self.cells.iter().filter(|cell| intensity(cell) > 0.0) {
            let _ = write!(
                text,
                "\n[[perturb]]\nname = \"{}\"\nintensity = {:?}\ntools = [{}]\n",
                cell.perturbation,
                intensity(cell),
                quoted(&cell.api)
            );
        }
        text
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A TOML string; JSON's escapes are TOML's.
fn quoted(text: &str) -> String {
    let mut json = String::new();
    fidelake_core::json::push_json_string(text, &mut json);
    json
}

#[cfg(test)]
mod tests {
    use super::super::Randomization;
    use super::*;

    fn cell(perturbation: &str, intensity: f64, api: &str, trans: f64) -> Measured {
        Measured {
            perturbation: perturbation.into(),
            intensity,
            api: api.into(),
            calls: 50,
            trajectories: 10,
            obs: 0.1,
            act: 0.0,
            trans,
        }
    }

    fn request() -> Request {
        Request {
            environment: "shop".into(),
            budget: 0.3,
            step: 0.05,
            least_calls: 20,
            least_fall: 0.01,
        }
    }

    fn seen() -> Vec<Measured> {
        let mut all = Vec::new();
        for (api, gaps) in [("busy", [0.09, 0.04, 0.01]), ("calm", [0.0, 0.01, 0.04])] {
            all.push(cell("", 0.0, api, gaps[0]));
            all.push(cell("transition_rate_limit", 0.1, api, gaps[1]));
            all.push(cell("transition_rate_limit", 0.3, api, gaps[2]));
        }
        all
    }

    #[test]
    fn intensity_goes_where_the_gap_falls() {
        let found = spend(&seen(), &request(), 7, 0).unwrap();
        assert_eq!(found.cells[0].api, "busy");
        assert!((found.cells[0].intensity - 0.3).abs() < 1e-9);
        assert_eq!(found.cells[1].intensity, 0.0);
        // Half of the calls; from .09 to .04 over .1.
        assert!(
            (found.cells[0].gradient - 0.25).abs() < 1e-9,
            "{:?}",
            found.cells[0]
        );
        assert!(
            found.targeted.covered > 1.3 * found.uniform.covered,
            "{found:?}"
        );
        assert!(found.targeted.noise < found.uniform.noise);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.toml");
        std::fs::write(&path, found.toml(false)).unwrap();
        let read = Randomization::read(&path).unwrap();
        assert_eq!((read.environment.as_str(), read.perturb.len()), ("shop", 1));
        // One kind for two tools, at two intensities.
        std::fs::write(&path, found.toml(true)).unwrap();
        assert_eq!(Randomization::read(&path).unwrap().perturb.len(), 2);
    }

    #[test]
    fn what_is_missing_is_said() {
        let said = |cells: &[Measured]| spend(cells, &request(), 7, 0).unwrap_err().to_string();
        assert!(said(&[]).contains("plain simulator"));
        assert!(said(&seen()[..1]).contains("perturbed simulator"));
    }
}
