//! `fidelake randomize`

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use clap::Args;

use super::printer::Printer;
use super::whole::write_whole;
use super::{Global, Status, UsageError};
use crate::lake::Lake;
use crate::randomize::{Cell, Outcome, RandomizeError, Request, randomize};

/// Say which perturbations of the simulator bring it nearest to the real world.
///
/// From runs of the simulator with perturbations around it, at several intensities, the
/// gap of every API is known against intensity. A budget of intensity is spent where
/// the gap that agents visit falls fastest, and compared with the same total spent on
/// everything alike. `fidelake simulate --randomization` applies what is written. See
/// docs/randomize.md.
#[derive(Debug, Args)]
pub(crate) struct RandomizeArgs {
    /// Environment in the lake; NAME--anything counts as NAME
    #[arg(long, env = "FIDELAKE_ENVIRONMENT", value_name = "NAME")]
    environment: String,
    /// Sum of the intensities that may be spent
    #[arg(long, value_name = "B", allow_negative_numbers = true)]
    budget: f64,
    /// What is spent at a time
    #[arg(long, value_name = "S", default_value_t = 0.02)]
    step: f64,
    /// A cell with fewer calls at an intensity is not looked at there
    #[arg(long, value_name = "N", default_value_t = 20)]
    least_calls: i64,
    /// A gap that falls by less is taken for chance
    #[arg(long, value_name = "GAP", default_value_t = 0.01)]
    least_fall: f64,
    /// Where the randomization is written; the same name with .json has all figures
    #[arg(long, value_name = "FILE", default_value = "randomization.toml")]
    out: PathBuf,
    /// Write the uniform spread beside it, as NAME.uniform.toml, to compare with
    #[arg(long)]
    uniform: bool,
}

pub(crate) async fn run(
    args: &RandomizeArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    if !args.budget.is_finite() || args.budget <= 0.0 {
        anyhow::bail!(UsageError(format!(
            "--budget {}: write a number above 0",
            args.budget
        )));
    }
    if !(1e-4..=1.0).contains(&args.step) {
        anyhow::bail!(UsageError(format!(
            "--step {}: write a number from 0.0001 to 1",
            args.step
        )));
    }
    let json = args.out.with_extension("json");
    if json == args.out {
        anyhow::bail!(UsageError(format!(
            "--out {}: give the name of a .toml file; the figures are written as .json beside it",
            args.out.display()
        )));
    }
    let lake = Lake::open(&global.lake)?;
    let request = Request {
        environment: args.environment.clone(),
        budget: args.budget,
        step: args.step,
        least_calls: args.least_calls,
        least_fall: args.least_fall,
    };
    let found = match randomize(&lake, &request).await {
        Ok(found) => found,
        Err(error @ (RandomizeError::NoBase(_) | RandomizeError::NoCurves(_))) => {
            printer.error(&error.to_string());
            return Ok(Status::Failed);
        }
        Err(error) => return Err(error.into()),
    };
    write_whole(&args.out, &found.toml(false))?;
    write_whole(&json, &(serde_json::to_string_pretty(&found)? + "\n"))?;
    if args.uniform {
        write_whole(&args.out.with_extension("uniform.toml"), &found.toml(true))?;
    }
    printer.batch(&table(&found.cells)?)?;
    say(&found, args, &json, printer);
    Ok(Status::Done)
}

fn table(cells: &[Cell]) -> anyhow::Result<RecordBatch> {
    let text = |of: fn(&Cell) -> &str| {
        Arc::new(StringArray::from_iter_values(cells.iter().map(of))) as ArrayRef
    };
    let number = |of: fn(&Cell) -> f64| {
        let rounded = cells.iter().map(|cell| (of(cell) * 1e4).round() / 1e4);
        Arc::new(Float64Array::from_iter_values(rounded)) as ArrayRef
    };
    Ok(RecordBatch::try_from_iter([
        ("perturbation", text(|cell| &cell.perturbation)),
        ("dimension", text(|cell| cell.dimension)),
        ("api", text(|cell| &cell.api)),
        ("visits", number(|cell| cell.visits)),
        ("gap", number(|cell| cell.gap)),
        ("gradient", number(|cell| cell.gradient)),
        ("intensity", number(|cell| cell.intensity)),
        ("gap_after", number(|cell| cell.gap_after)),
        ("uniform", number(|cell| cell.uniform)),
    ])?)
}

fn say(found: &Outcome, args: &RandomizeArgs, json: &Path, printer: &Printer) {
    let (ours, evenly) = (&found.targeted, &found.uniform);
    if ours.before <= 0.0 {
        printer.say("the plain simulator has no gap in these regions: nothing to cover");
    }
    printer.say(&format!(
        "intensity {:.3} of {} spent: {:.1} % of a visited gap of {:.4} covered; spread evenly {:.1} %",
        ours.total,
        found.budget,
        ours.covered * 100.0,
        ours.before,
        evenly.covered * 100.0
    ));
    printer.say(&format!(
        "gap added where nothing is gained: {:.4}; spread evenly {:.4}",
        ours.noise, evenly.noise
    ));
    if ours.total + 1e-6 < found.budget {
        printer.say("the rest is not spent: nothing measured falls any further");
    }
    if found.left_out > 0 {
        printer.say(&format!(
            "{} trajectories left out: several perturbations at once, or runs whose labels do not say how strong one was",
            found.left_out
        ));
    }
    if found.thin > 0 {
        printer.say(&format!(
            "{} cells left out: fewer than {} calls plain or perturbed",
            found.thin, args.least_calls
        ));
    }
    printer.say(&format!(
        "written: {} and {}",
        args.out.display(),
        json.display()
    ));
}
