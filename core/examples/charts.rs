//! Feeds streams of gaps to the monitor's charts: what benches/monitor_river.py compares with others.
//!
//!     cargo run -p fidelake-core --example charts -- RATE < STREAMS
//!
//! One stream per line, gaps in [0,1] with spaces between. Prints per stream the number of the sample that
//! raised the first alarm, 0 if none did. RATE is how often a stream may raise a false one in 1,000 samples.

use std::io::{BufRead as _, Write as _};

use fidelake_core::monitor::Stream;

fn main() -> std::io::Result<()> {
    let rate: f64 = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(0.01);
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let began = std::time::Instant::now();
    let mut samples = 0u64;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        // Without a threshold: only a change raises an alarm.
        let mut stream = Stream::new(0.0);
        let mut first = 0;
        for (at, gap) in line.split_ascii_whitespace().enumerate() {
            let gap = gap.parse().map_err(std::io::Error::other)?;
            samples += 1;
            if stream.add(gap, None, rate, 0) && first == 0 {
                first = at + 1;
            }
        }
        writeln!(out, "{first}")?;
    }
    let seconds = began.elapsed().as_secs_f64();
    eprintln!(
        "{samples} samples, {:.0} per second, reading included",
        samples as f64 / seconds
    );
    out.flush()
}
