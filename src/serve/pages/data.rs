//! The rows of a table as a file: all of them, not only those of the page.
//!
//! CSV goes out as the rows come, Parquet as its row groups are full. A file that would be
//! longer than the bound says so in its name; one that turns out longer breaks off, so that
//! nobody takes it for the whole.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::StatusCode;
use hyper::body::Frame;
use hyper::header::{self, HeaderName, HeaderValue};
use parquet::arrow::ArrowWriter;
use tokio::sync::mpsc;

use super::answer::{Reply, reply, whole};
use super::asked::Asked;
use super::book::{Answer, Book};
use super::error::{PageError, PageResult};
use super::question::{CALLS, PATTERN_CALLS, Question};
use super::sql::asked_question;
use super::{budget, monitor};
use crate::engine::Rows;
use crate::report::{LineWriter, OutputError, OutputFormat, load_pair, pair_batch, write_batches};

/// Most rows of a file.
const MOST: usize = 1_000_000;

/// A file may take so long: its reader may be slow.
const LIMIT: Duration = Duration::from_secs(300);

/// Bytes that are gathered before they go out.
const PIECE: usize = 64 << 10;

/// Rows of a row group.
const GROUP: usize = 64 << 10;

/// Pieces that wait for a slow reader.
const WAITING: usize = 4;

/// How the rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Csv,
    Parquet,
}

impl Form {
    const fn kind(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8; header=present",
            Self::Parquet => "application/vnd.apache.parquet",
        }
    }

    const fn ending(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Parquet => "parquet",
        }
    }
}

/// What is given as a file.
#[derive(Clone, Debug)]
pub(super) enum Shown {
    Asked(Question, Vec<Option<String>>),
    Estimate,
    Trajectory {
        environment: Option<String>,
        id: String,
    },
    Streams,
    Events,
}

impl Shown {
    pub(super) fn asked(asked: &mut Asked) -> PageResult<Self> {
        let name = asked.needed("q")?;
        Ok(match name.as_str() {
            "estimate" => Self::Estimate,
            "monitor_streams" => Self::Streams,
            "monitor_events" => Self::Events,
            "trajectory" => Self::Trajectory {
                environment: asked.text("environment"),
                id: asked.needed("id")?,
            },
            name => {
                let (question, values) = asked_question(asked, name)?;
                Self::Asked(question, values)
            }
        })
    }
}

/// The file.
pub(super) async fn file(
    book: Arc<Book>,
    state: &std::path::Path,
    shown: Shown,
    form: Form,
) -> PageResult<Reply> {
    match shown {
        Shown::Asked(question, values) => asked(book, question, &values, form).await,
        Shown::Estimate => made("estimate", &budget::told(&book).await?, form),
        Shown::Trajectory { environment, id } => {
            const PATHS: usize = 1000;
            let load = load_pair(book.engine(), &id, environment.as_deref(), PATHS);
            let pair = book.limited(load).await?;
            let batch = pair_batch(&pair, |_| true)?;
            made("trajectory", &monitor::answer(&batch, usize::MAX), form)
        }
        Shown::Streams | Shown::Events => {
            let missing = || PageError::NotFound("no monitor keeps its state here".into());
            let seen = monitor::seen(state).await?.ok_or_else(missing)?;
            match shown {
                Shown::Streams => made(
                    "monitor_streams",
                    &monitor::answer(&seen.streams, usize::MAX),
                    form,
                ),
                _ => made(
                    "monitor_events",
                    &monitor::answer(&seen.events, usize::MAX),
                    form,
                ),
            }
        }
    }
}

/// Rows that are at hand.
fn made(name: &str, answer: &Answer, form: Form) -> PageResult<Reply> {
    let mut bytes = Vec::new();
    match form {
        Form::Csv => write_batches(
            &answer.schema,
            &answer.batches,
            OutputFormat::Csv,
            &mut bytes,
        )?,
        Form::Parquet => {
            let mut out = ArrowWriter::try_new(&mut bytes, Arc::clone(&answer.schema), None)
                .map_err(OutputError::Parquet)?;
            for batch in &answer.batches {
                out.write(batch).map_err(OutputError::Parquet)?;
            }
            out.close().map_err(OutputError::Parquet)?;
        }
    }
    Ok(named(whole(StatusCode::OK, form.kind(), bytes), name, form))
}

/// Rows as they come.
async fn asked(
    book: Arc<Book>,
    question: Question,
    values: &[Option<String>],
    form: Form,
) -> PageResult<Reply> {
    // Only calls may be as many as the lake is large; everything else adds up.
    let counted = matches!(question.name, name if name == CALLS.name || name == PATTERN_CALLS.name);
    let all = match counted {
        true => Some(book.count(&question, values).await?),
        false => None,
    };
    // What fails at once is an error with a code of its own, not a file that breaks off.
    let (rows, first) = book
        .limited(async {
            let mut rows = book.rows(&question, values, 0, MOST + 1).await?;
            let first = rows.next().await?;
            Ok::<_, PageError>((rows, first))
        })
        .await?;
    let cut = all.is_some_and(|all| all > MOST);
    let (send, receive) = mpsc::channel(WAITING);
    let schema = first
        .as_ref()
        .map_or_else(|| rows.schema(), RecordBatch::schema);
    tokio::spawn(async move {
        let work = write(rows, first, schema, form, cut, &send);
        let done = match tokio::time::timeout(LIMIT, work).await {
            Ok(done) => done,
            Err(_) => Err(io::Error::other("the file took too long")),
        };
        if let Err(error) = done {
            // A reader that went away hears nothing of it.
            let _ = send.send(Err(error)).await;
        }
        // The version must stay open as long as its files are read.
        drop(book);
    });
    let pieces = futures::stream::unfold(receive, |mut receive| async move {
        let piece: io::Result<Bytes> = receive.recv().await?;
        Some((piece.map(Frame::data), receive))
    });
    let body = StreamBody::new(pieces).boxed_unsync();
    let name = match all.filter(|_| cut) {
        Some(all) => format!("{}-first-{MOST}-of-{all}", question.name),
        None => question.name.to_owned(),
    };
    let mut reply = named(reply(StatusCode::OK, form.kind(), body), &name, form);
    if let Some(all) = all {
        let value = HeaderValue::from(u64::try_from(all).unwrap_or(u64::MAX));
        let rows = HeaderName::from_static("x-rows-in-all");
        reply.headers_mut().insert(rows, value);
    }
    Ok(reply)
}

/// Gives the file its name; names are words of ours.
fn named(mut reply: Reply, name: &str, form: Form) -> Reply {
    let text = format!("attachment; filename=\"fidelake-{name}.{}\"", form.ending());
    if let Ok(value) = HeaderValue::from_str(&text) {
        reply
            .headers_mut()
            .insert(header::CONTENT_DISPOSITION, value);
    }
    reply
}

/// Bytes on their way: the writers write, the sender takes.
#[derive(Clone, Default)]
struct Pipe(Arc<Mutex<Vec<u8>>>);

impl Pipe {
    fn take(&self, least: usize) -> Option<Bytes> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (held.len() > least).then(|| Bytes::from(std::mem::take(&mut *held)))
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Either writer.
enum Writer {
    Csv(LineWriter<Pipe>),
    Parquet(Box<ArrowWriter<Pipe>>),
}

impl Writer {
    fn new(form: Form, schema: &SchemaRef, pipe: Pipe) -> Result<Self, OutputError> {
        Ok(match form {
            Form::Csv => Self::Csv(LineWriter::new(schema, OutputFormat::Csv, pipe)?),
            Form::Parquet => Self::Parquet(Box::new(ArrowWriter::try_new(
                pipe,
                Arc::clone(schema),
                None,
            )?)),
        })
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<(), OutputError> {
        match self {
            Self::Csv(lines) => lines.write(batch),
            Self::Parquet(file) => {
                file.write(batch)?;
                if file.in_progress_rows() >= GROUP {
                    file.flush()?;
                }
                Ok(())
            }
        }
    }

    fn finish(self) -> Result<(), OutputError> {
        match self {
            Self::Csv(lines) => lines.finish(),
            Self::Parquet(file) => Ok(file.close().map(|_| ())?),
        }
    }
}

type Pieces = mpsc::Sender<io::Result<Bytes>>;

async fn write(
    mut rows: Rows,
    first: Option<RecordBatch>,
    schema: SchemaRef,
    form: Form,
    cut: bool,
    send: &Pieces,
) -> io::Result<()> {
    let pipe = Pipe::default();
    let mut writer = Writer::new(form, &schema, pipe.clone()).map_err(io::Error::other)?;
    let mut next = first;
    let mut left = MOST;
    while let Some(batch) = next {
        if batch.num_rows() > left && !cut {
            return Err(io::Error::other("more rows than a file may have"));
        }
        let batch = batch.slice(0, batch.num_rows().min(left));
        left -= batch.num_rows();
        writer.write(&batch).map_err(io::Error::other)?;
        if let Some(piece) = pipe.take(PIECE)
            && send.send(Ok(piece)).await.is_err()
        {
            return Ok(());
        }
        next = rows.next().await.map_err(io::Error::other)?;
    }
    writer.finish().map_err(io::Error::other)?;
    if let Some(piece) = pipe.take(0) {
        let _ = send.send(Ok(piece)).await;
    }
    Ok(())
}
