//! The monitor: what its state says, read beside the monitor that may be running.

use std::path::{Path, PathBuf};

use arrow::record_batch::RecordBatch;
use maud::{Markup, html};

use super::book::Answer;
use super::error::{PageError, PageResult};
use super::grid::{Grid, counted};
use super::links::Links;
use super::table::{Source, plain, table, tools};
use crate::monitor::{Seen, look};

/// Streams and events that a page shows; the files have all.
const ROWS: usize = 200;

/// Where a lake's monitor keeps its state.
pub(super) fn usual(lake: &Path) -> PathBuf {
    lake.join("_fidelake").join("monitor.sqlite")
}

/// Reads the state where waiting harms nobody.
pub(super) async fn seen(state: &Path) -> PageResult<Option<Seen>> {
    let state = state.to_owned();
    let read = tokio::task::spawn_blocking(move || look(&state)).await;
    Ok(read.map_err(|e| PageError::Broken(e.to_string()))??)
}

/// Rows of the state as an answer.
pub(super) fn answer(batch: &RecordBatch, most: usize) -> Answer {
    Answer {
        schema: batch.schema(),
        batches: vec![batch.slice(0, batch.num_rows().min(most))],
        more: batch.num_rows() > most,
    }
}

/// The page's content.
pub(super) async fn content(state: &Path, links: Links) -> PageResult<Markup> {
    let Some(seen) = seen(state).await? else {
        return Ok(html! {
            h1 { "Monitor" }
            p.lead { "Drift in a running training: ok, warn, pause or unknown before each step." }
            p.none {
                "No monitor keeps its state here. " code { "fidelake monitor --http 127.0.0.1:8090" }
                " starts one beside this lake; " code { "--monitor-state FILE" } " of " code { "fidelake serve" } " names the state of another."
            }
        });
    };
    let class = match seen.state {
        "ok" => "state good",
        "pause" | "warn" => "state bad",
        _ => "state",
    };
    let (streams, events) = (answer(&seen.streams, ROWS), answer(&seen.events, ROWS));
    let (all, of_events) = (Grid::of(&streams)?, Grid::of(&events)?);
    Ok(html! {
        h1 { "Monitor: " span class=(class) { (seen.state) } }
        p.lead {
            (counted(seen.totals.accepted as f64)) " observations charted, " (counted(seen.totals.duplicates as f64)) " known already, "
            (counted(seen.totals.late as f64)) " late, " (counted(seen.totals.rejected as f64)) " not understood; "
            (counted(seen.totals.calls)) " real calls. As of this moment, whatever lake version is shown elsewhere."
        }
        section {
            div.head {
                h2 { (counted(seen.streams.num_rows() as f64)) " streams" }
                (tools("monitor_streams", Source::Made("monitor_streams", "GET /v1/streams of fidelake monitor"), &streams, links))
            }
            p.note { "Environment × API × outcome × dimension: fidelity of late, the usual one, an interval, and the threshold." @if streams.more { " The first " (ROWS) " are shown." } }
            (table("Streams of the monitor", &all, &[
                ("api", "API"), ("environment", "environment"), ("outcome", "outcome"), ("dimension", "dimension"), ("state", "state"), ("fidelity", "fidelity"),
                ("usual", "usual"), ("low", "low"), ("high", "high"), ("threshold", "threshold"), ("samples", "samples"), ("alarms", "alarms"), ("cause", "cause"), ("since", "since"),
            ], &plain))
        }
        section {
            div.head {
                h2 { "Alarms" }
                (tools("monitor_events", Source::Made("monitor_events", "sqlite3 -readonly STATE 'SELECT * FROM events'"), &events, links))
            }
            @if of_events.rows == 0 { p.none { "None so far." } } @else {
                (table("Alarms of the monitor", &of_events, &[("seq", "number"), ("at", "at (UTC)"), ("kind", "kind"), ("detail", "detail")], &plain))
            }
        }
    })
}
