//! `fidelake curate`

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use clap::Args;

use super::printer::{ITEMS, Meter, Printer};
use super::{AtArgs, Global, Status, UsageError};
use crate::curate::{
    Explanation, Format, Options, Report, RuleLine, Verified, curate, explain, verify,
};
use crate::lake::Lake;
use crate::report::{Extent, OutputFormat, draw_curation, load_curation, safe};

/// Make training shards with fidelity weights.
///
/// Reads runs, rewards and profiles at one lake version, gives every run a
/// weight and an advantage as the recipe says, and writes shards for the trainers
/// that the recipe names, with a README.md and a manifest.json. docs/recipe.md
/// describes recipes, docs/trainers.md what each trainer does with the weight.
///
/// A command that was stopped or killed goes on behind its last finished shard
/// when it is run again.
#[derive(Debug, Args)]
pub(crate) struct CurateArgs {
    /// The recipe (TOML)
    #[arg(value_name = "RECIPE.toml", required_unless_present = "verify")]
    recipe: Option<PathBuf>,
    /// New or empty folder for the shards
    #[arg(long, value_name = "DIR", required_unless_present_any = ["verify", "explain"])]
    out: Option<PathBuf>,
    /// Say what every rule would leave and what would weigh how much; write nothing
    #[arg(long, conflicts_with_all = ["out", "report"])]
    explain: bool,
    /// Also write a page that shows what the recipe did to the data
    #[arg(long, value_name = "FILE.html", conflicts_with = "verify")]
    report: Option<PathBuf>,
    /// Check a folder of shards against its manifest and the lake; exit status 3 if it differs
    #[arg(long, value_name = "DIR", conflicts_with_all = ["recipe", "out", "explain", "version", "at"])]
    verify: Option<PathBuf>,
    /// With --verify: make the shards again and compare the bytes, too
    #[arg(long, requires = "verify")]
    again: bool,
    #[command(flatten)]
    at: AtArgs,
}

pub(crate) async fn run(
    args: &CurateArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    if let Some(folder) = &args.verify {
        return check(folder, args.again, global, printer).await;
    }
    let Some(recipe) = &args.recipe else {
        anyhow::bail!("name a recipe");
    };
    let out = args.out.clone().unwrap_or_default();
    // The folder that is replaced may be the one in which paths are looked for.
    let lake = std::path::absolute(&global.lake)?;
    let page = args.report.as_deref().map(|page| place_of_page(page, &out));
    let page = page.transpose()?;
    let options = Options {
        lake: lake.clone(),
        at: args.at.resolve()?,
        recipe: recipe.clone(),
        output: out.clone(),
        command: format!(
            "fidelake curate {} --out {}",
            recipe.display(),
            out.display()
        ),
        wait: global.wait(),
    };
    if args.explain {
        let explained = explain(&options).await?;
        print_plan(&explained, printer)?;
        talk_rules(&explained.report, printer);
        return Ok(Status::Done);
    }
    let meter = Meter::start(printer, ITEMS);
    let report = curate(&options, &meter).await;
    meter.finish();
    let report = report?;
    if printer.format() == OutputFormat::Table || args.report.is_some() {
        let lake = Lake::open(&lake)?;
        let extent = match &args.report {
            Some(_) => Extent::Whole,
            None => Extent::Summary,
        };
        let curation = load_curation(&lake, Some(&report.curation_id), extent).await?;
        if printer.format() == OutputFormat::Table {
            printer.data(&format!("{}\n", draw_curation(&curation)))?;
        }
        if let Some(page) = &page {
            super::report::write(&curation, page, printer)?;
        }
    }
    print(&report, &out, printer)?;
    talk(&report, &out, printer);
    Ok(Status::Done)
}

/// Where the page goes, looked at before the work and not behind it.
fn place_of_page(page: &Path, out: &Path) -> anyhow::Result<PathBuf> {
    let (page, out) = (std::path::absolute(page)?, std::path::absolute(out)?);
    if page.starts_with(&out) {
        return Err(UsageError(format!(
            "--report {}: the folder of the shards holds what its manifest names and nothing else; put the page beside it",
            page.display()
        ))
        .into());
    }
    if !page.parent().is_some_and(Path::is_dir) || page.is_dir() {
        return Err(UsageError(format!(
            "--report {}: that is no file in a folder that is there",
            page.display()
        ))
        .into());
    }
    Ok(page)
}

async fn check(
    folder: &Path,
    again: bool,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let meter = Meter::start(printer, ITEMS);
    let verified = verify(&global.lake, folder, again, &meter).await;
    meter.finish();
    let verified = verified?;
    match printer.format() {
        OutputFormat::Json => printer.data(&serde_json::to_string_pretty(&verified)?)?,
        OutputFormat::Ndjson => printer.data(&serde_json::to_string(&verified)?)?,
        OutputFormat::Table => printer.data(&verified_table(&verified))?,
        OutputFormat::Csv | OutputFormat::Parquet => {
            let lines: Vec<&str> = verified.differences.iter().map(String::as_str).collect();
            let lines: ArrayRef = Arc::new(StringArray::from(lines));
            printer.batch(&RecordBatch::try_from_iter([("difference", lines)])?)?;
        }
    }
    if verified.differences.is_empty() {
        return Ok(Status::Done);
    }
    printer.say(&format!(
        "{} is not what the lake says: make it again with `fidelake curate` into another folder",
        folder.display()
    ));
    Ok(Status::Gate)
}

fn verified_table(verified: &Verified) -> String {
    let made = if verified.made_again {
        "made again and compared byte by byte"
    } else {
        "not made again (--again does)"
    };
    let mut lines = vec![
        format!("{:<17}{}", "curation", safe(&verified.curation_id)),
        format!("{:<17}{}", "lake version", verified.lake_version),
        format!("{:<17}{}", "rows", verified.rows),
        format!("{:<17}{}", "files compared", verified.files),
        format!("{:<17}{made}", "shards"),
        format!("{:<17}{}", "differences", verified.differences.len()),
    ];
    // The manifest may be anybody's.
    lines.extend(
        verified
            .differences
            .iter()
            .map(|line| format!("  {}", safe(line))),
    );
    lines.join("\n")
}

fn print(report: &Report, out: &Path, printer: &Printer) -> anyhow::Result<()> {
    match printer.format() {
        OutputFormat::Table => printer.data(&table(report, Some(out)))?,
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

fn table(report: &Report, out: Option<&Path>) -> String {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let gate = match report.constants {
        Some((alpha, beta)) => format!("{}, alpha {alpha:.3}, beta {beta:.4}", report.gate),
        None => report.gate.to_owned(),
    };
    let sources = report.weight_by_source.iter();
    let sources: Vec<String> = sources
        .map(|(source, share)| format!("{} {source}", percent(*share)))
        .collect();
    let mut lines = vec![
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
    ];
    if let Some(out) = out {
        lines.push(("shards", shards(report, out)));
    }
    let lines = lines
        .into_iter()
        .map(|(name, value)| format!("{name:<17}{value}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Where the shards are, and in which formats.
fn shards(report: &Report, out: &Path) -> String {
    match report.formats.as_slice() {
        [Format::Mds] => out.display().to_string(),
        [_] => out.join("data").display().to_string(),
        several => {
            let names: Vec<&str> = several.iter().map(|f| f.name()).collect();
            format!("{}: {}", out.display(), names.join(", "))
        }
    }
}

/// The plan with the runs before and after every rule, then what would come of it.
fn print_plan(explained: &Explanation, printer: &Printer) -> anyhow::Result<()> {
    let report = &explained.report;
    match printer.format() {
        OutputFormat::Table => {}
        OutputFormat::Json => {
            printer.data(&serde_json::to_string_pretty(&explained.json)?)?;
            return Ok(());
        }
        OutputFormat::Ndjson => return Ok(printer.data(&explained.json.to_string())?),
        OutputFormat::Csv | OutputFormat::Parquet => return Ok(printer.batch(&rules(report)?)?),
    }
    let mut lines = vec![format!(
        "{:<32}{:>10}{:>10}{:>10}  ",
        "rule", "runs in", "out", "kept"
    )];
    for RuleLine {
        rule,
        runs_in: before,
        runs_out: after,
        note,
    } in &report.rules
    {
        let line = format!(
            "{rule:<32}{before:>10}{:>10}{after:>10}  {note}",
            before - after
        );
        lines.push(line.trim_end().to_owned());
    }
    lines[0] = lines[0].trim_end().to_owned();
    lines.push(String::new());
    lines.push(table(report, None));
    lines.push(format!("{:<17}{}", "rewards", explained.judge));
    if explained.splits.len() > 1 {
        let splits = explained
            .splits
            .iter()
            .map(|(name, rows)| format!("{rows} {name}"));
        lines.push(format!(
            "{:<17}{}",
            "split",
            splits.collect::<Vec<_>>().join(", ")
        ));
    }
    for (at, stratum) in explained.strata.iter().enumerate() {
        let name = if at == 0 { "difficulty" } else { "" };
        lines.push(format!("{name:<17}{stratum}"));
    }
    printer.data(&lines.join("\n"))?;
    printer.say("nothing was written; `fidelake curate RECIPE.toml --out DIR` writes the shards");
    Ok(())
}

fn rules(report: &Report) -> anyhow::Result<RecordBatch> {
    let whole = |of: fn(&RuleLine) -> u64| -> ArrayRef {
        let values = report.rules.iter().map(of);
        let values = values.map(|runs| i64::try_from(runs).unwrap_or(i64::MAX));
        Arc::new(Int64Array::from_iter_values(values))
    };
    let text = |of: fn(&RuleLine) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(report.rules.iter().map(of)))
    };
    Ok(RecordBatch::try_from_iter([
        ("rule", text(|rule| &rule.rule)),
        ("runs_in", whole(|rule| rule.runs_in)),
        ("runs_out", whole(|rule| rule.runs_out)),
        ("note", text(|rule| &rule.note)),
    ])?)
}

/// What people must know of the rules, whether shards are written or not.
fn talk_rules(report: &Report, printer: &Printer) {
    for (rule, runs) in report.left_out.iter().filter(|(_, runs)| *runs > 0) {
        printer.say(&format!("{runs} runs were left out {rule}"));
    }
    if let Some((repaired, below)) = report.repaired {
        printer.say(&format!(
            "{repaired} of {below} runs below the threshold of [repair] were repaired with real answers; manifest.json says why the others were not"
        ));
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
    const CHOOSING: [&str; 5] = [
        "[licenses]",
        "[[holdout]]",
        "[duplicates]",
        "[[quota]]",
        "[diversity]",
    ];
    for line in &report.rules {
        let left_out = line.runs_in - line.runs_out;
        if left_out > 0 && CHOOSING.iter().any(|name| line.rule.starts_with(name)) {
            printer.say(&format!("{left_out} runs were left out by {}", line.rule));
        }
    }
    for warning in &report.warnings {
        printer.say(warning);
    }
}

/// What people must know, and what to type next.
fn talk(report: &Report, out: &Path, printer: &Printer) {
    talk_rules(report, printer);
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
    printer.say(&next(report, out));
}

/// How the first format is read.
fn next(report: &Report, out: &Path) -> String {
    let several = report.formats.len() > 1;
    let Some(format) = report.formats.first() else {
        return String::new();
    };
    let folder = if several {
        out.join(format.name())
    } else {
        out.to_owned()
    };
    match format {
        // The folder's card names the files of each part.
        Format::Parquet => {
            let python = format!(
                "import datasets; print(datasets.load_dataset({}))",
                serde_json::Value::from(folder.display().to_string())
            );
            format!("next: python -c {}", shell_word(&python))
        }
        _ => format!(
            "next: {} and docs/trainers.md say how {} reads them",
            folder.join("README.md").display(),
            format.name()
        ),
    }
}

/// A word of a shell, whatever is in it.
fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
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
