//! Data to standard output, talk to standard error.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use indicatif::{ProgressBar, ProgressStyle};

use crate::import::Progress;
use crate::report::{LineWriter, OutputError, OutputFormat, safe_lines, write_batches};

/// Where a command prints.
#[derive(Debug)]
pub(crate) struct Printer {
    quiet: bool,
    format: OutputFormat,
}

impl Printer {
    pub(crate) fn new(quiet: bool, format: OutputFormat) -> Self {
        Self { quiet, format }
    }

    pub(crate) fn format(&self) -> OutputFormat {
        self.format
    }

    /// A line for people.
    pub(crate) fn say(&self, line: &str) {
        if !self.quiet {
            let _ = writeln!(io::stderr(), "{line}");
        }
    }

    /// What went wrong; always said. Errors quote ids, queries and payloads,
    /// which are not trusted.
    pub(crate) fn error(&self, text: &str) {
        let _ = writeln!(io::stderr(), "fidelake: {}", safe_lines(text));
    }

    /// One text of data.
    pub(crate) fn data(&self, text: &str) -> Result<(), OutputError> {
        let mut out = io::stdout().lock();
        writeln!(out, "{text}")?;
        out.flush()?;
        Ok(())
    }

    /// Rows of data as they come, in a format made of lines.
    pub(crate) fn stream(
        &self,
        schema: &SchemaRef,
    ) -> Result<LineWriter<io::BufWriter<io::Stdout>>, OutputError> {
        LineWriter::new(schema, self.format, io::BufWriter::new(io::stdout()))
    }

    /// One batch of rows in the chosen format.
    pub(crate) fn batch(&self, batch: &RecordBatch) -> Result<(), OutputError> {
        self.batches(&batch.schema(), std::slice::from_ref(batch))
    }

    /// Rows of data in the chosen format.
    pub(crate) fn batches(
        &self,
        schema: &SchemaRef,
        batches: &[RecordBatch],
    ) -> Result<(), OutputError> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        write_batches(schema, batches, self.format, &mut out)?;
        out.flush()?;
        Ok(())
    }
}

/// A bar over bytes.
pub(crate) const BYTES: &str = "{bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta}";

/// Waits for Ctrl-C or SIGTERM; false if the system gives no signals.
async fn asked_to_stop() -> bool {
    use tokio::signal::unix::{SignalKind, signal};

    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return tokio::signal::ctrl_c().await.is_ok();
    };
    tokio::select! {
        pressed = tokio::signal::ctrl_c() => pressed.is_ok(),
        _ = terminate.recv() => true,
    }
}

/// A bar over things.
pub(crate) const ITEMS: &str = "{bar:30} {pos}/{len} {per_sec} {eta}";

/// Progress of long work: a bar on a terminal, plain lines now and then otherwise.
pub(crate) struct Meter {
    quiet: bool,
    bar: Option<ProgressBar>,
    /// When a line was said, and how much was done at first.
    last: Mutex<(Instant, Option<u64>)>,
    started: Instant,
    stop: Arc<AtomicBool>,
}

impl Meter {
    /// Begins to listen for Ctrl-C and SIGTERM as well.
    pub(crate) fn start(printer: &Printer, template: &str) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        tokio::spawn(async move {
            if asked_to_stop().await {
                flag.store(true, Ordering::Relaxed);
                let _ = writeln!(
                    io::stderr(),
                    "stopping at the next safe point; Ctrl-C again stops at once"
                );
                if asked_to_stop().await {
                    std::process::exit(1);
                }
            }
        });
        let visible = !printer.quiet && io::stderr().is_terminal();
        let bar = visible.then(|| {
            let style = ProgressStyle::with_template(template)
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(0).with_style(style)
        });
        let now = Instant::now();
        Self {
            quiet: printer.quiet,
            bar,
            last: Mutex::new((now, None)),
            started: now,
            stop,
        }
    }

    /// Moves the bar, or says a plain line now and then.
    fn show(&self, done: u64, total: u64, words: impl Fn(u64) -> String) {
        const EVERY: Duration = Duration::from_secs(10);

        if let Some(bar) = &self.bar {
            bar.set_length(total);
            bar.set_position(done);
            return;
        }
        let mut last = self
            .last
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        // What an earlier command has done says nothing of the rate.
        let first = *last.1.get_or_insert(done);
        if last.0.elapsed() >= EVERY {
            last.0 = Instant::now();
            let elapsed = self.started.elapsed();
            let rate = done.saturating_sub(first) as f64 / elapsed.as_secs_f64();
            let left = total.saturating_sub(done) as f64 / rate;
            let rest = if left.is_finite() {
                format!(
                    ", {} per second, {} s left",
                    words(rate as u64),
                    left.ceil()
                )
            } else {
                String::new()
            };
            self.say(&format!(
                "{} of {} done after {} s{rest}",
                words(done),
                words(total),
                elapsed.as_secs()
            ));
        }
    }

    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Progress for Meter {
    fn say(&self, line: &str) {
        if self.quiet {
            return;
        }
        match &self.bar {
            Some(bar) => bar.suspend(|| {
                let _ = writeln!(io::stderr(), "{line}");
            }),
            None => {
                let _ = writeln!(io::stderr(), "{line}");
            }
        }
    }

    fn bytes(&self, done: u64, total: u64) {
        self.show(done, total, |n| format!("{} MiB", n >> 20));
    }

    fn items(&self, done: u64, total: u64) {
        self.show(done, total, |n| n.to_string());
    }

    fn stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
