//! `fidelake validate live`

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use fidelake_core::perturb::Perturbation;

use crate::cli::printer::{ITEMS, Meter, Printer};
use crate::cli::{Global, Status, UsageError};
use crate::dual::agents::Agent;
use crate::report::{OutputFormat, draw_live, live_batch};
use crate::validate::{Live, LiveError, LiveRequest, PAPER, usual_agents, validate_live};

/// Play benchmarks in perturbed worlds with scripted agents, and compare.
///
/// Every task is played in the clean world (arm `sim`) and under every kind of change
/// (arm `real`); success is what the benchmark checks. The runs go into the lake with
/// verdicts and labels and are profiled. Printed are the harm of each kind beside its
/// fidelity, and their rank correlation, seed by seed and over all. Stopped or killed,
/// the same command goes on. docs/validation.md, "Live", explains it.
#[derive(Debug, Args)]
pub(crate) struct LiveArgs {
    /// The benchmarks: a TOML file such as sample_data/plans/live.toml
    #[arg(value_name = "PLAN")]
    plan: PathBuf,
    /// Tasks to draw, of all benchmarks in turns
    #[arg(long, value_name = "N", default_value_t = 240)]
    tasks: usize,
    /// Kinds of change; the 22 of the paper unless named
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    types: Vec<String>,
    /// Seeds of the changes: 1 to N
    #[arg(long, value_name = "N", default_value_t = 3)]
    seeds: u64,
    /// Only these agents, such as gold,strict+retry
    #[arg(long, value_name = "AGENTS", value_delimiter = ',')]
    agents: Vec<String>,
    /// Tasks at a time; as many as there are cores unless given
    #[arg(long, value_name = "N")]
    workers: Option<usize>,
    /// Draws of the bootstrap over tasks
    #[arg(long, value_name = "N", default_value_t = 1000)]
    resamples: usize,
}

impl LiveArgs {
    fn request(&self, global: &Global) -> Result<LiveRequest, UsageError> {
        let wrong = |text: String| Err(UsageError(text));
        if self.tasks == 0 || self.seeds == 0 || self.workers == Some(0) {
            return wrong("--tasks, --seeds and --workers: give a number from 1 on".into());
        }
        let mut types = Vec::new();
        for name in &self.types {
            let kind = Perturbation::parse(name.trim());
            let Some(kind) = kind.filter(|kind| Perturbation::ALL[..PAPER].contains(kind)) else {
                let known: Vec<&str> = Perturbation::ALL[..PAPER]
                    .iter()
                    .map(|kind| kind.as_str())
                    .collect();
                return wrong(format!("--types: {name:?} is none of {}", known.join(", ")));
            };
            if !types.contains(&kind) {
                types.push(kind);
            }
        }
        if types.is_empty() {
            types = Perturbation::ALL[..PAPER].to_vec();
        }
        let mut agents = Vec::new();
        for name in &self.agents {
            let Some(agent) = Agent::parse(name.trim()) else {
                let known: Vec<String> = Agent::all().map(|agent| agent.name()).collect();
                return wrong(format!(
                    "--agents: {name:?} is none of {}",
                    known.join(", ")
                ));
            };
            if !agents.contains(&agent) {
                agents.push(agent);
            }
        }
        if agents.is_empty() {
            agents = usual_agents();
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(LiveRequest {
            plan: self.plan.clone(),
            tasks: self.tasks,
            types,
            seeds: (1..=self.seeds).collect(),
            agents,
            workers: self.workers.unwrap_or(cores),
            resamples: self.resamples,
            wait: global.wait(),
        })
    }
}

pub(super) async fn run(
    args: &LiveArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let request = args.request(global)?;
    let began = Instant::now();
    let meter = Arc::new(Meter::start(printer, ITEMS));
    let found = validate_live(&global.lake, &request, Arc::clone(&meter) as _).await;
    meter.finish();
    let found = found.map_err(|error: LiveError| match error.is_usage() {
        true => anyhow::Error::from(UsageError(error.to_string())),
        false => error.into(),
    })?;
    print(&found, printer)?;
    printer.say(&format!("{} s", began.elapsed().as_secs()));
    Ok(Status::Done)
}

fn print(found: &Live, printer: &Printer) -> anyhow::Result<()> {
    match printer.format() {
        OutputFormat::Table => printer.data(&draw_live(found))?,
        OutputFormat::Json | OutputFormat::Ndjson => {
            printer.data(&serde_json::to_string(found)?)?;
        }
        OutputFormat::Csv | OutputFormat::Parquet => printer.batch(&live_batch(found)?)?,
    }
    Ok(())
}
