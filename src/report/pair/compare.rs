//! Which call answers which, and how they differ.

use fidelake_core::gap::{CallRef, Comparer, PathRules, RuleCache, align};

use super::load::Causes;
use super::{Call, Run, Step};
use crate::engine::functions::stored;

/// How calls are compared.
pub(super) struct How<'h> {
    pub(super) environment: &'h str,
    pub(super) rules: &'h PathRules,
    /// Whether the arms' hashes of states can be compared.
    pub(super) comparable: bool,
    /// So many paths explain a difference.
    pub(super) paths: usize,
}

/// The aligned calls of two runs.
pub(super) fn steps<'r>(
    sim: Option<&'r Run>,
    real: Option<&'r Run>,
    causes: &Causes,
    how: &How<'_>,
) -> Vec<Step> {
    let calls = |run: Option<&'r Run>| run.map_or(&[][..], |run| run.calls.as_slice());
    let (left, right) = (calls(sim), calls(real));
    let pairs = align(&refs(left), &refs(right));
    let one_arm = sim.is_none() || real.is_none();
    let mut comparer = Comparer::default();
    let mut rules = RuleCache::new(how.rules);
    let mut out: Vec<Step> = Vec::with_capacity(pairs.len());
    for (number, (l, r)) in pairs.into_iter().enumerate() {
        let (a, b) = (l.map(|l| &left[l]), r.map(|r| &right[r]));
        let place = a.or(b).map(|call| (call.turn, call.index, a.is_none()));
        let cause = place.and_then(|place| causes.get(&place).cloned());
        let mut step = Step {
            number,
            sim: l,
            real: r,
            diff: None,
            outcome_differs: false,
            arguments_differ: false,
            state_differs: false,
            cause,
            diverges: !one_arm,
            first: false,
        };
        if let (Some(a), Some(b)) = (a, b) {
            step.outcome_differs = a.outcome != b.outcome;
            step.arguments_differ = a.key != b.key;
            step.state_differs = state_differs(a, b, how.comparable);
            let mut differs = step.outcome_differs;
            if !step.outcome_differs && a.outcome.is_some() {
                let rules = rules.get(how.environment, &a.name);
                let diff = comparer.diff_with(rules, answer(a), answer(b), how.paths);
                differs |= diff.gap.gap > 0.0;
                step.diff = Some(diff);
            }
            let known = step.cause.as_deref().is_some_and(|cause| cause != "none");
            step.diverges = differs || step.state_differs || known;
        }
        out.push(step);
    }
    let root = |step: &&mut Step| step.diverges && step.cause.as_deref() != Some("flaky");
    if let Some(step) = out.iter_mut().find(root) {
        step.first = true;
    }
    out
}

/// By value where both are known, else by hash where hashes can be compared.
fn state_differs(a: &Call, b: &Call, comparable: bool) -> bool {
    match (&a.state, &b.state, &a.state_hash, &b.state_hash) {
        (Some(a), Some(b), _, _) => a != b,
        (_, _, Some(a), Some(b)) => comparable && a != b,
        _ => false,
    }
}

fn answer(call: &Call) -> fidelake_core::gap::Answer<'_> {
    stored(
        call.structured.as_deref(),
        call.content.as_deref(),
        call.rule.as_deref(),
        call.truncated,
    )
}

fn refs(calls: &[Call]) -> Vec<CallRef<'_>> {
    let one = |call: &'_ Call| u128::from_str_radix(&call.key, 16).unwrap_or_default();
    calls
        .iter()
        .map(|call| CallRef {
            turn: call.turn,
            index: call.index,
            name: &call.name,
            key: one(call),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(calls: &[(&str, &str, &str, &str)]) -> Run {
        let call =
            |(at, &(name, outcome, answer, state)): (usize, &(&str, &str, &str, &str))| Call {
                turn: i32::try_from(at).unwrap(),
                name: name.to_owned(),
                key: format!("{:032x}", name.len()),
                outcome: Some(outcome.to_owned()),
                structured: Some(answer.to_owned()),
                rule: Some("json".into()),
                state_hash: Some(state.to_owned()),
                ..Call::default()
            };
        Run {
            calls: calls.iter().enumerate().map(call).collect(),
            ..Run::default()
        }
    }

    fn compared(sim: Option<&Run>, real: Option<&Run>, comparable: bool) -> Vec<Step> {
        let how = How {
            environment: "e",
            rules: &PathRules::default(),
            comparable,
            paths: 5,
        };
        steps(sim, real, &Causes::new(), &how)
    }

    #[test]
    fn divergences_are_found_and_the_first_is_marked() {
        let sim = run(&[
            ("a", "ok", "1", "s0"),
            ("bb", "ok", "2", "s1"),
            ("ccc", "ok", "3", "s1"),
            ("dddd", "ok", "4", "s1"),
        ]);
        let real = run(&[
            ("a", "ok", "1", "s0"),
            ("bb", "auth", "2", "s0"),
            ("ccc", "ok", "3", "s0"),
        ]);
        let steps = compared(Some(&sim), Some(&real), true);
        let seen: Vec<_> = steps
            .iter()
            .map(|s| (s.diverges, s.first, s.only_carries()))
            .collect();
        assert_eq!(
            seen,
            [
                (false, false, false),
                (true, true, false),
                (true, false, true),
                (true, false, false)
            ]
        );
        assert_eq!((steps[3].sim, steps[3].real), (Some(3), None));
    }

    #[test]
    fn hashes_that_never_agree_say_nothing() {
        let sim = run(&[("a", "ok", "1", "x"), ("bb", "ok", "2", "x")]);
        let real = run(&[("a", "ok", "1", "y"), ("bb", "ok", "2", "y")]);
        assert!(
            compared(Some(&sim), Some(&real), false)
                .iter()
                .all(|s| !s.diverges)
        );
        assert!(
            compared(Some(&sim), None, false)
                .iter()
                .all(|s| !s.diverges)
        );
    }
}
