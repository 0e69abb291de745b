//! What a pattern is called.

/// What is known of one call of a pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallFacts<'a> {
    /// Outcome on sim; empty: no answer.
    pub outcome_sim: &'a str,
    /// Outcome on real; empty: no answer.
    pub outcome_real: &'a str,
    /// Whether the call gives a parameter, or names a tool, that the catalog does not have.
    pub undefined: bool,
    /// Whether one arm shows an old answer where the other shows a new one.
    pub stale: bool,
}

/// The families that have names of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// The simulator says ok where the real world refuses or fails (200 against 429 and kin).
    ErrorMasking,
    /// One arm shows old values where the other shows what was written.
    ConsistencyDrift,
    /// The simulator answers what is not defined: parameters, arguments, tools.
    SemanticHallucination,
    /// Anything else.
    Other,
}

impl Family {
    /// The name stored in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ErrorMasking => "error masking",
            Self::ConsistencyDrift => "consistency drift",
            Self::SemanticHallucination => "semantic hallucination",
            Self::Other => "other",
        }
    }
}

/// The family of one call:
/// 1. sim ok, real `invalid_arguments` or `unknown_tool`: the simulator answered what is
///    not defined. Also with an undefined parameter or tool, where real says `not_found` or
///    `tool_error`, or answers otherwise: hallucination;
/// 2. sim ok, real any other error of the world: masking. An answer that came but could not
///    be read, or had another shape, is none;
/// 3. the same outcome, old on one arm and new on the other: drift.
fn of_call(call: &CallFacts<'_>) -> Family {
    let (sim, real) = (call.outcome_sim, call.outcome_real);
    match (sim, real) {
        ("ok", "invalid_arguments" | "unknown_tool") => Family::SemanticHallucination,
        ("ok", "ok" | "not_found" | "tool_error") if call.undefined => {
            Family::SemanticHallucination
        }
        (
            "ok",
            "auth" | "not_found" | "conflict" | "rate_limited" | "timeout" | "server_error"
            | "transport" | "tool_error",
        ) => Family::ErrorMasking,
        _ if sim == real && call.stale => Family::ConsistencyDrift,
        _ => Family::Other,
    }
}

/// The family that more than half of the calls belong to.
#[must_use]
pub fn family<'a>(calls: impl Iterator<Item = (CallFacts<'a>, u64)>) -> Family {
    let mut counts = [0u64; 4];
    let all = [
        Family::ErrorMasking,
        Family::ConsistencyDrift,
        Family::SemanticHallucination,
        Family::Other,
    ];
    for (call, count) in calls {
        let found = of_call(&call);
        for (family, sum) in all.iter().zip(&mut counts) {
            if *family == found {
                *sum += count;
            }
        }
    }
    let total: u64 = counts.iter().sum();
    let found = all.into_iter().zip(counts).find(|(_, n)| 2 * n > total);
    found.map_or(Family::Other, |(family, _)| family)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(sim: &str, real: &str, undefined: bool, stale: bool) -> Family {
        let call = CallFacts {
            outcome_sim: sim,
            outcome_real: real,
            undefined,
            stale,
        };
        family([(call, 1)].into_iter())
    }

    #[test]
    fn the_three_families_and_what_is_none_of_them() {
        for real in [
            "rate_limited",
            "timeout",
            "server_error",
            "auth",
            "conflict",
            "transport",
        ] {
            assert_eq!(one("ok", real, false, false), Family::ErrorMasking);
            // A limit that strikes a call with odd arguments is a limit all the same.
            assert_eq!(one("ok", real, true, false), Family::ErrorMasking);
            // The other way round nothing is masked.
            assert_eq!(one(real, "ok", false, false), Family::Other);
        }
        assert_eq!(
            one("ok", "invalid_arguments", false, false),
            Family::SemanticHallucination
        );
        assert_eq!(
            one("ok", "tool_error", true, false),
            Family::SemanticHallucination
        );
        assert_eq!(one("ok", "tool_error", false, false), Family::ErrorMasking);
        assert_eq!(one("ok", "ok", true, false), Family::SemanticHallucination);
        assert_eq!(one("ok", "ok", false, true), Family::ConsistencyDrift);
        assert_eq!(one("ok", "ok", false, false), Family::Other);
        assert_eq!(one("ok", "malformed_response", false, false), Family::Other);
        assert_eq!(one("ok", "schema_drift", false, false), Family::Other);
        assert_eq!(one("", "", false, false), Family::Other);
    }

    #[test]
    fn more_than_half_decides() {
        let masked = CallFacts {
            outcome_sim: "ok",
            outcome_real: "timeout",
            ..CallFacts::default()
        };
        let other = CallFacts::default();
        assert_eq!(family([(masked, 2), (other, 2)].into_iter()), Family::Other);
        assert_eq!(
            family([(masked, 3), (other, 2)].into_iter()),
            Family::ErrorMasking
        );
        assert_eq!(family(std::iter::empty()), Family::Other);
    }
}
