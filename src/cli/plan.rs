//! `fidelake plan`

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fidelake_core::budget::Objective;

use super::estimate::{RegionArgs, usage};
use super::printer::Printer;
use super::{Global, Status, UsageError};
use crate::engine::Engine;
use crate::estimate::{PlanRequest, plan, plan_batch};
use crate::lake::{At, Lake};
use crate::report::OutputFormat;

/// Choose which calls to run for real next, and write the plan that runs them.
///
/// TEMPLATE is a plan of `fidelake dual run`: its environments, arms and limits are taken, its
/// trajectories are not. Beside it come NAME-1.toml and NAME-1.tasks.jsonl; after
/// `fidelake dual run NAME-1.toml` and `fidelake profile` the same command plans round 2. All
/// rounds spend one budget, which the ledger keeps through any kill. docs/budget.md.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// A plan that says where and how calls are made (TOML)
    #[arg(value_name = "TEMPLATE.toml")]
    template: PathBuf,
    /// Real calls of the whole campaign: a number, or hundredths of the pool's calls (20%)
    #[arg(long, value_name = "N|P%")]
    budget: String,
    /// Name of the campaign
    #[arg(long, value_name = "NAME", default_value = "campaign")]
    name: String,
    #[command(flatten)]
    regions: RegionArgs,
    /// Regions whose interval is narrower get no more than the floor, such as halfwidth=0.05
    #[arg(long, value_name = "halfwidth=X")]
    target: Option<String>,
    /// Spend the budget in rounds: a fifth first, then what it shows is needed
    #[arg(long)]
    adaptive: bool,
    /// Rounds of --adaptive
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(2..=100))]
    rounds: u32,
    /// What the calls are for
    #[arg(long = "for", value_enum, default_value_t)]
    purpose: Purpose,
    /// Share of each round that goes to all regions by their size
    #[arg(long, value_name = "SHARE", default_value_t = 0.1)]
    floor: f64,
    /// Seed of the draws
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Purpose {
    /// The same half-width in every region
    #[default]
    Regions,
    /// The pool as a whole
    Overall,
}

pub(crate) async fn run(
    args: &PlanArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let (number, percent) = match args.budget.trim().strip_suffix('%') {
        Some(number) => (number.trim(), true),
        None => (args.budget.trim(), false),
    };
    let budget = number.parse().map_err(|_| {
        UsageError(format!(
            "--budget {}: write a number of real calls, or hundredths as in 20%",
            args.budget
        ))
    })?;
    let target = match &args.target {
        None => None,
        Some(text) => Some(half_width(text)?),
    };
    let lake = Lake::open(&global.lake)?;
    let engine = Engine::open(&lake, &At::Newest).await?;
    let request = PlanRequest {
        template: args.template.clone(),
        name: args.name.clone(),
        budget,
        percent,
        by: args.regions.by(),
        dimension: args.regions.dimension,
        target,
        rounds: if args.adaptive { args.rounds } else { 1 },
        objective: match args.purpose {
            Purpose::Regions => Objective::Regions,
            Purpose::Overall => Objective::Overall,
        },
        floor: args.floor,
        seed: args.seed,
    };
    let planned = plan(&engine, &global.lake, &request).await.map_err(usage)?;
    let places = (printer.format() == OutputFormat::Table).then_some(4);
    printer.batch(&plan_batch(&planned, places)?)?;
    let draws: usize = planned.regions.iter().map(|r| r.draws).sum();
    let barred: usize = planned.regions.iter().map(|r| r.barred).sum();
    if barred > 0 {
        printer.say(&format!(
            "{barred} calls cannot be bought: they or the calls before them are not permitted ([real] allow or reads permits a tool), or their arguments are masked; estimates cannot speak for them"
        ));
    }
    if planned.outdated > 0 {
        printer.say(&format!(
            "{} measured calls count no more: the real arm has a newer version since",
            planned.outdated
        ));
    }
    match &planned.plan {
        Some(path) => {
            printer.say(&format!(
                "round {}: {draws} calls, at most {} real calls with their prefixes; {} of {} were spent before",
                planned.round, planned.cost, planned.spent, planned.budget
            ));
            if planned.seconds >= 1.0 {
                printer.say(&format!(
                    "at least {:.0} s by the rate limit",
                    planned.seconds
                ));
            }
            printer.say(&format!(
                "written: {}; next: fidelake dual run {} && fidelake profile",
                path.display(),
                path.display()
            ));
            Ok(Status::Done)
        }
        None if planned.regions.iter().all(|r| r.known == r.pool) => {
            printer.say("every call of the pool is known already: nothing is left to buy");
            Ok(Status::Done)
        }
        None if planned
            .regions
            .iter()
            .all(|r| r.half_width.is_some() || r.pool == r.barred)
            && target.is_some() =>
        {
            printer.say("every region is as well known as --target asks: nothing is to be bought");
            Ok(Status::Done)
        }
        None => {
            printer.error("nothing can be bought: the budget of this round does not reach for one call, or no call is permitted");
            Ok(Status::Gate)
        }
    }
}

fn half_width(text: &str) -> Result<f64, UsageError> {
    let number = text
        .trim()
        .strip_prefix("halfwidth=")
        .unwrap_or(text.trim());
    number
        .parse()
        .map_err(|_| UsageError(format!("--target {text}: write halfwidth=0.05")))
}
