//! One early divergence is one divergence: which calls differ only because an
//! earlier one did (docs/measures.md, "Along a trajectory").
//!
//! The cause of a diverging call, decided in order:
//! 1. `flaky`: an arm disagrees with itself as much as with the other.
//! 2. Only the *shape* differs (names and types of paths, or one arm refuses
//!    the tool or its arguments): `structural`, each time anew. No state causes
//!    a renamed field. The one exception: a shape not seen before at this API
//!    that shares an identifier with an earlier divergence is `state` (a list
//!    that lacks the entry that was never written).
//! 3. Only the states after the call differ: `state` if they did before it, too.
//! 4. `state`, if an earlier divergence explains it:
//!    * never, if the states were known to be equal just before the call;
//!    * where both sides name identifiers: if they share one. The earlier
//!      divergence may be any that is neither flaky nor of shape alone;
//!    * where one of them names none: if the earlier one left different states
//!      behind: its state after differs; or, where states were not kept, the tool is
//!      declared to change something, or may and its outcome differs.
//! 5. else `structural`: the root of its own.
//!
//! A call explained by an earlier one hands its own identifiers on. So does a call that one
//! arm refuses, if its tool is declared to change something: the other arm has changed it.

use std::collections::HashSet;

use super::noise::Corrected;
use crate::stats::{DecaySums, Delta};

/// Why a call differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// It does not.
    None,
    /// The worlds are built differently: a root.
    Structural,
    /// An earlier divergence left different states behind.
    State,
    /// An arm disagrees with itself.
    Flaky,
}

impl Cause {
    /// The name stored in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Structural => "structural",
            Self::State => "state",
            Self::Flaky => "flaky",
        }
    }
}

/// What is known of one aligned call, in the order of the trajectory.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallEvidence<'a> {
    /// Name of the tool.
    pub api: &'a str,
    /// The answers differ (or only one arm has the call at all).
    pub answer_differs: bool,
    /// Repeats of one arm differ as much as the arms do (see [`is_flaky`]).
    pub flaky: bool,
    /// The outcome classes differ.
    pub outcome_differs: bool,
    /// Whether the states after the call differ; `None` where they are not known
    /// or the arms' hashes cannot be compared.
    pub state_differs: Option<bool>,
    /// Whether the tool may change something, where declared.
    pub mutates: Option<bool>,
    /// If only shape or acceptance differs: a hash of that difference (kinds and
    /// paths, or the two outcomes), equal when it is the same difference again.
    pub shape: Option<u64>,
}

/// What a call names ([`super::identifiers()`]).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Named {
    /// Identifiers in its arguments and answers.
    pub touched: Vec<u64>,
    /// Identifiers in its arguments and under its diverging paths.
    pub changed: Vec<u64>,
}

impl CallEvidence<'_> {
    /// Whether the arms differ in answer, outcome or state. Time does not count.
    #[must_use]
    pub fn diverged(&self) -> bool {
        self.answer_differs || self.outcome_differs || self.state_differs == Some(true)
    }
}

/// Whether a difference is the arms' own noise: there is one, and nothing of it
/// is left after correction.
#[must_use]
pub fn is_flaky(call: &Corrected) -> bool {
    call.distance > 0.0 && call.gap_raw <= 0.0
}

/// The cause of each call of one trajectory, in order. `named` says what a call
/// names; it is asked only where the answer matters, at most once a call, because
/// finding out costs more than all the rest.
#[must_use]
pub fn causes(calls: &[CallEvidence<'_>], mut named: impl FnMut(usize) -> Named) -> Vec<Cause> {
    let mut shapes: HashSet<(&str, u64)> = HashSet::new();
    let mut carried: HashSet<u64> = HashSet::new();
    // Something before left different states behind; and did not say where.
    let (mut state_left, mut nameless_left) = (false, false);
    let mut differs_before = None;
    let mut out = Vec::with_capacity(calls.len());
    let last = calls.iter().rposition(CallEvidence::diverged);
    for (at, call) in calls.iter().enumerate() {
        let compared = call.answer_differs || call.outcome_differs;
        let mut own = None;
        let (mut linked, mut nameless) = (false, false);
        if compared && !call.flaky && (!carried.is_empty() || state_left) {
            let names = own.insert(named(at));
            linked = names.touched.iter().any(|id| carried.contains(id));
            nameless = names.touched.is_empty();
        }
        let same_before = differs_before == Some(false);
        let newly_differs = call.state_differs == Some(true) && differs_before != Some(true);
        let explained = if !compared {
            // Only the states differ: do they since before?
            differs_before.unwrap_or(state_left)
        } else if let Some(shape) = call.shape {
            shapes.insert((call.api, shape)) && linked && !same_before
        } else {
            let unnamed = nameless_left || (state_left && nameless);
            (linked || unnamed) && !same_before
        };
        let cause = match call {
            _ if !call.diverged() => Cause::None,
            _ if call.flaky => Cause::Flaky,
            _ if explained => Cause::State,
            _ => Cause::Structural,
        };
        let real = matches!(cause, Cause::Structural | Cause::State);
        let half_done =
            call.outcome_differs && call.mutates == Some(true) && call.state_differs != Some(false);
        let hands_on = call.shape.is_none() || newly_differs || half_done;
        // What the last divergence hands on reaches nobody.
        if real && Some(at) < last && hands_on {
            // Where the answers are alike, nobody can tell what differs in the states.
            let names = match own {
                None if !compared => Named::default(),
                own => own.unwrap_or_else(|| named(at)),
            };
            let may_change = call.outcome_differs && call.mutates != Some(false);
            let declared = call.mutates == Some(true);
            let left = call.state_differs.unwrap_or(may_change || declared);
            state_left |= left;
            nameless_left |= left && names.changed.is_empty();
            carried.extend(names.changed);
        }
        if call.state_differs.is_some() {
            differs_before = call.state_differs;
        } else if call.diverged() && call.mutates != Some(false) {
            // Nobody looked at what this call left behind.
            differs_before = None;
        }
        out.push(cause);
    }
    out
}

/// One dimension of one trajectory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Along {
    /// The gap over all calls.
    pub delta: Delta,
    /// The gap without what an earlier divergence caused: the distance of a call
    /// whose cause is `state` counts 0, its weight stays.
    pub delta_root: Delta,
    /// The unnormalised sum of w d, in `[0, 1/(1 - gamma)]` for one call a turn (the seed's `delta_beh`).
    pub delta_beh: f64,
}

/// Sums one dimension along a trajectory with weights `gamma^(T - t)`. Calls as
/// (turn, cause, corrected distance); parallel calls share a turn.
#[must_use]
pub fn along<'c>(
    calls: impl IntoIterator<Item = (i64, Cause, &'c Corrected)>,
    gamma: f64,
) -> Along {
    let (mut all, mut root) = (DecaySums::new(gamma), DecaySums::new(gamma));
    for (turn, cause, call) in calls {
        all.add(turn, call.gap_raw, call.reliability, call.distance);
        let own = if cause == Cause::State {
            0.0
        } else {
            call.gap_raw
        };
        root.add(turn, own, call.reliability, 0.0);
    }
    Along {
        delta: all.delta(),
        delta_root: root.delta(),
        delta_beh: all.behaviour(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gap::{ArmNoise, correct, identifiers};
    use crate::stats::GAMMA;

    /// Calls that name nothing.
    fn causes(calls: &[CallEvidence<'_>]) -> Vec<Cause> {
        super::causes(calls, |_| Named::default())
    }

    fn differs(api: &str) -> CallEvidence<'_> {
        CallEvidence {
            api,
            answer_differs: true,
            ..CallEvidence::default()
        }
    }

    #[test]
    fn a_cascade_is_one_divergence() {
        // Call 1 of 10 books in one arm only; every later answer differs.
        let mut calls = vec![CallEvidence {
            outcome_differs: true,
            mutates: Some(true),
            ..differs("book")
        }];
        calls.extend((0..9).map(|_| differs("read")));
        let causes = causes(&calls);
        assert_eq!(causes[0], Cause::Structural);
        assert!(causes[1..].iter().all(|&c| c == Cause::State));
        let full = correct(&[1.0], ArmNoise::Unknown, ArmNoise::Unknown).unwrap();
        let found = along((1..=10).zip(&causes).map(|(t, &c)| (t, c, &full)), GAMMA);
        assert_eq!(found.delta, Delta::Known(1.0));
        // .95^9 / ((1 - .95^10) / .05) = .6302 / 8.0253 = .0785.
        assert!((found.delta_root.value().unwrap() - 0.078_532).abs() < 1e-5);
        assert!((found.delta_beh - 8.025_261).abs() < 1e-5);
    }

    #[test]
    fn a_renamed_field_is_structural_each_time() {
        let call = CallEvidence {
            shape: Some(7),
            ..differs("get_user")
        };
        assert_eq!(causes(&[call; 3]), [Cause::Structural; 3]);
        // Also after a real divergence, and it explains nothing itself.
        let root = CallEvidence {
            state_differs: Some(true),
            ..differs("book")
        };
        assert_eq!(causes(&[call, root, call])[2], Cause::Structural);
        assert_eq!(causes(&[call, differs("read")])[1], Cause::Structural);
    }

    #[test]
    fn identifiers_link_and_separate() {
        let (ours, others) = (
            identifiers(r#"{"id":"YAX4DR"}"#),
            identifiers(r#"{"id":"GV1N64"}"#),
        );
        let names = |touched: &[u64], changed: &[u64]| Named {
            touched: touched.to_vec(),
            changed: changed.to_vec(),
        };
        let find = |calls: &[(CallEvidence<'_>, Named)]| {
            let (calls, named): (Vec<_>, Vec<_>) = calls.iter().cloned().unzip();
            super::causes(&calls, |at| named[at].clone())
        };
        let update = CallEvidence {
            mutates: Some(true),
            ..differs("update")
        };
        let root = (update, names(&ours, &ours));
        let same = (differs("read"), names(&ours, &[]));
        let other = (differs("read"), names(&others, &[]));
        assert_eq!(
            find(&[root.clone(), same, other.clone()]),
            [Cause::Structural, Cause::State, Cause::Structural]
        );
        // A list that lacks our entry, seen for the first time: state; then structural.
        let shape = CallEvidence {
            shape: Some(1),
            ..differs("read")
        };
        let list = (shape, names(&ours, &[]));
        assert_eq!(
            find(&[root.clone(), list.clone(), list])[1..],
            [Cause::State, Cause::Structural]
        );
        // Handed on: ours changed others, others is read.
        let second = (differs("merge"), names(&ours, &[ours[0], others[0]]));
        assert_eq!(
            find(&[root, second, other])[1..],
            [Cause::State, Cause::State]
        );
    }

    #[test]
    fn a_write_that_one_arm_refused_explains_what_is_read_later() {
        let refused = CallEvidence {
            shape: Some(5),
            outcome_differs: true,
            mutates: Some(true),
            ..differs("set")
        };
        let ours = identifiers(r#"{"id":"RES777"}"#);
        let find = |calls: &[CallEvidence<'_>]| {
            super::causes(calls, |_| Named {
                touched: ours.clone(),
                changed: ours.clone(),
            })
        };
        let state = [Cause::Structural, Cause::State];
        assert_eq!(find(&[refused, differs("get")]), state);
        // Not if nobody says that it changes something, or the states are known to be equal.
        let root = [Cause::Structural; 2];
        for mutates in [None, Some(false)] {
            let other = CallEvidence { mutates, ..refused };
            assert_eq!(find(&[other, differs("get")]), root);
        }
        let equal = CallEvidence {
            state_differs: Some(false),
            ..refused
        };
        assert_eq!(find(&[equal, differs("get")]), root);
    }

    #[test]
    fn equal_states_and_reads_explain_nothing() {
        let root = CallEvidence {
            state_differs: Some(true),
            ..differs("book")
        };
        let healed = CallEvidence {
            api: "undo",
            state_differs: Some(false),
            ..CallEvidence::default()
        };
        assert_eq!(
            causes(&[root, differs("r"), healed, differs("r")]),
            [
                Cause::Structural,
                Cause::State,
                Cause::None,
                Cause::Structural
            ]
        );
        let read = CallEvidence {
            outcome_differs: true,
            mutates: Some(false),
            ..differs("r")
        };
        assert_eq!(causes(&[read, differs("s")]), [Cause::Structural; 2]);
        let flaky = CallEvidence {
            flaky: true,
            outcome_differs: true,
            ..differs("r")
        };
        assert_eq!(
            causes(&[flaky, differs("s")]),
            [Cause::Flaky, Cause::Structural]
        );
    }

    #[test]
    fn a_state_that_stays_different_is_one_divergence() {
        // A renamed field and a new state at once, then equal answers on different states.
        let rename = CallEvidence {
            shape: Some(3),
            state_differs: Some(true),
            ..differs("book")
        };
        let quiet = CallEvidence {
            api: "read",
            state_differs: Some(true),
            ..CallEvidence::default()
        };
        let value = CallEvidence {
            state_differs: Some(true),
            ..differs("read")
        };
        assert_eq!(
            causes(&[rename, quiet, value, quiet]),
            [Cause::Structural, Cause::State, Cause::State, Cause::State]
        );
        assert_eq!(causes(&[quiet])[0], Cause::Structural);
    }

    #[test]
    fn flaky_is_noise_without_a_rest() {
        let own = [0.5];
        let noisy = correct(&[0.4], ArmNoise::Own(&own), ArmNoise::Own(&own)).unwrap();
        assert!(is_flaky(&noisy));
        assert!(!is_flaky(
            &correct(&[0.4], ArmNoise::Unknown, ArmNoise::Unknown).unwrap()
        ));
    }
}
