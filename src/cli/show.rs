//! `fidelake show`

use std::ops::RangeInclusive;

use clap::Args;

use super::printer::Printer;
use super::{AtArgs, Global, Status};
use crate::engine::Engine;
use crate::lake::Lake;
use crate::report::{Limits, OutputFormat, Screen, draw_pair, load_pair, pair_batch};

/// Show a trajectory on both arms side by side, call by call.
///
/// The first run of each arm is shown: sim on the left, real on the right. Calls
/// that are alike take one line per stretch; --calls shows some of them whole.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Its id
    trajectory: String,
    /// Its environment, where several have that id
    #[arg(long, value_name = "NAME")]
    environment: Option<String>,
    /// Only the calls with these numbers (the #n before each), alike or not: 3, 3-7, 3-
    #[arg(long, value_name = "RANGE", value_parser = range)]
    calls: Option<RangeInclusive<usize>>,
    /// Differing paths shown for each call
    #[arg(long, value_name = "N", default_value_t = 8)]
    paths: usize,
    /// Diverging calls shown; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    #[command(flatten)]
    at: AtArgs,
}

fn range(text: &str) -> Result<RangeInclusive<usize>, String> {
    let number = |part: &str| -> Result<usize, String> {
        part.trim()
            .parse()
            .map_err(|_| format!("{part:?} is no number; write 3, 3-7 or 3-"))
    };
    let (from, to) = match text.split_once('-') {
        None => (number(text)?, number(text)?),
        Some((from, "")) => (number(from)?, usize::MAX),
        Some((from, to)) => (number(from)?, number(to)?),
    };
    if from > to {
        return Err(format!("{from} comes after {to}"));
    }
    Ok(from..=to)
}

pub(crate) async fn run(
    args: &ShowArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let lake = Lake::open(&global.lake)?;
    let engine = Engine::open(&lake, &args.at.resolve()?).await?;
    let pair = load_pair(
        &engine,
        &args.trajectory,
        args.environment.as_deref(),
        args.paths,
    )
    .await?;
    if let Some(range) = &args.calls
        && *range.start() >= pair.steps.len()
    {
        anyhow::bail!(
            "--calls {}: the trajectory has {} calls, numbered from 0",
            range.start(),
            pair.steps.len()
        );
    }
    if printer.format() == OutputFormat::Table {
        let limits = Limits {
            calls: args.calls.clone(),
            steps: args.limit,
        };
        printer.data(&draw_pair(&pair, &limits, &Screen::of_stdout()))?;
    } else {
        let batch = pair_batch(&pair, |step| {
            args.calls
                .as_ref()
                .is_none_or(|range| range.contains(&step.number))
        })?;
        printer.batches(&batch.schema(), &[batch.clone()])?;
    }
    Ok(Status::Done)
}

#[cfg(test)]
mod tests {
    use super::range;

    #[test]
    fn ranges() {
        assert_eq!(range("3"), Ok(3..=3));
        assert_eq!(range("3-7"), Ok(3..=7));
        assert_eq!(range("3-"), Ok(3..=usize::MAX));
        assert!(range("7-3").is_err());
        assert!(range("x").is_err());
        assert!(range("-3").is_err());
    }
}
