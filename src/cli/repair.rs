//! `fidelake repair`

use clap::Args;

use super::printer::Printer;
use super::{Global, Status};
use crate::lake::Lake;

/// Look for damage and unfinished writes, or undo one.
#[derive(Debug, Args)]
pub(crate) struct RepairArgs {
    /// Undo this unfinished write: every table goes back to the newest lake version
    #[arg(long, value_name = "ID")]
    drop: Option<String>,
}

pub(crate) async fn run(
    args: &RepairArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    if let Some(id) = &args.drop {
        let (mut lake, _guard) = Lake::open_for_writing(&global.lake, global.wait()).await?;
        let version = lake.drop_intent(id).await?;
        printer.data(&format!(
            "the write {id} was undone; lake version {} holds what the one before it held",
            version.version
        ))?;
        return Ok(Status::Done);
    }
    let lake = Lake::open(&global.lake)?;
    let faults = lake.check().await?;
    for fault in &faults {
        printer.data(fault)?;
    }
    let intents = lake.intents()?;
    for intent in &intents {
        printer.data(&format!(
            "unfinished since {}: {} {} ({}). Run that command again to finish it, or undo it with `fidelake repair --drop {}`",
            intent.started, intent.operation, intent.id, intent.command, intent.id
        ))?;
    }
    if faults.is_empty() && intents.is_empty() {
        printer.data(&format!(
            "the lake is whole at version {}",
            lake.newest()?.version
        ))?;
    }
    Ok(if faults.is_empty() {
        Status::Done
    } else {
        Status::Failed
    })
}
