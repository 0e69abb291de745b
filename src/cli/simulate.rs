//! `fidelake simulate`

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use clap::{Args, ValueEnum};

use super::printer::Printer;
use super::{Global, Status, UsageError};
use crate::env::replay::{Learned, Loaded, Miss, RegionRow, Replay, THRESHOLD, regions};
use crate::randomize::Randomization;
use crate::simulate::{HttpServer, Limits, ServeError, Settings, Simulator, stdio};

/// So many names are told, then counted.
const TOLD: usize = 8;

/// Serve an environment from the lake, as an MCP server.
///
/// Answers are recordings: the newest real one of the same call in the same state, else
/// the simulator's, mended by what real answers teach. Time, passing failures and late
/// writes are as they were measured on the real arm, from a seed. What has no recorded
/// answer is written down, so that it can be asked for real. See docs/simulate.md.
#[derive(Debug, Args)]
#[command(
    override_usage = "fidelake simulate --environment E [OPTIONS] --stdio\n       \
        fidelake simulate --environment E [OPTIONS] --http 127.0.0.1:PORT\n       \
        fidelake simulate --environment E [OPTIONS] --check"
)]
pub(crate) struct SimulateArgs {
    /// Environment in the lake
    #[arg(long, env = "FIDELAKE_ENVIRONMENT", value_name = "NAME")]
    environment: String,
    /// Serve over standard input and output: one process, one episode
    #[arg(long, required_unless_present_any = ["http", "check"], conflicts_with_all = ["http", "check"])]
    stdio: bool,
    /// Serve streamable HTTP here, at /mcp and /mcp/EPISODE; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", conflicts_with = "check")]
    http: Option<SocketAddr>,
    /// Serve nothing: show every region's gap before and after its answers were replaced
    #[arg(long)]
    check: bool,
    /// Seed of all chance; every episode has its own, from this and its name
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// What answers a call that was never recorded
    #[arg(long, value_enum, default_value = "error")]
    policy: Policy,
    /// Largest distance of arguments at which a similar call answers
    #[arg(long, value_name = "0..1", default_value_t = THRESHOLD)]
    threshold: f64,
    /// Put these perturbations around it (`fidelake randomize` writes such a file)
    #[arg(long, value_name = "FILE")]
    randomization: Option<PathBuf>,
    /// Share of the real latency that is waited for; 0: answer at once
    #[arg(long, value_name = "0..1", default_value_t = 0.0)]
    speed: f64,
    /// Only these runs answer: a condition over table `runs`
    #[arg(long = "where", value_name = "SQL")]
    filter: Option<String>,
    /// Answer from this lake version
    #[arg(long, value_name = "N")]
    version: Option<i64>,
    /// Name of the episode with --stdio
    #[arg(long, value_name = "NAME", default_value = "stdio", requires = "stdio")]
    episode: String,
    /// Leave the simulator's answers as they were recorded
    #[arg(long)]
    no_mend: bool,
    /// No failures that pass, no late writes, no latency
    #[arg(long)]
    no_calibration: bool,
    /// Where questions without a recorded answer are written [default: in the lake]
    #[arg(long, value_name = "FILE")]
    unanswered: Option<PathBuf>,
    /// Episodes at once
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    episodes: usize,
    /// Bytes that a message may have
    #[arg(long, value_name = "BYTES", default_value_t = 4 << 20)]
    max_body: usize,
    /// A web page that may ask, such as https://lab.example
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// Listen where other machines reach it, too: there is no password
    #[arg(long, requires = "http")]
    public: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Policy {
    /// An error that says so
    Error,
    /// The most similar recorded call of the tool, if it is near enough; else an error
    Nearest,
    /// What real answers have in common, with the call's own values; else as nearest
    Template,
}

impl SimulateArgs {
    fn replay(&self) -> Result<Replay, UsageError> {
        for (name, value) in [("--threshold", self.threshold), ("--speed", self.speed)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(UsageError(format!(
                    "{name} {value}: write a number from 0 to 1"
                )));
            }
        }
        Ok(Replay {
            environment: self.environment.clone(),
            r#where: self.filter.clone(),
            version: self.version,
            threshold: Some(match self.policy {
                Policy::Error => 0.0,
                Policy::Nearest | Policy::Template => self.threshold,
            }),
            miss: Miss::Error,
            mend: !self.no_mend,
            templates: self.policy == Policy::Template,
            calibrated: !self.no_calibration,
            speed: self.speed,
            seed: self.seed,
            ..Replay::default()
        })
    }
}

pub(crate) async fn run(
    args: &SimulateArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let replay = args.replay()?;
    if args.check {
        let rows = regions(&global.lake, &replay).await;
        return shown(&rows.map_err(anyhow::Error::msg)?, args, printer);
    }
    let randomization = args.randomization.as_deref().map(Randomization::read);
    let randomization = randomization
        .transpose()
        .map_err(|e| UsageError(e.to_string()))?;
    if let Some(made) = &randomization
        && made.environment != args.environment
    {
        printer.say(&format!(
            "the randomization was made for environment {:?}",
            made.environment
        ));
    }
    let unanswered = args.unanswered.clone().unwrap_or_else(|| {
        let name = args
            .environment
            .replace(|c: char| !c.is_alphanumeric(), "_");
        let folder = global.lake.join("_fidelake").join("simulate");
        folder.join(format!("{name}.jsonl"))
    });
    let settings = Settings {
        replay,
        randomization,
        unanswered: Some(unanswered),
    };
    let simulator = Simulator::open(&global.lake, settings).await;
    let simulator = Arc::new(simulator.map_err(told)?);
    introduce(&simulator, args, printer);
    match args.http {
        Some(address) => {
            let limits = Limits {
                episodes: args.episodes.max(1),
                body: args.max_body,
                origins: args.allow_origin.clone(),
                public: args.public,
            };
            let server = HttpServer::bind(address, Arc::clone(&simulator), limits);
            let server = server.await.map_err(told)?;
            printer.say(&format!("listening at {}", server.address()?));
            server.serve().await;
        }
        None => stdio(&simulator, &args.episode).await?,
    }
    farewell(&simulator, printer);
    Ok(Status::Done)
}

/// What the user can mend by another command line has exit code 2.
fn told(error: ServeError) -> anyhow::Error {
    match error {
        ServeError::Public(_) | ServeError::Randomization(_) => {
            UsageError(error.to_string()).into()
        }
        error => error.into(),
    }
}

fn introduce(simulator: &Simulator, args: &SimulateArgs, printer: &Printer) {
    let Loaded {
        version,
        recorded,
        superseded,
        tools,
        has_catalog,
        unknown_effect,
        learned,
        behaviour,
    } = simulator.loaded();
    printer.say(&format!(
        "{} at lake version {version}: {tools} tools, {recorded} recorded answers, {superseded} of them superseded",
        args.environment
    ));
    let Learned {
        echoes,
        reads_as_written,
        refusals,
        templates,
    } = learned;
    if !args.no_mend {
        printer.say(&format!(
            "learned from real answers: {echoes} fields that repeat an argument, {reads_as_written} reads that answer as the write before them, {refusals} refusals, {templates} templates"
        ));
    }
    if !args.no_calibration && behaviour.is_empty() {
        printer
            .say("no real run of it: latency, passing failures and late writes are not simulated");
    }
    if !has_catalog {
        printer.say("no catalog was recorded: the tools are those that were called");
    }
    let without = simulator.without_schema();
    if !without.is_empty() {
        printer.say(&format!(
            "no schema was recorded of {}: any arguments are taken",
            names(without)
        ));
    }
    if !unknown_effect.is_empty() {
        printer.say(&format!(
            "whether these change something is not known, so they count as changing: {}; docs/rules.md says how to declare reads",
            names(unknown_effect)
        ));
    }
}

fn names(all: &[String]) -> String {
    let told: Vec<&str> = all.iter().take(TOLD).map(String::as_str).collect();
    match all.len().checked_sub(TOLD) {
        None | Some(0) => told.join(", "),
        Some(more) => format!("{} and {more} more", told.join(", ")),
    }
}

fn farewell(simulator: &Simulator, printer: &Printer) {
    let totals = simulator.totals();
    printer.say(&format!(
        "{} calls in {} episodes, {} without a recorded answer",
        totals.calls, totals.episodes, totals.unanswered
    ));
    if let Some(path) = simulator.unanswered_path()
        && totals.written > 0
    {
        printer.say(&format!(
            "{} new questions stand in {}: `fidelake dual run` can make them for real",
            totals.written,
            path.display()
        ));
    }
    if totals.lost > 0 {
        printer.error(&format!(
            "{} questions could not be written down: the file is full (64 MiB) or the disk",
            totals.lost
        ));
    }
}

fn shown(rows: &[RegionRow], args: &SimulateArgs, printer: &Printer) -> anyhow::Result<Status> {
    if rows.is_empty() {
        printer.error(&format!(
            "no trajectory of {:?} ran on both arms: there is nothing to compare; `fidelake dual run` makes such runs",
            args.environment
        ));
        return Ok(Status::Failed);
    }
    let number = |of: fn(&RegionRow) -> f64| -> ArrayRef {
        let rounded = rows.iter().map(|row| (of(row) * 1e4).round() / 1e4);
        Arc::new(Float64Array::from_iter_values(rounded))
    };
    let count = |of: fn(&RegionRow) -> u64| -> ArrayRef {
        Arc::new(
            rows.iter()
                .map(|row| i64::try_from(of(row)).ok())
                .collect::<Int64Array>(),
        )
    };
    let names = rows.iter().map(|row| row.api.as_str());
    printer.batch(&RecordBatch::try_from_iter([
        (
            "api",
            Arc::new(StringArray::from_iter_values(names)) as ArrayRef,
        ),
        ("calls", count(|row| row.calls)),
        ("gap_before", number(|row| row.before)),
        ("gap_after", number(|row| row.after)),
        ("recorded", count(|row| row.recorded)),
        ("generated", count(|row| row.generated)),
    ])?)?;
    let calls: f64 = rows.iter().map(|row| row.calls as f64).sum();
    let mean = |of: fn(&RegionRow) -> f64| {
        rows.iter()
            .map(|row| of(row) * row.calls as f64)
            .sum::<f64>()
            / calls
    };
    printer.say(&format!(
        "mean gap of {calls} calls: {:.4} before, {:.4} after; each answered without the real runs of its fifth of the trajectories",
        mean(|row| row.before),
        mean(|row| row.after)
    ));
    Ok(Status::Done)
}
