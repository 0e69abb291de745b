//! `fidelake import`

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use fidelake_core::mask::Mode;
use fidelake_core::model::Arm;

use super::printer::{BYTES, Meter, Printer};
use super::{Global, Status, UsageError};
use crate::formats::Format;
use crate::import::{ImportError, OnConflict, Options, Report, import};
use crate::report::OutputFormat;

#[derive(Clone, Copy, Debug, ValueEnum)]
enum From {
    Auto,
    Native,
    Tau,
    Tau2,
    Openai,
    McpWire,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ArmArg {
    Sim,
    Real,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum MaskArg {
    Off,
    Secrets,
    All,
}

impl MaskArg {
    pub(super) const fn mode(self) -> Mode {
        match self {
            Self::Off => Mode::Off,
            Self::Secrets => Mode::Secrets,
            Self::All => Mode::All,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ConflictArg {
    Reject,
    NextRepeat,
}

/// Get trajectories from files into the lake.
///
/// Reads plain, gzip and zstd files of any size. Every record is imported,
/// counted as a duplicate, or kept in table `rejected` with its place and the
/// reason. An interrupted import goes on when the same command is run again.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Files, folders or patterns; `-` reads standard input
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Format of the files
    #[arg(long, value_enum, default_value = "auto")]
    from: From,
    /// Environment to store them under, instead of what they say
    #[arg(long, value_name = "NAME")]
    environment: Option<String>,
    /// Arm to store them under, instead of what they say
    #[arg(long, value_enum)]
    arm: Option<ArmArg>,
    /// What to mask before anything is written: keys, tokens and passwords
    /// (secrets), or e-mail addresses and phone numbers as well (all)
    #[arg(long, value_enum, default_value = "secrets")]
    mask: MaskArg,
    /// What to do with a run that is there already with another content
    #[arg(long, value_enum, default_value = "reject")]
    on_conflict: ConflictArg,
}

pub(crate) async fn run(
    args: &ImportArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let options = Options {
        paths: args.paths.clone(),
        format: match args.from {
            From::Auto => None,
            From::Native => Some(Format::Native),
            From::Tau => Some(Format::Tau),
            From::Tau2 => Some(Format::Tau2),
            From::Openai => Some(Format::OpenAi),
            From::McpWire => Some(Format::McpWire),
        },
        environment: args.environment.clone(),
        arm: args.arm.map(|arm| match arm {
            ArmArg::Sim => Arm::Sim,
            ArmArg::Real => Arm::Real,
        }),
        mask: args.mask.mode(),
        on_conflict: match args.on_conflict {
            ConflictArg::Reject => OnConflict::Reject,
            ConflictArg::NextRepeat => OnConflict::NextRepeat,
        },
        command: command(&args.paths),
    };
    let meter = Arc::new(Meter::start(printer, BYTES));
    let report = import(
        &global.lake,
        &options,
        global.wait(),
        Arc::clone(&meter) as _,
    )
    .await;
    meter.finish();
    let report = report.map_err(|error| match error {
        ImportError::Environment(_) => UsageError(error.to_string()).into(),
        other => anyhow::Error::from(other),
    })?;
    print(&report, printer)?;
    let counts = &report.counts;
    if counts.rejected > 0 && counts.rejected == counts.records {
        printer.say("not one record could be imported");
        return Ok(Status::Failed);
    }
    Ok(Status::Done)
}

/// What `fidelake log` and an error message say was typed.
fn command(paths: &[PathBuf]) -> String {
    const SHOWN: usize = 3;
    let mut words = vec!["fidelake import".to_owned()];
    words.extend(
        paths
            .iter()
            .take(SHOWN)
            .map(|path| path.display().to_string()),
    );
    if paths.len() > SHOWN {
        words.push(format!("... ({} paths)", paths.len()));
    }
    words.join(" ")
}

pub(super) fn print(report: &Report, printer: &Printer) -> anyhow::Result<()> {
    let counts = &report.counts;
    let json = serde_json::to_value(counts)?;
    match printer.format() {
        OutputFormat::Json => printer.data(&serde_json::to_string_pretty(&json)?)?,
        OutputFormat::Ndjson => printer.data(&json.to_string())?,
        OutputFormat::Csv | OutputFormat::Parquet => {
            let (schema, batch) = super::log::one_row(&json)?;
            printer.batches(&schema, &[batch])?;
        }
        OutputFormat::Table => {
            let mut lines = vec![format!(
                "{} records read from {} {}: {} imported, {} duplicates, {} rejected",
                counts.records,
                counts.files,
                if counts.files == 1 { "file" } else { "files" },
                counts.imported,
                counts.duplicates,
                counts.rejected
            )];
            lines.push(format!(
                "{} new trajectories, {} runs, {} messages, {} calls, {} observations, {} verdicts",
                counts.trajectories,
                counts.runs,
                counts.messages,
                counts.calls,
                counts.observations,
                counts.verdicts
            ));
            match report.version {
                Some(version) => lines.push(format!("lake version {version}")),
                None => lines.push("nothing was new; the lake stays as it is".into()),
            }
            printer.data(&lines.join("\n"))?;
        }
    }
    if report.masked > 0 {
        printer.say(&format!("{} secrets were masked", report.masked));
    }
    for (reason, message, times) in report.reasons.iter().take(5) {
        printer.say(&format!("rejected {times} x {reason}: {message}"));
    }
    if report.reasons.len() > 5 {
        printer.say(&format!(
            "and {} more kinds of rejection",
            report.reasons.len() - 5
        ));
    }
    if counts.rejected > 0 {
        printer.say("rejected records stand in table `rejected` with file, line, reason and text");
    }
    Ok(())
}
