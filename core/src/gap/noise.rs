//! A world differs from itself; what is left is the gap.
//!
//! `gap_raw` D = d_SR - (d_SS' + d_RR')/2 and `reliability` C = 1 - (d_SS' + d_RR')/2,
//! means over distinct pairs of runs, never floored here (docs/measures.md,
//! "Noise-corrected gap").
//!
//! Where one arm alone was repeated, its noise is taken off with its half and
//! the other arm counts as noiseless. The label is then `unknown`, not
//! `measured`: a simulator that repeats itself exactly would otherwise vouch for
//! a real world that nobody ran twice.

use crate::stats::{CallSums, Delta, mean};

/// Where the noise of a call comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Noise {
    /// Both arms' own repeats of this call.
    Measured,
    /// At least one arm's noise is that of the same API in other trajectories.
    Learned,
    /// At least one arm's noise is not known and counts as 0.
    Unknown,
    /// Of an aggregate: mean reliability below 0.2, no answer.
    Saturated,
}

impl Noise {
    /// The name stored in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Learned => "learned",
            Self::Unknown => "unknown",
            Self::Saturated => "saturated",
        }
    }
}

/// What is known of one arm's own noise at a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ArmNoise<'a> {
    /// Distances in `[0,1]` of all distinct pairs of this arm's runs; empty counts as unknown.
    Own(&'a [f64]),
    /// Mean distance in `[0,1]` learned from other trajectories.
    Learned(f64),
    /// Nothing.
    Unknown,
}

impl ArmNoise<'_> {
    fn level(self) -> (Option<f64>, Noise) {
        match self {
            Self::Own(pairs) => match mean(pairs) {
                Some(level) => (Some(level), Noise::Measured),
                None => (None, Noise::Unknown),
            },
            Self::Learned(level) => (Some(level), Noise::Learned),
            Self::Unknown => (None, Noise::Unknown),
        }
    }
}

/// One call (or one component of it) after correction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Corrected {
    /// Mean distance between the arms, d_SR, in `[0,1]`.
    pub distance: f64,
    /// D, in `[-1,1]`: not floored.
    pub gap_raw: f64,
    /// C, in `[0,1]`.
    pub reliability: f64,
    /// Own noise of the `sim` arm, d_SS'.
    pub noise_sim: Option<f64>,
    /// Own noise of the `real` arm, d_RR'.
    pub noise_real: Option<f64>,
    /// Where the noise comes from.
    pub noise: Noise,
}

/// Corrects the distances between the arms (all pairs of a sim and a real run,
/// each in `[0,1]`) for the noise within them. `None` without such a pair.
#[must_use]
pub fn correct(between: &[f64], sim: ArmNoise<'_>, real: ArmNoise<'_>) -> Option<Corrected> {
    let distance = mean(between)?;
    let ((sim, sim_from), (real, real_from)) = (sim.level(), real.level());
    let noise = match (sim_from, real_from) {
        (Noise::Measured, Noise::Measured) => Noise::Measured,
        (Noise::Unknown, _) | (_, Noise::Unknown) => Noise::Unknown,
        _ => Noise::Learned,
    };
    let own = (sim.unwrap_or(0.0) + real.unwrap_or(0.0)) / 2.0;
    Some(Corrected {
        distance,
        gap_raw: distance - own,
        reliability: 1.0 - own,
        noise_sim: sim,
        noise_real: real,
        noise,
    })
}

/// Corrects the distances of all pairs of runs at one call: between the arms,
/// within sim, within real. A pair that cannot be compared (its runs ended
/// differently) is `NaN`. `learned` is the arms' noise from other trajectories.
///
/// An arm that was repeated, but whose own pairs say nothing, takes the learned
/// noise, else that of the other arm (label `unknown`): counting it as 0 would turn
/// noise into gap. `None` without a pair between the arms, and where neither arm's
/// repeats can be compared: then the worlds cannot be either.
#[must_use]
pub fn correct_pairs(
    between: &[f64],
    sim: &[f64],
    real: &[f64],
    learned: [Option<f64>; 2],
) -> Option<Corrected> {
    if let (&[distance], &[], &[]) = (between, sim, real) {
        // Hardly anything is repeated in most lakes.
        let noise = |level: Option<f64>| level.map_or(ArmNoise::Unknown, ArmNoise::Learned);
        let [sim, real] = learned.map(noise);
        return correct(&[distance], sim, real).filter(|_| !distance.is_nan());
    }
    let known =
        |pairs: &[f64]| -> Vec<f64> { pairs.iter().copied().filter(|d| !d.is_nan()).collect() };
    let (between, own) = (known(between), [known(sim), known(real)]);
    let repeated = [!sim.is_empty(), !real.is_empty()];
    let mut borrowed = false;
    let mut noise = |arm: usize| -> Option<ArmNoise<'_>> {
        if !own[arm].is_empty() {
            return Some(ArmNoise::Own(&own[arm]));
        }
        if let Some(level) = learned[arm] {
            return Some(ArmNoise::Learned(level));
        }
        if !repeated[arm] {
            return Some(ArmNoise::Unknown);
        }
        borrowed = true;
        mean(&own[1 - arm]).map(ArmNoise::Learned)
    };
    let (sim, real) = (noise(0)?, noise(1)?);
    let mut found = correct(&between, sim, real)?;
    if borrowed {
        found.noise = Noise::Unknown;
    }
    Some(found)
}

/// The noise-corrected gap of two samples of runs in the energy form (Szekely and
/// Rizzo 2013), one call or whole trajectories alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EnergyGap {
    /// D, C and what they are made of.
    pub corrected: Corrected,
    /// `clip(D / C, 0, 1)`; saturated for a C below 0.2.
    pub gap: Delta,
}

/// [`correct_pairs`] with the arms' own repeats, and the gap of it alone. `sr`: distances
/// in `[0,1]` of all pairs of a sim and a real run; `ss`, `rr`: of all distinct
/// pairs within an arm, empty where it was not repeated. `None` if `sr` is empty.
///
/// For aggregates sum D and C instead (`stats::CallSums`): the mean of floored
/// gaps is not the gap of the whole.
///
/// ```
/// use fidelake_core::{gap::energy_gap, stats::Delta};
/// // D = .7 - (.2 + .4) / 2 = .4, C = 1 - .3 = .7.
/// let found = energy_gap(&[0.6, 0.8], &[0.2], &[0.4]).unwrap();
/// assert!((found.corrected.gap_raw - 0.4).abs() < 1e-12);
/// assert!((found.gap.value().unwrap() - 4.0 / 7.0).abs() < 1e-12);
/// ```
#[must_use]
pub fn energy_gap(sr: &[f64], ss: &[f64], rr: &[f64]) -> Option<EnergyGap> {
    let corrected = correct_pairs(sr, ss, rr, [None, None])?;
    let mut sums = CallSums::default();
    sums.add(1.0, corrected.gap_raw, corrected.reliability);
    Some(EnergyGap {
        corrected,
        gap: sums.delta(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        // d_SR = .4, d_SS' = .2, d_RR' = .4: D = .1, C = .7.
        let found = correct(&[0.3, 0.5], ArmNoise::Own(&[0.2]), ArmNoise::Own(&[0.4])).unwrap();
        assert!((found.gap_raw - 0.1).abs() < 1e-12 && (found.reliability - 0.7).abs() < 1e-12);
        assert_eq!(found.noise, Noise::Measured);
        let found = correct(&[0.4], ArmNoise::Unknown, ArmNoise::Own(&[])).unwrap();
        assert_eq!(
            (found.gap_raw, found.reliability, found.noise),
            (0.4, 1.0, Noise::Unknown)
        );
        let found = correct(&[0.4], ArmNoise::Own(&[0.2]), ArmNoise::Unknown).unwrap();
        assert!((found.gap_raw - 0.3).abs() < 1e-12 && (found.reliability - 0.9).abs() < 1e-12);
        assert_eq!((found.noise, found.noise_real), (Noise::Unknown, None));
        let found = correct(&[0.4], ArmNoise::Own(&[0.2]), ArmNoise::Learned(0.2)).unwrap();
        assert_eq!(found.noise.name(), "learned");
        assert_eq!(correct(&[], ArmNoise::Unknown, ArmNoise::Unknown), None);
    }

    #[test]
    fn pairs_by_hand() {
        let nan = f64::NAN;
        let found = |between: &[f64], sim: &[f64], real: &[f64], learned| {
            correct_pairs(between, sim, real, learned).map(|f| (f.gap_raw, f.reliability, f.noise))
        };
        let none = [None, None];
        assert_eq!(
            found(&[0.5, nan], &[0.25], &[0.0], none),
            Some((0.375, 0.875, Noise::Measured))
        );
        // Real disagrees with itself about the outcome: sim's noise stands for it.
        assert_eq!(
            found(&[0.5], &[0.25], &[nan], none),
            Some((0.25, 0.75, Noise::Unknown))
        );
        assert_eq!(found(&[0.5], &[nan], &[nan], none), None);
        assert_eq!(found(&[nan], &[], &[], none), None);
        assert_eq!(
            found(&[0.5], &[], &[], [Some(0.25), Some(0.25)]),
            Some((0.25, 0.75, Noise::Learned))
        );
        assert_eq!(
            found(&[0.5], &[0.25], &[], [Some(0.9), Some(0.25)]),
            Some((0.25, 0.75, Noise::Learned))
        );
    }

    #[test]
    fn energy_is_floored_and_saturates() {
        let gap = |sr: &[f64], own: &[f64]| energy_gap(sr, own, own).unwrap().gap;
        assert_eq!(gap(&[0.1], &[0.3]), Delta::Known(0.0));
        assert_eq!(gap(&[1.0], &[]), Delta::Known(1.0));
        assert_eq!(gap(&[1.0], &[0.9]), Delta::Saturated);
        assert_eq!(energy_gap(&[], &[0.1], &[0.1]), None);
    }

    proptest! {
        #[test]
        fn ranges_hold(between in prop::collection::vec(0.0f64..=1.0, 1..5), s in 0.0f64..=1.0, r in 0.0f64..=1.0) {
            let found = correct(&between, ArmNoise::Learned(s), ArmNoise::Own(&[r])).unwrap();
            prop_assert!((-1.0..=1.0).contains(&found.gap_raw));
            prop_assert!((0.0..=1.0).contains(&found.reliability));
            prop_assert!((found.gap_raw + 1.0 - found.distance - found.reliability).abs() < 1e-12);
        }
    }
}
