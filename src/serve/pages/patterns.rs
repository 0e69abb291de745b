//! What the simulator gets wrong again and again: the patterns, and one with its calls.

use maud::{Markup, html};

use super::asked::Asked;
use super::book::Book;
use super::error::{PageError, PageResult};
use super::grid::{Grid, counted, percent, short};
use super::links::Links;
use super::question::{PATTERN_CALLS, PATTERNS};
use super::table::{Source, pager, table, to_trajectory, tools};
use crate::patterns::{Detail, PatternError, detail};
use crate::report::{safe, safe_lines};

/// Rows of one page.
const ROWS: usize = 50;

const COLUMNS: &[(&str, &str)] = &[
    ("name", "pattern"),
    ("share_gap", "of the gap"),
    ("gap", "gap"),
    ("calls", "calls"),
    ("trajectories", "trajectories"),
    ("root_share", "roots"),
    ("family", "family"),
    ("status", "status"),
    ("precision", "precision"),
    ("recall", "recall"),
    ("apis", "APIs"),
];

/// The list.
pub(super) async fn list(book: &Book, links: Links) -> PageResult<Markup> {
    let answer = book.ask(&PATTERNS, &[]).await?;
    let grid = Grid::of(&answer)?;
    let link = |row: usize, column: &str| {
        let id = grid.text(row, "pattern_id")?;
        (column == "name" && !links.mailed).then(|| links.to("/pattern", &[("id", Some(id))]))
    };
    Ok(html! {
        h1 { "Patterns" }
        p.lead { "What the simulator gets wrong again and again: clusters of calls that differ in the same way, the largest part of the gap first." }
        section {
            div.head { h2 { (grid.rows) " patterns" } (tools("patterns", Source::Asked(&PATTERNS, &[]), &answer, links)) }
            @if grid.rows == 0 {
                p.none { "None in this version of the lake. " code { "fidelake mine" } " finds them." }
            } @else {
                p.note { "Precision and recall of the rule are those on trajectories that were not used for mining. Unconfirmed: nothing was repeated, so noise cannot be told from it." }
                div.wide { (table("Patterns", &grid, COLUMNS, &link)) }
            }
        }
    })
}

/// Which pattern.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    id: String,
    from: usize,
}

impl Shown {
    pub(super) fn asked(asked: &mut Asked) -> PageResult<Self> {
        Ok(Self {
            id: asked.needed("id")?,
            from: asked.from()?,
        })
    }
}

impl From<PatternError> for PageError {
    fn from(error: PatternError) -> Self {
        match error {
            PatternError::Engine(error) => error.into(),
            PatternError::Lake(error) => Self::Lake(error),
            other => Self::NotFound(other.to_string()),
        }
    }
}

/// One pattern.
pub(super) async fn one(book: &Book, links: Links, shown: &Shown) -> PageResult<Markup> {
    let found = book.limited(detail(book.engine(), &shown.id)).await?;
    let values = [Some(found.pattern_id.clone())];
    let all = book.count(&PATTERN_CALLS, &values).await?;
    let from = shown.from.min(all);
    let answer = book.part(&PATTERN_CALLS, &values, from, ROWS).await?;
    let grid = Grid::of(&answer)?;
    let to = |from: usize| {
        let from = from.to_string();
        links.to(
            "/pattern",
            &[("id", Some(&found.pattern_id)), ("from", Some(&from))],
        )
    };
    Ok(html! {
        h1 { (short(&found.name)) }
        (facts(&found))
        section {
            div.head { h2 { "Its rule" } }
            p.note { "A condition over view " code { "pattern_features" } ", to use in SQL:" }
            pre.wrap tabindex="0" data-copy { code { (safe_lines(&sql(&found))) } }
        }
        section {
            div.head { h2 { (counted(all as f64)) " calls" } (tools("pattern_calls", Source::Asked(&PATTERN_CALLS, &values), &answer, links)) }
            (table("Calls of the pattern", &grid, &[
                ("trajectory_id", "trajectory"), ("turn", "turn"), ("index", "call"), ("api", "API"), ("outcome_sim", "sim"), ("outcome_real", "real"),
                ("gap", "gap"), ("cause", "cause"), ("held_out", "held out"),
            ], &|row, column| to_trajectory(&grid, links, row, column)))
            (pager(from, grid.rows, all, ROWS, &to))
        }
    })
}

/// The rule as a query.
pub(super) fn sql(found: &Detail) -> String {
    format!(
        "SELECT environment, api, count(*) AS calls\nFROM pattern_features\nWHERE {}\nGROUP BY environment, api",
        found.rule
    )
}

fn facts(found: &Detail) -> Markup {
    let share = |x: Option<f64>| x.map_or("unknown".to_owned(), percent);
    let evidence = match (found.test.as_str(), found.p_value) {
        ("excess", Some(p)) => format!("more than the arms' own noise, p = {p:.2e}"),
        ("mirror", Some(p)) => {
            format!("more frequent than the same with the arms changed over, p = {p:.2e}")
        }
        _ => "not tested: nothing was repeated, or too few trajectories".to_owned(),
    };
    html! {
        dl.facts {
            dt { "id" } dd { code { (safe(&found.pattern_id)) } }
            dt { "family" } dd { (safe(&found.family)) }
            dt { "environment" } dd { (safe(&found.environment)) }
            dt { "APIs" } dd { (safe(&found.apis)) }
            dt { "status" } dd { (safe(&found.status)) ": " (evidence) }
            dt { "size" } dd { (counted(found.calls as f64)) " calls in " (counted(found.trajectories as f64)) " trajectories, mean gap " (format!("{:.3}", found.gap)) ", " (percent(found.share_gap)) " of the whole gap" }
            dt { "causes" } dd { (percent(found.root_share)) " roots, " (percent(found.state_share)) " follow from earlier ones, " (percent(found.flaky_share)) " flaky" }
            dt { "its rule" } dd { "precision " (share(found.precision)) ", recall " (share(found.recall)) " on " (counted(found.held_out as f64)) " calls held out" }
        }
    }
}
