//! `fidelake report`

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::printer::Printer;
use super::whole::write_whole;
use super::{Global, Status};
use crate::lake::Lake;
use crate::report::{
    Curation, Extent, OutputFormat, curation_batch, curation_page, draw_curation, load_curation,
};

/// Make a page to look at or to mail.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    #[command(subcommand)]
    what: What,
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
    let What::Curation(args) = &args.what;
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

/// Writes the page and says where it is.
pub(super) fn write(curation: &Curation, out: &Path, printer: &Printer) -> anyhow::Result<()> {
    write_whole(out, &curation_page(curation))?;
    printer.say(&format!("page: {}", out.display()));
    Ok(())
}
