//! `fidelake probe`

use std::path::PathBuf;

use clap::Args;

use super::mine::usage;
use super::printer::Printer;
use super::{Global, Status};
use crate::engine::Engine;
use crate::lake::{At, Lake};
use crate::patterns::{ProbeReport, ProbeRequest, ProbeRow, probe};
use crate::report::OutputFormat;

/// Make calls that look closer at a pattern, and the plan that runs them.
///
/// Recorded calls that real was never asked and that look on sim as the pattern's do are made on
/// both arms; calls of the pattern are made again with changed arguments (values seen elsewhere,
/// edges of the schema, undeclared and missing parameters), twice, and between reads. TEMPLATE is
/// a plan of `fidelake dual run`: its environments, arms and limits are taken, and no call is
/// planned that it does not permit on real. Without it the probes are only shown.
#[derive(Debug, Args)]
pub(crate) struct ProbeArgs {
    /// The pattern (the beginning of an id is enough)
    #[arg(value_name = "PATTERN")]
    pattern: String,
    /// A plan that says where and how calls are made (TOML)
    #[arg(value_name = "TEMPLATE.toml")]
    template: Option<PathBuf>,
    /// Real calls to spend, prefixes and repeats included
    #[arg(long, value_name = "N", default_value_t = 100)]
    budget: u64,
    /// Name of the plan (default: probe-PATTERN)
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Seed of the draws
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

pub(crate) async fn run(
    args: &ProbeArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let lake = Lake::open(&global.lake)?;
    let engine = Engine::open(&lake, &At::Newest).await?;
    let request = ProbeRequest {
        pattern: args.pattern.clone(),
        template: args.template.clone(),
        budget: args.budget,
        name: args.name.clone(),
        seed: args.seed,
    };
    let report = probe(&engine, &request).await.map_err(usage)?;
    let places = (printer.format() == OutputFormat::Table).then_some(5);
    printer.batch(&ProbeRow::batch(&report.probes, places)?)?;
    say(&report, args, printer)
}

fn say(report: &ProbeReport, args: &ProbeArgs, printer: &Printer) -> anyhow::Result<Status> {
    printer.say(&format!(
        "probes of {}: {}",
        report.pattern.pattern_id, report.pattern.name
    ));
    if !report.schema {
        printer.say("no parameters of its tools are declared: values come from earlier calls only, and an undeclared parameter cannot be told from a declared one");
    }
    if report.known > 0 {
        printer.say(&format!(
            "{} are left out: made twice, or answered by real before",
            report.known
        ));
    }
    if report.masked > 0 {
        printer.say(&format!("{} calls of the pattern cannot be made again: arguments of theirs, or of a call before, are masked", report.masked));
    }
    for (tool, probes) in &report.refused {
        printer.say(&format!(
            "{probes} are refused: the template does not permit {tool} on real ([real] reads or allow permits a tool)"
        ));
    }
    if report.beyond > 0 {
        printer.say(&format!(
            "{} more are beyond the budget of {} real calls",
            report.beyond, args.budget
        ));
    }
    if report.probes.is_empty() {
        printer.error("no probe is left to make");
        return Ok(Status::Gate);
    }
    let total = format!("{} probes, {} real calls", report.probes.len(), report.cost);
    match &report.plan {
        Some(path) => {
            let wait = if report.seconds >= 1.0 {
                format!(", at least {:.0} s by the rate limit", report.seconds)
            } else {
                String::new()
            };
            printer.say(&format!("{total}{wait}"));
            printer.say(&format!(
                "written: {}; next: fidelake dual run {} && fidelake profile && fidelake mine",
                path.display(),
                path.display()
            ));
        }
        None => printer.say(&format!(
            "{total}, each run once; give a TEMPLATE.toml to write the plan that runs them"
        )),
    }
    Ok(Status::Done)
}
