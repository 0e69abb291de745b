//! What a pattern is called: its family, and its core in words.

use std::collections::BTreeMap;

use fidelake_core::patterns::{CallFacts, Family, family};

use super::call::Calls;
use super::core_of::Core;
use super::feature::Field;

/// Paths named in a name.
const PATHS: usize = 2;

/// The family of calls of some kinds.
pub(super) fn family_of(all: &Calls, kinds: &BTreeMap<u32, u64>) -> Family {
    let facts = kinds.iter().map(|(kind, count)| {
        let features = &all.kinds[*kind as usize];
        let value = |field| all.vocabulary.value(features, field);
        let outcome = |field| match value(field) {
            "-" => "",
            outcome => outcome,
        };
        let faults = value(Field::ArgumentFaults);
        let call = CallFacts {
            outcome_sim: outcome(Field::OutcomeSim),
            outcome_real: outcome(Field::OutcomeReal),
            undefined: faults == "unknown_tool"
                || faults.split(',').any(|fault| fault == "undeclared"),
            stale: value(Field::Stale) != "none",
        };
        (call, *count)
    });
    family(facts)
}

/// The name: `error masking: get_user is ok on sim, rate_limited on real`.
pub(super) fn name(family: Family, core: &Core) -> String {
    let what = match core.apis.as_slice() {
        [] => "calls".to_owned(),
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    };
    let (sim, real) = (
        core.value(Field::OutcomeSim),
        core.value(Field::OutcomeReal),
    );
    let faults = core.value(Field::ArgumentFaults);
    let said = match family {
        Family::ErrorMasking => format!("{what} is {sim} on sim, {real} on real"),
        Family::ConsistencyDrift => match core.value(Field::Stale) {
            "real" => format!("{what} shows an old answer on real, a new one on sim"),
            _ => format!("{what} shows an old answer on sim, a new one on real"),
        },
        Family::SemanticHallucination => {
            let asked = match faults {
                "unknown_tool" => "a tool that is not declared".to_owned(),
                "none" | "unknown" => "what real refuses".to_owned(),
                faults => format!("{} arguments", faults.replace(',', " and ")),
            };
            format!("{what} answers {asked} on sim, {real} on real")
        }
        Family::Other => other(&what, core),
    };
    match family {
        Family::Other => said,
        family => format!("{}: {said}", family.name()),
    }
}

fn other(what: &str, core: &Core) -> String {
    match core.value(Field::Differs) {
        "outcome" => format!(
            "{what} is {} on sim, {} on real",
            core.value(Field::OutcomeSim),
            core.value(Field::OutcomeReal)
        ),
        "slower" => format!("{what} is slower on real"),
        "faster" => format!("{what} is faster on real"),
        "state" => format!("{what} leaves another state"),
        "sim_only" => format!("{what} was called on sim only"),
        "real_only" => format!("{what} was called on real only"),
        _ => {
            let kinds = core.value(Field::Kinds).replace('+', ", ");
            let paths = core
                .paths
                .iter()
                .take(PATHS)
                .map(|path| path.split_once(' ').map_or(&**path, |p| p.1));
            let paths: Vec<&str> = paths.collect();
            let more = core.paths.len().saturating_sub(PATHS);
            let at = match (paths.is_empty(), more) {
                (true, _) => String::new(),
                (false, 0) => format!(" at {}", paths.join(", ")),
                (false, more) => format!(" at {} and {more} more", paths.join(", ")),
            };
            format!("{what} answers differ: {kinds}{at}")
        }
    }
}
