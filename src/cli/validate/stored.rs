//! `fidelake validate --fit --store`, `fidelake validate stored`

use clap::Args;

use crate::cli::printer::{ITEMS, Meter, Printer};
use crate::cli::{Global, Status, UsageError};
use crate::engine::{Evidence, stored, stored_as};
use crate::lake::Lake;
use crate::report::{OutputFormat, draw_stored};
use crate::validate::{DIMENSION_WEIGHTS, Validation};

/// List the weights that were stored by --fit --store
#[derive(Debug, Args)]
pub(super) struct StoredArgs {}

/// Keeps what was fitted.
pub(super) async fn store(
    found: &Validation,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<()> {
    let Some(evidence) = found.evidence() else {
        anyhow::bail!("nothing was fitted, so nothing is stored");
    };
    let (mut lake, guard) = Lake::open_for_writing(&global.lake, global.wait()).await?;
    let meter = Meter::start(printer, ITEMS);
    let from = found.lake_version;
    let kept = stored_as(&mut lake, guard, DIMENSION_WEIGHTS, from, evidence, &meter).await;
    meter.finish();
    let kept = kept?;
    printer.say(&format!(
        "stored as {} in lake version {}; nothing uses it. `fidelake validate stored` lists what is stored",
        kept.artefact_id, kept.lake_version
    ));
    Ok(())
}

pub(super) fn run(global: &Global, printer: &Printer) -> anyhow::Result<Status> {
    let lake = Lake::open(&global.lake)?;
    let all: Vec<Evidence> = stored(&lake, DIMENSION_WEIGHTS)?;
    match printer.format() {
        OutputFormat::Table if all.is_empty() => {
            printer.say(
                "no weights are stored; `fidelake validate --by LABEL --fit --store` stores some",
            );
        }
        OutputFormat::Table => printer.data(&draw_stored(&all))?,
        OutputFormat::Json => printer.data(&serde_json::to_string(&all)?)?,
        OutputFormat::Ndjson => {
            for one in &all {
                printer.data(&serde_json::to_string(one)?)?;
            }
        }
        OutputFormat::Csv | OutputFormat::Parquet => {
            let why = "stored weights are no flat table: use --format table, json or ndjson";
            return Err(UsageError(why.into()).into());
        }
    }
    Ok(Status::Done)
}
