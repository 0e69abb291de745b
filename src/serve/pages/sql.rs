//! The queries behind the figures: their text, how to run it elsewhere, and their first rows.
//! Only queries of ours are run; free text is for `fidelake sql`.

use maud::{Markup, html};

use super::asked::Asked;
use super::book::Book;
use super::error::{PageError, PageResult};
use super::grid::{Grid, short};
use super::links::Links;
use super::question::{Question, Values};
use super::table::{Source, to_trajectory, tools, whole_table};
use crate::report::safe_lines;

/// Rows that are shown.
const ROWS: usize = 200;

/// Which query.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    question: Option<(Question, Values)>,
    run: bool,
}

/// A question and its values, as a request names them.
pub(super) fn asked_question(asked: &mut Asked, name: &str) -> PageResult<(Question, Values)> {
    let Some(question) = Question::find(name) else {
        return Err(PageError::NotFound(format!("there is no query {name:?}")));
    };
    let values = question.parameters.iter().map(|name| asked.text(name));
    Ok((question, values.collect()))
}

impl Shown {
    pub(super) fn asked(asked: &mut Asked) -> PageResult<Self> {
        let run = asked.word("run", &["1"])?.is_some();
        let question = match asked.text("q") {
            None => None,
            Some(name) => Some(asked_question(asked, &name)?),
        };
        Ok(Self { question, run })
    }
}

/// The page's content.
pub(super) async fn content(book: &Book, links: Links, shown: &Shown) -> PageResult<Markup> {
    let Some((question, values)) = &shown.question else {
        return Ok(list(links));
    };
    let text = question.spelled(values);
    let version = book.version().version;
    // Rows of a query without its parameter would be none.
    let runs = question.parameters != ["id"] || values.iter().all(Option::is_some);
    let result = match shown.run && runs {
        true => Some(book.part(question, values, 0, ROWS).await?),
        false => None,
    };
    let mut run = links.question("/sql", question, values);
    run.push_str("&run=1");
    Ok(html! {
        h1 { code { (question.name) } }
        p.lead { (question.answers()) }
        @if !question.parameters.is_empty() {
            dl.facts {
                @for (name, value) in question.parameters.iter().zip(values) {
                    dt { "$" (name) }
                    dd { @match value { Some(value) => (short(value)), None => span.dim { "null: all" } } }
                }
            }
        }
        pre tabindex="0" data-copy { code { (safe_lines(&text)) } }
        section {
            div.head { h2 { "Run it" } }
            p.note {
                @if question.is_named() {
                    code { "fidelake sql --version " (version) " --named " (question.name) }
                } @else {
                    "Save the text, and: " code { "fidelake sql --version " (version) " --file " (question.name) ".sql" }
                }
                ". Add " code { "--format csv" } " or another, or point any client of PostgreSQL at " code { "fidelake serve --pg" } "."
            }
            @match &result {
                None => p { a href=(run) rel="nofollow" { "Show the first " (ROWS) " rows here" } },
                Some(answer) => {
                    @let grid = Grid::of(answer)?;
                    (tools(question.name, Source::Asked(question, values), answer, links))
                    p.note { (grid.rows) " rows" @if answer.more { " of more: the files have all" } "." }
                    (whole_table(question.name, &grid, &|row, column| to_trajectory(&grid, links, row, column)))
                },
            }
        }
    })
}

fn list(links: Links) -> Markup {
    html! {
        h1 { "SQL" }
        p.lead {
            "The queries behind these pages, and the analysts' own. All of them are files of " code { "queries/" } ": read them, change them, run them with "
            code { "fidelake sql" } "."
        }
        div.scroll tabindex="0" role="region" aria-label="Queries" {
            table data-rows=(Question::all().count()) {
                thead { tr { th scope="col" { "query" } th scope="col" { "answers" } } }
                tbody {
                    @for question in Question::all() {
                        tr {
                            th scope="row" { a href=(links.question("/sql", &question, &[])) { code { (question.name) } } }
                            td { (question.answers()) }
                        }
                    }
                }
            }
        }
    }
}
