//! The pages of a lake as one file: nothing is loaded, nothing is asked, no script runs.

use std::path::{Path, PathBuf};

use maud::{Markup, html};

use super::book::Book;
use super::error::PageResult;
use super::frame::{alone, minutes};
use super::grid::{Grid, counted, short};
use super::links::Links;
use super::question::{CALLS, PATTERN_CALLS, PATTERNS};
use super::table::{Source, plain, table, tools};
use super::{budget, heat, monitor, overview, patterns, trajectory};
use crate::engine::Engine;
use crate::lake::{At, Lake};
use crate::patterns::detail;
use crate::report::{load_pair, safe, safe_lines};

/// The widest calls that are listed.
const CALLS_LISTED: usize = 40;
/// Trajectories that are shown side by side: those of the widest calls.
const SIDE_BY_SIDE: usize = 4;
/// Calls of each.
const STEPS: usize = 20;
/// Paths of a call.
const PATHS: usize = 20;
/// Patterns that are shown with their rule and calls.
const PATTERNS_SHOWN: usize = 8;
/// Calls of each.
const EXAMPLES: usize = 5;

const LINKS: Links = Links {
    version: None,
    mailed: true,
};

/// The whole report of a lake at a version. `state`: where a monitor keeps its state, if not in
/// the lake.
///
/// # Errors
/// If the lake cannot be read.
pub async fn report(lake: &Lake, at: &At, state: Option<PathBuf>) -> PageResult<String> {
    let book = Book::new(Engine::open(lake, at).await?);
    let state = state.unwrap_or_else(|| monitor::usual(lake.path()));
    let name = lake.path().file_name().unwrap_or(lake.path().as_os_str());
    let name = name.to_string_lossy().into_owned();
    let version = book.version();
    let parts = [
        (
            "overview",
            "Overview",
            overview::content(&book, LINKS).await?,
        ),
        (
            "heat",
            "Heat map",
            heat::content(&book, LINKS, &heat::Shown::default()).await?,
        ),
        ("calls", "Calls", widest(&book).await?),
        ("patterns", "Patterns", found(&book).await?),
        (
            "budget",
            "Budget",
            budget::content(&book, LINKS, budget::Shown::default()).await?,
        ),
        ("monitor", "Monitor", watched(&state).await?),
    ];
    let content = html! {
        p.lead {
            "Lake " b { (safe(&name)) } ", version " (version.version) ", " (safe(&version.operation)) " at " (minutes(&version.time))
            " UTC. Gaps run from 0, no difference, to 1. Fidelity is 1 less the gap. What was not measured is –, never 0 or 1."
        }
        nav aria-label="Parts" { ul.tools { @for (id, title, _) in &parts { li { a href=(format!("#{id}")) { (title) } } } } }
        @for (id, _, part) in &parts { section id=(id) { (part) } }
    };
    Ok(alone(&format!("fidelake: {name}"), &content))
}

/// The widest calls, and their trajectories side by side.
async fn widest(book: &Book) -> PageResult<Markup> {
    let values = [None, None, None, None];
    let answer = book.part(&CALLS, &values, 0, CALLS_LISTED).await?;
    let grid = Grid::of(&answer)?;
    let mut chosen: Vec<(&str, &str)> = Vec::new();
    for row in 0..grid.rows {
        let found = grid
            .text(row, "environment")
            .zip(grid.text(row, "trajectory_id"));
        if let Some(found) = found
            && !chosen.contains(&found)
            && chosen.len() < SIDE_BY_SIDE
        {
            chosen.push(found);
        }
    }
    let mut shown = Vec::new();
    for (environment, id) in chosen {
        let load = load_pair(book.engine(), id, Some(environment), PATHS);
        let pair = book.limited(load).await?;
        shown.push(trajectory::drawn(&pair, LINKS, 0, None, STEPS));
    }
    Ok(html! {
        h1 { "Calls" }
        div.head { h2 { "The widest apart" } (tools("calls", Source::Asked(&CALLS, &values), &answer, LINKS)) }
        @if grid.rows == 0 { p.none { "No compared call." } } @else {
            (table("Calls, the widest apart first", &grid, &[
                ("trajectory_id", "trajectory"), ("turn", "turn"), ("index", "call"), ("api", "API"), ("outcome_sim", "sim"), ("outcome_real", "real"),
                ("gap", "gap"), ("obs", "obs"), ("act", "act"), ("trans", "trans"), ("cause", "cause"), ("environment", "environment"),
            ], &plain))
        }
        @if !shown.is_empty() {
            section { div.head { h2 { "Side by side" } } @for one in shown { (one) } }
        }
    })
}

/// The patterns, the first with rule and examples.
async fn found(book: &Book) -> PageResult<Markup> {
    let all = Grid::of(&*book.ask(&PATTERNS, &[]).await?)?;
    let mut shown = Vec::new();
    for row in 0..all.rows.min(PATTERNS_SHOWN) {
        let Some(id) = all.text(row, "pattern_id") else {
            continue;
        };
        let one = book.limited(detail(book.engine(), id)).await?;
        let values = [Some(id.to_owned())];
        let calls = book.part(&PATTERN_CALLS, &values, 0, EXAMPLES).await?;
        shown.push((one, Grid::of(&calls)?));
    }
    Ok(html! {
        (patterns::list(book, LINKS).await?)
        @for (one, calls) in &shown {
            details {
                summary { (short(&one.name)) ", " (counted(one.calls as f64)) " calls" }
                pre.wrap tabindex="0" { code { (safe_lines(&patterns::sql(one))) } }
                (table("Calls of the pattern", calls, &[
                    ("trajectory_id", "trajectory"), ("turn", "turn"), ("index", "call"), ("api", "API"), ("outcome_sim", "sim"), ("outcome_real", "real"), ("gap", "gap"),
                ], &plain))
            }
        }
    })
}

/// A report is of the lake: a state that cannot be read is said, and does not stop it.
async fn watched(state: &Path) -> PageResult<Markup> {
    match monitor::content(state, LINKS).await {
        Err(super::error::PageError::Monitor(error)) => Ok(html! {
            h1 { "Monitor" }
            p.none { (safe_lines(&error.to_string())) }
        }),
        other => other,
    }
}
