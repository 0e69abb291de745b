//! `fidelake curate`

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use clap::Args;

use super::printer::{ITEMS, Meter, Printer};
use super::{AtArgs, Global, Status};
use crate::curate::{Options, Report, curate};
use crate::lake::Lake;
use crate::report::{OutputFormat, draw_curation, load_curation};

/// Make training shards with fidelity weights.
///
/// Reads runs, rewards and profiles at one lake version, gives every run a
/// weight and an advantage as the recipe says, and writes Parquet shards with a
/// README.md and a manifest.json. docs/recipe.md describes recipes.
#[derive(Debug, Args)]
pub(crate) struct CurateArgs {
    /// The recipe (TOML)
    #[arg(value_name = "RECIPE.toml")]
    recipe: PathBuf,
    /// New or empty folder for the shards
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Also write a page that shows what the recipe did to the data
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    #[command(flatten)]
    at: AtArgs,
}

pub(crate) async fn run(
    args: &CurateArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let options = Options {
        lake: global.lake.clone(),
        at: args.at.resolve()?,
        recipe: args.recipe.clone(),
        output: args.out.clone(),
        command: format!(
            "fidelake curate {} --out {}",
            args.recipe.display(),
            args.out.display()
        ),
        wait: global.wait(),
    };
    let meter = Meter::start(printer, ITEMS);
    let report = curate(&options, &meter).await;
    meter.finish();
    let report = report?;
    if printer.format() == OutputFormat::Table || args.report.is_some() {
        let lake = Lake::open(&global.lake)?;
        let curation = load_curation(&lake, Some(&report.curation_id)).await?;
        if printer.format() == OutputFormat::Table {
            printer.data(&format!("{}\n", draw_curation(&curation)))?;
        }
        if let Some(out) = &args.report {
            super::report::write(&curation, out, printer)?;
        }
    }
    print(&report, args, printer)?;
    talk(&report, args, printer);
    Ok(Status::Done)
}

fn print(report: &Report, args: &CurateArgs, printer: &Printer) -> anyhow::Result<()> {
    match printer.format() {
        OutputFormat::Table => printer.data(&table(report, args))?,
        OutputFormat::Json => printer.data(report.manifest.trim_end())?,
        OutputFormat::Ndjson => {
            let value: serde_json::Value = serde_json::from_str(&report.manifest)?;
            printer.data(&value.to_string())?;
        }
        OutputFormat::Csv | OutputFormat::Parquet => {
            let batch = one_row(report)?;
            printer.batch(&batch)?;
        }
    }
    Ok(())
}

fn table(report: &Report, args: &CurateArgs) -> String {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let gate = match report.constants {
        Some((alpha, beta)) => format!("{}, alpha {alpha:.3}, beta {beta:.4}", report.gate),
        None => report.gate.to_owned(),
    };
    let sources = report.weight_by_source.iter();
    let sources: Vec<String> = sources
        .map(|(source, share)| format!("{} {source}", percent(*share)))
        .collect();
    let lines = [
        ("rows", report.rows.to_string()),
        (
            "groups",
            format!(
                "{}, of which {} degenerate",
                report.groups, report.degenerate_groups
            ),
        ),
        ("gate", gate),
        (
            "weight moved",
            report.weight_moved.map_or("unknown".into(), percent),
        ),
        ("weight stands on", sources.join(", ")),
        (
            "weight scale",
            report
                .weight_scale
                .map_or("unknown".into(), |scale| format!("{scale:.4}")),
        ),
        ("lake version", report.lake_version.to_string()),
        ("shards", args.out.join("data").display().to_string()),
    ];
    let lines = lines.map(|(name, value)| format!("{name:<17}{value}"));
    lines.join("\n")
}

/// What people must know, and what to type next.
fn talk(report: &Report, args: &CurateArgs, printer: &Printer) {
    for (rule, runs) in report.left_out.iter().filter(|(_, runs)| *runs > 0) {
        printer.say(&format!("{runs} runs were left out {rule}"));
    }
    if let Some(why) = &report.no_gate {
        printer.say(why);
    }
    if !report.factors_left_out.is_empty() {
        printer.say(&format!(
            "measured nowhere, hence not in the weights: {}",
            report.factors_left_out.join(", ")
        ));
    }
    if report.degenerate_groups == report.groups {
        printer.say(
            "every group is degenerate, so every advantage is 0: groups need rollouts with different rewards; see [groups] in docs/recipe.md",
        );
    }
    let manifest: serde_json::Value = serde_json::from_str(&report.manifest).unwrap_or_default();
    if let Some(rows @ 1..) = manifest["conversations"]["without_prompt"].as_u64() {
        printer.say(&format!(
            "{rows} rows have an empty prompt: neither a message nor a task stands before the first call"
        ));
    }
    if report.there_already {
        printer.say("the folder holds this very curation already; nothing was written");
    }
    if report.recorded.is_none() {
        printer.say("the lake has this curation already; nothing was recorded");
    }
    let shards = args.out.join("data").join("*.parquet");
    printer.say(&format!(
        "next: python -c \"import datasets; print(datasets.load_dataset('parquet', data_files='{}', split='train'))\"",
        shards.display()
    ));
}

fn one_row(report: &Report) -> anyhow::Result<RecordBatch> {
    let whole = |x: u64| -> ArrayRef {
        Arc::new(Int64Array::from(vec![i64::try_from(x).unwrap_or(i64::MAX)]))
    };
    let number = |x: Option<f64>| -> ArrayRef { Arc::new(Float64Array::from(vec![x])) };
    Ok(RecordBatch::try_from_iter([
        ("rows", whole(report.rows)),
        ("groups", whole(report.groups)),
        ("degenerate_groups", whole(report.degenerate_groups)),
        (
            "gate",
            Arc::new(StringArray::from(vec![report.gate])) as ArrayRef,
        ),
        ("alpha", number(report.constants.map(|c| c.0))),
        ("beta", number(report.constants.map(|c| c.1))),
        ("weight_moved", number(report.weight_moved)),
        ("weight_scale", number(report.weight_scale)),
        (
            "lake_version",
            Arc::new(Int64Array::from(vec![report.lake_version])) as ArrayRef,
        ),
    ])?)
}
