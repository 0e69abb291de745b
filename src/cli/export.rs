//! `fidelake export`

use std::io::BufWriter;
use std::path::PathBuf;

use clap::Args;

use super::printer::Printer;
use super::whole::WholeFile;
use super::{AtArgs, Global, Status};
use crate::engine::Engine;
use crate::lake::Lake;
use crate::report::write_runs;

/// Write runs of the lake as files that can be imported.
///
/// One line per run, in the native run form: to share them, to keep them with a
/// project, or as the trajectories of a dual run. What was masked stays masked.
/// Profiles and other results are not written: `fidelake sql` gives them.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// A condition on table `runs`, such as "environment = 'airline' AND arm = 'real'"
    #[arg(long = "where", value_name = "SQL")]
    filter: Option<String>,
    /// File to write, instead of standard output
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    at: AtArgs,
}

pub(crate) async fn run(
    args: &ExportArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let lake = Lake::open(&global.lake)?;
    let engine = Engine::open(&lake, &args.at.resolve()?).await?;
    let filter = args.filter.as_deref();
    let Some(path) = &args.out else {
        let mut out = BufWriter::new(std::io::stdout());
        let written = write_runs(&engine, filter, &mut out).await?;
        printer.say(&format!("{written} runs"));
        return Ok(Status::Done);
    };
    let mut out = WholeFile::create(path)?;
    let written = write_runs(&engine, filter, &mut out).await?;
    out.finish()?;
    printer.say(&format!("{written} runs in {}", path.display()));
    Ok(Status::Done)
}
