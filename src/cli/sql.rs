//! `fidelake sql`

use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use arrow::array::{ArrayRef, RecordBatch, StringArray};
use clap::Args;

use super::printer::Printer;
use super::{AtArgs, Global, Status, UsageError, shell};
use crate::engine::Engine;
use crate::lake::Lake;
use crate::report::{NAMED, NamedQuery, OutputFormat, statements};

/// Ask the lake in SQL; nothing can be changed.
///
/// Without a query this is a shell. Several statements, each ended by `;`, run
/// in order. `fidelake schema` describes the tables, `fidelake functions` our
/// functions; the views `call_gaps_now` and `profiles_now` show what is newest.
#[derive(Debug, Args)]
pub(crate) struct SqlArgs {
    /// The query
    #[arg(conflicts_with_all = ["file", "named", "list"])]
    query: Option<String>,
    /// Read the query from a file; `-` is standard input
    #[arg(long, short, value_name = "FILE", conflicts_with_all = ["named", "list"])]
    file: Option<PathBuf>,
    /// Run a query that comes with the program
    #[arg(long, value_name = "NAME", conflicts_with = "list")]
    named: Option<String>,
    /// List the queries that come with the program
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    at: AtArgs,
}

pub(crate) async fn run(
    args: &SqlArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    if args.list {
        return list(printer);
    }
    let text = match (&args.query, &args.file, &args.named) {
        (Some(query), _, _) => Some(query.clone()),
        (_, Some(file), _) => Some(read(file)?),
        (_, _, Some(name)) => Some(named(name)?.sql.to_owned()),
        _ if !std::io::stdin().is_terminal() => Some(read(Path::new("-"))?),
        _ => None,
    };
    let lake = Lake::open(&global.lake)?;
    let engine = Engine::open(&lake, &args.at.resolve()?).await?;
    let Some(text) = text else {
        return shell::run(&engine, printer).await;
    };
    let all: Vec<String> = statements(&text).all().collect();
    if all.is_empty() {
        anyhow::bail!(UsageError("there is no statement to run".into()));
    }
    if all.len() > 1 && printer.format() == OutputFormat::Parquet {
        let why = "--format parquet holds one result: give one statement";
        anyhow::bail!(UsageError(why.into()));
    }
    for sql in &all {
        print(&engine, sql, printer).await?;
    }
    Ok(Status::Done)
}

/// Runs one statement and prints its rows; gives their number.
///
/// Formats made of lines are written as the rows come; a table needs all rows
/// for the width of its columns.
pub(super) async fn print(engine: &Engine, sql: &str, printer: &Printer) -> anyhow::Result<usize> {
    if !matches!(printer.format(), OutputFormat::Ndjson | OutputFormat::Csv) {
        let (schema, batches) = engine.query(sql).await?;
        printer.batches(&schema, &batches)?;
        return Ok(batches.iter().map(RecordBatch::num_rows).sum());
    }
    let mut rows = engine.stream(sql).await?;
    let mut out = printer.stream(&rows.schema())?;
    let mut count = 0;
    while let Some(batch) = rows.next().await? {
        count += batch.num_rows();
        out.write(&batch)?;
    }
    out.finish()?;
    Ok(count)
}

fn read(file: &Path) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    if file == Path::new("-") {
        std::io::stdin()
            .read_to_end(&mut bytes)
            .context("standard input")?;
    } else {
        bytes = std::fs::read(file).with_context(|| file.display().to_string())?;
    }
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        anyhow::anyhow!("{}: not UTF-8 at byte {at}", file.display())
    })
}

fn named(name: &str) -> anyhow::Result<&'static NamedQuery> {
    NamedQuery::find(name).ok_or_else(|| {
        let names: Vec<_> = NAMED.iter().map(|q| q.name).collect();
        UsageError(format!(
            "there is no query {name:?}; there are {}",
            names.join(", ")
        ))
        .into()
    })
}

fn list(printer: &Printer) -> anyhow::Result<Status> {
    let texts = |pick: fn(&NamedQuery) -> &'static str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(NAMED.iter().map(pick)))
    };
    let batch = RecordBatch::try_from_iter([
        ("query", texts(|q| q.name)),
        ("answers", texts(|q| q.answers())),
    ])?;
    printer.batches(&batch.schema(), std::slice::from_ref(&batch))?;
    Ok(Status::Done)
}
