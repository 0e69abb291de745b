//! The reward gap of runs that several judges looked at
//! (docs/measures.md, "Decision gap": reward gap of runs).
//!
//! d_SR and the noise d_SS', d_RR' must be drawn alike, or two equal worlds show a
//! gap: two judges who never agree would put 0 between the arms (each compared
//! with itself) and 1 within them. So one of two designs is used, whole:
//!
//! 1. **Same judge** (where each arm has such a pair within): a judge's verdict on
//!    a sim run against his on a real run; within an arm, his verdicts on two of
//!    its runs, or, of an arm with one run, his two verdicts on it. A judge who
//!    is always strict is strict in both arms; only his wavering is noise.
//! 2. **Different judges** (no repeats, but each arm has several judges): the
//!    judges' disagreement is the noise, and pairs of different judges stand
//!    between the arms, too. Within an arm of several runs: on different runs.
//! 3. Otherwise same judges between the arms where there are any, and noise as far
//!    as it is known; the label is `unknown`.

use super::noise::{ArmNoise, Corrected, correct};
use super::reward::{Judged, verdict_gap};

/// One verdict of one judge on one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Verdict<'a> {
    /// Name of the judge.
    pub judge: &'a str,
    /// What was said.
    pub judged: Judged<'a>,
    /// Range of this judge's rewards; not positive counts as 1.
    pub scale: f64,
}

/// The corrected distance of the verdicts on two arms: one list per run, in each
/// list any number of verdicts, several of one judge included. Distances are
/// [`super::VerdictGap::distance`], rewards in units of their judge's own scale;
/// pairs that share nothing are left out. `None` if nothing can be compared
/// between the arms.
///
/// ```
/// use fidelake_core::gap::{Judged, Noise, Verdict, verdicts_gap};
/// let say = |judge, success| Verdict { judge, judged: Judged { success: Some(success), ..Default::default() }, scale: 1.0 };
/// // Judges a and b agree on sim (won) and disagree on real: a-b and b-a pairs
/// // between the arms 1 and 0, so d_SR = .5; within sim 0, within real 1: D = 0, C = .5.
/// let found = verdicts_gap(&[&[say("a", true), say("b", true)]], &[&[say("a", true), say("b", false)]]).unwrap();
/// assert_eq!((found.gap_raw, found.reliability, found.noise), (0.0, 0.5, Noise::Measured));
/// ```
#[must_use]
pub fn verdicts_gap(sim: &[&[Verdict<'_>]], real: &[&[Verdict<'_>]]) -> Option<Corrected> {
    let design = |judges| {
        let noise = [within(sim, judges), within(real, judges)];
        (between(sim, real, judges), noise)
    };
    let (same, [sim_same, real_same]) = design(Judges::Same);
    let own = |sim: &[f64], real: &[f64], pairs: &[f64]| {
        correct(pairs, ArmNoise::Own(sim), ArmNoise::Own(real))
    };
    if !(same.is_empty() || sim_same.is_empty() || real_same.is_empty()) {
        return own(&sim_same, &real_same, &same);
    }
    let (other, [sim_other, real_other]) = design(Judges::Different);
    let whole = !(other.is_empty() || sim_other.is_empty() || real_other.is_empty());
    if whole || same.is_empty() {
        return own(&sim_other, &real_other, &other);
    }
    own(&sim_same, &real_same, &same)
}

#[derive(Clone, Copy, PartialEq)]
enum Judges {
    Same,
    Different,
}

impl Judges {
    fn distance(self, a: &Verdict<'_>, b: &Verdict<'_>) -> Option<f64> {
        if (a.judge == b.judge) != (self == Self::Same) {
            return None;
        }
        Some(verdict_gap(&in_units(a), &in_units(b), 1.0)?.distance)
    }
}

/// Rewards of different judges have different ranges.
fn in_units<'a>(verdict: &Verdict<'a>) -> Judged<'a> {
    let scale = if verdict.scale > 0.0 {
        verdict.scale
    } else {
        1.0
    };
    Judged {
        reward: verdict.judged.reward.map(|reward| reward / scale),
        ..verdict.judged
    }
}

fn between(sim: &[&[Verdict<'_>]], real: &[&[Verdict<'_>]], judges: Judges) -> Vec<f64> {
    let sim = sim.iter().copied().flatten();
    sim.flat_map(|a| real.iter().copied().flatten().map(move |b| (a, b)))
        .filter_map(|(a, b)| judges.distance(a, b))
        .collect()
}

/// Pairs on different runs; on the same run where no other was judged.
fn within(runs: &[&[Verdict<'_>]], judges: Judges) -> Vec<f64> {
    let runs: Vec<&[Verdict<'_>]> = runs.iter().copied().filter(|r| !r.is_empty()).collect();
    let alone = runs.len() == 1;
    let all: Vec<(usize, &Verdict<'_>)> = runs
        .iter()
        .enumerate()
        .flat_map(|(run, verdicts)| verdicts.iter().map(move |v| (run, v)))
        .collect();
    let mut out = vec![];
    for (at, (run, a)) in all.iter().enumerate() {
        for (other, b) in &all[at + 1..] {
            if alone || run != other {
                out.extend(judges.distance(a, b));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gap::Noise;
    use proptest::prelude::*;

    fn say(judge: &str, reward: f64) -> Verdict<'_> {
        let judged = Judged {
            reward: Some(reward),
            ..Judged::default()
        };
        Verdict {
            judge,
            judged,
            scale: 1.0,
        }
    }

    #[test]
    fn the_same_judge_is_compared_with_himself() {
        // b is always .5 below a; a wavers by .2 between the runs of real.
        let sim: [&[Verdict<'_>]; 2] = [&[say("a", 0.8), say("b", 0.3)], &[say("a", 0.8)]];
        let real: [&[Verdict<'_>]; 2] = [&[say("a", 0.8), say("b", 0.3)], &[say("a", 0.6)]];
        let found = verdicts_gap(&sim, &real).unwrap();
        // a: 0 .2 0 .2, b: 0; within sim 0, within real .2.
        assert!((found.distance - 0.08).abs() < 1e-12);
        assert!((found.gap_raw + 0.02).abs() < 1e-12);
        assert_eq!(found.noise, Noise::Measured);
    }

    #[test]
    fn disagreement_is_noise_where_nothing_was_repeated() {
        // Equal worlds, judges who never agree.
        let run: [&[Verdict<'_>]; 1] = [&[say("a", 1.0), say("b", 0.0)]];
        let found = verdicts_gap(&run, &run).unwrap();
        assert_eq!((found.distance, found.noise_sim), (1.0, Some(1.0)));
        assert_eq!((found.gap_raw, found.reliability), (0.0, 0.0));
        // Real was judged by a alone: a with himself, and nothing to correct with.
        let found = verdicts_gap(&run, &[&[say("a", 0.0)]]).unwrap();
        assert_eq!((found.gap_raw, found.noise), (1.0, Noise::Unknown));
        // No judge in common.
        let found = verdicts_gap(&[&[say("a", 1.0)]], &[&[say("b", 0.4)]]).unwrap();
        assert!((found.gap_raw - 0.6).abs() < 1e-12);
        assert_eq!(found.noise, Noise::Unknown);
        assert_eq!(verdicts_gap(&run, &[&[]]), None);
    }

    #[test]
    fn one_judge_asked_twice_and_scales() {
        let ten = |reward| Verdict {
            scale: 10.0,
            ..say("a", reward)
        };
        let sim: [&[Verdict<'_>]; 1] = [&[ten(10.0), ten(8.0)]];
        let real: [&[Verdict<'_>]; 1] = [&[ten(5.0), ten(5.0)]];
        // d_SR = .4, d_SS' = .2, d_RR' = 0.
        let found = verdicts_gap(&sim, &real).unwrap();
        assert!((found.gap_raw - 0.3).abs() < 1e-12 && (found.reliability - 0.9).abs() < 1e-12);
    }

    fn runs() -> impl Strategy<Value = Vec<Vec<(bool, f64)>>> {
        prop::collection::vec(
            prop::collection::vec((any::<bool>(), 0.0f64..1.0), 0..4),
            1..4,
        )
    }

    proptest! {
        #[test]
        fn symmetric_and_bounded(sim in runs(), real in runs()) {
            let verdicts = |runs: &[Vec<(bool, f64)>]| -> Vec<Vec<Verdict<'static>>> {
                let say = |&(first, reward): &(bool, f64)| say(if first { "a" } else { "b" }, reward);
                runs.iter().map(|run| run.iter().map(say).collect()).collect()
            };
            let (sim, real) = (verdicts(&sim), verdicts(&real));
            let (sim, real): (Vec<_>, Vec<_>) = (sim.iter().map(Vec::as_slice).collect(), real.iter().map(Vec::as_slice).collect());
            let found = verdicts_gap(&sim, &real);
            let turned = verdicts_gap(&real, &sim);
            prop_assert_eq!(found.is_some(), turned.is_some());
            if let (Some(a), Some(b)) = (found, turned) {
                prop_assert!((0.0..=1.0).contains(&a.distance) && (0.0..=1.0).contains(&a.reliability));
                prop_assert!((a.gap_raw - b.gap_raw).abs() < 1e-12);
                prop_assert_eq!(a.noise, b.noise);
            }
        }
    }
}
