//! One call of a pair of runs as text.

use fidelake_core::gap::{DiffKind, PathDiff};

use super::super::screen::Ink;
use super::canvas::Canvas;
use super::{Call, Pair, Step};

/// The whole call is meant.
const NOWHERE: (&str, usize) = ("", 0);

/// Draws it whole.
pub(super) fn draw(canvas: &mut Canvas<'_>, pair: &Pair, step: &Step) {
    let (sim, real) = pair.sides(step);
    let Some(call) = sim.or(real) else { return };
    let mut head = format!(
        "#{}  turn {}.{}  {}",
        step.number, call.turn, call.index, call.name
    );
    if pair.on_both_arms() {
        match (sim, real) {
            (Some(_), None) => head.push_str("  (sim only)"),
            (None, Some(_)) => head.push_str("  (real only)"),
            _ => {}
        }
    }
    let mark = if step.first {
        "  <-- first divergence"
    } else {
        ""
    };
    canvas.head(&head, mark);
    match (sim, real) {
        (Some(a), Some(b)) => both(canvas, pair, step, a, b),
        _ => {
            canvas.field("arguments", Ink::Dim, &call.arguments);
            canvas.field("outcome", Ink::Dim, &ended(call));
            canvas.field("answer", Ink::Dim, answer(call));
        }
    }
    canvas.space();
}

fn both(canvas: &mut Canvas<'_>, pair: &Pair, step: &Step, sim: &Call, real: &Call) {
    if step.arguments_differ {
        canvas.versus(
            "arguments",
            Ink::Value,
            NOWHERE,
            [&sim.arguments, &real.arguments],
        );
    } else {
        canvas.field("arguments", Ink::Dim, &sim.arguments);
    }
    if let Some(cause) = step.cause.as_deref().and_then(explained) {
        canvas.field("cause", Ink::Bold, cause);
    }
    if step.outcome_differs {
        canvas.versus("outcome", Ink::Alarm, NOWHERE, [&ended(sim), &ended(real)]);
        canvas.versus("answer", Ink::Value, NOWHERE, [answer(sim), answer(real)]);
    } else {
        canvas.field("outcome", Ink::Dim, &ended(sim));
    }
    if let Some(diff) = &step.diff {
        let width = canvas.path_width(diff.paths.iter().map(|found| found.path.as_str()));
        let paths = diff.paths.iter();
        paths.for_each(|found| path(canvas, found, width));
        if diff.omitted > 0 {
            let more = format!("and {} more paths; --paths N shows more", diff.omitted);
            canvas.field("", Ink::Dim, &more);
        } else if diff.paths.is_empty() {
            canvas.field("answer", Ink::Dim, answer(sim));
        }
    }
    if step.state_differs {
        let before = step
            .number
            .checked_sub(1)
            .and_then(|at| pair.steps.get(at))
            .is_some_and(|step| step.state_differs);
        let since = if before {
            "differ, as before this call"
        } else {
            "differ after this call"
        };
        canvas.field("states", Ink::Value, since);
    }
    if let (Some(a), Some(b)) = (sim.latency_ms, real.latency_ms) {
        canvas.versus(
            "latency",
            Ink::Dim,
            NOWHERE,
            [&milliseconds(a), &milliseconds(b)],
        );
    }
}

fn path(canvas: &mut Canvas<'_>, diff: &PathDiff, width: usize) {
    let ink = match diff.kind {
        DiffKind::Missing => Ink::Missing,
        DiffKind::Extra => Ink::Extra,
        DiffKind::Type | DiffKind::Value => Ink::Value,
        DiffKind::Order => Ink::Order,
        DiffKind::Cosmetic => Ink::Dim,
    };
    let sides = match (diff.left.as_deref(), diff.right.as_deref()) {
        (None, None) => ["one form", "another form of the same value"],
        (left, right) => [left.unwrap_or_default(), right.unwrap_or_default()],
    };
    canvas.versus(diff.kind.name(), ink, (&diff.path, width), sides);
}

/// A cause in words; none for calls that are alike.
#[must_use]
pub fn explained(cause: &str) -> Option<&'static str> {
    Some(match cause {
        "structural" => "structural: a root, the worlds are built differently",
        "state" => "state: a cascade, explained by an earlier divergence",
        "flaky" => "flaky: an arm disagrees with itself as much as with the other",
        _ => return None,
    })
}

fn ended(call: &Call) -> String {
    let outcome = call.outcome.as_deref().unwrap_or("no answer");
    match &call.status {
        Some(status) => format!("{outcome} ({status})"),
        None => outcome.to_owned(),
    }
}

fn answer(call: &Call) -> &str {
    let given = call.content.as_deref().or(call.structured.as_deref());
    given.unwrap_or("(nothing)")
}

fn milliseconds(ms: f64) -> String {
    if ms < 10.0 {
        format!("{ms:.2} ms")
    } else {
        format!("{ms:.0} ms")
    }
}
