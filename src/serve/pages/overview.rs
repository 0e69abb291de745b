//! The overview: how faithful every environment is, since when, and where it is worst.

use maud::{Markup, PreEscaped, html};

use super::book::Book;
use super::error::PageResult;
use super::grid::{Grid, counted, percent};
use super::heat::cell_link;
use super::links::Links;
use super::plot;
use super::question::{ENVIRONMENTS, HEAT, OVER_TIME, SPREAD};
use super::table::{Source, plain, table, tools};

/// Cells of the heat map that are named.
const WORST: usize = 12;

/// The page's content.
pub(super) async fn content(book: &Book, links: Links) -> PageResult<Markup> {
    let environments = book.ask(&ENVIRONMENTS, &[]).await?;
    let grid = Grid::of(&environments)?;
    if grid.rows == 0 {
        return Ok(html! {
            h1 { "Overview" }
            p.lead { "This lake has no trajectories yet. " code { "fidelake import FILE" } " brings some in, " code { "fidelake profile" } " compares the arms." }
        });
    }
    let (time, spread, heat) = tokio::try_join!(
        book.ask(&OVER_TIME, &[]),
        book.ask(&SPREAD, &[]),
        book.ask(&HEAT, &[None])
    )?;
    let (times, tenths, cells) = (Grid::of(&time)?, Grid::of(&spread)?, Grid::of(&heat)?);
    let environment_link = |row: usize, column: &str| {
        let name = grid
            .text(row, "environment")
            .filter(|_| column == "environment" && !links.mailed)?;
        Some(links.to("/heat", &[("environment", Some(name))]))
    };
    Ok(html! {
        h1 { "Overview" }
        p.lead { "How far the simulator is from the real world, by environment and over time." }
        (figures(&grid, &cells, links))
        section {
            div.head {
                h2 { "Environments" }
                (tools("environments", Source::Asked(&ENVIRONMENTS, &[]), &environments, links))
            }
            p.note { "Mean fidelity of what is known. Low: f below .7, of the trajectories whose f is known. Unknown: of all trajectories." }
            (table("Fidelity by environment", &grid, &[
                ("environment", "environment"), ("trajectories", "trajectories"), ("on_both_arms", "on both arms"),
                ("fidelity", "f"), ("obs", "observation"), ("act", "action"), ("rew", "reward"), ("trans", "transition"),
                ("low_share", "low"), ("unknown_share", "unknown"), ("compared_calls", "calls compared"),
            ], &environment_link))
        }
        div.split {
            section {
                div.head { h2 { "Over time" } (tools("over_time", Source::Asked(&OVER_TIME, &[]), &time, links)) }
                p.note { "Mean fidelity f of the trajectories that began then." }
                @if let Some(svg) = plot::over_time(&times) {
                    figure tabindex="0" role="img" aria-label="Fidelity over time, one line for each environment; the numbers are in the table" { (PreEscaped(svg)) }
                }
                details open[times.rows <= 8] {
                    summary { "Numbers" }
                    (table("Fidelity over time", &times, &[
                        ("environment", "environment"), ("since", "since (UTC)"), ("trajectories", "trajectories"), ("fidelity", "f"),
                        ("obs", "obs"), ("act", "act"), ("rew", "rew"), ("trans", "trans"), ("low_share", "low"), ("unknown_share", "unknown"),
                    ], &plain))
                }
            }
            section {
                div.head { h2 { "Spread" } (tools("spread", Source::Asked(&SPREAD, &[]), &spread, links)) }
                p.note { "Trajectories by tenths of f, left the least faithful." }
                @if let Some(svg) = plot::spread(&tenths) {
                    figure tabindex="0" role="img" aria-label="Trajectories by tenths of fidelity; the numbers are in the table" { (PreEscaped(svg)) }
                }
                details {
                    summary { "Numbers" }
                    (table("Trajectories by fidelity", &tenths, &[
                        ("environment", "environment"), ("fidelity", "f"), ("trajectories", "trajectories"),
                    ], &plain))
                }
            }
        }
        section {
            div.head { h2 { "Where it is worst" } (tools("heat", Source::Asked(&HEAT, &[None]), &heat, links)) }
            p.note { "APIs and outcomes by their part of the whole gap: the gap times the weight of the measured calls." }
            (worst(&cells, links))
        }
    })
}

/// The figures at the top, each a link to its query.
fn figures(grid: &Grid, cells: &Grid, links: Links) -> Markup {
    let sum = |name: &str| (0..grid.rows).map(|row| grid.count(row, name)).sum::<f64>();
    let (all, both, known, low) = (
        sum("trajectories"),
        sum("on_both_arms"),
        sum("known"),
        sum("low"),
    );
    let roots = (0..cells.rows)
        .map(|row| cells.count(row, "roots"))
        .sum::<f64>();
    let share = |part: f64, of: f64| {
        if of > 0.0 {
            percent(part / of)
        } else {
            "–".to_owned()
        }
    };
    let figures = [
        (
            "Low fidelity",
            share(low, known),
            format!("{} of {} known", counted(low), counted(known)),
        ),
        (
            "Unknown",
            share(all - known, all),
            format!("{} of {}", counted(all - known), counted(all)),
        ),
        (
            "Trajectories",
            counted(all),
            format!("{} on both arms", counted(both)),
        ),
        (
            "Calls compared",
            counted(sum("compared_calls")),
            "on both arms".to_owned(),
        ),
        (
            "Root faults",
            counted(roots),
            "calls at which a divergence begins".to_owned(),
        ),
    ];
    html! {
        dl.figures {
            @for (at, (name, figure, of)) in figures.into_iter().enumerate() {
                @let sql = match at {
                    4 => links.question("/sql", &HEAT, &[None]),
                    _ => links.question("/sql", &ENVIRONMENTS, &[]),
                };
                div {
                    dt { (name) }
                    dd {
                        @if links.mailed {
                            span.big { (figure) }
                        } @else {
                            a.big href=(sql) title="The query behind this figure" { (figure) }
                        }
                        small { (of) }
                    }
                }
            }
        }
    }
}

fn worst(cells: &Grid, links: Links) -> Markup {
    let mut order: Vec<usize> = (0..cells.rows)
        .filter(|&row| cells.count(row, "amount") > 0.0)
        .collect();
    let amount = |row: usize| cells.count(row, "amount");
    order.sort_by(|&a, &b| amount(b).total_cmp(&amount(a)));
    let whole: f64 = order.iter().map(|&row| amount(row)).sum();
    order.truncate(WORST);
    if order.is_empty() {
        return html! { p.none { "No gap was measured. " code { "fidelake profile" } " compares the arms of what ran on both." } };
    }
    let text = |row: usize, name: &str| {
        super::grid::short(cells.text(row, name).unwrap_or("–")).into_owned()
    };
    html! {
        div.scroll tabindex="0" role="region" aria-label="The worst cells" {
            table {
                thead {
                    tr {
                        th scope="col" { "API" } th scope="col" { "environment" } th scope="col" { "outcome" }
                        th.n scope="col" { "gap" } th.n scope="col" { "obs" } th.n scope="col" { "act" } th.n scope="col" { "trans" }
                        th.n scope="col" { "calls" } th.n scope="col" { "roots" } th.n scope="col" { "of the whole" }
                    }
                }
                tbody {
                    @for row in order {
                        tr {
                            th scope="row" {
                                @match cell_link(cells, row, links) {
                                    Some(address) => a href=(address) { (text(row, "api")) },
                                    None => (text(row, "api")),
                                }
                            }
                            td { (text(row, "environment")) }
                            td { (text(row, "outcome").replace(" -> ", " → ")) }
                            @for name in ["gap", "obs", "act", "trans"] {
                                @let gap = cells.number(row, name);
                                @let class = gap.map_or("n".to_owned(), |gap| format!("n g{}", crate::report::shade(gap)));
                                td class=(class) { (gap.map_or("–".to_owned(), |gap| format!("{gap:.3}"))) }
                            }
                            td.n { (counted(cells.count(row, "calls"))) }
                            td.n { (counted(cells.count(row, "roots"))) }
                            td.n { (percent(amount(row) / whole)) }
                        }
                    }
                }
            }
        }
    }
}
