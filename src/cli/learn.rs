//! `fidelake learn`

use clap::Args;

use super::printer::{ITEMS, Meter, Printer};
use super::{Global, Status};
use crate::engine::{Edit, edit, learn};
use crate::lake::Lake;
use crate::report::OutputFormat;

/// Learn from repeated runs how much the arms differ from themselves, by API and field.
///
/// Nothing else renews what was learned: an import never changes a number that was
/// there. The next `fidelake profile` computes those trajectories again that use it:
/// calls of the same APIs without repeats of their own.
#[derive(Debug, Args)]
pub(crate) struct LearnArgs {
    /// Set by hand how a path of answers is compared (class form, tolerant, exact,
    /// text or ignore; learned takes it back); it stays when everything is learned anew
    #[arg(long, num_args = 4, value_names = ["ENVIRONMENT", "API", "PATH", "CLASS"])]
    set: Vec<String>,
}

pub(crate) async fn run(
    args: &LearnArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let (mut lake, guard) = Lake::open_for_writing(&global.lake, global.wait()).await?;
    let meter = Meter::start(printer, ITEMS);
    if let [environment, api, path, class] = args.set.as_slice() {
        let correction = Edit {
            environment: environment.clone(),
            api: api.clone(),
            path: path.clone(),
            class: class.clone(),
        };
        let version = edit(&mut lake, guard, &correction, &meter).await;
        meter.finish();
        let version = version?;
        let how = match class.as_str() {
            "learned" => "as it was learned".to_owned(),
            class => format!("as {class}"),
        };
        printer.data(&format!(
            "{path} of {api} is compared {how}\nlake version {version}"
        ))?;
        return Ok(Status::Done);
    }
    let report = learn(&mut lake, guard, &meter).await;
    meter.finish();
    let report = report?;
    match printer.format() {
        OutputFormat::Table => {
            let mut lines = Vec::new();
            for (kind, rows) in &report.renewed {
                lines.push(format!("{kind}: {rows} rows learned"));
            }
            for kind in &report.unchanged {
                lines.push(format!("{kind}: as it was"));
            }
            lines.push(format!("lake version {}", report.lake_version));
            printer.data(&lines.join("\n"))?;
            if !report.renewed.is_empty() {
                printer.say("`fidelake profile` computes the profiles that this touches");
            }
        }
        OutputFormat::Json | OutputFormat::Ndjson => {
            printer.data(&serde_json::to_string(&report)?)?;
        }
        OutputFormat::Csv | OutputFormat::Parquet => {
            let row = serde_json::json!({
                "renewed": report.renewed.len(),
                "unchanged": report.unchanged.len(),
                "lake_version": report.lake_version,
            });
            let (schema, batch) = super::log::one_row(&row)?;
            printer.batches(&schema, &[batch])?;
        }
    }
    Ok(Status::Done)
}
