//! The command line: one file per subcommand, each returning an exit status.
//!
//! Data goes to standard output, talk to standard error. A closed pipe is success.

mod augment;
mod compact;
mod curate;
mod dual;
mod estimate;
mod export;
mod functions;
mod graph;
mod import;
mod learn;
mod log;
mod mine;
mod monitor;
mod patterns;
mod perturb;
mod plan;
mod printer;
mod probe;
mod profile;
mod randomize;
mod record;
mod repair;
mod report;
mod schema;
mod serve;
mod shell;
mod show;
mod simulate;
mod simulate_budget;
mod slice;
mod sql;
mod vacuum;
mod validate;
mod whole;
mod why;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::lake::At;
use crate::report::{OutputError, OutputFormat};
use printer::Printer;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Done.
    Done,
    /// Failed.
    Failed,
    /// Called in a wrong way.
    Usage,
    /// Done, but a gate says no.
    Gate,
    /// As the command ended that this one stood before.
    Passed(u8),
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(match status {
            Status::Done => 0,
            Status::Failed => 1,
            Status::Usage => 2,
            Status::Gate => 3,
            Status::Passed(code) => code,
        })
    }
}

const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("FIDELAKE_COMMIT"),
    ")"
);

/// How far does the simulator that agents were trained in differ from the real
/// world, where, and what should be done with the training data because of it?
#[derive(Debug, Parser)]
#[command(
    name = "fidelake",
    version = VERSION,
    after_help = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done but a gate says no.\n\
        Data goes to standard output, messages to standard error."
)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Options of all commands.
#[derive(Clone, Debug, Args)]
pub(crate) struct Global {
    /// The lake's folder
    #[arg(
        long,
        global = true,
        env = "FIDELAKE_LAKE",
        default_value = "./lake",
        value_name = "DIR"
    )]
    lake: PathBuf,
    /// How data is printed
    #[arg(long, global = true, value_enum, default_value_t)]
    format: OutputFormat,
    /// Wait so long for another writer of the same lake
    #[arg(long, global = true, default_value_t = 0, value_name = "SECONDS")]
    wait: u64,
    /// Say only what went wrong
    #[arg(long, short, global = true)]
    quiet: bool,
}

impl Global {
    fn wait(&self) -> Duration {
        Duration::from_secs(self.wait)
    }
}

/// Which state of the lake a reading command looks at.
#[derive(Clone, Debug, Args)]
pub(crate) struct AtArgs {
    /// Read the lake as it was at this lake version
    #[arg(long, value_name = "N", conflicts_with = "at")]
    version: Option<i64>,
    /// Read the lake as it was at this time (2026-07-31, 2026-07-31T12:00:00Z)
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
}

impl AtArgs {
    fn resolve(&self) -> anyhow::Result<At> {
        if let Some(version) = self.version {
            return Ok(At::Version(version));
        }
        let Some(text) = &self.at else {
            return Ok(At::Newest);
        };
        let Some(at) = At::parse_time(text) else {
            anyhow::bail!(UsageError(format!(
                "--at {text}: not a time; write 2026-07-31 (the end of that day, UTC) or 2026-07-31T12:00:00Z"
            )));
        };
        Ok(at)
    }
}

/// A wrong use that the parser cannot see: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

// Each is described where its arguments are: words here would take the place of those.
#[derive(Debug, Subcommand)]
enum Command {
    Import(import::ImportArgs),
    Record(record::RecordArgs),
    Profile(profile::ProfileArgs),
    Learn(learn::LearnArgs),
    Plan(plan::PlanArgs),
    Estimate(estimate::EstimateArgs),
    SimulateBudget(simulate_budget::SimulateBudgetArgs),
    Dual(dual::DualArgs),
    Perturb(perturb::PerturbArgs),
    Augment(augment::AugmentArgs),
    Randomize(randomize::RandomizeArgs),
    Simulate(Box<simulate::SimulateArgs>),
    Mine(mine::MineArgs),
    Patterns(patterns::PatternsArgs),
    Probe(probe::ProbeArgs),
    Curate(curate::CurateArgs),
    Report(report::ReportArgs),
    Why(why::WhyArgs),
    Export(export::ExportArgs),
    Log(log::LogArgs),
    Repair(repair::RepairArgs),
    Compact(compact::CompactArgs),
    Vacuum(vacuum::VacuumArgs),
    Schema(schema::SchemaArgs),
    Sql(sql::SqlArgs),
    Functions(functions::FunctionsArgs),
    Serve(Box<serve::ServeArgs>),
    Slice(slice::SliceArgs),
    Show(show::ShowArgs),
    Graph(graph::GraphArgs),
    Monitor(monitor::MonitorArgs),
    Validate(validate::ValidateArgs),
}

/// Parses the command line and runs the command.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are data; anything else is a wrong use.
            let _ = error.print();
            return if error.use_stderr() {
                Status::Usage.into()
            } else {
                Status::Done.into()
            };
        }
    };
    hide_known_panics();
    let printer = Printer::new(cli.global.quiet, cli.global.format);
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            printer.error(&format!("the system gives no threads: {error}"));
            return Status::Failed.into();
        }
    };
    let global = &cli.global;
    let result = runtime.block_on(async {
        match &cli.command {
            Command::Import(args) => import::run(args, global, &printer).await,
            Command::Record(args) => record::run(args, global, &printer).await,
            Command::Profile(args) => profile::run(args, global, &printer).await,
            Command::Learn(args) => learn::run(args, global, &printer).await,
            Command::Plan(args) => plan::run(args, global, &printer).await,
            Command::Estimate(args) => estimate::run(args, global, &printer).await,
            Command::SimulateBudget(args) => simulate_budget::run(args, global, &printer).await,
            Command::Dual(args) => dual::run(args, global, &printer).await,
            Command::Perturb(args) => perturb::run(args, &printer),
            Command::Augment(args) => augment::run(args, global, &printer).await,
            Command::Randomize(args) => randomize::run(args, global, &printer).await,
            Command::Simulate(args) => simulate::run(args, global, &printer).await,
            Command::Mine(args) => mine::run(args, global, &printer).await,
            Command::Patterns(args) => patterns::run(args, global, &printer).await,
            Command::Probe(args) => probe::run(args, global, &printer).await,
            Command::Curate(args) => curate::run(args, global, &printer).await,
            Command::Report(args) => report::run(args, global, &printer).await,
            Command::Why(args) => why::run(args, global, &printer).await,
            Command::Export(args) => export::run(args, global, &printer).await,
            Command::Log(args) => log::run(args, global, &printer).await,
            Command::Repair(args) => repair::run(args, global, &printer).await,
            Command::Compact(args) => compact::run(args, global, &printer).await,
            Command::Vacuum(args) => vacuum::run(args, global, &printer).await,
            Command::Schema(args) => schema::run(args, &printer),
            Command::Sql(args) => sql::run(args, global, &printer).await,
            Command::Functions(args) => functions::run(args, &printer),
            Command::Serve(args) => serve::run(args, global, &printer).await,
            Command::Slice(args) => slice::run(args, global, &printer).await,
            Command::Show(args) => show::run(args, global, &printer).await,
            Command::Graph(args) => graph::run(args, global, &printer).await,
            Command::Monitor(args) => monitor::run(args, global, &printer).await,
            Command::Validate(args) => validate::run(args, global, &printer).await,
        }
    });
    // Threads that still read ahead end with the process.
    runtime.shutdown_background();
    match result {
        Ok(status) => status.into(),
        Err(error) => {
            if is_broken_pipe(&error) {
                return Status::Done.into();
            }
            printer.error(&chain(&error));
            if error.downcast_ref::<UsageError>().is_some() {
                Status::Usage
            } else {
                Status::Failed
            }
            .into()
        }
    }
}

/// What went wrong and why, each said once: many messages quote their cause.
fn chain(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

/// The writer of the object store panics in its own task when it is closed after
/// a write that failed (a full disk). The failure itself comes back as an error,
/// which is told in its place; any other panic is a fault and is shown.
fn hide_known_panics() {
    let show = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let closed_twice = info
            .location()
            .is_some_and(|at| at.file().contains("object_store"))
            && info.payload_as_str() == Some("Already shut down");
        if !closed_twice {
            show(info);
        }
    }));
}

/// Whoever reads our output has seen enough.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io =
            cause
                .downcast_ref::<std::io::Error>()
                .or(match cause.downcast_ref::<OutputError>() {
                    Some(OutputError::Io(io)) => Some(io),
                    _ => None,
                });
        io.is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
    })
}
