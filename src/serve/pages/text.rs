//! A payload in full, as far as a page can hold it.

use datafusion::common::ScalarValue;
use maud::{Markup, html};

use super::asked::Asked;
use super::book::{Answer, Book};
use super::error::{PageError, PageResult};
use super::grid::{Grid, integer};
use super::links::Links;
use crate::report::{safe, safe_lines};

const TEXT: &str = include_str!("../../../queries/pages/text.sql");

/// Bytes that a page shows.
const SHOWN: usize = 1 << 20;

/// What of a call can be shown.
const PARTS: &[&str] = &["content", "arguments", "state"];

/// Which text.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    environment: String,
    run: String,
    turn: i32,
    index: i32,
    what: &'static str,
}

impl Shown {
    pub(super) fn asked(asked: &mut Asked) -> PageResult<Self> {
        let mut place = |name: &str| -> PageResult<i32> {
            let text = asked.needed(name)?;
            let wrong = || {
                PageError::Wrong(format!(
                    "parameter {name:?} is {text:?}: a number is needed"
                ))
            };
            text.parse().map_err(|_| wrong())
        };
        let (turn, index) = (place("turn")?, place("index")?);
        Ok(Self {
            environment: asked.needed("environment")?,
            run: asked.needed("run")?,
            turn,
            index,
            what: asked.word("what", PARTS)?.unwrap_or("content"),
        })
    }
}

/// The page's content.
pub(super) async fn content(book: &Book, links: Links, shown: &Shown) -> PageResult<Markup> {
    let text = |value: &str| ScalarValue::Utf8(Some(value.to_owned()));
    let engine = book.engine();
    let found = book.limited(async {
        let sql =
            "SELECT trajectory_key FROM runs WHERE environment = $environment AND run_id = $run";
        let run = [
            ("environment", text(&shown.environment)),
            ("run", text(&shown.run)),
        ];
        let (_, rows) = engine.query_with(sql, &run).await?;
        let missing =
            || PageError::NotFound("there is no such run in this version of the lake".into());
        let key = rows
            .iter()
            .find_map(|batch| integer(batch, 0))
            .ok_or_else(missing)?;
        let [environment, run] = run;
        let values = [
            environment,
            run,
            ("key", ScalarValue::Int64(Some(key))),
            ("turn", ScalarValue::Int32(Some(shown.turn))),
            ("index", ScalarValue::Int32(Some(shown.index))),
        ];
        let (schema, batches) = engine.query_with(TEXT, &values).await?;
        Ok::<_, PageError>(Answer {
            schema,
            batches,
            more: false,
        })
    });
    let grid = Grid::of(&found.await?)?;
    if grid.rows == 0 {
        return Err(PageError::NotFound("this run has no such call".into()));
    }
    let id = grid.text(0, "trajectory_id").unwrap_or_default();
    let whole = grid.text(0, shown.what);
    let (turn, index) = (shown.turn.to_string(), shown.index.to_string());
    Ok(html! {
        h1 { (safe(grid.text(0, "name").unwrap_or("a call"))) }
        p.lead {
            (shown.what) " of turn " (turn) "." (index) " on " (safe(grid.text(0, "arm").unwrap_or_default())) ", trajectory "
            a href=(links.trajectory(&shown.environment, id, Some((&turn, &index)))) { (safe(id)) }
        }
        @match whole {
            None => p.none { "There is none." },
            Some(whole) => {
                p.note {
                    (whole.len()) " bytes, as given. Letters that would act on the page or change its order are spelled out, as \\u{202e}."
                    @if whole.len() > SHOWN { " The first MiB is shown; " code { "fidelake show --format json" } " has all of it." }
                }
                pre.wrap.whole tabindex="0" { (safe_lines(first(whole))) }
            },
        }
    })
}

/// As much as a page shows.
fn first(text: &str) -> &str {
    let end = (0..=SHOWN.min(text.len()))
        .rev()
        .find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or(0)]
}
