//! Which divergence of the first runs explains which.

use super::{Knowledge, Pairs, RunCall, SlotGap};
use crate::gap::answer::{Answer, Form};
use crate::gap::cascade::{CallEvidence, Named, causes};
use crate::gap::comparer::Comparer;
use crate::gap::identifiers::{identifiers, of_answer};
use crate::gap::paths;
use crate::gap::reward::is_refusal;
use crate::gap::rules::CompiledRules;
use crate::json::key::Key;

/// Fills in the causes. `changed` holds, for the calls whose first runs were compared, what
/// differs by name.
pub(super) fn trace(
    calls: &[RunCall<'_>],
    gaps: &mut [SlotGap<'_>],
    changed: &[Option<Vec<u64>>],
    pairs: &Pairs<'_>,
    comparer: &mut Comparer,
) {
    let knowledge = pairs.knowledge;
    let evidence: Vec<CallEvidence<'_>> = gaps.iter().map(|gap| evidence(gap, knowledge)).collect();
    let found = causes(&evidence, |at| {
        let under = || {
            changed[at].clone().unwrap_or_else(|| {
                let rules = knowledge.rules(gaps[at].api, pairs.own_noise);
                differing(calls, &gaps[at], rules.as_deref(), comparer)
            })
        };
        named(calls, &gaps[at], under)
    });
    for (gap, cause) in gaps.iter_mut().zip(found) {
        gap.cause = cause;
    }
}

fn evidence<'a>(gap: &SlotGap<'a>, knowledge: &dyn Knowledge) -> CallEvidence<'a> {
    let [sim, real] = gap.outcomes;
    let [obs, _, outcome, state, ..] = &gap.parts;
    let answer_differs = match (sim, real) {
        // Another outcome is another answer; a call that one arm lacks is none.
        (Some(a), Some(b)) if a == b => obs.distance.is_some_and(|d| d > 0.0),
        (None, None) => false,
        _ => true,
    };
    CallEvidence {
        api: gap.api,
        answer_differs,
        flaky: obs.flaky || outcome.flaky,
        outcome_differs: sim != real,
        state_differs: state.distance.map(|d| d > 0.0),
        mutates: knowledge.mutates(gap.api),
        shape: shape(gap, sim, real),
    }
}

/// A number for the difference if it is one of shape or of acceptance alone.
fn shape(gap: &SlotGap<'_>, sim: Option<&str>, real: Option<&str>) -> Option<u64> {
    let (sim, real) = (sim.unwrap_or_default(), real.unwrap_or_default());
    if sim != real {
        let refused = is_refusal(sim) != is_refusal(real);
        return refused.then(|| Key::of_parts(&[sim, real]).as_i64().cast_unsigned());
    }
    paths::shape(&gap.paths)
}

/// The answers of the first runs; an empty one for an arm that lacks the call.
fn answers<'a>(calls: &[RunCall<'a>], gap: &SlotGap<'_>) -> [Answer<'a>; 2] {
    let answer = |row: Option<usize>| row.map(|row| calls[row].answer);
    gap.firsts.map(|row| answer(row).unwrap_or_default())
}

fn named(calls: &[RunCall<'_>], gap: &SlotGap<'_>, under: impl FnOnce() -> Vec<u64>) -> Named {
    let [sim, real] = gap.firsts;
    let arguments = sim.or(real).map_or("", |row| calls[row].arguments);
    let mut changed = identifiers(arguments);
    let mut touched = changed.clone();
    let [left, right] = answers(calls, gap);
    of_answer(left, &mut touched);
    of_answer(right, &mut touched);
    if left.form == Form::Text && right.form == Form::Text {
        // A bare text is one path: what it names, it changed.
        changed.clone_from(&touched);
    } else {
        changed.extend(under());
    }
    Named { touched, changed }
}

/// The identifiers under the paths that differ, where another outcome left the answers uncompared.
fn differing(
    calls: &[RunCall<'_>],
    gap: &SlotGap<'_>,
    rules: Option<&CompiledRules>,
    comparer: &mut Comparer,
) -> Vec<u64> {
    let [left, right] = answers(calls, gap);
    let diff = comparer.diff_with(rules, left, right, paths::NAMED_LOSSES);
    diff.identifiers()
}
