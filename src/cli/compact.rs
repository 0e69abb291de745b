//! `fidelake compact`

use clap::Args;

use super::printer::Printer;
use super::{Global, Status};
use crate::lake::{Compacted, Lake};

/// Merge small files, and remove profiles that were computed again.
///
/// Replaced profiles go once they are more than a twentieth of all. Every other row
/// stays as it is, and older versions can still be read.
#[derive(Debug, Args)]
pub(crate) struct CompactArgs {}

pub(crate) async fn run(
    _args: &CompactArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let (mut lake, _guard) = Lake::open_for_writing(&global.lake, global.wait()).await?;
    let (version, tables) = lake.compact().await?;
    for table in tables.iter().filter(|table| table.rows_removed > 0) {
        printer.data(&format!(
            "{}: {} rows of replaced profiles removed",
            table.table, table.rows_removed
        ))?;
    }
    for table in tables.iter().filter(|table| table.files_before > 0) {
        printer.data(&format!(
            "{}: {} files became {}",
            table.table, table.files_before, table.files_after
        ))?;
    }
    let untouched = |table: &Compacted| table.files_before == 0 && table.rows_removed == 0;
    if tables.iter().all(untouched) {
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
