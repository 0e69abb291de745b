//! `fidelake dual`

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use clap::{Args, Subcommand, ValueEnum};

use super::printer::{ITEMS, Meter, Printer};
use super::{Global, Status, UsageError};
use crate::dual::{
    ArmStatus, DryCall, DryRun, DualError, Plan, PlanStatus, Report, Switches, dry_run, forget,
    run as run_plan, status,
};
use crate::env::EnvError;
use crate::env::replay::{CheckRow, Replay, THRESHOLD, check};
use crate::report::OutputFormat;

/// Run the same calls on both arms, and see where a plan stands.
#[derive(Debug, Args)]
pub(crate) struct DualArgs {
    #[command(subcommand)]
    command: DualCommand,
}

#[derive(Debug, Subcommand)]
enum DualCommand {
    /// Run a plan, or go on with it
    Run(RunArgs),
    /// Show where a plan stands
    Status(StatusArgs),
    /// Forget a plan, with the payloads that it keeps
    Drop(DropArgs),
    /// Show how well a replay of the lake would answer
    ReplayCheck(ReplayArgs),
}

/// Run a plan, or go on with it.
///
/// Every call is counted before it is sent; calls of the real arm never exceed
/// the plan's budget, whatever is killed when. Started again, the same command
/// goes on where the last one ended. docs/dual.md describes plans.
#[derive(Debug, Args)]
struct RunArgs {
    /// The plan (TOML)
    #[arg(value_name = "PLAN.toml")]
    plan: PathBuf,
    /// Print the calls and their cost; start nothing
    #[arg(long)]
    dry_run: bool,
    /// Take argument values that came from earlier results from the live ones
    #[arg(long)]
    rebind: bool,
    /// Repeat chosen calls, in place and in a fresh state, and record what changes
    #[arg(long, value_enum, value_name = "WHAT")]
    probe: Option<Probe>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Probe {
    Idempotency,
}

/// Show where a plan stands.
#[derive(Debug, Args)]
struct StatusArgs {
    /// The plan's file, or its name
    #[arg(value_name = "PLAN")]
    plan: PathBuf,
}

/// Forget a plan, with the payloads that it keeps.
///
/// Runs that are in the lake stay there, and what the plan spent stays counted
/// under its name.
#[derive(Debug, Args)]
struct DropArgs {
    /// The plan's file, or its name
    #[arg(value_name = "PLAN")]
    plan: PathBuf,
}

/// Show how well a replay of the lake would answer.
///
/// Asks every recorded call of the others, without the call's own trajectory:
/// how many are found exactly, how many by near arguments, how many not at all,
/// and how far what is found is from what was really answered.
#[derive(Debug, Args)]
struct ReplayArgs {
    /// Environment in the lake
    #[arg(value_name = "ENVIRONMENT")]
    environment: String,
    /// A further condition over `runs`, such as "arm = 'real'"
    #[arg(long = "where", value_name = "SQL")]
    filter: Option<String>,
    /// Tools that change nothing
    #[arg(long, value_name = "TOOL,...", value_delimiter = ',')]
    reads: Vec<String>,
    /// Largest distances of arguments to try
    #[arg(long, value_name = "X,...", value_delimiter = ',', default_values_t = [0.1, THRESHOLD, 0.5])]
    threshold: Vec<f64>,
}

pub(crate) async fn run(
    args: &DualArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    match &args.command {
        DualCommand::Run(args) => run_command(args, global, printer).await,
        DualCommand::Status(args) => status_command(args, global, printer).await,
        DualCommand::Drop(args) => {
            let name = plan_name(&args.plan)?;
            forget(&global.lake, &name).await?;
            printer.data(&format!(
                "plan {name} is forgotten; its runs in the lake stay"
            ))?;
            Ok(Status::Done)
        }
        DualCommand::ReplayCheck(args) => replay_command(args, global, printer).await,
    }
}

fn read(args: &RunArgs) -> anyhow::Result<Plan> {
    let switches = Switches {
        rebind: args.rebind,
        probe: args.probe.is_some(),
    };
    Plan::read(&args.plan, switches).map_err(usage)
}

/// A mistake in the plan, or in what it names, is a wrong use.
fn usage(error: DualError) -> anyhow::Error {
    match error {
        DualError::Plan { .. }
        | DualError::Trajectories { .. }
        | DualError::Io { .. }
        | DualError::Env(EnvError::Description { .. }) => UsageError(error.to_string()).into(),
        other => other.into(),
    }
}

async fn run_command(args: &RunArgs, global: &Global, printer: &Printer) -> anyhow::Result<Status> {
    let plan = read(args)?;
    if args.dry_run {
        let found = dry_run(&plan, &global.lake).await.map_err(usage)?;
        print_dry(&found, printer)?;
        return Ok(Status::Done);
    }
    let meter = Arc::new(Meter::start(printer, ITEMS));
    let report = run_plan(plan, &global.lake, global.wait(), Arc::clone(&meter) as _).await;
    meter.finish();
    let report = report.map_err(usage)?;
    print(&report, printer)?;
    let failed = report.left > 0 || report.fold_failed.is_some() || report.rejected > 0;
    Ok(
        match report.refused.trajectories + report.cut_short + report.unanswered {
            _ if failed => Status::Failed,
            0 => Status::Done,
            _ => Status::Gate,
        },
    )
}

fn print(report: &Report, printer: &Printer) -> anyhow::Result<()> {
    let json = serde_json::json!({
        "done": report.done,
        "left": report.left,
        "in_lake": report.folded,
        "refused_trajectories": report.refused.trajectories,
        "cut_short": report.cut_short,
        "unanswered": report.unanswered,
        "rejected": report.rejected,
    });
    match printer.format() {
        OutputFormat::Table => printer.data(&format!(
            "{} runs done, {} left; {} came into the lake",
            report.done, report.left, report.folded
        ))?,
        OutputFormat::Json => printer.data(&serde_json::to_string_pretty(&json)?)?,
        OutputFormat::Ndjson => printer.data(&json.to_string())?,
        OutputFormat::Csv | OutputFormat::Parquet => {
            let (schema, batch) = super::log::one_row(&json)?;
            printer.batches(&schema, &[batch])?;
        }
    }
    if report.nothing_new {
        printer.say("everything was done before");
    }
    if report.masked > 0 {
        printer.say(&format!("{} secrets were masked", report.masked));
    }
    if report.masked_arguments > 0 {
        printer.say(&format!(
            "{} trajectories were left out: their arguments were masked when they were imported",
            report.masked_arguments
        ));
    }
    if report.refused.trajectories > 0 {
        printer.say(&format!(
            "{} trajectories call tools that may change something on the real arm and are not permitted; [real] allow = [...] permits a tool, reads = [...] says that it changes nothing:",
            report.refused.trajectories
        ));
        for (tool, trajectories) in &report.refused.tools {
            printer.say(&format!("  {tool} ({trajectories})"));
        }
    }
    if report.cut_short + report.unanswered > 0 {
        printer.say(&format!(
            "of all runs of the plan {} ended before their last call, and {} calls got no answer that can be read: `fault` in table `ledger`, `termination` in `runs`",
            report.cut_short, report.unanswered
        ));
    }
    for (name, why) in &report.failed {
        printer.error(&format!("environment {name} failed: {why}"));
    }
    if report.no_budget {
        printer.error("the budget does not reach for the runs that are left; a larger `budget` in the plan lets them run");
    }
    if report.rejected > 0 {
        printer.error(&format!(
            "{} runs were refused by the import; they stand in table `rejected` with the reason",
            report.rejected
        ));
    }
    if let Some(why) = &report.fold_failed {
        printer.error(&format!(
            "finished runs wait in the journal, nothing is lost: {why}"
        ));
    }
    if report.left > 0 || report.fold_failed.is_some() {
        printer.say("run the same command again to go on");
    }
    Ok(())
}

fn print_dry(found: &DryRun, printer: &Printer) -> anyhow::Result<()> {
    printer.batch(&dry_rows(&found.calls)?)?;
    let mut words = vec![format!(
        "{} runs, {} calls, {} of them on the real arm",
        found.runs,
        found.calls.len(),
        found.real_calls
    )];
    if let Some(left) = found.real_budget {
        words.push(format!("{left} left in its budget"));
    }
    if found.seconds > 0.0 {
        words.push(format!(
            "at least {:.0} s by the rate limits",
            found.seconds
        ));
    }
    printer.say(&words.join("; "));
    if found
        .real_budget
        .is_some_and(|left| u64::try_from(left).is_ok_and(|left| left < found.real_calls))
    {
        printer.say("the budget does not reach: some runs will be left");
    }
    if !found.unsettled.is_empty() {
        printer.say(&format!(
            "the plan does not permit on the real arm: {}; they are refused unless the environment declares that they change nothing",
            found.unsettled.join(", ")
        ));
    }
    if !found.refused.is_empty() {
        printer.say(&format!(
            "nothing permits {}: trajectories that call them are refused; [real] allow = [...] permits a tool, reads = [...] says that it changes nothing",
            found.refused.join(", ")
        ));
    }
    printer.say("retries, repeats of calls in doubt and prefixes that are made again count as well; nothing was started");
    Ok(())
}

fn dry_rows(calls: &[DryCall]) -> anyhow::Result<RecordBatch> {
    let text = |of: fn(&DryCall) -> &str| -> ArrayRef {
        Arc::new(
            calls
                .iter()
                .map(|call| Some(of(call)))
                .collect::<StringArray>(),
        )
    };
    let number = |of: fn(&DryCall) -> i32| -> ArrayRef {
        Arc::new(
            calls
                .iter()
                .map(|call| Some(of(call)))
                .collect::<Int32Array>(),
        )
    };
    Ok(RecordBatch::try_from_iter([
        ("environment", text(|call| &call.environment)),
        ("trajectory_id", text(|call| &call.trajectory_id)),
        ("arm", text(|call| call.arm)),
        ("repeat", number(|call| call.repeat)),
        ("turn", number(|call| call.turn)),
        ("index", number(|call| call.index)),
        ("name", text(|call| &call.name)),
        ("arguments", text(|call| &call.arguments)),
        ("permitted_by", text(|call| call.permitted_by)),
    ])?)
}

/// The name of a plan, given by its file or by itself.
fn plan_name(plan: &Path) -> anyhow::Result<String> {
    if !plan.is_file() {
        return Ok(plan.display().to_string());
    }
    let text = std::fs::read_to_string(plan)?;
    let table: toml::Table = text
        .parse()
        .map_err(|e: toml::de::Error| UsageError(format!("{}: {}", plan.display(), e.message())))?;
    let name = table.get("name").and_then(toml::Value::as_str);
    let name = name.map(str::to_owned);
    Ok(name.ok_or_else(|| UsageError(format!("{}: a plan has a `name`", plan.display())))?)
}

async fn status_command(
    args: &StatusArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let name = plan_name(&args.plan)?;
    let plans = status(&global.lake, &name).await?;
    printer.batch(&status_rows(&plans)?)?;
    for plan in &plans {
        for doubt in &plan.doubts {
            printer.say(&format!(
                "in doubt: call {} of {} on {} ({}), {}",
                doubt.seq, plan.plan_id, doubt.arm, doubt.fault, doubt.name
            ));
        }
        if plan.payload_bytes > 0 {
            printer.say(&format!(
                "{} bytes of payloads of {} stand in the journal, not masked",
                plan.payload_bytes, plan.plan_id
            ));
        }
    }
    Ok(Status::Done)
}

fn status_rows(plans: &[PlanStatus]) -> anyhow::Result<RecordBatch> {
    let arms: Vec<&ArmStatus> = plans.iter().flat_map(|plan| &plan.arms).collect();
    let text = |of: fn(&ArmStatus) -> &str| -> ArrayRef {
        Arc::new(
            arms.iter()
                .map(|arm| Some(of(arm)))
                .collect::<StringArray>(),
        )
    };
    let number = |of: fn(&ArmStatus) -> Option<i64>| -> ArrayRef {
        Arc::new(arms.iter().map(|arm| of(arm)).collect::<Int64Array>())
    };
    Ok(RecordBatch::try_from_iter_with_nullable([
        ("plan_id", text(|arm| &arm.plan_id), false),
        ("arm", text(|arm| &arm.arm), false),
        ("runs", number(|arm| Some(arm.runs)), false),
        ("in_lake", number(|arm| Some(arm.in_lake)), false),
        ("finished", number(|arm| Some(arm.finished)), false),
        ("running", number(|arm| Some(arm.running)), false),
        ("cut", number(|arm| Some(arm.cut)), false),
        ("pending", number(|arm| Some(arm.pending)), false),
        ("refused", number(|arm| Some(arm.refused)), false),
        ("calls", number(|arm| Some(arm.calls)), false),
        ("answered", number(|arm| Some(arm.answered)), false),
        ("in_doubt", number(|arm| Some(arm.in_doubt)), false),
        ("not_sent", number(|arm| Some(arm.not_sent)), false),
        ("spent", number(|arm| Some(arm.spent)), false),
        ("budget", number(|arm| arm.budget), true),
    ])?)
}

async fn replay_command(
    args: &ReplayArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let replay = Replay {
        environment: args.environment.clone(),
        r#where: args.filter.clone(),
        reads: args.reads.iter().cloned().collect(),
        ..Replay::default()
    };
    let rows = check(&global.lake, &replay, &args.threshold)
        .await
        .map_err(anyhow::Error::msg)?;
    let count = |of: fn(&CheckRow) -> u64| -> ArrayRef {
        let numbers = rows.iter().map(|row| i64::try_from(of(row)).ok());
        Arc::new(numbers.collect::<Int64Array>())
    };
    let number = |of: fn(&CheckRow) -> f64| -> ArrayRef {
        Arc::new(
            rows.iter()
                .map(|row| Some(of(row)))
                .collect::<Float64Array>(),
        )
    };
    printer.batch(&RecordBatch::try_from_iter([
        ("threshold", number(|row| row.threshold)),
        ("calls", count(|row| row.calls)),
        ("exact_place", count(|row| row.exact_place)),
        ("exact_call", count(|row| row.exact_call)),
        ("near", count(|row| row.near)),
        ("missed", count(|row| row.missed)),
        ("gap_exact", number(|row| row.gap_exact)),
        ("gap_near", number(|row| row.gap_near)),
        ("near_equal", count(|row| row.near_equal)),
        ("distance_near", number(|row| row.distance_near)),
    ])?)?;
    Ok(Status::Done)
}
