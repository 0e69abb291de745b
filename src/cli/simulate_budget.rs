//! `fidelake simulate-budget`

use clap::Args;
use fidelake_core::budget::{Method, Synthetic};

use super::estimate::{RegionArgs, usage};
use super::printer::{ITEMS, Meter, Printer};
use super::{AtArgs, Global, Status, UsageError};
use crate::engine::Engine;
use crate::estimate::{ReplayRequest, replay, replay_batch};
use crate::lake::Lake;
use crate::report::OutputFormat;

/// Show what a budget of real calls would tell: replay measured calls as if few had been bought.
///
/// Every method buys from the same pool many times, with the truth at hand: error, half-width,
/// coverage of 95 % intervals and bias (in Monte-Carlo errors), of regions and of the pool. The pool is what the
/// lake has on both arms, or made up (--synthetic). docs/budget.md explains the columns and methods.
#[derive(Debug, Args)]
pub(crate) struct SimulateBudgetArgs {
    /// Replay a made-up pool: calls without a gap and with, APIs of very different size
    #[arg(long)]
    synthetic: bool,
    /// Calls of the made-up pool
    #[arg(long, value_name = "N", default_value_t = 16_000, requires = "synthetic", value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    calls: u32,
    /// APIs of the made-up pool, each with at least 100 calls
    #[arg(long, value_name = "N", default_value_t = 24, requires = "synthetic", value_parser = clap::value_parser!(u32).range(1..=1000))]
    apis: u32,
    /// Correlation of the made-up surrogate with the gaps of an API
    #[arg(long, value_name = "R", default_value_t = 0.6, requires = "synthetic")]
    correlation: f64,
    /// Share of made-up calls with a gap
    #[arg(
        long,
        value_name = "SHARE",
        default_value_t = 0.5,
        requires = "synthetic"
    )]
    rate: f64,
    #[command(flatten)]
    regions: RegionArgs,
    /// Tools that change nothing: others before a call are made again for it
    #[arg(long, value_name = "TOOL,...", value_delimiter = ',')]
    reads: Vec<String>,
    /// Budgets, in hundredths of the pool's calls
    #[arg(long, value_name = "P,...", value_delimiter = ',', default_values_t = [5.0, 10.0, 20.0, 40.0])]
    budgets: Vec<f64>,
    /// Only these methods: uniform, proportional, ppi++, neyman, thompson, active, need, augmented
    #[arg(long, value_name = "METHOD,...", value_delimiter = ',')]
    methods: Vec<String>,
    /// Replays of each method at each budget
    #[arg(long, value_name = "N", default_value_t = 500)]
    replays: u64,
    /// Instead: the real calls until every region has this half-width
    #[arg(long, value_name = "X", conflicts_with_all = ["budgets", "methods"])]
    until: Option<f64>,
    /// Smaller regions are in the pool, not in the figures of regions
    #[arg(long, value_name = "N", default_value_t = 20)]
    least: usize,
    /// Seed of pool and draws
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    at: AtArgs,
}

pub(crate) async fn run(
    args: &SimulateBudgetArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let range = |name: &str, value: f64| match (0.0..=1.0).contains(&value) {
        true => Ok(()),
        false => Err(UsageError(format!(
            "--{name} {value}: write a number from 0 to 1"
        ))),
    };
    range("correlation", args.correlation)?;
    range("rate", args.rate)?;
    if let Some(target) = args.until
        && !(target > 0.0 && target < 0.5)
    {
        anyhow::bail!(UsageError(format!(
            "--until {target}: write a half-width above 0 and below 0.5"
        )));
    }
    let methods = match args.methods.as_slice() {
        [] => Method::ALL.to_vec(),
        names => names
            .iter()
            .map(|name| method(name))
            .collect::<Result<_, _>>()?,
    };
    let engine = match args.synthetic {
        true => None,
        false => Some(Engine::open(&Lake::open(&global.lake)?, &args.at.resolve()?).await?),
    };
    let request = ReplayRequest {
        synthetic: args.synthetic.then_some(Synthetic {
            calls: args.calls as usize,
            apis: args.apis as usize,
            correlation: args.correlation,
            rate: args.rate,
            seed: args.seed,
        }),
        by: args.regions.by(),
        dimension: args.regions.dimension,
        reads: args.reads.iter().cloned().collect(),
        budgets: if args.until.is_some() {
            Vec::new()
        } else {
            args.budgets.clone()
        },
        methods,
        replays: args.replays,
        seed: args.seed,
        target: args.until,
        least: args.least,
    };
    let meter = Meter::start(printer, ITEMS);
    let told = replay(engine.as_ref(), &request, &meter).await;
    meter.finish();
    let told = told.map_err(usage)?;
    let places = (printer.format() == OutputFormat::Table).then_some(4);
    printer.batch(&replay_batch(&told.rows, &told.targets, places)?)?;
    printer.say(&format!(
        "{} calls in {} regions, {} of them with at least {} calls; mean gap {:.3}, {:.0} % have one; {:.2} real calls for one with its prefix",
        told.pool, told.regions.0, told.regions.1, args.least, told.gap, told.rate * 100.0, told.price
    ));
    if told.stopped {
        printer.error("stopped: the rows that were not finished are missing");
        return Ok(Status::Failed);
    }
    Ok(Status::Done)
}

fn method(name: &str) -> Result<Method, UsageError> {
    let names = Method::ALL.map(Method::name);
    let at = names.iter().position(|known| *known == name.trim());
    at.map(|at| Method::ALL[at])
        .ok_or_else(|| UsageError(format!("--methods {name}: there are {}", names.join(", "))))
}
