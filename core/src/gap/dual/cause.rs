//! Which divergence of the first runs explains which.

use super::{Knowledge, RunCall, SlotGap};
use crate::gap::answer::Form;
use crate::gap::cascade::{CallEvidence, Named, causes};
use crate::gap::comparer::Comparer;
use crate::gap::identifiers::identifiers;
use crate::gap::paths;
use crate::gap::reward::is_refusal;
use crate::gap::rules::CompiledRules;
use crate::json::key::Key;

/// Differing paths that are looked at for identifiers, per call.
const LOOKED_AT: usize = 200;

/// Fills in the causes.
pub(super) fn trace(
    calls: &[RunCall<'_>],
    gaps: &mut [SlotGap<'_>],
    knowledge: &dyn Knowledge,
    own_noise: bool,
    comparer: &mut Comparer,
) {
    let evidence: Vec<CallEvidence<'_>> = gaps.iter().map(|gap| evidence(gap, knowledge)).collect();
    let found = causes(&evidence, |at| {
        let rules = knowledge.rules(gaps[at].api, own_noise);
        named(calls, &gaps[at], rules.as_deref(), comparer)
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

fn named(
    calls: &[RunCall<'_>],
    gap: &SlotGap<'_>,
    rules: Option<&CompiledRules>,
    comparer: &mut Comparer,
) -> Named {
    let call = |arm: usize| gap.firsts[arm].map(|row| &calls[row]);
    let (sim, real) = (call(0), call(1));
    let arguments = sim.or(real).map_or("", |call| call.arguments);
    let mut changed = identifiers(arguments);
    let mut touched = changed.clone();
    let [left, right] = [sim, real].map(|call| call.map(|call| call.answer).unwrap_or_default());
    touched.extend(identifiers(left.text));
    touched.extend(identifiers(right.text));
    if left.form == Form::Text && right.form == Form::Text {
        // A bare text is one path: what it names, it changed.
        changed.clone_from(&touched);
        return Named { touched, changed };
    }
    changed.extend(
        comparer
            .diff_with(rules, left, right, LOOKED_AT)
            .identifiers(),
    );
    Named { touched, changed }
}
