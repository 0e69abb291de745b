//! `fidelake mine`

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use clap::{Args, ValueEnum};
use fidelake_core::patterns::Method;

use super::printer::{ITEMS, Meter, Printer};
use super::{Global, Status, UsageError};
use crate::engine::Engine;
use crate::lake::{At, Lake};
use crate::patterns::{MineReport, MineRequest, PatternError, SequenceRow, frequent, mine};
use crate::report::OutputFormat;

/// Find what the simulator gets wrong again and again.
///
/// Calls at which the arms differ are clustered by what differs there; each cluster that is
/// more than the arms' own noise becomes a pattern, with a rule in SQL over view
/// `pattern_features`. Tables `patterns` and `pattern_members`; docs/patterns.md.
#[derive(Debug, Args)]
pub(crate) struct MineArgs {
    /// Only this environment
    #[arg(long, value_name = "NAME")]
    environment: Option<String>,
    /// A condition on the calls over view pattern_features, such as "api LIKE 'get_%'"
    #[arg(long = "where", value_name = "SQL")]
    filter: Option<String>,
    /// Leave out patterns of a smaller mean gap, 0 to 1
    #[arg(long, value_name = "GAP", default_value_t = 0.02)]
    min_gap: f64,
    /// Leave out patterns (and sequences) of fewer calls
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(2..))]
    min_calls: u64,
    /// How calls are clustered; auto takes the method and setting of the best silhouette
    #[arg(long, value_enum, default_value_t)]
    method: MethodWord,
    /// Seed: which trajectories are held out to test the rules
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    seed: u64,
    /// Show frequent sequences of calls that end in a low-fidelity call instead; nothing is written
    #[arg(long)]
    sequences: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum MethodWord {
    #[default]
    Auto,
    Kmeans,
    Mixture,
    Dbscan,
}

impl MethodWord {
    fn methods(self) -> Vec<Method> {
        match self {
            Self::Auto => Method::ALL.to_vec(),
            Self::Kmeans => vec![Method::KMeans],
            Self::Mixture => vec![Method::Mixture],
            Self::Dbscan => vec![Method::Dbscan],
        }
    }
}

pub(crate) async fn run(
    args: &MineArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    if !(0.0..=1.0).contains(&args.min_gap) {
        anyhow::bail!(UsageError(format!(
            "--min-gap {}: a gap lies between 0 and 1",
            args.min_gap
        )));
    }
    let mut command = format!("fidelake mine --seed {}", args.seed);
    if let Some(environment) = &args.environment {
        command.push_str(&format!(" --environment {environment}"));
    }
    if let Some(filter) = &args.filter {
        command.push_str(&format!(" --where \"{filter}\""));
    }
    let request = MineRequest {
        condition: args.filter.clone(),
        environment: args.environment.clone(),
        min_gap: args.min_gap,
        min_calls: args.min_calls,
        methods: args.method.methods(),
        seed: args.seed,
        command,
    };
    if args.sequences {
        return sequences(&request, global, printer).await;
    }
    let (mut lake, guard) = Lake::open_for_writing(&global.lake, global.wait()).await?;
    let meter = Meter::start(printer, ITEMS);
    let report = mine(&mut lake, guard, &request, &meter).await;
    meter.finish();
    let report = report.map_err(usage)?;
    match printer.format() {
        OutputFormat::Json | OutputFormat::Ndjson => {
            printer.data(&serde_json::to_string(&report)?)?
        }
        format => printer.batch(&batch(&report, format == OutputFormat::Table)?)?,
    }
    say(&report, printer);
    Ok(Status::Done)
}

async fn sequences(
    request: &MineRequest,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let lake = Lake::open(&global.lake)?;
    let engine = Engine::open(&lake, &At::Newest).await?;
    let rows = frequent(&engine, request).await.map_err(usage)?;
    if rows.is_empty() {
        printer.say(&format!(
            "no sequence of calls was made {} times (--min-calls) and ends in a call of gap {} or more",
            request.min_calls, request.min_gap
        ));
    }
    let places = (printer.format() == OutputFormat::Table).then_some(4);
    printer.batch(&SequenceRow::batch(&rows, places)?)?;
    Ok(Status::Done)
}

fn batch(report: &MineReport, rounded: bool) -> anyhow::Result<RecordBatch> {
    let rows = &report.patterns;
    let scale = |x: f64| if rounded { (x * 1e4).round() / 1e4 } else { x };
    let words = |values: Vec<&str>| -> ArrayRef { Arc::new(StringArray::from(values)) };
    let counts = |values: Vec<u64>| -> ArrayRef {
        Arc::new(
            values
                .into_iter()
                .map(|n| i64::try_from(n).ok())
                .collect::<Int64Array>(),
        )
    };
    let numbers = |values: Vec<Option<f64>>| -> ArrayRef {
        Arc::new(
            values
                .into_iter()
                .map(|x| x.map(scale))
                .collect::<Float64Array>(),
        )
    };
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "pattern_id",
            words(rows.iter().map(|r| r.pattern_id.as_str()).collect()),
        ),
        ("family", words(rows.iter().map(|r| r.family).collect())),
        (
            "name",
            words(rows.iter().map(|r| r.name.as_str()).collect()),
        ),
        ("status", words(rows.iter().map(|r| r.status).collect())),
        ("calls", counts(rows.iter().map(|r| r.calls).collect())),
        (
            "trajectories",
            counts(rows.iter().map(|r| r.trajectories).collect()),
        ),
        ("gap", numbers(rows.iter().map(|r| Some(r.gap)).collect())),
        (
            "share_gap",
            numbers(rows.iter().map(|r| Some(r.share_gap)).collect()),
        ),
        (
            "root_share",
            numbers(rows.iter().map(|r| Some(r.causes[0])).collect()),
        ),
        (
            "precision",
            numbers(rows.iter().map(|r| r.precision).collect()),
        ),
        ("recall", numbers(rows.iter().map(|r| r.recall).collect())),
    ];
    let all = columns
        .into_iter()
        .map(|(name, column)| (name, column, true));
    Ok(RecordBatch::try_from_iter_with_nullable(all)?)
}

fn say(report: &MineReport, printer: &Printer) {
    printer.say(&format!(
        "{} calls differ, of {} kinds; clustered by {} ({}), silhouette {:.3}; {} calls belong to no cluster",
        report.differing, report.kinds, report.method, report.setting, report.score, report.noise
    ));
    if report.patterns.is_empty() {
        printer.say("no pattern was found");
    }
    for name in &report.refuted {
        printer.say(&format!("no more than noise, and left out: {name}"));
    }
    if report.small > 0 {
        printer.say(&format!(
            "{} clusters of a smaller gap are left out (--min-gap)",
            report.small
        ));
    }
    if report.undescribed > 0 {
        printer.say(&format!(
            "{} clusters are left out: no rule tells them from the other calls",
            report.undescribed
        ));
    }
    if report.beyond > 0 {
        printer.say(&format!(
            "{} more clusters of the smallest parts of the gap are left out",
            report.beyond
        ));
    }
    let unconfirmed = report
        .patterns
        .iter()
        .filter(|p| p.status == "unconfirmed")
        .count();
    if unconfirmed > 0 {
        printer.say(&format!(
            "{unconfirmed} patterns are unconfirmed: they stand in too few trajectories, or nothing was repeated, so they could be noise; repeat both arms (`repeats = 2` in a plan of `fidelake dual run`)"
        ));
    }
    if report.unknown_schema > 0 {
        printer.say(&format!(
            "{} of the calls could not be held against a catalog: no parameters of their tools are declared",
            report.unknown_schema
        ));
    }
    if report.written {
        printer.say(&format!(
            "lake version {}; `fidelake patterns ID` shows one with its rule",
            report.lake_version
        ));
    } else {
        printer.say("everything is as the last run of mine left it: nothing was written");
    }
}

/// What the user can mend has exit code 2.
pub(super) fn usage(error: PatternError) -> anyhow::Error {
    if error.is_usage() {
        UsageError(error.to_string()).into()
    } else {
        error.into()
    }
}
