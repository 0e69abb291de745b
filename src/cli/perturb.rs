//! `fidelake perturb`

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use clap::Args;
use fidelake_core::perturb::Perturbation;

use super::printer::{BYTES, Meter, Printer};
use super::{Status, UsageError};
use crate::env::perturb::{PerturbError, Perturbations, Variant, Written, perturb_line};
use crate::formats::unpacked;
use crate::import::Progress as _;
use crate::report::{OutputFormat, Screen, wrapped};

/// Make a world that differs on purpose: list the ways, or apply them to recorded runs.
///
/// Runs in the native form are read, and both arms are written to standard output: `sim`
/// as it was, `real` with a perturbed task and catalog, as trajectory ID/NAME with the label
/// `perturbation`. Once agents were run on the real arm, `fidelake validate --by
/// perturbation` says whether the profiles predict their harm. Perturbations of answers are
/// put around an environment of a plan instead. docs/perturbations.md explains each.
#[derive(Debug, Args)]
pub(crate) struct PerturbArgs {
    /// Files in the native run form, plain or compressed (.gz, .zst); `-` is standard input
    #[arg(value_name = "RUNS", required_unless_present = "list")]
    runs: Vec<PathBuf>,
    /// Say what there is: names, what each does, what its intensity means
    #[arg(long, conflicts_with_all = ["runs", "with", "each", "seed"])]
    list: bool,
    /// What to apply, from the inside outwards, such as "obs_typos=0.3,action_a"
    #[arg(
        long,
        value_name = "NAME[=INTENSITY],...",
        required_unless_present = "list"
    )]
    with: Option<String>,
    /// Apply each of them alone: one pair of runs for each, instead of one for all together
    #[arg(long)]
    each: bool,
    /// Seed of all chance
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

/// Wrong lines are told one by one up to here, then counted.
const TOLD: u64 = 10;

pub(crate) fn run(args: &PerturbArgs, printer: &Printer) -> anyhow::Result<Status> {
    if args.list {
        return list(printer);
    }
    let given = args.with.as_deref().unwrap_or_default();
    let set = Perturbations::parse(given, args.seed).map_err(told)?;
    let sets = match args.each {
        true => set.each().collect(),
        false => vec![set],
    };
    let variants = sets.into_iter().map(Variant::new);
    let variants = variants.collect::<Result<Vec<_>, _>>().map_err(told)?;
    let mut work = Work {
        meter: Meter::start(printer, BYTES),
        out: BufWriter::with_capacity(1 << 20, io::stdout()),
        variants,
        counts: Counts::default(),
        total: args.runs.iter().map(|path| size(path)).sum(),
        before: 0,
    };
    for path in &args.runs {
        if !work.file(path, printer)? {
            break;
        }
    }
    work.out.flush()?;
    work.meter.finish();
    Ok(work.counts.say(work.meter.stop(), printer))
}

/// What the user can mend has exit code 2.
fn told(error: PerturbError) -> UsageError {
    UsageError(error.to_string())
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |meta| meta.len())
}

struct Work {
    meter: Meter,
    out: BufWriter<io::Stdout>,
    variants: Vec<Variant>,
    counts: Counts,
    total: u64,
    /// Bytes of the files before.
    before: u64,
}

#[derive(Default)]
struct Counts {
    pairs: u64,
    unchanged: BTreeMap<String, u64>,
    other_arm: u64,
    wrong: u64,
}

impl Work {
    /// Reads one file; false if the user stopped it.
    fn file(&mut self, path: &Path, printer: &Printer) -> anyhow::Result<bool> {
        let shown = path.display();
        let read = Arc::new(std::sync::atomic::AtomicU64::new(0));
        let lines = lines(path, &read).map_err(|e| anyhow::anyhow!("{shown}: {e}"))?;
        for (number, line) in lines.split(b'\n').enumerate() {
            if self.meter.stop() {
                return Ok(false);
            }
            let line = line.map_err(|e| anyhow::anyhow!("{shown}:{}: {e}", number + 1))?;
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_start_matches('\u{feff}').trim();
            if line.is_empty() {
                continue;
            }
            for variant in &self.variants {
                match perturb_line(line, variant) {
                    Ok(Written::Pair { sim, real, changed }) => {
                        self.counts.pairs += 1;
                        if !changed {
                            let count = self.counts.unchanged.entry(variant.label().to_owned());
                            *count.or_default() += 1;
                        }
                        writeln!(self.out, "{sim}\n{real}")?;
                    }
                    Ok(Written::OtherArm) => {
                        self.counts.other_arm += 1;
                        break;
                    }
                    Err(why) => {
                        self.counts.wrong += 1;
                        if self.counts.wrong <= TOLD {
                            printer.error(&format!("{shown}:{}: {why}", number + 1));
                        }
                        break;
                    }
                }
            }
            let done = self.before + read.load(std::sync::atomic::Ordering::Relaxed);
            self.meter.bytes(done, self.total.max(done));
        }
        self.before += size(path);
        Ok(true)
    }
}

impl Counts {
    fn say(&self, stopped: bool, printer: &Printer) -> Status {
        printer.say(&format!("{} pairs of runs written", self.pairs));
        for (label, count) in &self.unchanged {
            printer.say(&format!(
                "{count} of {label} differ in nothing (label perturbation_changed is false): nothing there to perturb"
            ));
        }
        if self.other_arm > 0 {
            printer.say(&format!(
                "{} runs of arm real left out: the real arm is made from sim",
                self.other_arm
            ));
        }
        if self.wrong > TOLD {
            printer.error(&format!(
                "{} more lines that are no runs",
                self.wrong - TOLD
            ));
        }
        if stopped {
            printer.error("stopped before the end: what was written is whole, but not all");
        }
        match self.wrong > 0 || stopped {
            true => Status::Failed,
            false => Status::Done,
        }
    }
}

/// Counts what is read of a file, however it is packed.
struct Counted<R> {
    inner: R,
    read: Arc<std::sync::atomic::AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.inner.read(buffer)?;
        self.read
            .fetch_add(got as u64, std::sync::atomic::Ordering::Relaxed);
        Ok(got)
    }
}

fn lines(
    path: &Path,
    read: &Arc<std::sync::atomic::AtomicU64>,
) -> io::Result<BufReader<Box<dyn Read>>> {
    let source: Box<dyn Read> = match path == Path::new("-") {
        true => Box::new(io::stdin()),
        false => Box::new(std::fs::File::open(path)?),
    };
    let counted = Counted {
        inner: source,
        read: Arc::clone(read),
    };
    let decoded = unpacked(counted)?;
    Ok(BufReader::with_capacity(1 << 20, decoded))
}

fn list(printer: &Printer) -> anyhow::Result<Status> {
    if printer.format() != OutputFormat::Table {
        printer.batch(&rows()?)?;
        return Ok(Status::Done);
    }
    let width = Screen::of_stdout().width;
    let pages = Perturbation::ALL.iter().map(|kind| {
        let head = format!(
            "{}  ({}, acts on {})",
            kind.as_str(),
            kind.dimension().as_str(),
            kind.acts_on().as_str()
        );
        let intensity = format!(
            "Intensity: {}; {} if not given.",
            kind.intensity(),
            kind.default_intensity()
        );
        let mut lines = vec![head];
        for text in [kind.does(), &intensity] {
            let wrapped = wrapped(text, width.saturating_sub(4));
            lines.extend(wrapped.into_iter().map(|line| format!("    {line}")));
        }
        lines.join("\n")
    });
    printer.data(&pages.collect::<Vec<_>>().join("\n"))?;
    Ok(Status::Done)
}

fn rows() -> anyhow::Result<RecordBatch> {
    let texts = |of: fn(Perturbation) -> &'static str| {
        let values = Perturbation::ALL.iter().map(|kind| of(*kind));
        Arc::new(StringArray::from_iter_values(values)) as ArrayRef
    };
    let defaults = Perturbation::ALL
        .iter()
        .map(|kind| kind.default_intensity());
    Ok(RecordBatch::try_from_iter([
        ("name", texts(Perturbation::as_str)),
        ("dimension", texts(|kind| kind.dimension().as_str())),
        ("acts_on", texts(|kind| kind.acts_on().as_str())),
        ("does", texts(Perturbation::does)),
        ("intensity", texts(Perturbation::intensity)),
        (
            "default_intensity",
            Arc::new(Float64Array::from_iter_values(defaults)) as ArrayRef,
        ),
    ])?)
}
