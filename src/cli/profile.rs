//! `fidelake profile`

use clap::Args;

use super::printer::{ITEMS, Meter, Printer};
use super::{Global, Status};
use crate::engine::profile;
use crate::lake::Lake;
use crate::report::OutputFormat;

/// Compare what the two arms did: gaps per call, profiles per trajectory.
///
/// Only trajectories whose runs changed since their last profile are computed.
/// The SQL that does it stands in `queries/profile/`.
#[derive(Debug, Args)]
pub(crate) struct ProfileArgs {}

pub(crate) async fn run(
    _args: &ProfileArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let (mut lake, guard) = Lake::open_for_writing(&global.lake, global.wait()).await?;
    let meter = Meter::start(printer, ITEMS);
    let report = profile(&mut lake, guard, &meter).await;
    meter.finish();
    let report = report?;
    match printer.format() {
        OutputFormat::Table => printer.data(&format!(
            "{} trajectories profiled, {} pairs of calls, {} calls on one arm only; {} profiles unchanged\nlake version {}",
            report.trajectories, report.pairs, report.one_sided, report.unchanged, report.lake_version
        ))?,
        OutputFormat::Json | OutputFormat::Ndjson => printer.data(&serde_json::to_string(&report)?)?,
        OutputFormat::Csv | OutputFormat::Parquet => {
            let (schema, batch) = super::log::one_row(&serde_json::to_value(report)?)?;
            printer.batches(&schema, &[batch])?;
        }
    }
    Ok(Status::Done)
}
