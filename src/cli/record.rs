//! `fidelake record`

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use clap::Args;
use fidelake_core::model::Arm;

use super::import::{ArmArg, MaskArg};
use super::printer::{BYTES, Meter, Printer};
use super::{Global, Status, UsageError};
use crate::dual::record::{
    Journal, Proxy, RecordError, Say, Settings, Totals, Upstream, fold, stdio,
};
use crate::import::{Counts, Report};

/// A fold at the end of a recording waits at least so long for other writers of the lake.
const PATIENCE: u64 = 30;

/// Record what an agent and its MCP server say to each other.
///
/// Put it before the command of a server, or between a client and the address of
/// one: every byte goes through untouched. A copy is kept in the lake's journal
/// and becomes trajectories when the recording ends. See docs/record.md.
#[derive(Debug, Args)]
#[command(
    override_usage = "fidelake record --environment E [OPTIONS] -- COMMAND...\n       \
        fidelake record --environment E [OPTIONS] --listen 127.0.0.1:PORT --to URL\n       \
        fidelake record --fold"
)]
pub(crate) struct RecordArgs {
    /// Environment to store the trajectories under
    #[arg(
        long,
        env = "FIDELAKE_ENVIRONMENT",
        value_name = "NAME",
        required_unless_present = "fold"
    )]
    environment: Option<String>,
    /// Arm to store them under
    #[arg(long, value_enum, env = "FIDELAKE_ARM", default_value = "real")]
    arm: ArmArg,
    /// Name of the trajectory; given again, of the next one of the same recorder.
    /// Two arms are compared where they have the same name
    #[arg(long, env = "FIDELAKE_TRAJECTORY", value_name = "ID")]
    trajectory: Vec<String>,
    /// What to mask when the recording is folded into the lake
    #[arg(long, value_enum, default_value = "secrets")]
    mask: MaskArg,
    /// Listen here for clients of streamable HTTP; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", requires = "to")]
    listen: Option<SocketAddr>,
    /// The MCP endpoint that clients are passed on to
    #[arg(long, value_name = "URL", requires = "listen")]
    to: Option<String>,
    /// Leave the recording in the journal at the end
    #[arg(long)]
    no_fold: bool,
    /// Bring everything that was recorded into the lake, and do nothing else
    #[arg(long, conflicts_with_all = ["command", "listen", "to", "no_fold"])]
    fold: bool,
    /// The server's command and its arguments
    #[arg(
        last = true,
        value_name = "COMMAND",
        required_unless_present_any = ["fold", "listen"],
        conflicts_with = "listen"
    )]
    command: Vec<OsString>,
}

pub(crate) async fn run(
    args: &RecordArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    if args.fold {
        return fold_now(global, printer).await;
    }
    if let Some(empty) = args.trajectory.iter().find(|name| name.trim().is_empty()) {
        anyhow::bail!(UsageError(format!(
            "--trajectory {empty:?}: a name cannot be empty"
        )));
    }
    let settings = Settings {
        environment: args.environment.clone().unwrap_or_default(),
        arm: match args.arm {
            ArmArg::Sim => Arm::Sim,
            ArmArg::Real => Arm::Real,
        },
        trajectories: args.trajectory.clone(),
        mask: args.mask.mode(),
    };
    let say: Say = Box::new(|line| {
        // The client reads standard output: talk never goes there.
        let _ = writeln!(io::stderr(), "fidelake: {line}");
    });
    let upstream = args.to.as_deref().map(Upstream::new).transpose();
    let upstream = upstream.map_err(|error| UsageError(error.to_string()))?;
    let journal = Journal::open(&global.lake, settings, say).map_err(usage)?;
    let recorded = match (args.listen, upstream) {
        (Some(address), Some(upstream)) => serve(address, upstream, &journal, printer).await,
        _ => stdio(&journal, &args.command)
            .await
            .map(Status::Passed)
            .map_err(Into::into),
    };
    journal.close("recorder was stopped");
    let totals = journal.totals();
    if totals.lost > 0 {
        printer.error(&format!(
            "{} messages went through and could not be recorded",
            totals.lost
        ));
    }
    let status = recorded?;
    if totals.runs > 0 {
        conclude(args, global, printer, journal.lake(), &totals).await;
    }
    Ok(status)
}

async fn serve(
    address: SocketAddr,
    upstream: Upstream,
    journal: &Arc<Journal>,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let proxy = Proxy::bind(address, upstream, Arc::clone(journal))?;
    if !address.ip().is_loopback() {
        printer.say(&format!(
            "fidelake: whoever reaches {address} reaches the server behind it"
        ));
    }
    printer.data(&proxy.address())?;
    printer.say("fidelake: recording; Ctrl-C ends it");
    proxy.serve().await?;
    Ok(Status::Done)
}

/// Says what was recorded, and folds it in a process of its own: a client may end
/// ours at any moment, and a write that is cut short keeps every other writer out.
async fn conclude(
    args: &RecordArgs,
    global: &Global,
    printer: &Printer,
    lake: &Path,
    totals: &Totals,
) {
    let words = format!(
        "fidelake: recorded {} in {}",
        counted(totals.calls, "call"),
        counted(totals.runs, "trajectory run")
    );
    let later = format!(
        "`fidelake --lake {} record --fold` brings what is in the journal into the lake",
        lake.display()
    );
    if args.no_fold {
        printer.say(&format!("{words}; {later}"));
        return;
    }
    printer.say(&words);
    if let Err(error) = fold_apart(global, printer, lake).await {
        printer.error(&format!("{error:#}; {later}"));
    }
}

async fn fold_apart(global: &Global, printer: &Printer, lake: &Path) -> anyhow::Result<()> {
    let wait = global.wait.max(PATIENCE).to_string();
    let program = std::env::current_exe()?;
    let child = tokio::process::Command::new(program)
        .arg("--lake")
        .arg(lake)
        .args(["--wait", &wait, "record", "--fold"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Signals to our group are not meant for it.
        .process_group(0)
        .spawn()?;
    let output = tokio::select! {
        output = child.wait_with_output() => output?,
        () = stopped() => {
            printer.say("fidelake: the recording is being brought into the lake in the background");
            return Ok(());
        }
    };
    let said = String::from_utf8_lossy(&output.stdout);
    for line in said.lines() {
        printer.say(&format!("fidelake: {line}"));
    }
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    let why = why.trim().trim_start_matches("fidelake: ");
    anyhow::bail!("the recording stays in the journal: {why}")
}

/// Whoever waits for us to end wants it now.
async fn stopped() {
    use tokio::signal::unix::{SignalKind, signal};

    let mut streams = Vec::new();
    for kind in [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ] {
        streams.extend(signal(kind).ok());
    }
    if streams.is_empty() {
        return std::future::pending().await;
    }
    let waiting = streams.iter_mut().map(|stream| Box::pin(stream.recv()));
    futures::future::select_all(waiting).await;
}

async fn fold_now(global: &Global, printer: &Printer) -> anyhow::Result<Status> {
    let meter = Arc::new(Meter::start(printer, BYTES));
    let folded = fold(&global.lake, global.wait(), Arc::clone(&meter) as _).await;
    meter.finish();
    let folded = folded?;
    let report = sum(&folded.reports);
    super::import::print(&report, printer)?;
    if folded.at_work > 0 {
        printer.say(&format!(
            "{} still at work: runs that have not ended stay in the journal",
            counted(folded.at_work, "recorder")
        ));
    }
    Ok(Status::Done)
}

/// Several imports as one.
fn sum(reports: &[Report]) -> Report {
    let mut all = Report {
        counts: Counts::default(),
        version: None,
        reasons: Vec::new(),
        masked: 0,
    };
    for report in reports {
        all.counts.add(&report.counts);
        all.version = report.version.or(all.version);
        all.reasons.extend(report.reasons.iter().cloned());
        all.masked += report.masked;
    }
    all
}

fn counted(number: u64, what: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {what}{ending}")
}

fn usage(error: RecordError) -> anyhow::Error {
    match error {
        RecordError::Environment(_) => UsageError(error.to_string()).into(),
        other => other.into(),
    }
}
