//! `fidelake slice`

use clap::Args;

use super::printer::Printer;
use super::{AtArgs, Global, Status, UsageError};
use crate::engine::Engine;
use crate::lake::Lake;
use crate::report::{Dimension, Heat, OutputFormat, Screen, Slice, SliceError, Sliced};

/// Show where the arms differ: the gap of each cell, and its part of the whole.
///
/// `outcome` is the outcome of both arms, or "sim -> real" where they disagree.
/// Columns of runs (task_id, policy, termination, ...) are those of the first
/// sim run, with `_real` at the end those of the first real run; `labels.KEY` is
/// a label of the runs. `share_gap` is the cell's part of the whole gap.
#[derive(Debug, Args)]
pub(crate) struct SliceArgs {
    /// Columns whose values make the cells, such as api,outcome
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', required = true)]
    by: Vec<String>,
    /// Which gap
    #[arg(long, value_enum, default_value_t)]
    dimension: Dimension,
    /// A condition on the rows, in SQL, such as "api = 'book' AND weight > 0.5"
    #[arg(long = "where", value_name = "SQL")]
    filter: Option<String>,
    /// Leave out cells with fewer measured calls (shares stay those of the whole)
    #[arg(long, value_name = "N", default_value_t = 0)]
    min_calls: i64,
    /// A heat table of two columns
    #[arg(long)]
    pivot: bool,
    #[command(flatten)]
    at: AtArgs,
}

pub(crate) async fn run(
    args: &SliceArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    if args.pivot && args.by.len() != 2 {
        let why = format!(
            "--pivot sets two columns against each other; --by names {}",
            args.by.len()
        );
        anyhow::bail!(UsageError(why));
    }
    let lake = Lake::open(&global.lake)?;
    let engine = Engine::open(&lake, &args.at.resolve()?).await?;
    let slice = Slice {
        by: args.by.iter().map(|name| name.trim().to_owned()).collect(),
        dimension: args.dimension,
        filter: args.filter.clone(),
        min_calls: args.min_calls,
    };
    let sliced = slice.run(&engine).await.map_err(told)?;
    if sliced.cells.is_empty() && sliced.left_out == 0 && args.filter.is_none() {
        anyhow::bail!(no_gaps(&engine).await?);
    }
    if args.pivot {
        pivot(&sliced, printer)?;
    } else {
        let places = (printer.format() == OutputFormat::Table).then_some(4);
        let batch = sliced.batch(places)?;
        printer.batches(&batch.schema(), std::slice::from_ref(&batch))?;
    }
    if sliced.cells.is_empty() {
        printer.say("no row meets the condition");
    }
    if sliced.left_out > 0 {
        printer.say(&format!(
            "{} cells with fewer than {} measured calls are left out",
            sliced.left_out, args.min_calls
        ));
    }
    Ok(Status::Done)
}

fn pivot(sliced: &Sliced, printer: &Printer) -> anyhow::Result<()> {
    let cell = |at: usize| {
        let cell = &sliced.cells[at];
        (cell.key[0].clone(), cell.key[1].clone(), cell.gap)
    };
    let cells: Vec<_> = (0..sliced.cells.len()).map(cell).collect();
    let heat = Heat::new(&sliced.by[0], &sliced.by[1], &cells)?;
    if printer.format() == OutputFormat::Table {
        printer.data(&heat.draw(&Screen::of_stdout()))?;
    } else {
        let batch = heat.batch()?;
        printer.batches(&batch.schema(), std::slice::from_ref(&batch))?;
    }
    Ok(())
}

/// What the user can mend has exit code 2.
fn told(error: SliceError) -> anyhow::Error {
    if error.is_usage() {
        UsageError(error.to_string()).into()
    } else {
        error.into()
    }
}

/// Why there is nothing to slice.
pub(super) async fn no_gaps(engine: &Engine) -> anyhow::Result<String> {
    let sql = "SELECT count(DISTINCT arm) AS arms FROM runs GROUP BY environment, trajectory_id ORDER BY arms DESC LIMIT 1";
    let (_, batches) = engine.query(sql).await?;
    let arms = batches
        .iter()
        .find(|b| b.num_rows() > 0)
        .map(|b| arrow::util::display::array_value_to_string(b.column(0), 0));
    Ok(match arms.transpose()?.as_deref() {
        None => "the lake holds no runs yet: `fidelake import` brings them",
        Some("1") => "no trajectory ran on both arms, so there is no gap to measure: import the runs of the other arm under the same trajectory ids",
        _ => "no gaps are computed yet: run `fidelake profile`",
    }
    .to_owned())
}
