//! A pair of runs as text.
//!
//! Calls that are alike take one line for each stretch of them, so that a
//! trajectory of ten thousand calls shows what differs and not ten thousand
//! screens.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use super::super::screen::{Ink, Screen};
use super::canvas::Canvas;
use super::{Pair, Run, Step, step};

/// How much is shown.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Only the calls with these numbers, alike or not.
    pub calls: Option<RangeInclusive<usize>>,
    /// At most so many diverging calls; 0: all.
    pub steps: usize,
}

/// Names that one line for calls that are alike may list.
const NAMES: usize = 4;

/// Verdicts shown for each run.
const VERDICTS: usize = 3;

/// Draws it.
#[must_use]
pub fn draw(pair: &Pair, limits: &Limits, screen: &Screen) -> String {
    let mut canvas = Canvas::new(screen);
    head(&mut canvas, pair);
    match &limits.calls {
        Some(range) => {
            let wanted = pair.steps.iter().filter(|s| range.contains(&s.number));
            wanted.for_each(|step| step::draw(&mut canvas, pair, step));
        }
        None => diverging(&mut canvas, pair, limits.steps),
    }
    foot(&mut canvas, pair);
    canvas.finish()
}

/// The diverging calls, at most so many, and a line for what lies between them.
fn diverging(canvas: &mut Canvas<'_>, pair: &Pair, most: usize) {
    let mut alike: Vec<&Step> = vec![];
    let (mut shown, mut hidden) = (0, 0usize);
    for step in &pair.steps {
        if !step.diverges || step.only_carries() {
            // One line holds calls that are alike, or calls that carry a state on.
            let other = |last: &&Step| last.diverges != step.diverges;
            if alike.last().is_some_and(other) {
                stretch(canvas, pair, &std::mem::take(&mut alike));
            }
            alike.push(step);
        } else if most > 0 && shown >= most {
            hidden += 1;
        } else {
            stretch(canvas, pair, &std::mem::take(&mut alike));
            step::draw(canvas, pair, step);
            shown += 1;
        }
        if hidden > 0 {
            alike.clear();
        }
    }
    stretch(canvas, pair, &alike);
    if hidden > 0 {
        let more = format!(
            "... {hidden} more diverging calls: --limit 0 shows all of them, --calls 100-120 those calls"
        );
        canvas.line(Ink::Bold, &more);
    }
}

fn head(canvas: &mut Canvas<'_>, pair: &Pair) {
    let name = format!(
        "trajectory {} (environment {})",
        pair.trajectory_id, pair.environment
    );
    canvas.line(Ink::Bold, &name);
    if let Some(task) = &pair.task {
        canvas.line(Ink::Dim, &format!("task  {task}"));
    }
    for (arm, run) in [("sim ", &pair.sim), ("real", &pair.real)] {
        let Some(run) = run else {
            canvas.line(Ink::Dim, &format!("{arm}  did not run"));
            continue;
        };
        canvas.line(Ink::Dim, &format!("{arm}  {}", described(run)));
        for verdict in run.verdicts.iter().take(VERDICTS) {
            canvas.line(Ink::Dim, &format!("      {verdict}"));
        }
        if run.verdicts.len() > VERDICTS {
            let more = run.verdicts.len() - VERDICTS;
            canvas.line(Ink::Dim, &format!("      and {more} more verdicts"));
        }
    }
    canvas.space();
}

fn described(run: &Run) -> String {
    let mut parts = vec![format!("run {} of {}", run.repeat, run.of)];
    parts.extend(run.version.clone());
    parts.extend(run.policy.as_ref().map(|policy| format!("policy {policy}")));
    parts.push(counted(run.calls.len(), "call", "calls"));
    parts.extend(run.termination.as_ref().map(|end| format!("ended: {end}")));
    parts.join(", ")
}

/// Calls that need no look.
fn stretch(canvas: &mut Canvas<'_>, pair: &Pair, steps: &[&Step]) {
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
        return;
    };
    let mut text = format!("#{}", first.number);
    if first.number != last.number {
        let _ = write!(text, "-{}", last.number);
    }
    let calls = counted(steps.len(), "call", "calls");
    let what = if first.diverges {
        "with the same answers in states that still differ (cascade)"
    } else if pair.on_both_arms() {
        "alike"
    } else {
        "on one arm only"
    };
    let _ = write!(text, "  {calls} {what}: {}", names(pair, steps));
    canvas.line(Ink::Dim, &text);
}

fn names(pair: &Pair, steps: &[&Step]) -> String {
    let mut counts: Vec<(&str, usize)> = vec![];
    let mut more = false;
    for step in steps {
        let (sim, real) = pair.sides(step);
        let name = sim.or(real).map_or("", |call| call.name.as_str());
        let known = counts.iter().position(|(known, _)| *known == name);
        match known {
            Some(at) => counts[at].1 += 1,
            None if counts.len() < NAMES => counts.push((name, 1)),
            None => more = true,
        }
    }
    let shown = counts.into_iter().map(|(name, count)| match count {
        1 => name.to_owned(),
        count => format!("{name} x{count}"),
    });
    let mut listed: Vec<String> = shown.collect();
    listed.extend(more.then(|| "...".to_owned()));
    listed.join(", ")
}

fn foot(canvas: &mut Canvas<'_>, pair: &Pair) {
    let steps = &pair.steps;
    let calls = counted(steps.len(), "call", "calls");
    if !pair.on_both_arms() {
        let arm = if pair.real.is_none() { "sim" } else { "real" };
        let text = format!("{calls}, on {arm} only: there is nothing to compare with");
        canvas.sentence(Ink::Bold, &text);
        return;
    }
    let count = |wanted: &dyn Fn(&Step) -> bool| steps.iter().filter(|step| wanted(step)).count();
    let caused = |cause: &str| count(&|s| s.diverges && s.cause.as_deref() == Some(cause));
    let diverging = count(&|s| s.diverges);
    let mut parts = vec![];
    for (number, one, many) in [
        (caused("structural"), "root", "roots"),
        (
            caused("state"),
            "explained by an earlier one (cascade)",
            "explained by earlier ones (cascade)",
        ),
        (caused("flaky"), "flaky", "flaky"),
        (count(&|s| s.real.is_none()), "on sim only", "on sim only"),
        (count(&|s| s.sim.is_none()), "on real only", "on real only"),
    ] {
        if number > 0 {
            parts.push(counted(number, one, many));
        }
    }
    let mut text = format!("{calls}, {}", counted(diverging, "diverges", "diverge"));
    if !parts.is_empty() {
        let _ = write!(text, ": {}", parts.join(", "));
    }
    canvas.sentence(Ink::Bold, &text);
    let Some(profile) = &pair.profile else {
        let text =
            "no profile yet: `fidelake profile` finds out which divergences follow from others";
        canvas.sentence(Ink::Dim, text);
        return;
    };
    let mut text = "fidelity \u{b1} se:".to_owned();
    let named = ["obs", "act", "rew", "trans", "all"];
    for (name, (value, se)) in named.iter().zip(profile.fidelity) {
        let _ = match (value, se) {
            (Some(value), Some(se)) => write!(text, " {name} {value:.3}\u{b1}{se:.3}"),
            (Some(value), None) => write!(text, " {name} {value:.3}"),
            (None, _) => write!(text, " {name} unknown"),
        };
    }
    canvas.sentence(Ink::Bold, &text);
}

fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
