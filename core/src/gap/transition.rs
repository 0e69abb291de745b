//! Differences in what a call does: its outcome, the state it leaves, its time.
//!
//! Each component is a distance per pair of runs, corrected like any other
//! ([`super::correct`]) and aggregated (`stats::CallSums`); the aggregates are
//! composed into `trans` (docs/measures.md, "Transition").

use super::answer::Answer;
use super::comparer::Comparer;

/// Latencies below this count as this: clocks resolve no less, and 0 has no logarithm.
pub const LATENCY_FLOOR_MS: f64 = 0.001;

/// The components of `trans`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Component {
    /// The outcome class differs.
    Outcome,
    /// The state after the call differs.
    State,
    /// Calling twice does what calling once does, in one arm only.
    Idempotency,
    /// A read after a write sees it, in one arm only.
    ReadAfterWrite,
    /// The time taken.
    Latency,
}

impl Component {
    /// All of them, in the order of [`compose`].
    pub const ALL: [Self; 5] = [
        Self::Outcome,
        Self::State,
        Self::Idempotency,
        Self::ReadAfterWrite,
        Self::Latency,
    ];

    /// The name stored in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Outcome => "outcome",
            Self::State => "state",
            Self::Idempotency => "idempotency",
            Self::ReadAfterWrite => "read_after_write",
            Self::Latency => "latency",
        }
    }

    /// The published weight.
    #[must_use]
    pub const fn weight(self) -> f64 {
        match self {
            Self::Outcome | Self::State => 1.0,
            Self::Idempotency | Self::ReadAfterWrite => 0.5,
            Self::Latency => 0.1,
        }
    }
}

/// 1 if the outcome classes differ, else 0.
#[must_use]
pub fn outcome_distance(left: &str, right: &str) -> f64 {
    f64::from(u8::from(left != right))
}

/// The state after a call, as far as it was kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateAfter<'a> {
    /// Canonical JSON of the state.
    pub value: Option<&'a str>,
    /// Hash of the state.
    pub hash: Option<&'a str>,
}

/// Distance of two states in `[0,1]`: the gap of their values where both were
/// kept, else whether their hashes differ; `None` where neither can be compared.
#[must_use]
pub fn state_distance(
    left: StateAfter<'_>,
    right: StateAfter<'_>,
    comparer: &mut Comparer,
) -> Option<f64> {
    if let (Some(a), Some(b)) = (left.value, right.value) {
        return Some(comparer.observe(Answer::json(a), Answer::json(b)).gap);
    }
    let (a, b) = (left.hash?, right.hash?);
    Some(f64::from(u8::from(a != b)))
}

/// Distance of two latencies in milliseconds: `x / (1 + x)` with
/// `x = |ln a - ln b|`, in [0,1). Values below [`LATENCY_FLOOR_MS`] (zero and
/// negative ones too) count as the floor; `None` for what is not finite.
#[must_use]
pub fn latency_distance(a_ms: f64, b_ms: f64) -> Option<f64> {
    if !a_ms.is_finite() || !b_ms.is_finite() {
        return None;
    }
    let ln = |ms: f64| ms.max(LATENCY_FLOOR_MS).ln();
    let x = (ln(a_ms) - ln(b_ms)).abs();
    Some(x / (1.0 + x))
}

/// `trans` and what it stands on.
#[derive(Clone, Debug, PartialEq)]
pub struct Transition {
    /// In `[0,1]`; `None` if no component was measured.
    pub trans: Option<f64>,
    /// Names of the measured components (the column `components_known`).
    pub known: Vec<&'static str>,
}

/// `trans = 1 - prod(1 - w_k c_k)` over the aggregated components (each in
/// `[0,1]`, in the order of [`Component::ALL`]); one not measured is left out.
#[must_use]
pub fn compose(components: [Option<f64>; 5]) -> Transition {
    let mut kept = 1.0;
    let mut known = vec![];
    for (component, value) in Component::ALL.into_iter().zip(components) {
        if let Some(value) = value {
            kept *= 1.0 - component.weight() * value.clamp(0.0, 1.0);
            known.push(component.name());
        }
    }
    Transition {
        trans: (!known.is_empty()).then_some(1.0 - kept),
        known,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn composition_by_hand() {
        // 1 - (1 - .2)(1 - .5 x .4)(1 - .1 x .5) = 1 - .8 x .8 x .95 = .392.
        let found = compose([Some(0.2), None, Some(0.4), None, Some(0.5)]);
        assert!((found.trans.unwrap() - 0.392).abs() < 1e-12);
        assert_eq!(found.known, ["outcome", "idempotency", "latency"]);
        assert_eq!(compose([None; 5]).trans, None);
        assert_eq!(compose([Some(1.0); 5]).trans, Some(1.0));
    }

    #[test]
    fn latencies_by_hand() {
        let e = std::f64::consts::E;
        assert!((latency_distance(1.0, e).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(latency_distance(3.0, 3.0), Some(0.0));
        assert_eq!(latency_distance(0.0, -5.0), Some(0.0));
        assert_eq!(latency_distance(f64::NAN, 1.0), None);
    }

    #[test]
    fn states_by_hand() {
        let mut comparer = Comparer::default();
        let value = |v| StateAfter {
            value: Some(v),
            hash: Some("x"),
        };
        let hash = |h| StateAfter {
            value: None,
            hash: Some(h),
        };
        assert_eq!(
            state_distance(value("[1,2]"), value("[1,3]"), &mut comparer),
            Some(0.5)
        );
        assert_eq!(
            state_distance(value("1"), hash("y"), &mut comparer),
            Some(1.0)
        );
        assert_eq!(
            state_distance(hash("x"), hash("x"), &mut comparer),
            Some(0.0)
        );
        assert_eq!(
            state_distance(hash("x"), StateAfter::default(), &mut comparer),
            None
        );
        assert_eq!(outcome_distance("ok", "not_found"), 1.0);
    }

    proptest! {
        #[test]
        fn composition_is_bounded_and_grows(c in prop::array::uniform5(prop::option::of(0.0f64..=1.0)), k in 0usize..5) {
            let before = compose(c).trans.unwrap_or(0.0);
            prop_assert!((0.0..=1.0).contains(&before));
            let mut more = c;
            more[k] = Some(1.0);
            prop_assert!(compose(more).trans.unwrap() >= before - 1e-12);
        }

        #[test]
        fn latency_is_symmetric(a in 0.0f64..1e6, b in 0.0f64..1e6) {
            let d = latency_distance(a, b).unwrap();
            prop_assert!((0.0..1.0).contains(&d));
            prop_assert_eq!(Some(d), latency_distance(b, a));
        }
    }
}
