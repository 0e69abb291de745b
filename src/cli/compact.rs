//! `fidelake compact`

use clap::Args;

use super::printer::Printer;
use super::{Global, Status};
use crate::lake::Lake;

/// Merge small files. Rows stay as they are; older versions can still be read.
#[derive(Debug, Args)]
pub(crate) struct CompactArgs {}

pub(crate) async fn run(
    _args: &CompactArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let (mut lake, _guard) = Lake::open_for_writing(&global.lake, global.wait()).await?;
    let (version, tables) = lake.compact().await?;
    for table in tables.iter().filter(|table| table.files_before > 0) {
        printer.data(&format!(
            "{}: {} files became {}",
            table.table, table.files_before, table.files_after
        ))?;
    }
    if tables.iter().all(|table| table.files_before == 0) {
        printer.data(&format!(
            "nothing to merge; the lake stays at version {}",
            version.version
        ))?;
        return Ok(Status::Done);
    }
    printer.data(&format!("lake version {}", version.version))?;
    printer.say("the old files stay until `fidelake vacuum`, so that older versions can be read");
    Ok(Status::Done)
}
