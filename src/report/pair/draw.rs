//! A pair of runs as text.
//!
//! Calls that are alike take one line for each stretch of them, so that a
//! trajectory of ten thousand calls shows what differs and not ten thousand
//! screens. Everything from the lake passes [`fit`].

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::RangeInclusive;

use fidelake_core::gap::{DiffKind, PathDiff};

use super::super::screen::{Ink, Screen, fit, padded};
use super::{Call, Pair, Run, Step};

/// How much is shown.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Only the calls with these numbers, alike or not.
    pub calls: Option<RangeInclusive<usize>>,
    /// At most so many diverging calls; 0: all.
    pub steps: usize,
}

/// Room before a line of a call.
const INDENT: usize = 5;

/// Room for the kind of a line.
const KIND: usize = 10;

/// Names that one line for calls that are alike may list.
const NAMES: usize = 4;

struct Drawing<'p> {
    pair: &'p Pair,
    screen: &'p Screen,
    out: String,
}

/// Draws it.
#[must_use]
pub fn draw(pair: &Pair, limits: &Limits, screen: &Screen) -> String {
    let mut drawing = Drawing {
        pair,
        screen,
        out: String::new(),
    };
    drawing.head();
    let whole = limits.calls.is_some();
    let in_range = |step: &&Step| {
        limits
            .calls
            .as_ref()
            .is_none_or(|range| range.contains(&step.number))
    };
    let mut alike: Vec<&Step> = vec![];
    let mut shown = 0;
    let mut hidden = 0usize;
    for step in pair.steps.iter().filter(in_range) {
        let quiet = !step.diverges || step.only_carries();
        if quiet && !whole {
            // One line holds either calls that are alike, or calls that carry a state on.
            if alike
                .last()
                .is_some_and(|last| last.diverges != step.diverges)
            {
                drawing.stretch(&alike);
                alike.clear();
            }
            alike.push(step);
            continue;
        }
        if hidden > 0 || (!whole && limits.steps > 0 && shown >= limits.steps) {
            hidden += 1;
            continue;
        }
        drawing.stretch(&alike);
        alike.clear();
        drawing.step(step);
        shown += 1;
    }
    if hidden > 0 {
        drawing.line(
            Ink::Bold,
            &format!("... {hidden} more diverging calls: --limit 0 shows all, --calls 10-20 those"),
        );
    } else {
        drawing.stretch(&alike);
    }
    drawing.foot();
    drawing.out.truncate(drawing.out.trim_end().len());
    drawing.out
}

impl Drawing<'_> {
    fn line(&mut self, ink: Ink, text: &str) {
        let text = fit(text, self.screen.width);
        let _ = writeln!(self.out, "{}", self.screen.ink(ink, &text));
    }

    fn head(&mut self) {
        let pair = self.pair;
        self.line(
            Ink::Bold,
            &format!(
                "trajectory {} (environment {})",
                pair.trajectory_id, pair.environment
            ),
        );
        for (arm, run) in [("sim ", &pair.sim), ("real", &pair.real)] {
            match run {
                Some(run) => self.line(Ink::Dim, &format!("{arm}  {}", described(run))),
                None => self.line(Ink::Dim, &format!("{arm}  did not run")),
            }
        }
        if let Some(task) = &pair.task {
            self.line(Ink::Dim, &format!("task  {task}"));
        }
        self.out.push('\n');
    }

    /// Calls that need no look.
    fn stretch(&mut self, steps: &[&Step]) {
        let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
            return;
        };
        let numbers = if first.number == last.number {
            format!("#{}", first.number)
        } else {
            format!("#{}-{}", first.number, last.number)
        };
        let many = steps.len() > 1;
        let calls = if many {
            format!("{} calls", steps.len())
        } else {
            "1 call".to_owned()
        };
        let what = if first.diverges {
            let answers = if many { "answer" } else { "answers" };
            format!("{calls} {answers} alike, the states still differ (cascade)")
        } else if self.pair.sim.is_none() || self.pair.real.is_none() {
            format!("{calls} on one arm only")
        } else {
            format!("{calls} alike")
        };
        let mut names: Vec<(&str, usize)> = vec![];
        for step in steps {
            let name = self.name(step);
            match names.iter_mut().find(|(known, _)| *known == name) {
                Some((_, count)) => *count += 1,
                None => names.push((name, 1)),
            }
        }
        let mut listed: Vec<String> = names
            .iter()
            .take(NAMES)
            .map(|&(name, count)| {
                if count > 1 {
                    format!("{name} x{count}")
                } else {
                    name.to_owned()
                }
            })
            .collect();
        if names.len() > NAMES {
            listed.push("...".into());
        }
        self.line(
            Ink::Dim,
            &format!("{numbers}  {what}: {}", listed.join(", ")),
        );
    }

    fn name(&self, step: &Step) -> &str {
        self.sides(step)
            .0
            .or(self.sides(step).1)
            .map_or("", |call| call.name.as_str())
    }

    fn sides(&self, step: &Step) -> (Option<&Call>, Option<&Call>) {
        let sim = step
            .sim
            .and_then(|at| self.pair.sim.as_ref()?.calls.get(at));
        let real = step
            .real
            .and_then(|at| self.pair.real.as_ref()?.calls.get(at));
        (sim, real)
    }

    fn step(&mut self, step: &Step) {
        let (sim, real) = self.sides(step);
        let (sim, real) = (sim.cloned(), real.cloned());
        let Some(call) = sim.as_ref().or(real.as_ref()) else {
            return;
        };
        let mut head = format!(
            "#{}  turn {}.{}  {}",
            step.number, call.turn, call.index, call.name
        );
        match (&sim, &real) {
            (Some(_), None) if self.pair.real.is_some() => head.push_str("  (sim only)"),
            (None, Some(_)) if self.pair.sim.is_some() => head.push_str("  (real only)"),
            _ => {}
        }
        let mark = if step.first {
            "  <-- first divergence"
        } else {
            ""
        };
        let text = fit(&head, self.screen.width.saturating_sub(mark.len()));
        let text = self.screen.ink(Ink::Bold, &text).into_owned();
        let _ = writeln!(self.out, "{text}{}", self.screen.ink(Ink::Alarm, mark));
        match (&sim, &real) {
            (Some(a), Some(b)) => self.both(step, a, b),
            (Some(only), None) | (None, Some(only)) => {
                self.field("arguments", Ink::Dim, &only.arguments);
                self.field("outcome", Ink::Dim, &ended(only));
                self.field("answer", Ink::Dim, answer(only));
            }
            (None, None) => {}
        }
        self.out.push('\n');
    }

    fn both(&mut self, step: &Step, sim: &Call, real: &Call) {
        if step.arguments_differ {
            self.versus("arguments", Ink::Value, "", &sim.arguments, &real.arguments);
        } else {
            self.field("arguments", Ink::Dim, &sim.arguments);
        }
        if let Some(cause) = step.cause.as_deref().and_then(explained) {
            self.field("cause", Ink::Bold, cause);
        }
        let (a, b) = (ended(sim), ended(real));
        if step.outcome_differs {
            self.versus("outcome", Ink::Alarm, "", &a, &b);
            self.versus("answer", Ink::Value, "", answer(sim), answer(real));
        } else {
            self.field("outcome", Ink::Dim, &a);
        }
        if let Some(diff) = &step.diff {
            for path in &diff.paths {
                self.path(path);
            }
            if diff.omitted > 0 {
                self.field(
                    "",
                    Ink::Dim,
                    &format!("and {} more paths; --paths N shows more", diff.omitted),
                );
            } else if diff.paths.is_empty() && diff.gap.gap == 0.0 {
                self.field("answer", Ink::Dim, answer(sim));
            }
        }
        if step.state_differs {
            let why = if step.only_carries() {
                "still differ, as before"
            } else {
                "differ after this call"
            };
            self.field("states", Ink::Value, why);
        }
        if let (Some(a), Some(b)) = (sim.latency_ms, real.latency_ms) {
            self.versus("latency", Ink::Dim, "", &milliseconds(a), &milliseconds(b));
        }
    }

    /// One line: what, and one text.
    fn field(&mut self, kind: &str, ink: Ink, text: &str) {
        let room = self.screen.width.saturating_sub(INDENT + KIND);
        let text = fit(text, room);
        let text = self.screen.ink(ink, &text);
        let _ = writeln!(self.out, "{:INDENT$}{}{text}", "", padded(kind, KIND));
    }

    /// One line: what, where, and the two sides.
    fn versus(&mut self, kind: &str, ink: Ink, path: &str, left: &str, right: &str) {
        let room = self.screen.width.saturating_sub(INDENT + KIND);
        let path = if path.is_empty() {
            String::new()
        } else {
            padded(path, (room / 3).max(8)) + " "
        };
        let used = if path.is_empty() {
            0
        } else {
            (room / 3).max(8) + 1
        };
        let side = room.saturating_sub(used + 3) / 2;
        let (left, right) = (padded(left, side), fit(right, side));
        let kind = padded(kind, KIND);
        let line = format!("{left} | {right}");
        let _ = writeln!(
            self.out,
            "{:INDENT$}{}{path}{}",
            "",
            self.screen.ink(ink, &kind),
            self.screen.ink(ink, line.trim_end())
        );
    }

    fn path(&mut self, diff: &PathDiff) {
        let ink = match diff.kind {
            DiffKind::Missing => Ink::Missing,
            DiffKind::Extra => Ink::Extra,
            DiffKind::Type | DiffKind::Value => Ink::Value,
            DiffKind::Order => Ink::Order,
            DiffKind::Cosmetic => Ink::Dim,
        };
        let side = |value: &Option<String>| value.clone().unwrap_or_default();
        let (left, right) = match (&diff.left, &diff.right) {
            (None, None) => ("one form".to_owned(), "another form of it".to_owned()),
            (left, right) => (side(left), side(right)),
        };
        self.versus(diff.kind.name(), ink, &diff.path, &left, &right);
    }

    fn foot(&mut self) {
        let steps = &self.pair.steps;
        if self.pair.sim.is_none() || self.pair.real.is_none() {
            let arm = if self.pair.real.is_none() {
                "sim"
            } else {
                "real"
            };
            self.line(
                Ink::Bold,
                &format!(
                    "ran on {arm} only ({} calls): there is nothing to compare with",
                    steps.len()
                ),
            );
            return;
        }
        let mut causes: BTreeMap<&str, usize> = BTreeMap::new();
        for step in steps.iter().filter(|step| step.diverges) {
            *causes
                .entry(step.cause.as_deref().unwrap_or("unknown"))
                .or_default() += 1;
        }
        let diverging: usize = causes.values().sum();
        let mut text = format!("{} calls, {diverging} diverge", steps.len());
        let one_sided = |sim: bool| {
            steps
                .iter()
                .filter(|s| {
                    if sim {
                        s.real.is_none()
                    } else {
                        s.sim.is_none()
                    }
                })
                .count()
        };
        let words = [
            ("structural", "roots"),
            ("state", "cascade: explained by an earlier divergence"),
            ("flaky", "an arm disagrees with itself"),
        ];
        let mut parts: Vec<String> = words
            .iter()
            .filter_map(|(cause, word)| causes.get(cause).map(|count| format!("{count} {word}")))
            .collect();
        for (sim, word) in [(true, "on sim only"), (false, "on real only")] {
            if one_sided(sim) > 0 {
                parts.push(format!("{} {word}", one_sided(sim)));
            }
        }
        if !parts.is_empty() {
            let _ = write!(text, " ({})", parts.join("; "));
        }
        self.line(Ink::Bold, &text);
        let Some(profile) = &self.pair.profile else {
            self.line(Ink::Dim, "no profile yet: `fidelake profile` computes it, and says which divergences follow from others");
            return;
        };
        let mut words = vec![];
        for (name, (value, se)) in ["obs", "act", "rew", "trans", "all"]
            .iter()
            .zip(profile.fidelity)
        {
            words.push(match (value, se) {
                (Some(value), Some(se)) => format!("{name} {value:.3} (se {se:.3})"),
                (Some(value), None) => format!("{name} {value:.3}"),
                (None, _) => format!("{name} unknown"),
            });
        }
        let (sim, real) = &profile.runs;
        self.line(
            Ink::Bold,
            &format!(
                "fidelity: {} from {sim} sim and {real} real runs",
                words.join(", ")
            ),
        );
    }
}

fn described(run: &Run) -> String {
    let mut parts = vec![format!("run {} of {}", run.repeat, run.of)];
    parts.extend(run.version.clone());
    parts.extend(run.policy.as_ref().map(|policy| format!("policy {policy}")));
    parts.push(format!("{} calls", run.calls.len()));
    parts.extend(run.termination.as_ref().map(|end| format!("ended: {end}")));
    parts.extend(run.verdicts.iter().cloned());
    parts.join(", ")
}

fn explained(cause: &str) -> Option<&'static str> {
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
    call.content
        .as_deref()
        .or(call.structured.as_deref())
        .unwrap_or("(nothing)")
}

fn milliseconds(ms: f64) -> String {
    if ms < 10.0 {
        format!("{ms:.2} ms")
    } else {
        format!("{ms:.0} ms")
    }
}
