//! `fidelake report`

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::printer::Printer;
use super::whole::write_whole;
use super::{AtArgs, Global, Status, UsageError};
use crate::lake::Lake;
use crate::report::{
    Curation, Extent, OutputFormat, curation_batch, curation_page, draw_curation, load_curation,
};
use crate::serve::report;

/// Make a page to look at or to mail.
///
/// Without a subcommand it is of the whole lake: what `fidelake serve --http` shows, as one
/// file without scripts, with the queries and the rows of its tables inside.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ReportArgs {
    /// Write the report of the lake there
    #[arg(long, short, value_name = "FILE.html")]
    out: Option<PathBuf>,
    /// The state of the monitor to show. Default: the one in the lake
    #[arg(long, value_name = "FILE")]
    monitor_state: Option<PathBuf>,
    #[command(flatten)]
    at: AtArgs,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// What a curation did to the data, before and after
    ///
    /// Fidelity by dimension, the share of low fidelity, difficulty, APIs, outcomes
    /// and lengths: of all runs, of those that are right by their labels, of those
    /// that became rows, and of these by weight.
    Curation(CurationArgs),
}

#[derive(Debug, Args)]
struct CurationArgs {
    /// Its id or the beginning of it; without one, the newest
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Write one self-contained page, with plots
    #[arg(long, short, value_name = "FILE.html")]
    out: Option<PathBuf>,
}

pub(crate) async fn run(
    args: &ReportArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let Some(What::Curation(args)) = &args.what else {
        return of_lake(args, global, printer).await;
    };
    let lake = Lake::open(&global.lake)?;
    let extent = match (printer.format(), &args.out) {
        (OutputFormat::Table, None) => Extent::Summary,
        _ => Extent::Whole,
    };
    let curation = load_curation(&lake, args.id.as_deref(), extent).await?;
    match printer.format() {
        OutputFormat::Table => printer.data(&draw_curation(&curation))?,
        _ => printer.batch(&curation_batch(&curation)?)?,
    }
    if let Some(out) = &args.out {
        write(&curation, out, printer)?;
    }
    Ok(Status::Done)
}

/// The report of the whole lake.
async fn of_lake(args: &ReportArgs, global: &Global, printer: &Printer) -> anyhow::Result<Status> {
    let Some(out) = &args.out else {
        let why = "a report of the whole lake is a file: give --out FILE.html; `fidelake report curation` prints one of a curation";
        anyhow::bail!(UsageError(why.into()));
    };
    let lake = Lake::open(&global.lake)?;
    let page = report(&lake, &args.at.resolve()?, args.monitor_state.clone()).await?;
    write_whole(out, &page)?;
    printer.say(&format!("page: {}", out.display()));
    Ok(Status::Done)
}

/// Writes the page and says where it is.
pub(super) fn write(curation: &Curation, out: &Path, printer: &Printer) -> anyhow::Result<()> {
    write_whole(out, &curation_page(curation))?;
    printer.say(&format!("page: {}", out.display()));
    Ok(())
}
