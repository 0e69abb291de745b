//! A table of a page: a real one, with its query and its files beside it.

use maud::{Markup, html};

use super::book::Answer;
use super::grid::{Column, Grid, Kind, counted};
use super::links::Links;
use super::question::Question;
use crate::report::{OutputFormat, shade, write_batches};

/// Largest file that a report carries in itself, in bytes.
const CARRIED: usize = 256 << 10;

/// Where the rows of a table come from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source<'s> {
    /// A question, with the values of its parameters.
    Asked(&'s Question, &'s [Option<String>]),
    /// Work of another room: the name under which it is given as a file, and the command that
    /// prints it.
    Made(&'static str, &'static str),
}

/// The address of a cell's link: row and column.
pub(super) type Link<'l> = &'l dyn Fn(usize, &str) -> Option<String>;

/// No cell is a link.
pub(super) fn plain(_: usize, _: &str) -> Option<String> {
    None
}

/// The query and the files of a table.
pub(super) fn tools(name: &str, source: Source<'_>, answer: &Answer, links: Links) -> Markup {
    if links.mailed {
        return carried(name, source, answer);
    }
    let files = |kind: &str| match source {
        Source::Asked(question, values) => {
            links.question(&format!("/data.{kind}"), question, values)
        }
        Source::Made(name, _) => links.to(&format!("/data.{kind}"), &[("q", Some(name))]),
    };
    html! {
        ul.tools aria-label=(format!("{name}: query and files")) {
            @match source {
                Source::Asked(question, values) => {
                    li { a href=(links.question("/sql", question, values)) { "SQL" } }
                }
                Source::Made(_, command) => { li { code { (command) } } }
            }
            li { a href=(files("csv")) download { "CSV" } }
            li { a href=(files("parquet")) download { "Parquet" } }
        }
    }
}

/// A report to mail has its queries and files inside.
fn carried(name: &str, source: Source<'_>, answer: &Answer) -> Markup {
    let mut csv = Vec::new();
    let written = write_batches(&answer.schema, &answer.batches, OutputFormat::Csv, &mut csv);
    let fits = written.is_ok() && csv.len() <= CARRIED && !answer.more;
    html! {
        ul.tools {
            @match source {
                Source::Asked(question, values) => {
                    li { details { summary { "SQL" } pre tabindex="0" { code { (question.spelled(values)) } } } }
                }
                Source::Made(_, command) => { li { code { (command) } } }
            }
            @if fits {
                li { a href=(data_address(&csv)) download=(format!("{name}.csv")) { "CSV" } }
            }
        }
    }
}

/// Bytes as an address of their own.
fn data_address(bytes: &[u8]) -> String {
    let mut out = String::from("data:text/csv;charset=utf-8,");
    for byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b',' => {
                out.push(char::from(*byte));
            }
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// The rows as a table; `columns` chooses and names them.
pub(super) fn table(
    caption: &str,
    grid: &Grid,
    columns: &[(&str, &str)],
    link: Link<'_>,
) -> Markup {
    let chosen: Vec<(&Column, &str)> = columns
        .iter()
        .filter_map(|(name, head)| Some((grid.column(name)?, *head)))
        .collect();
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table data-rows=(grid.rows) {
                caption.quiet { (caption) }
                thead {
                    tr {
                        @for (column, head) in &chosen {
                            th scope="col" class=[right(column)] { (head) }
                        }
                    }
                }
                tbody {
                    @for row in 0..grid.rows {
                        tr {
                            @for (at, (column, _)) in chosen.iter().enumerate() {
                                @if at == 0 {
                                    th scope="row" { (cell(column, row, link)) }
                                } @else {
                                    @let shade = column.gap(row).map(|gap| format!("g{}", shade(gap)));
                                    @let class = [right(column), shade.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(" ");
                                    td class=[(!class.is_empty()).then_some(class)] { (cell(column, row, link)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// All columns under their own names.
pub(super) fn whole_table(caption: &str, grid: &Grid, link: Link<'_>) -> Markup {
    let names: Vec<(&str, &str)> = grid
        .columns
        .iter()
        .map(|column| (column.name.as_str(), column.name.as_str()))
        .collect();
    table(caption, grid, &names, link)
}

fn right(column: &Column) -> Option<&'static str> {
    match column.kind {
        Kind::Text => None,
        Kind::Time => Some("t"),
        _ => Some("n"),
    }
}

fn cell(column: &Column, row: usize, link: Link<'_>) -> Markup {
    let text = column.shown(row);
    html! {
        @match link(row, &column.name) {
            Some(address) => a href=(address) { (text) },
            None => (text),
        }
    }
}

/// Links of the columns that name a trajectory, where the grid says of which environment.
pub(super) fn to_trajectory(grid: &Grid, links: Links, row: usize, column: &str) -> Option<String> {
    if links.mailed || !matches!(column, "trajectory_id" | "example") {
        return None;
    }
    let environment = grid.text(row, "environment")?;
    let id = grid.text(row, column)?;
    let call = grid.text(row, "turn").zip(grid.text(row, "index"));
    Some(links.trajectory(environment, id, call))
}

/// Which rows are shown, and the ways to the others.
pub(super) fn pager(
    from: usize,
    shown: usize,
    all: usize,
    size: usize,
    to: &dyn Fn(usize) -> String,
) -> Markup {
    let last = from + shown;
    html! {
        nav.pager aria-label="Rows" {
            @if from > 0 {
                a href=(to(from.saturating_sub(size))) rel="prev" { "Before" }
            }
            span {
                @if shown == 0 {
                    "No rows"
                } @else {
                    (counted((from + 1) as f64)) "–" (counted(last as f64)) " of " (counted(all as f64))
                }
            }
            @if last < all {
                a href=(to(last)) rel="next" { "Next" }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_a_file_cannot_leave_their_address() {
        assert_eq!(
            data_address(b"a,\"<\n"),
            "data:text/csv;charset=utf-8,a,%22%3C%0A"
        );
    }
}
