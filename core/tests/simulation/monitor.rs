//! Charts of streams whose truth is known: how often they raise a false alarm, how soon a true one.
//!
//! A stream is a normal AR(1) process carried over to another distribution, so that phi is that of the
//! process underneath; sigma is the standard deviation of the single samples. 200 samples of warm-up,
//! then 1,000. The tests run a small part of what
//! `SEED=20 cargo test -p fidelake-core --test simulation monitor -- --ignored --nocapture` prints.

use fidelake_core::monitor::{Cause, State, Stream, rate};
use fidelake_core::stats::{Chance, student_cdf};

const WARM_UP: usize = 200;
const SAMPLES: usize = 1000;

/// How gaps are distributed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    /// Mean .3, standard deviation .1.
    Normal,
    /// Four of five are 0, the rest anything up to 1.
    ZeroInflated,
    /// As u^8 of an even u: most near 0, with a long tail.
    Skewed,
    /// Exponential with mean .05.
    Exponential,
    /// 1 with this chance in a hundred, else 0.
    Rare(u32),
    /// Normal around .05, and 1 with this chance in a thousand.
    Outliers(u32),
}

use Shape::{Exponential, Normal, Outliers, Rare, Skewed, ZeroInflated};

impl Shape {
    fn gap(self, z: f64) -> f64 {
        // Student's t with very many degrees of freedom is normal.
        let even = || student_cdf(z, 1e8).min(1.0 - 1e-12);
        let gap = match self {
            Normal => 0.3 + 0.1 * z,
            ZeroInflated => {
                let rest = (even() - 0.8) / 0.2;
                if rest < 0.0 {
                    0.0
                } else {
                    1.0 - (1.0 - rest).powf(0.4)
                }
            }
            Skewed => even().powi(8),
            Exponential => -0.05 * (1.0 - even()).ln(),
            Rare(hundredths) => f64::from(u8::from(even() > 1.0 - f64::from(hundredths) / 100.0)),
            Outliers(thousandths) if even() > 1.0 - f64::from(thousandths) / 1000.0 => 1.0,
            Outliers(_) => 0.05 + 0.01 * z,
        };
        gap.clamp(0.0, 1.0)
    }
}

/// An AR(1) process of variance 1.
struct Process {
    chance: Chance,
    phi: f64,
    z: f64,
}

impl Process {
    fn new(phi: f64, seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let z = chance.normal();
        Self { chance, phi, z }
    }

    fn next(&mut self) -> f64 {
        let z = self.z;
        self.z = self.phi * z + (1.0 - self.phi * self.phi).sqrt() * self.chance.normal();
        z
    }
}

/// Another SEED gives other streams than those that the charts were made with.
fn base() -> u64 {
    std::env::var("SEED").map_or(0, |seed| seed.parse::<u64>().unwrap() * 1_000_000_007)
}

/// False alarms: of so many streams, those that raised one, and those that were warned of.
fn false_alarms(shape: Shape, phi: f64, streams: usize, rate: f64) -> (usize, usize) {
    let (mut alarms, mut warned) = (0, 0);
    for seed in 0..streams {
        let mut process = Process::new(phi, base() + seed as u64 * 7919 + (phi * 10.0) as u64);
        let mut stream = Stream::new(0.0);
        let (mut alarm, mut warn) = (false, false);
        for _ in 0..WARM_UP + SAMPLES {
            alarm |= stream.add(shape.gap(process.next()), None, rate, 0);
            warn |= stream.state() >= State::Warn;
        }
        alarms += usize::from(alarm);
        warned += usize::from(warn);
    }
    (alarms, warned)
}

/// Samples after a change begins until it is noticed, of so many streams, in order; a stream that had
/// raised an alarm before is left out. `shift` in sigma by samples since.
fn delays(phi: f64, streams: usize, rate: f64, shift: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut found = Vec::new();
    'streams: for seed in 0..streams {
        let mut process = Process::new(phi, base() + 1_000_000 + seed as u64);
        let mut stream = Stream::new(0.0);
        for _ in 0..WARM_UP + 100 {
            if stream.add(Normal.gap(process.next()), None, rate, 0) {
                continue 'streams;
            }
        }
        let noticed = (1..=2000).find(|at| {
            let gap = Normal.gap(process.next() + shift(*at));
            stream.add(gap, None, rate, 0)
        });
        found.push(noticed.unwrap_or(9999));
    }
    found.sort_unstable();
    found
}

fn median(delays: &[usize]) -> usize {
    delays[delays.len() / 2]
}

const PHIS: [f64; 3] = [0.0, 0.5, 0.8];

#[test]
fn false_alarms_are_as_rare_as_stated() {
    const STREAMS: usize = 2000;
    for shape in [Normal, ZeroInflated, Rare(5)] {
        for phi in PHIS {
            let (alone, _) = false_alarms(shape, phi, STREAMS, rate(1));
            // 1 % of 2,000 is 20; of 10 groups of 200 one in two would have an alarm at 5 %.
            let (together, _) = false_alarms(shape, phi, STREAMS, rate(200));
            println!(
                "{shape:?} phi {phi}: alone {alone} of {STREAMS}, in groups of 200 {together}"
            );
            assert!(alone <= 20, "{shape:?} {phi} {alone}");
            assert!(together <= 3, "{shape:?} {phi} {together}");
        }
    }
}

#[test]
fn a_jump_of_three_sigma_is_noticed_soon() {
    for (phi, streams, most) in [(0.0, 1, 6), (0.5, 1, 10), (0.5, 200, 15)] {
        let found = delays(phi, 800, rate(streams), |_| 3.0);
        let median = median(&found);
        println!("3 sigma, phi {phi}, {streams} streams: median {median}");
        assert!(median <= most, "{phi} {streams} {median}");
    }
}

#[test]
fn a_jump_is_called_a_jump_and_a_creep_a_creep() {
    let causes = |shift: &dyn Fn(usize) -> f64| {
        let mut found = Vec::new();
        for seed in 0..40 {
            let mut process = Process::new(0.3, seed);
            let mut stream = Stream::new(0.0);
            for at in 0..2000 {
                let since = if at > 400 { shift(at - 400) } else { 0.0 };
                if stream.add(Normal.gap(process.next() + since), None, rate(1), 0) {
                    found.extend(stream.latch().map(|latch| latch.cause));
                    break;
                }
            }
        }
        found
    };
    let jumps = causes(&|_| 4.0);
    assert!(jumps.len() == 40 && jumps.iter().filter(|c| **c == Cause::Jump).count() > 30);
    let creeps = causes(&|since| 0.002 * since as f64);
    assert!(
        creeps.iter().filter(|c| **c == Cause::Creep).count() > 30,
        "{creeps:?}"
    );
}

#[test]
#[ignore = "minutes: the figures of docs/monitor.md"]
fn figures() {
    let streams: usize = std::env::var("STREAMS").map_or(40_000, |n| n.parse().unwrap());
    println!("| gaps | phi | one stream: alarms | warned of | 200 streams: alarms in any |");
    println!("| --- | --- | --- | --- | --- |");
    let shapes = [
        Normal,
        ZeroInflated,
        Skewed,
        Exponential,
        Rare(30),
        Rare(5),
        Rare(1),
        Outliers(10),
        Outliers(3),
    ];
    for shape in shapes {
        for phi in PHIS {
            let (alone, warned) = false_alarms(shape, phi, streams, rate(1));
            let (together, _) = false_alarms(shape, phi, streams, rate(200));
            let share = |n: usize| n as f64 / streams as f64;
            let any = 1.0 - (1.0 - share(together)).powi(200);
            println!(
                "| {shape:?} | {phi} | {:.4} | {:.4} | {any:.3} |",
                share(alone),
                share(warned)
            );
        }
    }
    println!("\n| change | phi | one stream | 200 streams |\n| --- | --- | --- | --- |");
    type Change = (&'static str, fn(usize) -> f64);
    let changes: [Change; 5] = [
        ("3 sigma at once", |_| 3.0),
        ("2 sigma at once", |_| 2.0),
        ("1 sigma at once", |_| 1.0),
        ("3 sigma over 100", |at| 3.0 * (at as f64 / 100.0).min(1.0)),
        ("3 sigma over 500", |at| 3.0 * (at as f64 / 500.0).min(1.0)),
    ];
    for (name, shift) in changes {
        for phi in PHIS {
            let found = [1, 200].map(|n| {
                let found = delays(phi, 2000, rate(n), shift);
                format!("{} ({})", median(&found), found[found.len() * 9 / 10])
            });
            println!("| {name} | {phi} | {} | {} |", found[0], found[1]);
        }
    }
}
