//! The heat map: APIs against outcomes. A real table: the number stands in every cell, and the
//! colour only helps to find it.

use std::collections::HashMap;

use maud::{Markup, html};

use super::asked::Asked;
use super::book::Book;
use super::error::PageResult;
use super::grid::{Grid, counted, short};
use super::links::Links;
use super::question::{ENVIRONMENTS, HEAT};
use super::table::{Source, pager, tools};
use crate::report::shade;

/// Rows of one page.
const ROWS: usize = 60;

/// Outcomes that have a column; the calls of others are found through their API.
const COLUMNS: usize = 14;

/// Gaps that can be shown.
pub(super) const DIMENSIONS: &[&str] = &["all", "obs", "act", "trans"];

/// What of the map is shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown {
    environment: Option<String>,
    dimension: Option<&'static str>,
    from: usize,
}

impl Shown {
    pub(super) fn asked(asked: &mut Asked) -> PageResult<Self> {
        Ok(Self {
            environment: asked.text("environment"),
            dimension: asked.word("dimension", DIMENSIONS)?,
            from: asked.from()?,
        })
    }
}

/// The calls of a cell of the map.
pub(super) fn cell_link(cells: &Grid, row: usize, links: Links) -> Option<String> {
    if links.mailed {
        return None;
    }
    let value = |name: &str| cells.text(row, name);
    Some(links.to(
        "/calls",
        &[
            ("environment", value("environment")),
            ("api", value("api")),
            ("outcome", value("outcome")),
        ],
    ))
}

/// The page's content.
pub(super) async fn content(book: &Book, links: Links, shown: &Shown) -> PageResult<Markup> {
    let values = [shown.environment.clone()];
    // The answer for all environments has the cells of each.
    let mut answer = book.ask(&HEAT, &[None]).await?;
    if answer.more {
        answer = book.ask(&HEAT, &values).await?;
    }
    let grid = Grid::of(&answer)?;
    let environments = Grid::of(&*book.ask(&ENVIRONMENTS, &[]).await?)?;
    let dimension = shown.dimension.unwrap_or("all");
    let map = Map::new(&grid, dimension, shown.environment.as_deref());
    let from = shown.from.min(map.rows.len());
    let to = |from: usize| {
        let from = from.to_string();
        links.to(
            "/heat",
            &[
                ("environment", shown.environment.as_deref()),
                ("dimension", shown.dimension),
                ("from", Some(&from)),
            ],
        )
    };
    let rows = &map.rows[from..map.rows.len().min(from + ROWS)];
    Ok(html! {
        h1 { "API × outcome" }
        p.lead {
            "Where the arms differ: the gap of every API by how its calls ended, noise taken off. "
            "Where sim and real ended otherwise, both outcomes are named. A cell leads to its calls."
        }
        @if !links.mailed { (choose(&environments, shown, dimension, links)) }
        section {
            div.head {
                h2 {
                    @match &shown.environment { Some(name) => (short(name)), None => "All environments" }
                }
                (tools("heat", Source::Asked(&HEAT, &values), &answer, links))
            }
            @if rows.is_empty() {
                p.none { "No compared call here. " code { "fidelake profile" } " compares what ran on both arms." }
            } @else {
                (scale())
                (map.table(&grid, rows, links, shown.environment.is_none()))
                @if map.columns.len() > COLUMNS {
                    p.note { "And " (map.columns.len() - COLUMNS) " rarer outcomes: choose an API to see all of its calls, or take the CSV." }
                }
                @if map.rows.len() > ROWS && !links.mailed {
                    (pager(from, rows.len(), map.rows.len(), ROWS, &to))
                }
            }
        }
    })
}

fn choose(environments: &Grid, shown: &Shown, dimension: &str, links: Links) -> Markup {
    let words = |name: &str| match name {
        "obs" => "observation: what calls answer",
        "act" => "action: what is accepted",
        "trans" => "transition: outcomes, states, latency",
        _ => "all of them",
    };
    html! {
        form.choose action="/heat" {
            label { "environment"
                select name="environment" {
                    option value="" { "all" }
                    @for row in 0..environments.rows {
                        @let name = environments.text(row, "environment").unwrap_or_default();
                        option value=(name) selected[shown.environment.as_deref() == Some(name)] { (short(name)) }
                    }
                }
            }
            label { "gap"
                select name="dimension" {
                    @for name in DIMENSIONS { option value=(name) selected[*name == dimension] { (words(name)) } }
                }
            }
            @if let Some(version) = links.version { input type="hidden" name="version" value=(version); }
            button { "Show" }
        }
    }
}

fn scale() -> Markup {
    html! {
        ul.scale aria-label="Shades of gaps" {
            @for (name, gap) in [("0", 0.0), (".03", 0.03), (".11", 0.11), (".25", 0.25), (".44", 0.44), (".7", 0.7), ("1", 1.0)] {
                li class=(format!("g{}", shade(gap))) { (name) }
            }
        }
    }
}

/// The cells, laid out.
struct Map {
    /// Which gap.
    name: &'static str,
    /// Environment and API, the largest part of the gap first.
    rows: Vec<(String, String)>,
    /// Outcomes, the most frequent first.
    columns: Vec<String>,
    /// Rows of the grid by row and column of the map.
    places: HashMap<(String, String, String), usize>,
}

impl Map {
    fn new(grid: &Grid, name: &str, environment: Option<&str>) -> Self {
        let name = ["gap", "obs", "act", "trans"]
            .into_iter()
            .find(|known| *known == name)
            .unwrap_or("gap");
        let mut rows: HashMap<(String, String), (f64, f64)> = HashMap::new();
        let mut columns: HashMap<String, f64> = HashMap::new();
        let mut places = HashMap::new();
        for row in 0..grid.rows {
            if environment.is_some() && grid.text(row, "environment") != environment {
                continue;
            }
            let text = |name: &str| grid.text(row, name).unwrap_or("-").to_owned();
            let (environment, api, outcome) = (text("environment"), text("api"), text("outcome"));
            let calls = grid.count(row, "calls");
            let sums = rows.entry((environment.clone(), api.clone())).or_default();
            // The part of the dimension that is shown, as far as it can be summed up.
            sums.0 += match name {
                "gap" => grid.count(row, "amount"),
                name => grid.count(row, name) * calls,
            };
            sums.1 += calls;
            *columns.entry(outcome.clone()).or_default() += calls;
            places.insert((environment, api, outcome), row);
        }
        let mut rows: Vec<_> = rows.into_iter().collect();
        rows.sort_by(|(a, x), (b, y)| {
            let by_gap = y.0.total_cmp(&x.0);
            by_gap.then(y.1.total_cmp(&x.1)).then_with(|| a.cmp(b))
        });
        let mut columns: Vec<_> = columns.into_iter().collect();
        // One outcome on both arms first, then what the arms disagree about.
        let disagree = |name: &str| name.contains(" -> ");
        columns.sort_by(|(a, x), (b, y)| {
            let same = disagree(a).cmp(&disagree(b));
            same.then(y.total_cmp(x)).then_with(|| a.cmp(b))
        });
        if columns.len() > COLUMNS {
            // The frequent ones stay, in their order.
            let mut counts: Vec<f64> = columns.iter().map(|c| c.1).collect();
            counts.sort_by(|a, b| b.total_cmp(a));
            let least = counts[COLUMNS - 1];
            columns.sort_by_key(|c| c.1 < least);
        }
        Self {
            name,
            rows: rows.into_iter().map(|(key, _)| key).collect(),
            columns: columns.into_iter().map(|(name, _)| name).collect(),
            places,
        }
    }

    fn table(&self, grid: &Grid, rows: &[(String, String)], links: Links, named: bool) -> Markup {
        let columns = &self.columns[..self.columns.len().min(COLUMNS)];
        html! {
            div.scroll tabindex="0" role="region" aria-label="Heat map" {
                table.heat {
                    caption.quiet { "Gaps by API and outcome" }
                    thead {
                        tr {
                            th scope="col" { "API" }
                            @for name in columns {
                                th scope="col" {
                                    @match name.split_once(" -> ") {
                                        Some((sim, real)) => { (short(sim)) " →" br; (short(real)) },
                                        None => (short(name)),
                                    }
                                }
                            }
                        }
                    }
                    tbody {
                        @for (environment, api) in rows {
                            tr {
                                th scope="row" {
                                    @if links.mailed { (short(api)) } @else {
                                        a href=(links.to("/calls", &[("environment", Some(environment)), ("api", Some(api))])) { (short(api)) }
                                    }
                                    @if named { small.e { (short(environment)) } }
                                }
                                @for outcome in columns {
                                    @let key = (environment.clone(), api.clone(), outcome.clone());
                                    (self.cell(grid, self.places.get(&key).copied(), links))
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    fn cell(&self, grid: &Grid, row: Option<usize>, links: Links) -> Markup {
        let Some(row) = row else {
            return html! { td {} };
        };
        let gap = grid.number(row, self.name);
        let calls = counted(grid.count(row, "calls"));
        let inside = html! {
            (gap.map_or("–".to_owned(), |gap| format!("{gap:.3}")))
            small { (calls) @if calls == "1" { " call" } @else { " calls" } }
        };
        let class = gap.map(|gap| format!("g{}", shade(gap)));
        html! {
            td class=[class] {
                @match cell_link(grid, row, links) {
                    Some(address) => a href=(address) { (inside) },
                    None => span { (inside) },
                }
            }
        }
    }
}
