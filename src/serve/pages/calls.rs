//! Compared calls, the widest apart first: what a cell of the heat map is made of.

use maud::{Markup, html};

use super::asked::Asked;
use super::book::Book;
use super::error::PageResult;
use super::grid::{Grid, counted, short};
use super::links::Links;
use super::question::{CALLS, EXAMPLES, HEAT, Values};
use super::table::{Source, pager, table, to_trajectory, tools};

/// Rows of one page.
pub(super) const ROWS: usize = 50;

/// Pairs of values that are shown of an API.
const PAIRS: usize = 25;

/// Causes that can be chosen.
const CAUSES: &[&str] = &["structural", "state", "flaky", "none"];

/// Which calls are shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown {
    environment: Option<String>,
    api: Option<String>,
    outcome: Option<String>,
    cause: Option<&'static str>,
    from: usize,
}

impl Shown {
    pub(super) fn asked(asked: &mut Asked) -> PageResult<Self> {
        Ok(Self {
            environment: asked.text("environment"),
            api: asked.text("api"),
            outcome: asked.text("outcome"),
            cause: asked.word("cause", CAUSES)?,
            from: asked.from()?,
        })
    }

    fn values(&self) -> Values {
        vec![
            self.environment.clone(),
            self.api.clone(),
            self.outcome.clone(),
            self.cause.map(str::to_owned),
        ]
    }

    /// The heat map has counted the calls of its cells already.
    fn counted(&self, cells: &Grid) -> usize {
        let wanted = [
            ("environment", &self.environment),
            ("api", &self.api),
            ("outcome", &self.outcome),
        ];
        let within = |row: &usize| {
            let mut names = wanted.iter();
            names.all(|(name, value)| value.is_none() || cells.text(*row, name) == value.as_deref())
        };
        let calls = (0..cells.rows).filter(within);
        calls.map(|row| cells.count(row, "calls")).sum::<f64>() as usize
    }

    fn address(&self, links: Links, from: usize) -> String {
        let from = from.to_string();
        links.to(
            "/calls",
            &[
                ("environment", self.environment.as_deref()),
                ("api", self.api.as_deref()),
                ("outcome", self.outcome.as_deref()),
                ("cause", self.cause),
                ("from", Some(&from)),
            ],
        )
    }
}

/// Columns of a table of calls.
const COLUMNS: &[(&str, &str)] = &[
    ("trajectory_id", "trajectory"),
    ("turn", "turn"),
    ("index", "call"),
    ("api", "API"),
    ("outcome_sim", "sim"),
    ("outcome_real", "real"),
    ("gap", "gap"),
    ("obs", "obs"),
    ("act", "act"),
    ("trans", "trans"),
    ("cause", "cause"),
    ("paths", "paths"),
    ("environment", "environment"),
];

/// The page's content.
pub(super) async fn content(book: &Book, links: Links, shown: &Shown) -> PageResult<Markup> {
    let values = shown.values();
    let cells = Grid::of(&*book.ask(&HEAT, &[None]).await?)?;
    let all = match shown.cause {
        None => shown.counted(&cells),
        Some(_) => book.count(&CALLS, &values).await?,
    };
    let from = shown.from.min(all);
    let answer = book.part(&CALLS, &values, from, ROWS).await?;
    let grid = Grid::of(&answer)?;
    let title = shown.api.as_deref().map_or("Calls".into(), short);
    Ok(html! {
        h1 { (title) }
        p.lead {
            @match (&shown.outcome, shown.api.is_some()) {
                (Some(outcome), _) => { "Calls that ended " b { (short(&outcome.replace(" -> ", " → "))) } },
                (None, true) => "All compared calls of this API",
                (None, false) => "All compared calls",
            }
            @if let Some(environment) = &shown.environment { " in environment " b { (short(environment)) } }
            ", the widest apart first."
        }
        (choose(&cells, shown, links))
        section {
            div.head {
                h2 { (counted(all as f64)) @if all == 1 { " call" } @else { " calls" } }
                (tools("calls", Source::Asked(&CALLS, &values), &answer, links))
            }
            @if grid.rows == 0 {
                p.none { "No compared call is like this. " a href=(links.to("/heat", &[])) { "The heat map" } " shows which there are." }
            } @else {
                (table("Calls", &grid, COLUMNS, &|row, column| to_trajectory(&grid, links, row, column)))
                (pager(from, grid.rows, all, ROWS, &|from| shown.address(links, from)))
            }
        }
        @if shown.api.is_some() { (examples(book, links, shown).await?) }
    })
}

/// What differs in the answers of this API.
async fn examples(book: &Book, links: Links, shown: &Shown) -> PageResult<Markup> {
    let values = [shown.environment.clone(), shown.api.clone()];
    let answer = book.part(&EXAMPLES, &values, 0, PAIRS).await?;
    let grid = Grid::of(&answer)?;
    Ok(html! {
        section {
            div.head {
                h2 { "What differs in its answers" }
                (tools("examples", Source::Asked(&EXAMPLES, &values), &answer, links))
            }
            @if grid.rows == 0 {
                p.none { "No field of its answers differs where both arms end alike." }
            } @else {
                p.note {
                    "Up to five pairs of values for every path, those that mislead most first."
                    @if answer.more { " The first " (grid.rows) " are shown; the files have all." }
                }
                (table("Paths that differ", &grid, &[
                    ("path", "path"), ("kind", "kind"), ("severity", "severity"), ("sim_value", "sim"), ("real_value", "real"), ("trajectory_id", "trajectory"),
                ], &|row, column| to_trajectory(&grid, links, row, column)))
            }
        }
    })
}

fn choose(cells: &Grid, shown: &Shown, links: Links) -> Markup {
    /// Choices of one list; the addresses of the heat map reach the others.
    const LONGEST: usize = 500;
    let choices = |name: &str| {
        let mut found: Vec<&str> = (0..cells.rows)
            .filter(|&row| {
                let within = |name: &str, wanted: &Option<String>| {
                    wanted.is_none() || cells.text(row, name) == wanted.as_deref()
                };
                (name == "environment" || within("environment", &shown.environment))
                    && (name != "outcome" || within("api", &shown.api))
            })
            .filter_map(|row| cells.text(row, name))
            .collect();
        found.sort_unstable();
        found.dedup();
        found.truncate(LONGEST);
        found
    };
    let chosen = |name: &str| match name {
        "environment" => shown.environment.as_deref(),
        "api" => shown.api.as_deref(),
        "outcome" => shown.outcome.as_deref(),
        _ => shown.cause,
    };
    let list = |name: &str, found: &[&str]| {
        let now = chosen(name);
        html! {
            label { (name)
                select name=(name) {
                    option value="" { "any" }
                    @for one in found { option value=(one) selected[now == Some(*one)] { (short(one)) } }
                    @if let Some(now) = now.filter(|now| !found.contains(now)) {
                        option value=(now) selected { (short(now)) }
                    }
                }
            }
        }
    };
    html! {
        form.choose action="/calls" {
            (list("environment", &choices("environment")))
            (list("api", &choices("api")))
            (list("outcome", &choices("outcome")))
            (list("cause", CAUSES))
            @if let Some(version) = links.version { input type="hidden" name="version" value=(version); }
            button { "Show" }
        }
    }
}
