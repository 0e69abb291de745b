//! A trajectory as it went on both arms, call beside call.

use std::collections::HashSet;

use maud::{Markup, html};

use super::asked::Asked;
use super::book::Book;
use super::error::{PageError, PageResult};
use super::grid::short;
use super::layout::lines;
use super::links::Links;
use crate::report::{Call, Pair, Run, Step, explained, load_pair, safe, safe_lines};

/// Calls of one page.
const CALLS: usize = 40;

/// Differing paths that are shown of one call.
const PATHS: usize = 60;

/// Bytes of a payload that are laid out, and lines that are shown; the whole is behind a link.
const SHOWN: usize = 16 << 10;
const LINES: usize = 120;

/// Verdicts of a run that are shown.
const VERDICTS: usize = 8;

/// Which trajectory, and where in it.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) environment: Option<String>,
    pub(super) id: String,
    /// The call that is looked for: `turn.index`.
    pub(super) call: Option<(i32, i32)>,
    pub(super) from: Option<usize>,
}

impl Shown {
    pub(super) fn asked(asked: &mut Asked) -> PageResult<Self> {
        let call = match asked.text("call") {
            None => None,
            Some(text) => {
                let place = text.split_once('.');
                let place = place.and_then(|(t, i)| Some((t.parse().ok()?, i.parse().ok()?)));
                Some(place.ok_or_else(|| {
                    PageError::Wrong(format!(
                        "parameter \"call\" is {text:?}: turn and place are needed, as in 3.0"
                    ))
                })?)
            }
        };
        let from = asked.from()?;
        Ok(Self {
            environment: asked.text("environment"),
            id: asked.needed("id")?,
            call,
            from: (from > 0).then_some(from),
        })
    }
}

/// The calls of a step on both arms.
fn sides<'p>(pair: &'p Pair, step: &Step) -> (Option<&'p Call>, Option<&'p Call>) {
    let call = |run: &'p Option<Run>, at: Option<usize>| run.as_ref()?.calls.get(at?);
    (call(&pair.sim, step.sim), call(&pair.real, step.real))
}

/// The page's content.
pub(super) async fn content(book: &Book, links: Links, shown: &Shown) -> PageResult<Markup> {
    let load = load_pair(
        book.engine(),
        &shown.id,
        shown.environment.as_deref(),
        PATHS,
    );
    let pair = book.limited(load).await?;
    let wanted = |step: &&Step| {
        let (sim, real) = sides(&pair, step);
        let at = |call: Option<&Call>| call.map(|call| (call.turn, call.index));
        shown.call.is_some() && (at(sim) == shown.call || at(real) == shown.call)
    };
    let wanted = pair.steps.iter().find(wanted).map(|step| step.number);
    let from = match (shown.from, wanted) {
        (Some(from), _) => from.min(pair.steps.len()),
        (None, Some(at)) => at / CALLS * CALLS,
        (None, None) => 0,
    };
    Ok(drawn(&pair, links, from, wanted, CALLS))
}

/// The pair as a page, or as a part of a report.
pub(super) fn drawn(
    pair: &Pair,
    links: Links,
    from: usize,
    wanted: Option<usize>,
    most: usize,
) -> Markup {
    let steps = &pair.steps[from..pair.steps.len().min(from + most)];
    let to = |from: usize| {
        let from = from.to_string();
        let parameters = [
            ("environment", Some(pair.environment.as_str())),
            ("id", Some(pair.trajectory_id.as_str())),
            ("from", Some(from.as_str())),
        ];
        links.to("/trajectory", &parameters)
    };
    html! {
        @if links.mailed { h3 { (safe(&pair.trajectory_id)) } } @else { h1 { (safe(&pair.trajectory_id)) } }
        dl.facts {
            dt { "environment" } dd { (safe(&pair.environment)) }
            @if let Some(task) = &pair.task { dt { "task" } dd { (told(task)) } }
            dt.sim { "sim" } dd { (run(pair.sim.as_ref())) }
            dt.real { "real" } dd { (run(pair.real.as_ref())) }
            dt { "fidelity" } dd { (fidelity(pair)) }
            dt { "root cause" } dd { (root(pair, links, steps)) }
        }
        @if !links.mailed { (tools(pair, links)) }
        @for step in steps { (call(pair, step, links, wanted == Some(step.number))) }
        @if !links.mailed && pair.steps.len() > most {
            (super::table::pager(from, steps.len(), pair.steps.len(), most, &to))
        } @else if pair.steps.len() > steps.len() {
            p.note { "The first " (steps.len()) " of " (pair.steps.len()) " calls." }
        }
    }
}

/// What the agent was told: its beginning, the rest unfolds.
fn told(task: &str) -> Markup {
    const BEGINNING: usize = 160;
    const LONGEST: usize = 8000;
    let first = cut(task, BEGINNING);
    if first.len() == task.len() && !task.contains('\n') {
        return html! { (safe(task)) };
    }
    let first: Vec<&str> = first.split_whitespace().collect();
    html! {
        details {
            summary { (safe(&first.join(" "))) "…" }
            div.value { (safe_lines(&cut(task, LONGEST))) }
        }
    }
}

/// The same as files and on the command line.
fn tools(pair: &Pair, links: Links) -> Markup {
    let file = |kind: &str| {
        let parameters = [
            ("q", Some("trajectory")),
            ("environment", Some(pair.environment.as_str())),
            ("id", Some(pair.trajectory_id.as_str())),
        ];
        links.to(&format!("/data.{kind}"), &parameters)
    };
    html! {
        ul.tools {
            li { code { "fidelake show " (safe(&quoted(&pair.trajectory_id))) } }
            li { a href=(file("csv")) download { "CSV" } }
            li { a href=(file("parquet")) download { "Parquet" } }
        }
    }
}

/// A word for a shell.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn run(run: Option<&Run>) -> Markup {
    let Some(run) = run else {
        return html! { span.dim { "did not run" } };
    };
    let mut parts = vec![format!("run {} of {}", run.repeat, run.of)];
    parts.extend(run.version.clone());
    parts.extend(run.policy.as_ref().map(|policy| format!("policy {policy}")));
    parts.push(format!("{} calls", run.calls.len()));
    parts.extend(run.termination.as_ref().map(|end| format!("ended: {end}")));
    html! {
        (short(&parts.join(", ")))
        @if run.verdicts.is_empty() { ", " span.dim { "no verdict" } }
        @for verdict in run.verdicts.iter().take(VERDICTS) { br; b { (short(verdict)) } }
        @if run.verdicts.len() > VERDICTS { br; "and " (run.verdicts.len() - VERDICTS) " more verdicts" }
    }
}

fn fidelity(pair: &Pair) -> Markup {
    let Some(profile) = &pair.profile else {
        return html! { "unknown: " span.dim { "it ran on one arm only, or `fidelake profile` has not seen it yet" } };
    };
    let names = [
        "observation",
        "action",
        "reward",
        "transition",
        "all of them (f)",
    ];
    html! {
        @for (at, (name, (value, se))) in names.iter().zip(profile.fidelity).enumerate() {
            @if at > 0 { ", " }
            (name) " "
            b {
                @match value {
                    Some(value) => { (format!("{value:.3}")) @if let Some(se) = se { (format!(" ± {se:.3}")) } },
                    None => "unknown",
                }
            }
        }
    }
}

/// Where it began.
fn root(pair: &Pair, links: Links, here: &[Step]) -> Markup {
    let diverging = pair.steps.iter().filter(|step| step.diverges).count();
    let Some(first) = pair.steps.iter().find(|step| step.first) else {
        return html! { "none: no call diverges" };
    };
    let (sim, real) = sides(pair, first);
    let Some(call) = sim.or(real) else {
        return html! { "none" };
    };
    let name = format!("#{} {}", first.number, call.name);
    let (turn, index) = (call.turn.to_string(), call.index.to_string());
    let address = if links.mailed || here.iter().any(|step| step.number == first.number) {
        // Reports may hold several trajectories, so only the place on this page is meant.
        (!links.mailed).then(|| format!("#t{turn}.{index}"))
    } else {
        Some(links.trajectory(
            &pair.environment,
            &pair.trajectory_id,
            Some((&turn, &index)),
        ))
    };
    html! {
        @match address { Some(address) => a href=(address) { (short(&name)) }, None => b { (short(&name)) } }
        ", "
        @match first.cause.as_deref().and_then(explained) {
            Some(words) => (words),
            None => "the first call that diverges",
        }
        ". " (diverging) " of " (pair.steps.len()) " calls diverge."
    }
}

fn call(pair: &Pair, step: &Step, links: Links, wanted: bool) -> Markup {
    let (sim, real) = sides(pair, step);
    let Some(either) = sim.or(real) else {
        return html! {};
    };
    let cause = step.cause.as_deref().unwrap_or("none");
    let class = match cause {
        _ if step.first || cause == "structural" => "call root",
        "state" => "call cascade",
        _ => "call",
    };
    let id = (!links.mailed).then(|| format!("t{}.{}", either.turn, either.index));
    let open = wanted || (step.diverges && (cause != "state" || step.first));
    html! {
        details id=[id] class=(class) open[open] {
            summary {
                span.dim { "#" (step.number) }
                b { (short(&either.name)) }
                @match (sim, real) {
                    (Some(_), None) if pair.real.is_some() => span.tag.sim { "sim only" },
                    (None, Some(_)) if pair.sim.is_some() => span.tag.real { "real only" },
                    _ => {},
                }
                (outcomes(sim, real))
                @match cause {
                    "structural" => span.tag.bad { "root" },
                    "state" => span.tag { "cascade" },
                    "flaky" => span.tag { "flaky" },
                    _ => {},
                }
                @if step.first { span.bad { "first divergence" } }
                @if step.diverges {
                    @if let Some(diff) = step.diff.as_ref().filter(|diff| !diff.paths.is_empty()) {
                        @let paths = diff.paths.len() + diff.omitted as usize;
                        span.dim { (paths) @if paths == 1 { " path differs" } @else { " paths differ" } }
                    }
                } @else if sim.is_some() && real.is_some() { span.dim { "alike" } }
                span.dim { "turn " (either.turn) "." (either.index) }
            }
            div.body {
                (facts(step, sim, real))
                (paths(step))
                @if let (Some(one), Some(_), false) = (sim, real, step.arguments_differ) {
                    h4 { "arguments" }
                    (payload(&one.arguments, true, &HashSet::new(), None))
                }
                div.arms {
                    (arm("sim", sim, step, pair.sim.as_ref(), pair, links))
                    (arm("real", real, step, pair.real.as_ref(), pair, links))
                }
            }
        }
    }
}

fn outcomes(sim: Option<&Call>, real: Option<&Call>) -> Markup {
    let word = |call: &Call| {
        let outcome = call.outcome.as_deref().unwrap_or("no answer");
        match &call.status {
            Some(status) => format!("{outcome} ({status})"),
            None => outcome.to_owned(),
        }
    };
    html! {
        @match (sim, real) {
            (Some(a), Some(b)) if a.outcome != b.outcome => {
                span { span.sim { (short(&word(a))) } " → " span.real { (short(&word(b))) } }
            },
            (Some(call), _) | (_, Some(call)) => span { (short(&word(call))) },
            _ => {},
        }
    }
}

fn facts(step: &Step, sim: Option<&Call>, real: Option<&Call>) -> Markup {
    let latency = |call: Option<&Call>| call.and_then(|call| call.latency_ms);
    html! {
        p.note {
            @if let Some(words) = step.cause.as_deref().and_then(explained) { "Cause: " (words) ". " }
            @if step.state_differs { "The states after this call differ. " }
            @if let (Some(a), Some(b)) = (latency(sim), latency(real)) {
                "Latency " (format!("{a:.1}")) " ms on sim, " (format!("{b:.1}")) " ms on real."
            }
        }
    }
}

/// Where the answers differ.
fn paths(step: &Step) -> Markup {
    let Some(diff) = step.diff.as_ref().filter(|diff| !diff.paths.is_empty()) else {
        return html! {};
    };
    html! {
        div.scroll tabindex="0" role="region" aria-label="Paths that differ" {
            table {
                thead { tr { th scope="col" { "path" } th scope="col" { "kind" } th.sim scope="col" { "sim" } th.real scope="col" { "real" } } }
                tbody {
                    @for path in &diff.paths {
                        tr {
                            th scope="row" { code { (short(&path.path)) } }
                            td { (path.kind.name()) }
                            td.value { (value(path.left.as_deref())) }
                            td.value { (value(path.right.as_deref())) }
                        }
                    }
                }
            }
        }
        @if diff.omitted > 0 { p.note { "And " (diff.omitted) " more paths." } }
    }
}

fn value(value: Option<&str>) -> Markup {
    html! {
        @match value { Some(text) => mark { (short(text)) }, None => span.dim { "–" } }
    }
}

/// What one arm was asked and what it answered.
fn arm(
    name: &str,
    call: Option<&Call>,
    step: &Step,
    run: Option<&Run>,
    pair: &Pair,
    links: Links,
) -> Markup {
    let Some((call, run)) = call.zip(run) else {
        return html! {
            div.arm { h4 class=(name) { (name) } p.none { @if run.is_some() { "no such call" } @else { "did not run" } } }
        };
    };
    let all: HashSet<&str> = step
        .diff
        .iter()
        .flat_map(|diff| &diff.paths)
        .map(|path| path.path.as_str())
        .collect();
    let none = HashSet::new();
    let whole = |what: &str| {
        let (turn, index) = (call.turn.to_string(), call.index.to_string());
        let parameters = [
            ("environment", Some(pair.environment.as_str())),
            ("run", Some(run.run_id.as_str())),
            ("turn", Some(turn.as_str())),
            ("index", Some(index.as_str())),
            ("what", Some(what)),
        ];
        (!links.mailed).then(|| links.to("/text", &parameters))
    };
    let (answer, json) = match (&call.structured, &call.content) {
        // The value that was compared; a bare text says no more than the answer as given.
        (Some(structured), _) if structured.starts_with(['{', '[']) => (structured.as_str(), true),
        (_, Some(content)) => (content.as_str(), false),
        (Some(structured), None) => (structured.as_str(), true),
        (None, None) => ("(nothing)", false),
    };
    html! {
        div.arm {
            @if step.arguments_differ || step.sim.is_none() || step.real.is_none() {
                h4 { span class=(name) { (name) } " arguments" @if step.arguments_differ { " " mark { "differ" } } }
                (payload(&call.arguments, true, &none, whole("arguments")))
            }
            h4 { span class=(name) { (name) } " answer" @if call.truncated { " " span.tag { "was cut" } } }
            (payload(answer, json, &all, whole("content")))
        }
    }
}

/// A payload, as text and nothing else.
fn payload(text: &str, json: bool, paths: &HashSet<&str>, whole: Option<String>) -> Markup {
    let part = cut(text, SHOWN);
    let mut more = part.len() < text.len();
    let part = if json {
        let mut laid = lines(&part, paths);
        more |= laid.len() > LINES;
        laid.truncate(LINES);
        html! {
            @for line in laid {
                @if line.differs { mark { (safe(&line.text)) } } @else { (safe(&line.text)) }
                "\n"
            }
        }
    } else {
        html! { (safe_lines(&part)) }
    };
    html! {
        pre.wrap tabindex="0" { (part) }
        @if more { p.note { "Shortened, " (text.len()) " bytes in all. " @if let Some(whole) = &whole { a href=(whole) { "The whole text" } } } }
    }
}

/// At most so many bytes, whole letters only.
fn cut(text: &str, most: usize) -> std::borrow::Cow<'_, str> {
    if text.len() <= most {
        return text.into();
    }
    let end = (0..=most).rev().find(|&at| text.is_char_boundary(at));
    text[..end.unwrap_or(0)].into()
}
