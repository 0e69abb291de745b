//! `fidelake vacuum`

use clap::Args;

use super::printer::Printer;
use super::{Global, Status};
use crate::curate::pinned_versions;
use crate::lake::Lake;

/// Remove files that no kept version needs. The newest version and
/// those that curations name are always kept.
#[derive(Debug, Args)]
pub(crate) struct VacuumArgs {
    /// Keep every version committed in the last so many days
    #[arg(long, value_name = "DAYS", default_value_t = 7)]
    keep_days: u32,
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) async fn run(
    args: &VacuumArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let (mut lake, _guard) = Lake::open_for_writing(&global.lake, global.wait()).await?;
    let keep = chrono::Duration::days(i64::from(args.keep_days));
    let pinned = pinned_versions(&lake).await?;
    let done = lake.vacuum(keep, &pinned, args.dry_run).await?;
    let (files, versions) = (done.files.len(), done.versions.len());
    if args.dry_run {
        for file in &done.files {
            printer.data(file)?;
        }
        printer.say(&format!(
            "{files} files would be removed, {versions} versions could no longer be read"
        ));
    } else {
        printer.data(&format!(
            "{files} files were removed, {versions} versions can no longer be read"
        ))?;
    }
    Ok(Status::Done)
}
