//! `fidelake estimate`

use clap::{Args, ValueEnum};
use fidelake_core::budget::Estimator;

use super::printer::Printer;
use super::{AtArgs, Global, Status, UsageError};
use crate::engine::Engine;
use crate::estimate::{
    Ask, Dimension, EstimateError, Estimation, calibration_batch, estimate, predicted_batch,
    told_batch,
};
use crate::lake::Lake;
use crate::report::OutputFormat;

/// What the commands about budgets ask of which calls.
#[derive(Debug, Args)]
pub(super) struct RegionArgs {
    /// Columns whose values make the regions: environment, api, outcome, policy, task_id, environment_version
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        default_value = "api"
    )]
    by: Vec<String>,
    /// Which gap of a call
    #[arg(long, value_enum, default_value_t)]
    pub(super) dimension: Dimension,
}

impl RegionArgs {
    /// The columns, as they are named.
    pub(super) fn by(&self) -> Vec<String> {
        self.by.iter().map(|name| name.trim().to_owned()).collect()
    }
}

/// Say how faithful each region is, with intervals, from the real calls that were bought.
///
/// The pool is every call of the first sim run of every trajectory. Calls that a campaign of
/// `fidelake plan` drew count by their chances; other measured calls count exactly. What was
/// never measured is unknown. `shrunk` stands beside: the region drawn towards the pool.
/// docs/budget.md explains every column.
#[derive(Debug, Args)]
pub(crate) struct EstimateArgs {
    #[command(flatten)]
    regions: RegionArgs,
    /// How draws are put together
    #[arg(long, value_enum, default_value_t)]
    estimator: Which,
    /// Whose draws, if several campaigns drew
    #[arg(long, value_name = "NAME")]
    campaign: Option<String>,
    /// Intervals that hold whenever one looks and stops (betting sequences; wider)
    #[arg(long)]
    sequence: bool,
    /// Print what is known or predicted of every trajectory instead
    #[arg(long, conflicts_with = "calibration")]
    predict: bool,
    /// Print how predictions of measured trajectories came out instead
    #[arg(long)]
    calibration: bool,
    #[command(flatten)]
    at: AtArgs,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Which {
    /// All draws as one sample, no surrogate
    Plain,
    /// Every round by itself, no surrogate
    Stratified,
    /// All draws as one sample with the surrogate (PPI++)
    Ppi,
    /// Every round by itself, with the cross-fitted surrogate
    #[default]
    Augmented,
}

pub(crate) async fn run(
    args: &EstimateArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let lake = Lake::open(&global.lake)?;
    let engine = Engine::open(&lake, &args.at.resolve()?).await?;
    let ask = Ask {
        by: args.regions.by(),
        dimension: args.regions.dimension,
        estimator: match args.estimator {
            Which::Plain => Estimator::Plain,
            Which::Stratified => Estimator::Stratified,
            Which::Ppi => Estimator::PpiPlus,
            Which::Augmented => Estimator::Augmented,
        },
        campaign: args.campaign.clone(),
        sequence: args.sequence,
    };
    let told = estimate(&engine, &ask).await.map_err(usage)?;
    let places = (printer.format() == OutputFormat::Table).then_some(4);
    if args.predict {
        printer.batch(&predicted_batch(&told.predicted, places)?)?;
    } else if args.calibration {
        printer.batch(&calibration_batch(&told.calibration, places)?)?;
    } else {
        printer.batch(&told_batch(&told, places)?)?;
    }
    say(&told, args, printer);
    Ok(Status::Done)
}

fn say(told: &Estimation, args: &EstimateArgs, printer: &Printer) {
    match &told.campaign {
        Some(name) => printer.say(&format!("draws of campaign {name}, {} rounds", told.rounds)),
        None => printer.say(
            "no campaign drew these calls: intervals take the measured trajectories for a fair sample of the pool",
        ),
    }
    if told.outdated > 0 {
        printer.say(&format!(
            "{} measured calls are left out: the real arm has a newer version since",
            told.outdated
        ));
    }
    if told.moved > 0 {
        printer.say(&format!(
            "the pool of {} regions has changed since their draws, which are taken as draws of today's",
            told.moved
        ));
    }
    let unknown = told
        .regions
        .iter()
        .filter(|r| r.basis == "unknown" && r.key.is_some())
        .count();
    if unknown > 0 {
        printer.say(&format!(
            "{unknown} regions are unknown: no call of theirs was measured, and the pool as a whole is unknown with them; `shrunk` is what the others suggest"
        ));
    }
    if told.calibration.is_empty() {
        if args.calibration {
            printer
                .say("fewer than 20 trajectories are measured: predictions cannot be checked yet");
        }
    } else if !args.calibration {
        let words: Vec<String> = told
            .calibration
            .iter()
            .map(|c| format!("{:.3} came out {:.3}", 1.0 - c.predicted, 1.0 - c.measured))
            .collect();
        printer.say(&format!(
            "predicted fidelity of trajectories, cross-fitted: {}",
            words.join(", ")
        ));
    }
}

/// What the user can mend has exit code 2.
pub(super) fn usage(error: EstimateError) -> anyhow::Error {
    if error.is_usage() {
        UsageError(error.to_string()).into()
    } else {
        error.into()
    }
}
