//! `fidelake validate`

mod live;
mod stored;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::printer::Printer;
use super::{AtArgs, Global, Status, UsageError};
use crate::engine::Engine;
use crate::lake::Lake;
use crate::report::{OutputFormat, draw_validation, svg_validation, validation_batch};
use crate::validate::{Family, Request, ValidateError, Validation, validate};

/// Check whether the profiles predict what happened to real agents.
///
/// Groups are the values of a label (one per kind of change). Harm of a group: share
/// of (trajectory, agent) pairs right on sim and wrong on real. The decision gap is
/// compared with it by rank correlation, beside the surface gap and trivial rivals;
/// pair by pair by AUC and by deciles. Needs verdicts on both arms and
/// `fidelake profile`. docs/validation.md explains every number.
///
/// `fidelake validate live PLAN` makes such a lake: it lets scripted agents play the tasks
/// of benchmarks in perturbed worlds, and compares.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct ValidateArgs {
    #[command(subcommand)]
    what: Option<What>,
    /// Labels whose values make the groups, such as perturbation
    #[arg(long, value_name = "LABELS", value_delimiter = ',', required = true)]
    by: Vec<String>,
    /// Only these agents
    #[arg(long, value_name = "AGENTS", value_delimiter = ',')]
    agents: Vec<String>,
    /// Families of groups to leave out one at a time, such as "obs=obs_*,act=action_*"
    #[arg(long, value_name = "NAME=PATTERN", value_delimiter = ',')]
    families: Vec<String>,
    /// Fit non-negative weights of the dimensions to the harm, cross-validated over groups
    #[arg(long)]
    fit: bool,
    /// Keep the fitted weights in the lake, with their evidence; nothing uses them
    #[arg(long, requires = "fit")]
    store: bool,
    /// Write the plot to this SVG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Draws of each bootstrap
    #[arg(long, value_name = "N", default_value_t = 2000)]
    resamples: usize,
    /// Seed of the draws
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    at: AtArgs,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Play benchmarks in perturbed worlds with scripted agents, and compare
    Live(live::LiveArgs),
    /// List the weights that were stored by --fit --store
    Stored(stored::StoredArgs),
}

pub(crate) async fn run(
    args: &ValidateArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    match &args.what {
        Some(What::Live(args)) => return live::run(args, global, printer).await,
        Some(What::Stored(_)) => return stored::run(global, printer),
        None => {}
    }
    let families = args.families.iter().map(|text| Family::parse(text));
    let families = families.collect::<Result<Vec<_>, _>>().map_err(told)?;
    let lake = Lake::open(&global.lake)?;
    let engine = Engine::open(&lake, &args.at.resolve()?).await?;
    let request = Request {
        only: Vec::new(),
        by: args.by.iter().map(|name| name.trim().to_owned()).collect(),
        agents: args
            .agents
            .iter()
            .map(|name| name.trim().to_owned())
            .collect(),
        families,
        resamples: args.resamples,
        seed: args.seed,
        fit: args.fit,
    };
    let found = validate(&engine, &request).await.map_err(told)?;
    if let Some(file) = &args.plot {
        std::fs::write(file, svg_validation(&found))
            .map_err(|e| anyhow::anyhow!("{}: {e}", file.display()))?;
    }
    print(&found, printer)?;
    if found.unlabelled > 0 {
        printer.say(&format!(
            "{} profiled trajectories without these labels are left out",
            found.unlabelled
        ));
    }
    if args.fit && found.fitted.is_none() {
        printer.say("nothing was fitted: that needs four groups and a dimension that is known in all of them");
    }
    if args.store {
        stored::store(&found, global, printer).await?;
    }
    Ok(Status::Done)
}

fn print(found: &Validation, printer: &Printer) -> anyhow::Result<()> {
    match printer.format() {
        OutputFormat::Table => printer.data(&draw_validation(found))?,
        OutputFormat::Json | OutputFormat::Ndjson => {
            printer.data(&serde_json::to_string(found)?)?;
        }
        // Tables are flat: one row per group.
        OutputFormat::Csv | OutputFormat::Parquet => printer.batch(&validation_batch(found)?)?,
    }
    Ok(())
}

/// What the user can mend has exit code 2.
fn told(error: ValidateError) -> anyhow::Error {
    if error.is_usage() {
        UsageError(error.to_string()).into()
    } else {
        error.into()
    }
}
