//! The budget: which real calls were bought, and what they told.

use maud::{Markup, html};

use super::asked::Asked;
use super::book::{Answer, Book};
use super::error::{PageError, PageResult};
use super::grid::{Grid, counted};
use super::links::Links;
use super::question::{BOUGHT, COVERAGE, ENVIRONMENTS};
use super::table::{Source, plain, table, tools};
use crate::estimate::{Ask, Dimension, EstimateError, estimate, told_batch};
use fidelake_core::budget::Estimator;

/// Above so many compared calls the estimate is made when it is asked for: it reads the whole pool.
const AT_ONCE: f64 = 50_000.0;

/// The command that prints the same.
const COMMAND: &str = "fidelake estimate --by environment,api --dimension worst";

impl From<EstimateError> for PageError {
    fn from(error: EstimateError) -> Self {
        match error {
            EstimateError::Engine(error) => error.into(),
            EstimateError::Lake(error) => Self::Lake(error),
            other => Self::NotFound(other.to_string()),
        }
    }
}

/// What is shown.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shown {
    /// The estimate is wanted, however long it takes.
    told: bool,
}

impl Shown {
    pub(super) fn asked(asked: &mut Asked) -> PageResult<Self> {
        let told = asked.word("told", &["1"])?.is_some();
        Ok(Self { told })
    }
}

/// What is known of every API, with intervals.
pub(super) async fn told(book: &Book) -> PageResult<Answer> {
    let ask = Ask {
        by: vec!["environment".to_owned(), "api".to_owned()],
        dimension: Dimension::Worst,
        estimator: Estimator::Augmented,
        campaign: None,
        sequence: false,
    };
    let told = book.limited(estimate(book.engine(), &ask)).await?;
    let batch = told_batch(&told, Some(4))?;
    Ok(Answer {
        schema: batch.schema(),
        batches: vec![batch],
        more: false,
    })
}

/// The page's content.
pub(super) async fn content(book: &Book, links: Links, shown: Shown) -> PageResult<Markup> {
    let (bought, coverage, environments) = tokio::try_join!(
        book.ask(&BOUGHT, &[]),
        book.ask(&COVERAGE, &[]),
        book.ask(&ENVIRONMENTS, &[])
    )?;
    let (plans, apis, sizes) = (
        Grid::of(&bought)?,
        Grid::of(&coverage)?,
        Grid::of(&environments)?,
    );
    let compared: f64 = (0..sizes.rows)
        .map(|row| sizes.count(row, "compared_calls"))
        .sum();
    let estimated = match shown.told || compared <= AT_ONCE {
        true => Some(told(book).await),
        false => None,
    };
    Ok(html! {
        h1 { "Budget" }
        p.lead { "Real calls cost. Which were bought, and what they told of the rest." }
        section {
            div.head { h2 { "Bought" } (tools("bought", Source::Asked(&BOUGHT, &[]), &bought, links)) }
            @if plans.rows == 0 {
                p.none {
                    "No call of this lake was made by " code { "fidelake dual run" } ": what it knows came with imported runs. "
                    code { "fidelake plan PLAN.toml --budget 20%" } " chooses which calls to run for real."
                }
            } @else {
                p.note { "Calls that were counted, by plan and arm; budgeted ones count against the budget. In doubt: sent, and nobody knows what became of them." }
                (table("Calls bought", &plans, &[
                    ("plan_id", "plan"), ("environment", "environment"), ("arm", "arm"), ("calls", "calls"), ("budgeted", "budgeted"), ("answered", "answered"),
                    ("in_doubt", "in doubt"), ("not_sent", "not sent"), ("trajectories", "trajectories"), ("tools", "tools"),
                    ("median_latency_ms", "median ms"), ("first_sent", "first (UTC)"), ("last_sent", "last (UTC)"),
                ], &plain))
            }
        }
        section {
            div.head {
                h2 { "What it told" }
                @if let Some(Ok(answer)) = &estimated { (tools("estimate", Source::Made("estimate", COMMAND), answer, links)) }
            }
            p.note {
                "Fidelity of every API with a 95 % interval, by the largest gap of each call: of the pool, which is every call of the first sim run of every trajectory. "
                "Shrunk: drawn towards the pool, as far as the API's own error asks for it."
            }
            @match &estimated {
                None if links.mailed => p.none { "Not part of this report: " code { (COMMAND) } " prints it." },
                None => p {
                    "The pool is large (" (counted(compared)) " calls were compared): "
                    a href=(links.to("/budget", &[("told", Some("1"))])) { "estimate now" }
                    ", or run " code { (COMMAND) } "."
                },
                Some(Err(error)) => p.none { (crate::report::safe_lines(&error.to_string())) },
                Some(Ok(answer)) => (table("Fidelity by API, estimated", &Grid::of(answer)?, &[
                    ("api", "API"), ("environment", "environment"), ("pool", "pool"), ("known", "known"), ("drawn", "drawn"), ("fidelity", "fidelity"), ("low", "low"),
                    ("high", "high"), ("half_width", "± half width"), ("interval", "stands on"), ("shrunk", "shrunk"),
                ], &plain)),
            }
        }
        section {
            div.head { h2 { "What was compared" } (tools("coverage", Source::Asked(&COVERAGE, &[]), &coverage, links)) }
            @if apis.rows == 0 {
                p.none { "Nothing yet: " code { "fidelake profile" } " compares what ran on both arms." }
            } @else {
                p.note { "Differ: calls at which the arms diverge by more than noise. Roots are the simulator's own faults, the others follow from one before." }
                (table("Calls compared by API", &apis, &[
                    ("api", "API"), ("environment", "environment"), ("calls", "calls"), ("compared", "on both"), ("sim_only", "sim only"), ("real_only", "real only"),
                    ("differ", "differ"), ("roots", "roots"), ("flaky", "flaky"), ("noise_measured", "noise measured"),
                ], &|row, column| {
                    let text = |name: &str| apis.text(row, name);
                    (column == "api" && !links.mailed).then(|| links.to("/calls", &[("environment", text("environment")), ("api", text("api"))]))
                }))
            }
        }
    })
}
