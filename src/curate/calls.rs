//! A weight for every call, for losses that are summed over tokens.
//!
//! ```text
//! w_c = w prod_k (1 - gap_k(c)),   k: answer, acceptance, outcome, state
//! ```
//!
//! with `w` the row's `fidelity_weight` and `gap_k = clip(D / C, 0, 1)` of the
//! call's own noise-corrected parts (docs/measures.md). A part that was not
//! measured, or whose noise is saturated (C below 0.2), counts as no gap: the
//! row's weight holds what is expected of it. A divergence that an earlier one
//! explains (`cause = state`) counts at its root only.

use std::collections::HashMap;

use super::message::Chat;

/// Below this reliability the noise says nothing about a gap.
const SATURATED: f64 = 0.2;

/// Parts of a call's gap.
pub(super) const PARTS: [&str; 4] = ["obs", "act", "outcome", "state"];

/// What is known of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct CallGap {
    pub(super) place: (i32, i32),
    /// An earlier divergence explains this one.
    pub(super) explained: bool,
    /// (D, C) of every part.
    pub(super) parts: [(Option<f64>, Option<f64>); PARTS.len()],
}

impl CallGap {
    /// In `[0, 1]`.
    pub(super) fn fidelity(&self) -> f64 {
        if self.explained {
            return 1.0;
        }
        let gap = |(d, c): &(Option<f64>, Option<f64>)| match (*d, *c) {
            (Some(d), Some(c)) if c >= SATURATED => (d / c).clamp(0.0, 1.0),
            _ => 0.0,
        };
        self.parts.iter().map(|part| 1.0 - gap(part)).product()
    }
}

/// One weight per call of the conversation, in its order.
pub(super) fn call_weights(chat: &Chat, gaps: &[CallGap], weight: f64) -> Vec<f64> {
    let mut known: HashMap<(i32, i32), f64> = HashMap::new();
    for gap in gaps {
        known.entry(gap.place).or_insert_with(|| gap.fidelity());
    }
    let fidelity = |place| known.get(&place).copied().unwrap_or(1.0);
    chat.calls()
        .map(|call| weight * fidelity(call.place))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::message::{Message, ToolCall};
    use super::*;

    fn gap(at: i32, parts: [(Option<f64>, Option<f64>); 4]) -> CallGap {
        CallGap {
            place: (at, 0),
            explained: false,
            parts,
        }
    }

    fn chat(calls: i32) -> Chat {
        let call = |at| ToolCall {
            place: (at, 0),
            ..ToolCall::default()
        };
        let message = |at| Message {
            calls: vec![call(at)],
            ..Message::default()
        };
        Chat {
            messages: (0..calls).map(message).collect(),
            ..Chat::default()
        }
    }

    #[test]
    fn by_hand() {
        let none = (None, None);
        let gaps = [
            // Answers differ by .3 of .6; one arm refuses nothing.
            gap(
                0,
                [(Some(0.3), Some(0.6)), (Some(0.0), Some(1.0)), none, none],
            ),
            // Noise: D below 0 is no gap.
            gap(1, [(Some(-0.2), Some(0.9)), none, none, none]),
            // Saturated.
            gap(2, [(Some(0.1), Some(0.1)), none, none, none]),
            CallGap {
                explained: true,
                ..gap(3, [(Some(1.0), Some(1.0)), none, none, none])
            },
            gap(
                4,
                [(Some(0.5), Some(1.0)), none, (Some(0.2), Some(1.0)), none],
            ),
        ];
        let weights = call_weights(&chat(6), &gaps, 0.5);
        let wanted = [0.25, 0.5, 0.5, 0.5, 0.2, 0.5];
        for (got, wanted) in weights.iter().zip(wanted) {
            assert!((got - wanted).abs() < 1e-12, "{weights:?}");
        }
        assert_eq!(weights.len(), 6);
    }

    proptest! {
        #[test]
        fn never_above_the_row(
            d in prop::collection::vec(-2.0..2.0_f64, 4),
            c in prop::collection::vec(0.0..1.0_f64, 4),
            w in 0.0..=1.0_f64,
        ) {
            let mut parts = [(None, None); 4];
            for (at, part) in parts.iter_mut().enumerate() {
                *part = (Some(d[at]), Some(c[at]));
            }
            let weights = call_weights(&chat(1), &[gap(0, parts)], w);
            prop_assert!((0.0..=w).contains(&weights[0]));
        }
    }
}
