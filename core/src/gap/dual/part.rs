//! One component of one call.

use crate::gap::cascade::is_flaky;
use crate::gap::noise::{Noise, correct_pairs};

/// One component of one call: distances between and within the arms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Part {
    /// Mean distance between the arms, in `[0,1]`; `None` if it was not measured.
    pub distance: Option<f64>,
    /// D, in `[-1,1]`.
    pub raw: Option<f64>,
    /// C, in `[0,1]`.
    pub reliability: Option<f64>,
    /// Where it comes from.
    pub noise: Option<Noise>,
    /// Mean distance of the arms' own repeats, where they can be compared.
    pub own: [Option<f64>; 2],
    /// Distance of the first run of sim to the first of real.
    pub first: Option<f64>,
    /// Distance of the second runs.
    pub second: Option<f64>,
    /// The difference is the arms' own noise.
    pub flaky: bool,
}

/// Noise that was learned of one API, by component ([`super::PARTS`]) and arm (sim, real).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Learned(pub [[Option<f64>; 2]; 7]);

impl Part {
    /// From the distances between the arms, within sim and within real (`NaN`: not comparable).
    pub(super) fn correct(&mut self, distances: &[Vec<f64>; 3], learned: [Option<f64>; 2]) {
        let [between, sim, real] = distances;
        let own = |pairs: &[f64]| {
            let known: Vec<f64> = pairs.iter().copied().filter(|d| !d.is_nan()).collect();
            crate::stats::mean(&known)
        };
        self.own = [own(sim), own(real)];
        if let Some(found) = correct_pairs(between, sim, real, learned) {
            self.distance = Some(found.distance);
            self.raw = Some(found.gap_raw);
            self.reliability = Some(found.reliability);
            self.flaky = is_flaky(&found);
            self.noise = Some(found.noise);
        }
    }
}
