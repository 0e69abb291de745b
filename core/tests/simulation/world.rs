//! An environment that never answers the same way twice.

/// Splitmix64 (Steele, Lea and Flood 2014): enough to draw worlds from.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        // Neighbouring seeds must not give shifted copies of one stream.
        let mut mixer = Self(seed ^ 0x5851_f42d_4c95_7f2d);
        Self(mixer.next() ^ seed.rotate_left(32))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In [0,1).
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn happens(&mut self, p: f64) -> bool {
        self.unit() < p
    }
}

/// Calls of one trajectory; every second one goes to API 1, the others to API 0.
pub(crate) const CALLS: usize = 5;
/// Half of the tasks fail with the first probability at each call, half with the second: .3 on average.
pub(crate) const FAILS: [f64; 2] = [0.1, 0.5];
/// A call goes as the one before it did with this probability: calls of a run depend on each other.
pub(crate) const STICKS: f64 = 0.5;
/// Expected distance of two answers of one world: 2 of 5 fields always differ and
/// one of three values 2 times in 3; of an error 2 of 3 fields.
pub(crate) const OWN_NOISE: [f64; 2] = [(2.0 + 2.0 / 3.0) / 5.0, 2.0 / 3.0];

#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) failed: bool,
    /// Canonical JSON.
    pub(crate) answer: String,
}

/// One repeat of a task in one arm.
pub(crate) type Run = Vec<Call>;

/// Two repeats in each arm: sim, then real.
pub(crate) type Trajectory = [[Run; 2]; 2];

/// Outcomes of one run: stationary, so each call alone fails with probability `p`.
pub(crate) fn outcomes(rng: &mut Rng, p: f64, calls: usize) -> Vec<bool> {
    let mut last = rng.happens(p);
    (0..calls)
        .map(|at| {
            if at > 0 && !rng.happens(STICKS) {
                last = rng.happens(p);
            }
            last
        })
        .collect()
}

/// `other_currency`: API 1 answers with another value in one field, always.
fn run(rng: &mut Rng, task: u64, p: f64, other_currency: bool) -> Run {
    let mut level = rng.next() % 3;
    let fails = outcomes(rng, p, CALLS);
    let call = |(at, failed): (usize, bool)| {
        if !rng.happens(STICKS) {
            level = rng.next() % 3;
        }
        let (time, id) = (rng.next(), rng.next());
        let currency = if other_currency && at % 2 == 1 {
            "eur"
        } else {
            "usd"
        };
        let answer = if failed {
            format!(r#"{{"at":"T{time:016x}","error":"no such item","request":"{id:016x}"}}"#)
        } else {
            format!(
                r#"{{"at":"T{time:016x}","currency":"{currency}","id":"{id:016x}","level":{level},"name":"item {task}"}}"#
            )
        };
        Call { failed, answer }
    };
    fails.into_iter().enumerate().map(call).collect()
}

/// `trajectories` tasks, each with its own rate of failures, the same in both arms.
pub(crate) fn world(seed: u64, trajectories: u64, planted: bool) -> Vec<Trajectory> {
    let mut rng = Rng::new(seed);
    let mut trajectory = |task: u64| {
        let p = FAILS[usize::from(rng.happens(0.5))];
        [false, true].map(|real| [0, 1].map(|_| run(&mut rng, task, p, real && planted)))
    };
    (0..trajectories).map(&mut trajectory).collect()
}

/// The planted gap of the answers of API 1: one field in five, of what is stable
/// at all. Over all patterns of the four outcomes of a call.
pub(crate) fn planted_gap() -> f64 {
    let (mut d, mut c) = (0.0, 0.0);
    for p in FAILS {
        for pattern in 0u32..16 {
            let failed = |run: u32| pattern >> run & 1 == 1;
            let chance: f64 = (0..4)
                .map(|r| if failed(r) { p } else { 1.0 - p })
                .product();
            let pairs = [(0, 2), (0, 3), (1, 2), (1, 3)];
            let equal = |class| {
                let both = |&&(s, r): &&(u32, u32)| failed(s) == class && failed(r) == class;
                pairs.iter().filter(both).count() as f64
            };
            let (ok, error) = (equal(false), equal(true));
            if ok + error == 0.0 {
                continue;
            }
            let share = ok / (ok + error);
            d += chance * share / 5.0;
            c += chance * (1.0 - share * OWN_NOISE[0] - (1.0 - share) * OWN_NOISE[1]);
        }
    }
    d / c
}
