//! What a monitor's state says, for those who only look: read beside the monitor that may be
//! writing it, without its lock.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use fidelake_core::monitor::{State, Stream};
use rusqlite::{Connection, OpenFlags};

use super::error::{MonitorError, MonitorResult};
use super::store::{APPLICATION, FORM};
use super::totals::Totals;
use super::view::time;

/// The newest alarms that are read.
const ALARMS: usize = 1000;

/// A state as it stands.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The word for all streams together: ok, warn, pause, unknown.
    pub state: &'static str,
    /// What was counted.
    pub totals: Totals,
    /// Every stream as a row.
    pub streams: RecordBatch,
    /// The newest events, each with its detail as JSON.
    pub events: RecordBatch,
}

/// Reads a state; `None` if there is none at that place.
///
/// # Errors
/// If it is none of ours or cannot be read.
pub fn look(path: &Path) -> MonitorResult<Option<Seen>> {
    if !path.is_file() {
        return Ok(None);
    }
    let fail = MonitorError::state(path);
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(&fail)?;
    let number = |name: &str| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let ours = number("application_id").map_err(&fail)? == APPLICATION
        && number("user_version").map_err(&fail)? == FORM;
    if !ours {
        return Err(MonitorError::Foreign {
            path: path.to_owned(),
            why: "it is a database of something else, or of another form".into(),
        });
    }
    let rows = streams(&db, path)?;
    let known = rows.iter().map(|row| row.stream.state());
    let state = known
        .filter(|state| *state != State::Unknown)
        .max()
        .unwrap_or(State::Unknown);
    let totals: Option<String> = db
        .query_row("SELECT value FROM facts WHERE name = 'totals'", [], |row| {
            row.get(0)
        })
        .ok();
    Ok(Some(Seen {
        state: state.name(),
        totals: totals
            .and_then(|text| Totals::parse(&text))
            .unwrap_or_default(),
        streams: batch(&rows, path)?,
        events: events(&db, path)?,
    }))
}

struct Row {
    names: [String; 4],
    stream: Stream,
}

fn streams(db: &Connection, path: &Path) -> MonitorResult<Vec<Row>> {
    const DIMENSIONS: [&str; 4] = fidelake_core::monitor::DIMENSIONS;
    let fail = MonitorError::state(path);
    let sql = "SELECT environment, api, outcome, dimension, state FROM streams ORDER BY place";
    let mut statement = db.prepare(sql).map_err(&fail)?;
    let found = statement.query_map([], |row| {
        Ok((
            [
                row.get::<_, String>(0)?,
                row.get::<_, String>(1)?,
                row.get::<_, String>(2)?,
            ],
            row.get::<_, i64>(3)?,
            row.get::<_, Vec<u8>>(4)?,
        ))
    });
    let mut out = Vec::new();
    for row in found.map_err(&fail)? {
        let ([environment, api, outcome], dimension, state) = row.map_err(&fail)?;
        let dimension = usize::try_from(dimension)
            .ok()
            .and_then(|at| DIMENSIONS.get(at));
        let numbers = state.as_chunks::<8>().0.iter();
        let numbers: Vec<f64> = numbers.map(|bytes| f64::from_le_bytes(*bytes)).collect();
        let (Some(dimension), Some(stream)) = (dimension, Stream::from_parts(&numbers)) else {
            return Err(MonitorError::Foreign {
                path: path.to_owned(),
                why: format!("the stream of {environment} {api} cannot be read"),
            });
        };
        out.push(Row {
            names: [environment, api, outcome, (*dimension).to_owned()],
            stream,
        });
    }
    Ok(out)
}

fn batch(rows: &[Row], path: &Path) -> MonitorResult<RecordBatch> {
    let texts = |of: &dyn Fn(&Row) -> Option<String>| -> ArrayRef {
        Arc::new(rows.iter().map(of).collect::<StringArray>())
    };
    let numbers = |of: &dyn Fn(&Stream) -> Option<f64>| -> ArrayRef {
        let rounded = |x: f64| (x * 1e4).round() / 1e4;
        let column = rows.iter().map(|row| of(&row.stream).map(rounded));
        Arc::new(column.collect::<Float64Array>())
    };
    let counts = |of: &dyn Fn(&Stream) -> u64| -> ArrayRef {
        let column = rows.iter().map(|row| i64::try_from(of(&row.stream)).ok());
        Arc::new(column.collect::<Int64Array>())
    };
    let since = |row: &Row| {
        let at = row.stream.latch()?.at;
        time(at).as_str().map(str::to_owned)
    };
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("environment", texts(&|row| Some(row.names[0].clone()))),
        ("api", texts(&|row| Some(row.names[1].clone()))),
        ("outcome", texts(&|row| Some(row.names[2].clone()))),
        ("dimension", texts(&|row| Some(row.names[3].clone()))),
        (
            "state",
            texts(&|row| Some(row.stream.state().name().to_owned())),
        ),
        ("fidelity", numbers(&Stream::fidelity)),
        (
            "usual",
            numbers(&|stream| stream.baseline().map(|b| 1.0 - b.mean)),
        ),
        ("low", numbers(&|stream| stream.interval().map(|i| i.0))),
        ("high", numbers(&|stream| stream.interval().map(|i| i.1))),
        ("threshold", numbers(&|stream| Some(stream.threshold()))),
        ("samples", counts(&Stream::count)),
        ("alarms", counts(&Stream::alarms)),
        (
            "cause",
            texts(&|row| Some(row.stream.latch()?.cause.name().to_owned())),
        ),
        ("since", texts(&since)),
    ];
    together(columns, path)
}

fn events(db: &Connection, path: &Path) -> MonitorResult<RecordBatch> {
    let fail = MonitorError::state(path);
    let sql = format!("SELECT seq, at, kind, detail FROM events ORDER BY seq DESC LIMIT {ALARMS}");
    let mut statement = db.prepare(&sql).map_err(&fail)?;
    let rows = statement.query_map([], |row| {
        Ok((
            row.get::<_, i64>(0)?,
            row.get::<_, i64>(1)?,
            row.get::<_, String>(2)?,
            row.get::<_, String>(3)?,
        ))
    });
    let rows: Vec<(i64, i64, String, String)> = rows
        .map_err(&fail)?
        .collect::<rusqlite::Result<_>>()
        .map_err(&fail)?;
    let at = |row: &(i64, i64, String, String)| time(row.1).as_str().map(str::to_owned);
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "seq",
            Arc::new(Int64Array::from_iter_values(rows.iter().map(|r| r.0))),
        ),
        ("at", Arc::new(rows.iter().map(at).collect::<StringArray>())),
        (
            "kind",
            Arc::new(StringArray::from_iter_values(rows.iter().map(|r| &r.2))),
        ),
        (
            "detail",
            Arc::new(StringArray::from_iter_values(rows.iter().map(|r| &r.3))),
        ),
    ];
    together(columns, path)
}

fn together(columns: Vec<(&str, ArrayRef)>, path: &Path) -> MonitorResult<RecordBatch> {
    let columns = columns.into_iter().map(|(name, c)| (name, c, true));
    RecordBatch::try_from_iter_with_nullable(columns).map_err(|e| MonitorError::Foreign {
        path: path.to_owned(),
        why: e.to_string(),
    })
}
