//! One stream: the gaps of one dimension in one region, in the order in which they came.

use super::abrupt::{self, Abrupt};
use super::baseline::{Baseline, Unsteady, WARM_UP};
use super::ewma::{Ewma, LAMBDAS, Limits};
use super::sequence::{Batch, Sequence, batch_size};

/// Samples over which rates of false alarms are stated (docs/measures.md, "Monitor").
pub const SAMPLES: f64 = 1000.0;

/// Most that a single stream may raise a false alarm in [`SAMPLES`].
pub const RATE_OF_ONE: f64 = 0.01;

/// Most that all streams together may.
pub const RATE_OF_ALL: f64 = 0.05;

/// How a stream's rate is shared out among its charts: jump, drift, creep, threshold.
const SHARES: [f64; 4] = [0.5, 0.25, 0.15, 0.1];

/// Weight of the newest gap in the fidelity of late.
const OF_LATE: f64 = 0.1;

/// From this part of an alarm's limit on a stream is warned of ...
const WARN_FROM: f64 = 0.8;

/// ... until all charts are below this part.
const CALM_BELOW: f64 = 0.5;

/// A warm-up that wanders is given up and begun again at this length.
const LONGEST_WARM_UP: usize = 2 * WARM_UP;

/// Version of the parts that a stream is written as.
const FORM: f64 = 1.0;

/// Numbers of a stream before its warm-up, and of its charts.
const HEAD: usize = 14;
const CHARTS: usize = 26;

/// What one stream may raise, if there are so many.
#[must_use]
pub fn rate(streams: usize) -> f64 {
    RATE_OF_ONE.min(RATE_OF_ALL / streams.max(1) as f64)
}

/// What is known of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// As at its warm-up.
    Ok,
    /// Not known: its warm-up is not over, or wanders.
    Unknown,
    /// Something may be wrong.
    Warn,
    /// An alarm, until somebody acknowledges it or recalibrates.
    Pause,
}

impl State {
    /// `ok`, `unknown`, `warn`, `pause`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Unknown => "unknown",
            Self::Warn => "warn",
            Self::Pause => "pause",
        }
    }
}

/// Which chart raised an alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The gap jumped up.
    Jump,
    /// The mean of some twenty samples is above its limit.
    Drift,
    /// The mean of some fifty is.
    Creep,
    /// The fidelity is below the threshold.
    Threshold,
}

impl Cause {
    const ALL: [Self; 4] = [Self::Jump, Self::Drift, Self::Creep, Self::Threshold];

    /// `jump`, `drift`, `creep`, `threshold`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jump => "jump",
            Self::Drift => "drift",
            Self::Creep => "creep",
            Self::Threshold => "threshold",
        }
    }
}

/// An alarm that is latched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latch {
    /// Which chart.
    pub cause: Cause,
    /// When, as the caller counts time.
    pub at: i64,
}

/// What the charts of a stream need once its warm-up is over.
#[derive(Clone, Debug, PartialEq)]
struct Watch {
    baseline: Baseline,
    limits: [Limits; 2],
    means: [Ewma; 2],
    abrupt: Abrupt,
    batch: Batch,
    sequence: Sequence,
}

impl Watch {
    fn new(baseline: Baseline) -> Self {
        let limits = LAMBDAS.map(|lambda| Limits::of(&baseline, lambda));
        Self {
            baseline,
            limits,
            means: [Ewma::default(); 2],
            abrupt: Abrupt::default(),
            batch: Batch::default(),
            sequence: Sequence::default(),
        }
    }

    fn add(&mut self, gap: f64, step: Option<i64>, limit: f64) {
        let score = self.baseline.score(gap);
        for (mean, lambda) in self.means.iter_mut().zip(LAMBDAS) {
            mean.add(lambda, score);
        }
        self.abrupt.add(&self.baseline, score);
        self.batch_in(gap, step, limit);
    }

    fn batch_in(&mut self, gap: f64, step: Option<i64>, limit: f64) {
        let size = batch_size(self.baseline.phi);
        if let Some(mean) = self.batch.add(gap, step, size) {
            self.sequence.add(mean, limit);
        }
    }

    /// Every chart's part of its limit, in the order of [`Cause::ALL`].
    fn parts(&self, rate: f64) -> [f64; 4] {
        let [jump, drift, creep, threshold] = SHARES.map(|share| share * rate);
        let mean = |at: usize, rate: f64| {
            let limits = &self.limits[at];
            let z = limits.quantile(&self.baseline, rate, SAMPLES);
            let Ewma { value, count } = self.means[at];
            value.max(0.0) / limits.at(count, z)
        };
        let size = batch_size(self.baseline.phi);
        [
            self.abrupt.sum / abrupt::limit(&self.baseline, jump, SAMPLES),
            mean(0, drift),
            mean(1, creep),
            self.sequence.capital / Sequence::needed(threshold, SAMPLES, size),
        ]
    }

    /// Forgets the evidence, keeps what was learned.
    fn begin_anew(&mut self) {
        self.means = [Ewma::default(); 2];
        self.abrupt.sum = 0.0;
        self.sequence.begin_anew();
    }
}

/// One stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// Samples, their sum and the sum of their squares, since the beginning.
    count: u64,
    sum: f64,
    squares: f64,
    /// Weighted mean of the gaps, as they are, over some ten.
    level: f64,
    warm_up: Vec<f64>,
    wandered: Option<f64>,
    watch: Option<Watch>,
    latch: Option<Latch>,
    warned: bool,
    /// The gap that still is allowed: 1 less the threshold of fidelity.
    allowed: f64,
    alarms: u64,
}

impl Stream {
    /// An empty stream. `threshold`: the fidelity that it should not fall below, in (0,1].
    #[must_use]
    pub fn new(threshold: f64) -> Self {
        Self {
            count: 0,
            sum: 0.0,
            squares: 0.0,
            level: 0.0,
            warm_up: Vec::new(),
            wandered: None,
            watch: None,
            latch: None,
            warned: false,
            allowed: 1.0 - threshold,
            alarms: 0,
        }
    }

    /// One more gap in `[0,1]` (others are cut), of a training step if known; `rate` as by [`rate`],
    /// `now` as the caller counts time. True if it raised an alarm that was not latched before.
    pub fn add(&mut self, gap: f64, step: Option<i64>, rate: f64, now: i64) -> bool {
        let gap = if gap.is_nan() {
            0.0
        } else {
            gap.clamp(0.0, 1.0)
        };
        self.count += 1;
        self.sum += gap;
        self.squares += gap * gap;
        let weight = OF_LATE.max(1.0 / self.count as f64);
        self.level += weight * (gap - self.level);
        match &mut self.watch {
            Some(watch) => watch.add(gap, step, self.allowed),
            None => self.warm(gap),
        }
        self.judge(rate, now)
    }

    fn warm(&mut self, gap: f64) {
        self.warm_up.push(gap);
        match Baseline::learn(&self.warm_up) {
            Ok(baseline) => {
                let mut watch = Watch::new(baseline);
                // The threshold is no matter of comparison with the warm-up: it counts from the start.
                for gap in self.warm_up.drain(..) {
                    watch.batch_in(gap, None, self.allowed);
                    watch.abrupt.before = watch.baseline.score(gap);
                }
                self.wandered = None;
                self.watch = Some(watch);
            }
            Err(Unsteady::Few(_)) => {}
            Err(Unsteady::Wanders(phi)) => {
                self.wandered = Some(phi);
                if self.warm_up.len() >= LONGEST_WARM_UP {
                    self.warm_up.drain(..WARM_UP);
                }
            }
        }
    }

    fn judge(&mut self, rate: f64, now: i64) -> bool {
        let Some(watch) = &self.watch else {
            return false;
        };
        let parts = watch.parts(rate);
        let (at, most) =
            parts
                .iter()
                .enumerate()
                .fold(
                    (0, 0.0),
                    |best: (usize, f64), (at, part)| {
                        if *part > best.1 { (at, *part) } else { best }
                    },
                );
        if most >= WARN_FROM {
            self.warned = true;
        } else if most < CALM_BELOW {
            self.warned = false;
        }
        if most >= 1.0 && self.latch.is_none() {
            self.latch = Some(Latch {
                cause: Cause::ALL[at],
                at: now,
            });
            self.alarms += 1;
            return true;
        }
        false
    }

    /// What is known of it.
    #[must_use]
    pub fn state(&self) -> State {
        if self.latch.is_some() {
            State::Pause
        } else if self.watch.is_none() {
            State::Unknown
        } else if self.warned {
            State::Warn
        } else {
            State::Ok
        }
    }

    /// The alarm that is latched.
    #[must_use]
    pub fn latch(&self) -> Option<Latch> {
        self.latch
    }

    /// Somebody has seen the alarm: the evidence begins anew against the same baseline, so what
    /// goes on being wrong raises it again. False if nothing was latched.
    pub fn acknowledge(&mut self) -> bool {
        let was = self.latch.take().is_some();
        if let (true, Some(watch)) = (was, &mut self.watch) {
            watch.begin_anew();
            self.warned = false;
        }
        was
    }

    /// The world was repaired, or is another from now on: the baseline is forgotten, and a new
    /// warm-up begins.
    pub fn recalibrate(&mut self) {
        let alarms = self.alarms;
        *self = Self {
            alarms,
            ..Self::new(1.0 - self.allowed)
        };
    }

    /// Sets the threshold of fidelity; what was bet against another is forgotten.
    pub fn set_threshold(&mut self, threshold: f64) {
        let allowed = 1.0 - threshold;
        if allowed != self.allowed {
            self.allowed = allowed;
            if let Some(watch) = &mut self.watch {
                watch.sequence.begin_anew();
            }
        }
    }

    /// Samples since the beginning or the last recalibration.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Alarms ever raised.
    #[must_use]
    pub const fn alarms(&self) -> u64 {
        self.alarms
    }

    /// Fidelity of late: 1 less a weighted mean of the gaps. `None` without samples.
    #[must_use]
    pub fn fidelity(&self) -> Option<f64> {
        (self.count > 0).then_some(1.0 - self.level)
    }

    /// The fidelity that it should not fall below.
    #[must_use]
    pub fn threshold(&self) -> f64 {
        1.0 - self.allowed
    }

    /// Standard deviation of the gaps; `None` below two samples.
    #[must_use]
    pub fn spread(&self) -> Option<f64> {
        let n = self.count as f64;
        (self.count > 1).then(|| {
            ((self.squares - self.sum * self.sum / n) / (n - 1.0))
                .max(0.0)
                .sqrt()
        })
    }

    /// Mean fidelity since the warm-up began, with 95 % at every time at once.
    #[must_use]
    pub fn interval(&self) -> Option<(f64, f64)> {
        let (low, high) = self.watch.as_ref()?.sequence.interval()?;
        Some((1.0 - high, 1.0 - low))
    }

    /// What was learned from the warm-up.
    #[must_use]
    pub fn baseline(&self) -> Option<&Baseline> {
        self.watch.as_ref().map(|watch| &watch.baseline)
    }

    /// How near the nearest chart is to its alarm: 1 is there. `None` before the warm-up is over.
    #[must_use]
    pub fn nearness(&self, rate: f64) -> Option<(Cause, f64)> {
        let parts = self.watch.as_ref()?.parts(rate);
        let all = Cause::ALL.into_iter().zip(parts);
        all.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Why nothing is known; `None` where something is.
    #[must_use]
    pub fn unsteady(&self) -> Option<Unsteady> {
        match (&self.watch, self.wandered) {
            (Some(_), _) => None,
            (None, Some(phi)) => Some(Unsteady::Wanders(phi)),
            (None, None) => Some(Unsteady::Few(self.warm_up.len())),
        }
    }

    /// Everything that it knows, as numbers.
    #[must_use]
    pub fn to_parts(&self) -> Vec<f64> {
        let latch = self.latch.map_or((-1.0, 0), |latch| {
            let at = Cause::ALL.iter().position(|cause| *cause == latch.cause);
            (at.unwrap_or(0) as f64, latch.at)
        });
        // A time in microseconds has more bits than a float: two halves.
        let (high, low) = (latch.1 >> 32, latch.1 & 0xffff_ffff);
        let mut parts = vec![
            FORM,
            self.count as f64,
            self.sum,
            self.squares,
            self.level,
            self.wandered.unwrap_or(f64::NAN),
            latch.0,
            high as f64,
            low as f64,
            f64::from(u8::from(self.warned)),
            self.allowed,
            self.alarms as f64,
            self.warm_up.len() as f64,
            f64::from(u8::from(self.watch.is_some())),
        ];
        debug_assert_eq!(parts.len(), HEAD);
        parts.extend(&self.warm_up);
        if let Some(watch) = &self.watch {
            let b = &watch.baseline;
            parts.extend([
                b.n as f64, b.mean, b.cap, b.centre, b.sd, b.skew, b.phi, b.exponent,
            ]);
            let [drift, creep] = watch.means;
            parts.extend([
                drift.value,
                drift.count as f64,
                creep.value,
                creep.count as f64,
            ]);
            parts.extend([watch.abrupt.sum, watch.abrupt.before]);
            let batch = watch.batch;
            parts.extend([batch.sum, batch.step, batch.count as f64]);
            parts.extend(watch.sequence.to_parts());
        }
        parts
    }

    /// The stream that was written as these numbers; `None` if they are none of ours.
    #[must_use]
    pub fn from_parts(parts: &[f64]) -> Option<Self> {
        let (head, rest) = parts.split_at_checked(HEAD)?;
        let warm = head[12];
        if head[0] != FORM || !(0.0..=LONGEST_WARM_UP as f64).contains(&warm) {
            return None;
        }
        let (warm_up, charts) = rest.split_at_checked(warm as usize)?;
        let watch = match (head[13] == 1.0, charts.len()) {
            (false, 0) => None,
            (true, CHARTS) => Some(read_watch(charts)?),
            _ => return None,
        };
        let latch = match head[6] {
            at if at < 0.0 => None,
            at => Some(Latch {
                cause: *Cause::ALL.get(at as usize)?,
                at: ((head[7] as i64) << 32) | head[8] as i64,
            }),
        };
        Some(Self {
            count: head[1] as u64,
            sum: head[2],
            squares: head[3],
            level: head[4],
            warm_up: warm_up.to_vec(),
            wandered: (!head[5].is_nan()).then_some(head[5]),
            watch,
            latch,
            warned: head[9] == 1.0,
            allowed: head[10],
            alarms: head[11] as u64,
        })
    }
}

fn read_watch(charts: &[f64]) -> Option<Watch> {
    let (b, rest) = charts.split_first_chunk::<8>()?;
    let (means, rest) = rest.split_first_chunk::<4>()?;
    let (other, rest) = rest.split_first_chunk::<5>()?;
    let baseline = Baseline {
        n: b[0] as usize,
        mean: b[1],
        cap: b[2],
        centre: b[3],
        sd: b[4],
        skew: b[5],
        phi: b[6],
        exponent: b[7],
    };
    let mut watch = Watch::new(baseline);
    watch.means = [
        Ewma {
            value: means[0],
            count: means[1] as u64,
        },
        Ewma {
            value: means[2],
            count: means[3] as u64,
        },
    ];
    watch.abrupt = Abrupt {
        sum: other[0],
        before: other[1],
    };
    watch.batch = Batch {
        sum: other[2],
        step: other[3],
        count: other[4] as u64,
    };
    watch.sequence = Sequence::from_parts(*rest.first_chunk::<9>()?);
    Some(watch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Chance;
    use proptest::prelude::*;

    const ONE: f64 = RATE_OF_ONE;

    fn fed(stream: &mut Stream, chance: &mut Chance, samples: usize, level: f64) -> Option<usize> {
        (0..samples).find(|at| {
            let gap = level + 0.05 * chance.normal();
            stream.add(gap, None, ONE, *at as i64)
        })
    }

    #[test]
    fn rates_by_hand() {
        assert_eq!(
            (rate(0), rate(1), rate(5), rate(200)),
            (0.01, 0.01, 0.01, 0.00025)
        );
    }

    #[test]
    fn the_life_of_a_stream() {
        let mut chance = Chance::new(1);
        let mut stream = Stream::new(0.7);
        assert_eq!(stream.state(), State::Unknown);
        assert_eq!(fed(&mut stream, &mut chance, 199, 0.1), None);
        assert_eq!(stream.unsteady(), Some(Unsteady::Few(199)));
        assert_eq!(fed(&mut stream, &mut chance, 300, 0.1), None);
        assert_eq!((stream.state(), stream.unsteady()), (State::Ok, None));
        let (low, high) = stream.interval().unwrap();
        assert!(low < 0.9 && high > 0.9, "{low} {high}");
        // Three deviations: latched within ten, whatever comes after.
        let at = fed(&mut stream, &mut chance, 30, 0.25).unwrap();
        assert!(at < 10, "{at}");
        assert_eq!(fed(&mut stream, &mut chance, 200, 0.1), None);
        assert_eq!(stream.state(), State::Pause);
        assert_eq!(stream.latch().unwrap().at, at as i64);
        // Acknowledged and well: it stays well. Acknowledged and not: it comes again.
        assert!(stream.acknowledge() && !stream.acknowledge());
        assert_eq!(stream.state(), State::Ok);
        assert_eq!(fed(&mut stream, &mut chance, 200, 0.1), None);
        assert!(fed(&mut stream, &mut chance, 30, 0.25).is_some());
        assert!(stream.acknowledge() && fed(&mut stream, &mut chance, 30, 0.25).is_some());
        assert_eq!(stream.alarms(), 3);
        // Recalibrated: what it is now is what it should be.
        stream.recalibrate();
        assert_eq!((stream.state(), stream.count()), (State::Unknown, 0));
        assert_eq!(fed(&mut stream, &mut chance, 500, 0.25), None);
        assert_eq!(stream.state(), State::Ok);
        assert_eq!(stream.alarms(), 3);
    }

    #[test]
    fn a_stream_below_the_threshold_from_the_start_is_paused() {
        let mut chance = Chance::new(2);
        let mut stream = Stream::new(0.7);
        let at = fed(&mut stream, &mut chance, 400, 0.6).unwrap();
        assert!((199..300).contains(&at), "{at}");
        assert_eq!(stream.latch().unwrap().cause, Cause::Threshold);
        // Another threshold: allowed.
        stream.set_threshold(0.3);
        assert!(stream.acknowledge());
        assert_eq!(fed(&mut stream, &mut chance, 400, 0.6), None);
    }

    #[test]
    fn warnings_have_hysteresis() {
        let mut chance = Chance::new(5);
        let mut stream = Stream::new(0.5);
        fed(&mut stream, &mut chance, 400, 0.2);
        let (mut warned, mut changes) = (false, 0);
        for at in 0..3000 {
            // Up and down around a warning.
            let level = 0.2 + 0.03 * (f64::from(at) / 150.0).sin();
            stream.add(level + 0.05 * chance.normal(), None, ONE, 0);
            if stream.state() == State::Pause {
                stream.acknowledge();
            }
            let now = stream.state() == State::Warn;
            changes += u32::from(now != warned);
            warned = now;
        }
        assert!((1..60).contains(&changes), "{changes}");
    }

    #[test]
    fn parts_of_others_are_refused() {
        let stream = Stream::new(0.7);
        let parts = stream.to_parts();
        assert_eq!(Stream::from_parts(&parts), Some(stream));
        assert_eq!(Stream::from_parts(&[]), None);
        assert_eq!(Stream::from_parts(&parts[1..]), None);
        let mut other = parts.clone();
        other[0] = 2.0;
        assert_eq!(Stream::from_parts(&other), None);
        let mut longer = parts;
        longer.push(1.0);
        assert_eq!(Stream::from_parts(&longer), None);
    }

    proptest! {
        /// Written and read at any place, it goes on as if nothing had been.
        #[test]
        fn restarts_forget_nothing(cut in 0usize..700, seed in 0u64..200, latest in 0i64..i64::MAX) {
            let mut chance = Chance::new(seed);
            let gaps: Vec<f64> = (0..800)
                .map(|at| (0.2 + 0.1 * chance.normal() + if at > 600 { 0.2 } else { 0.0 }).clamp(0.0, 1.0))
                .collect();
            let mut whole = Stream::new(0.6);
            let mut other = whole.clone();
            for (at, gap) in gaps.iter().enumerate() {
                if at == cut {
                    other = Stream::from_parts(&other.to_parts()).unwrap();
                }
                let step = (at % 3 != 0).then_some(at as i64 / 7);
                let one = whole.add(*gap, step, 0.001, latest);
                prop_assert_eq!(one, other.add(*gap, step, 0.001, latest));
            }
            prop_assert_eq!(format!("{whole:?}"), format!("{other:?}"));
        }

        #[test]
        fn any_numbers_are_read_or_refused(parts in prop::collection::vec(prop_oneof![Just(1.0), Just(0.0), Just(-1.0), Just(f64::NAN), -9.0f64..300.0], 0..60)) {
            let _ = Stream::from_parts(&parts);
        }
    }
}
