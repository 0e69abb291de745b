//! Decisions of a policy of one's own, logged, in the place of the probe.

use std::collections::BTreeMap;

use super::gap::{CallDecision, Decision};
use crate::json::{Kind, Node};
use crate::stats::mean;

/// How likely a policy was to make each right call, in one arm: by the ordinal of the
/// right call, from 0; probabilities in `[0,1]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Logged(BTreeMap<i64, f64>);

impl Logged {
    /// Reads `[{"call": 0, "probability": 0.8}, {"call": 1, "correct": true}]`. Several
    /// entries of one call count by their mean.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(list: Node<'_>) -> Result<Self, String> {
        if list.kind() != Kind::Array {
            return Err("is no list".into());
        }
        let mut said: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
        for entry in list.elements() {
            let call = entry.get_some("call").and_then(Node::as_i64);
            let call = call
                .filter(|call| *call >= 0)
                .ok_or("has an entry without `call`, the ordinal of the right call from 0")?;
            let correct = entry.get_some("correct").and_then(Node::as_bool);
            let probability = entry.get_some("probability").and_then(Node::as_f64);
            let probability = probability.or(correct.map(|correct| f64::from(u8::from(correct))));
            let probability = probability
                .filter(|p| (0.0..=1.0).contains(p))
                .ok_or_else(|| {
                    format!("has no `probability` from 0 to 1 and no `correct` for call {call}")
                })?;
            said.entry(call).or_default().push(probability);
        }
        let means = said
            .into_iter()
            .filter_map(|(call, all)| Some((call, mean(&all)?)));
        Ok(Self(means.collect()))
    }

    /// The calls that both logs know, with what they say.
    fn with<'l>(&'l self, other: &'l Self) -> impl Iterator<Item = (i64, [f64; 2])> + 'l {
        let both = |(call, sim): (&i64, &f64)| Some((*call, [*sim, *other.0.get(call)?]));
        self.0.iter().filter_map(both)
    }
}

impl Decision {
    /// What two logs say instead of the probe, over the calls that both know; `None`
    /// where there is none. A log does not say which dimension a difference comes from,
    /// so there is no split. What needs no agent (`pick_shift`, `flow`) stays.
    #[must_use]
    pub fn logged(&self, sim: &Logged, real: &Logged) -> Option<Self> {
        let both: Vec<(i64, [f64; 2])> = sim.with(real).collect();
        let means = [0, 1].map(|arm: usize| {
            let said: Vec<f64> = both.iter().map(|(_, p)| p[arm]).collect();
            mean(&said)
        });
        let (sim, real) = (means[0]?, means[1]?);
        let product = |arm: usize| both.iter().map(|(_, p)| p[arm]).product::<f64>();
        // Call by call only where every right call is known.
        let places = both.iter().map(|(call, _)| *call);
        let whole = both.len() == self.calls.len() && places.eq(0..both.len() as i64);
        Some(Self {
            sim: Some(sim),
            real: Some(real),
            signed: Some(sim - real),
            split: None,
            all_calls: Some(product(0) - product(1)),
            calls: match whole {
                true => both
                    .iter()
                    .map(|(_, pick)| CallDecision {
                        pick: *pick,
                        ground: [1.0; 2],
                    })
                    .collect(),
                false => Vec::new(),
            },
            ..self.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Doc;

    fn logged(text: &str) -> Result<Logged, String> {
        Logged::read(Doc::parse(text).unwrap().root())
    }

    #[test]
    fn two_logs_by_hand() {
        let sim = r#"[{"call":0,"probability":0.9},{"call":1,"correct":true},{"call":2,"probability":1}]"#;
        // Two samples of call 0; call 2 was not logged.
        let real = r#"[{"call":0,"correct":true},{"call":0,"correct":false},{"call":1,"probability":0.5}]"#;
        let (sim, real) = (logged(sim).unwrap(), logged(real).unwrap());
        let found = Decision::default().logged(&sim, &real).unwrap();
        let near = |a: Option<f64>, b: f64| assert!((a.unwrap() - b).abs() < 1e-12, "{a:?} {b}");
        near(found.sim, 0.95);
        near(found.real, 0.5);
        near(found.signed, 0.45);
        near(found.all_calls, 0.9 - 0.25);
        assert!(found.split.is_none() && found.calls.is_empty());
        assert_eq!(Decision::default().logged(&sim, &Logged::default()), None);
        let known = Decision {
            calls: vec![CallDecision::default(); 2],
            ..Decision::default()
        };
        let found = known.logged(&sim, &real).unwrap();
        assert_eq!(found.calls[0].pick, [0.9, 0.5]);
        assert!((found.calls[1].signed() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn what_is_no_log_is_told() {
        for (text, said) in [
            ("{}", "no list"),
            (r#"[{"probability":1}]"#, "`call`"),
            (r#"[{"call":-1,"correct":true}]"#, "`call`"),
            (r#"[{"call":3,"probability":1.5}]"#, "call 3"),
            (r#"[{"call":3}]"#, "call 3"),
        ] {
            let error = logged(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
        assert_eq!(logged("[]"), Ok(Logged::default()));
    }
}
