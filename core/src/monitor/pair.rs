//! The gaps between two answers to one call.

use super::Gaps;
use crate::gap::{
    Answer, Comparer, Judged, StateAfter, acceptance_distance, compose, latency_distance,
    outcome_distance, state_distance, verdict_gap,
};
use crate::json::{Kind, Node, Structured, canonical, structured};
use crate::model::{Evidence, OutcomeRules};

/// Compares pairs by the definitions of docs/measures.md: `obs` where the outcomes are equal,
/// `act` by acceptance, `rew` by reward, success and criteria, `trans` by outcome, state and latency.
/// A single pair says nothing of either arm's noise, so none is taken off: the warm-up learns it.
#[derive(Debug, Default)]
pub struct PairReader {
    comparer: Comparer,
    outcomes: OutcomeRules,
}

/// One arm's answer.
struct Side {
    text: String,
    outcome: &'static str,
    truncated: bool,
    latency: Option<f64>,
    reward: Option<f64>,
    success: Option<bool>,
    criteria: Vec<(String, f64)>,
    state: Option<String>,
    state_hash: Option<String>,
}

impl Side {
    fn answer<'s>(&'s self, value: Option<&'s Structured>) -> Answer<'s> {
        let answer = Answer::of(&self.text, value);
        if self.truncated { answer.cut() } else { answer }
    }

    fn state_after(&self) -> StateAfter<'_> {
        StateAfter {
            value: self.state.as_deref(),
            hash: self.state_hash.as_deref(),
        }
    }

    fn criteria(&self) -> Vec<(&str, f64)> {
        let all = self.criteria.iter();
        all.map(|(name, score)| (name.as_str(), *score)).collect()
    }
}

impl PairReader {
    /// The gaps, and the outcome on sim. Fields as in `result` of the native run form, with `state`,
    /// `state_hash`, `reward`, `success` and `criteria` beside them.
    pub fn compare(
        &mut self,
        environment: &str,
        sim: Node<'_>,
        real: Node<'_>,
    ) -> (Gaps, &'static str) {
        let sim = self.side(environment, sim);
        let real = self.side(environment, real);
        let obs = (sim.outcome == real.outcome).then(|| {
            let (left, right) = (structured(&sim.text), structured(&real.text));
            let (left, right) = (sim.answer(left.as_ref()), real.answer(right.as_ref()));
            self.comparer.observe(left, right).gap
        });
        let act = acceptance_distance(sim.outcome, real.outcome);
        let outcome = outcome_distance(sim.outcome, real.outcome);
        let state = state_distance(sim.state_after(), real.state_after(), &mut self.comparer);
        let latency = sim
            .latency
            .zip(real.latency)
            .and_then(|(a, b)| latency_distance(a, b));
        let trans = compose([Some(outcome), state, None, None, latency]).trans;
        let rew = verdict(&sim, &real);
        ([obs, Some(act), rew, trans], sim.outcome)
    }

    fn side(&self, environment: &str, node: Node<'_>) -> Side {
        let content = node.get_some("content");
        let text = match content {
            None => String::new(),
            Some(value) => match value.as_str() {
                Some(text) => text.to_owned(),
                None => canonical(value).0,
            },
        };
        let value = content.filter(|value| value.kind() != Kind::String);
        let integer = |name| node.get_some(name).and_then(Node::as_i64);
        let float = |name| node.get_some(name).and_then(Node::as_f64);
        let flag = |name| node.get_some(name).and_then(Node::as_bool);
        let evidence = Evidence {
            environment,
            is_error: flag("is_error"),
            status: integer("status"),
            rpc_code: integer("rpc_code"),
            error_type: node.get_str("error_type"),
            text: &text,
            structured: value,
        };
        let outcome = self.outcomes.derive(&evidence).outcome.as_str();
        let criteria = node.get_some("criteria").map_or_else(Vec::new, |criteria| {
            let entries = criteria.entries();
            let mut found: Vec<(String, f64)> = entries
                .filter_map(|(name, score)| Some((name.to_owned(), score.as_f64()?)))
                .collect();
            found.sort_by(|a, b| a.0.cmp(&b.0));
            found.dedup_by(|a, b| a.0 == b.0);
            found
        });
        Side {
            outcome,
            truncated: flag("truncated").unwrap_or(false),
            latency: float("latency_ms"),
            reward: float("reward"),
            success: flag("success"),
            criteria,
            state: node.get_some("state").map(|state| canonical(state).0),
            state_hash: node.get_str("state_hash").map(str::to_owned),
            text,
        }
    }
}

fn verdict(sim: &Side, real: &Side) -> Option<f64> {
    let (of_sim, of_real) = (sim.criteria(), real.criteria());
    let judged = |side: &Side, criteria| Judged {
        reward: side.reward,
        success: side.success,
        criteria,
    };
    let gap = verdict_gap(&judged(sim, &of_sim), &judged(real, &of_real), 1.0);
    gap.map(|gap| gap.distance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Doc;

    fn gaps(sim: &str, real: &str) -> (Gaps, &'static str) {
        let (sim, real) = (Doc::parse(sim).unwrap(), Doc::parse(real).unwrap());
        PairReader::default().compare("e", sim.root(), real.root())
    }

    #[test]
    fn pairs_by_hand() {
        // One of two fields differs, the outcome does not.
        let (found, outcome) = gaps(
            r#"{"content": {"a": 1, "b": 2}, "reward": 1.0, "success": true}"#,
            r#"{"content": "{\"a\": 1, \"b\": 3}", "reward": 0.5, "success": false}"#,
        );
        assert_eq!(outcome, "ok");
        assert_eq!(found, [Some(0.5), Some(0.0), Some(0.75), Some(0.0)]);
        // Real refuses what sim accepts: no answers to compare, and everything else differs.
        let (found, outcome) = gaps(
            r#"{"content": "done"}"#,
            r#"{"content": "no such field", "error_type": "invalid_arguments", "is_error": true}"#,
        );
        assert_eq!(outcome, "ok");
        assert_eq!(found, [None, Some(1.0), None, Some(1.0)]);
        // 1 ms against e ms: .1 x .5; states differ by their hashes: 1.
        let (found, _) = gaps(
            r#"{"content": "x", "latency_ms": 1}"#,
            r#"{"content": "x", "latency_ms": 2.718281828459045}"#,
        );
        assert!((found[3].unwrap() - 0.05).abs() < 1e-12);
        let (found, _) = gaps(
            r#"{"content": "x", "state_hash": "p"}"#,
            r#"{"content": "x", "state_hash": "q"}"#,
        );
        assert_eq!(found[3], Some(1.0));
        // Nothing was answered on either arm.
        assert_eq!(gaps("{}", "{}").0, [Some(0.0), Some(0.0), None, Some(0.0)]);
    }
}
