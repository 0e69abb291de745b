//! `fidelake augment`

use std::collections::{BTreeSet, HashMap};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use clap::Args;

use super::printer::Printer;
use super::whole::WholeFile;
use super::{AtArgs, Global, Status, UsageError};
use crate::engine::Engine;
use crate::lake::Lake;
use crate::randomize::{Augmentation, Kind, Limits, Splice, augmentation, splice};
use crate::report::run_lines;

/// Put rare failures of the real world into simulated trajectories.
///
/// A failure that real runs had now and then is put before a call that went well: it fails
/// with an answer that was really given, is made again, and the run goes on. Only what the
/// real world has shown before and behind such a failure is made, and no more of it than an
/// exact test lets pass. The runs are of origin `generated`, with both parents in their
/// labels; `fidelake import` takes them. docs/augment.md.
#[derive(Debug, Args)]
pub(crate) struct AugmentArgs {
    /// File to write, in the native run form; without it only the table is printed
    #[arg(long, short, value_name = "FILE.jsonl")]
    out: Option<PathBuf>,
    /// One environment instead of all
    #[arg(long, short, value_name = "NAME")]
    environment: Option<String>,
    /// A failure is rare below this share of its API's real calls
    #[arg(long, value_name = "SHARE", default_value_t = 0.05)]
    below: f64,
    /// It must have been seen so often
    #[arg(long, value_name = "N", default_value_t = 2)]
    at_least: u64,
    /// Level of the exact tests, over all of them together
    #[arg(long, value_name = "P", default_value_t = 0.05)]
    alpha: f64,
    /// Splices at most
    #[arg(long, value_name = "N")]
    most: Option<usize>,
    /// Seed of the order in which places are tried
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    at: AtArgs,
}

/// So many splices have their runs in memory at once.
const AT_ONCE: usize = 100;

pub(crate) async fn run(
    args: &AugmentArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    for (name, value) in [("below", args.below), ("alpha", args.alpha)] {
        if !(value > 0.0 && value < 1.0) {
            return Err(
                UsageError(format!("--{name} {value}: write a number between 0 and 1")).into(),
            );
        }
    }
    let lake = Lake::open(&global.lake)?;
    let engine = Engine::open(&lake, &args.at.resolve()?).await?;
    let limits = Limits {
        below: args.below,
        at_least: args.at_least.max(1),
        alpha: args.alpha,
        most: args.most.unwrap_or(usize::MAX),
        seed: args.seed,
    };
    let found = augmentation(&engine, args.environment.as_deref(), limits).await?;
    if let Some(path) = &args.out {
        let mut out = WholeFile::create(path)?;
        for splices in found.splices.chunks(AT_ONCE) {
            write(&engine, splices, &mut out).await?;
        }
        out.finish()?;
    }
    printer.batch(&table(&found)?)?;
    printer.say(&match (&args.out, found.kinds.is_empty()) {
        (_, true) => format!(
            "no failure is rare: none was seen {} times or more in less than {} of its API's real calls",
            limits.at_least, limits.below
        ),
        (Some(path), _) => format!("{} runs in {}", found.splices.len(), path.display()),
        (None, _) => format!("{} runs would be written; --out FILE.jsonl writes them", found.splices.len()),
    });
    Ok(Status::Done)
}

async fn write(engine: &Engine, splices: &[Splice], out: &mut WholeFile) -> anyhow::Result<()> {
    let ids: BTreeSet<&str> = splices
        .iter()
        .flat_map(|one| [one.host.as_str(), one.donor.as_str()])
        .collect();
    // Hexadecimal hashes of our own: nothing in them needs quoting.
    let list: Vec<String> = ids.iter().map(|id| format!("'{id}'")).collect();
    let filter = format!("run_id IN ({})", list.join(", "));
    let mut lines: HashMap<String, String> = HashMap::new();
    let mut keep = |id: &str, line: String| {
        lines.insert(id.to_owned(), line);
        Ok(())
    };
    run_lines(engine, Some(&filter), &mut keep).await?;
    for one in splices {
        let line = |id: &str| {
            lines
                .get(id)
                .with_context(|| format!("run {id} is not there"))
        };
        writeln!(out, "{}", splice(line(&one.host)?, line(&one.donor)?, one)?)?;
    }
    Ok(())
}

fn table(found: &Augmentation) -> anyhow::Result<RecordBatch> {
    let texts = |of: &dyn Fn(&Kind) -> Option<String>| -> ArrayRef {
        Arc::new(found.kinds.iter().map(of).collect::<StringArray>())
    };
    let counts = |of: &dyn Fn(&Kind) -> u64| -> ArrayRef {
        let values = found
            .kinds
            .iter()
            .map(|kind| i64::try_from(of(kind)).unwrap_or(i64::MAX));
        Arc::new(Int64Array::from_iter_values(values))
    };
    let numbers = |of: &dyn Fn(&Kind) -> f64| -> ArrayRef {
        let values = found
            .kinds
            .iter()
            .map(|kind| (of(kind) * 1e4).round() / 1e4);
        Arc::new(Float64Array::from_iter_values(values))
    };
    Ok(RecordBatch::try_from_iter_with_nullable([
        (
            "environment",
            texts(&|kind| Some(kind.environment.clone())),
            false,
        ),
        ("api", texts(&|kind| Some(kind.api.clone())), false),
        ("outcome", texts(&|kind| Some(kind.outcome.clone())), false),
        ("real_calls", counts(&|kind| kind.real.0), false),
        ("real", counts(&|kind| kind.real.1), false),
        ("sim_calls", counts(&|kind| kind.sim.0), false),
        ("sim", counts(&|kind| kind.sim.1), false),
        ("places", counts(&|kind| kind.places as u64), false),
        (
            "added",
            counts(&|kind| kind.choice.taken.len() as u64),
            false,
        ),
        ("refused", counts(&|kind| kind.choice.refused as u64), false),
        ("p_share", numbers(&|kind| kind.choice.p_share), false),
        ("p_after", numbers(&|kind| kind.choice.p_after), false),
        ("why_none", texts(&|kind| kind.why.map(str::to_owned)), true),
    ])?)
}
