//! From runs to the estimate of a region, by the public functions alone.

use fidelake_core::gap::{
    Answer, ArmNoise, Comparer, Corrected, Noise, NoiseSums, correct, outcome_distance,
};
use fidelake_core::stats::{
    CallSums, ExactSum, GAMMA, RatioEstimate, RatioSums, Unfloored, mean, temporal_weight,
};

use super::world::{CALLS, Call, Trajectory};

/// What is estimated: each a region of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Region {
    /// Outcomes of all calls.
    Outcome,
    /// Answers of all calls.
    Answers,
    /// Answers of API 0, where nothing is ever planted.
    AnswersOf0,
    /// Answers of API 1.
    AnswersOf1,
    /// Answers of the calls whose noise is their own in both arms.
    AnswersMeasured,
    /// Answers of all calls, with a standard error that takes learned levels for the truth.
    AnswersLevelsTaken,
}

/// One region of one world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) region: Region,
    pub(crate) estimate: RatioEstimate,
    pub(crate) unfloored: Unfloored,
    /// Mean distance between the arms, not corrected.
    pub(crate) plain: f64,
}

/// Pairs of one call: (arm, run) each. Four between the arms, one within each.
const BETWEEN: [(usize, usize); 4] = [(0, 0), (0, 1), (1, 0), (1, 1)];

fn class(call: &Call) -> &'static str {
    if call.failed { "tool_error" } else { "ok" }
}

/// Distances of answers with equal outcomes at one call.
#[derive(Default)]
struct Observed {
    /// With whether the pair failed.
    between: Vec<(bool, f64)>,
    within: [Option<(bool, f64)>; 2],
}

/// Own noise by API, arm and outcome class.
type Levels = [[[NoiseSums; 2]; 2]; 2];

fn levels(calls: &[Observed]) -> Levels {
    let mut levels = Levels::default();
    for (at, call) in calls.iter().enumerate() {
        for (arm, pair) in call.within.iter().enumerate() {
            if let Some((failed, distance)) = *pair {
                levels[at % 2][arm][usize::from(failed)].add(distance);
            }
        }
    }
    levels
}

fn all_levels() -> impl Iterator<Item = (usize, usize, usize)> {
    (0..8).map(|i| (i / 4, i / 2 % 2, i % 2))
}

fn observe(comparer: &mut Comparer, trajectory: &Trajectory, at: usize) -> Observed {
    let [sim, real] = trajectory;
    let mut pair = |a: &Call, b: &Call| {
        (class(a) == class(b)).then(|| {
            let gap = comparer.observe(Answer::json(&a.answer), Answer::json(&b.answer));
            (a.failed, gap.gap)
        })
    };
    Observed {
        between: BETWEEN
            .iter()
            .filter_map(|&(s, r)| pair(&sim[s][at], &real[r][at]))
            .collect(),
        within: [sim, real].map(|arm| pair(&arm[0][at], &arm[1][at])),
    }
}

fn outcome(trajectory: &Trajectory, at: usize) -> Option<Corrected> {
    let [sim, real] = trajectory;
    let d = |a: &Call, b: &Call| outcome_distance(class(a), class(b));
    let own = [sim, real].map(|arm| [d(&arm[0][at], &arm[1][at])]);
    correct(
        &BETWEEN.map(|(s, r)| d(&sim[s][at], &real[r][at])),
        ArmNoise::Own(&own[0]),
        ArmNoise::Own(&own[1]),
    )
}

/// Learned noise only where the two runs of an arm ended differently.
fn answers(
    observed: &Observed,
    all: &[[NoiseSums; 2]; 2],
    own: &[[NoiseSums; 2]; 2],
) -> Option<Corrected> {
    let between: Vec<f64> = observed.between.iter().map(|&(_, d)| d).collect();
    let pairs = observed.within.map(|pair| pair.map(|(_, d)| [d]));
    let noise = |arm: usize| {
        if let Some(pair) = &pairs[arm] {
            return ArmNoise::Own(pair);
        }
        let level = |&(failed, _): &(bool, f64)| {
            let class = usize::from(failed);
            all[arm][class].level_without(&own[arm][class])
        };
        let levels: Option<Vec<f64>> = observed.between.iter().map(level).collect();
        levels
            .and_then(|levels| mean(&levels))
            .map_or(ArmNoise::Unknown, ArmNoise::Learned)
    };
    correct(&between, noise(0), noise(1))
}

/// Sums of one region, kept by trajectory.
#[derive(Default)]
struct Sums {
    trajectories: Vec<CallSums>,
    plain: ExactSum,
    weight: ExactSum,
    /// Weight of the calls that stand on each learned level: by API, arm, outcome.
    borrowed: [[[f64; 2]; 2]; 2],
}

impl Sums {
    fn add(&mut self, weight: f64, call: &Corrected) {
        if let Some(calls) = self.trajectories.last_mut() {
            calls.add(weight, call.gap_raw, call.reliability);
        }
        self.plain.add_product(weight, call.distance);
        self.weight.add(weight);
    }

    fn borrow(&mut self, weight: f64, api: usize, call: &Observed) {
        let share = weight / call.between.len() as f64;
        for arm in (0..2).filter(|&arm| call.within[arm].is_none()) {
            for &(failed, _) in &call.between {
                self.borrowed[api][arm][usize::from(failed)] += share;
            }
        }
    }

    /// A trajectory without a comparable call is not one of the region.
    fn ratio(&self) -> RatioSums {
        let mut ratio = RatioSums::default();
        let used = |calls: &&CallSums| calls.w.value() > 0.0;
        self.trajectories
            .iter()
            .filter(used)
            .for_each(|c| ratio.add(c));
        ratio
    }

    /// The same estimate with a standard error that knows that levels are estimates.
    fn ratio_with_levels(&self, all: &Levels, own: &[Levels]) -> RatioSums {
        let mut ratio = RatioSums::default();
        for (calls, own) in self.trajectories.iter().zip(own) {
            let mut calls = calls.clone();
            for (api, arm, class) in all_levels() {
                let borrowed = self.borrowed[api][arm][class];
                all[api][arm][class].charge(&own[api][arm][class], borrowed, &mut calls);
            }
            ratio.add(&calls);
        }
        ratio
    }
}

pub(crate) fn measure(world: &[Trajectory]) -> [Found; 6] {
    let mut comparer = Comparer::default();
    let observed: Vec<Vec<Observed>> = world
        .iter()
        .map(|t| (0..CALLS).map(|at| observe(&mut comparer, t, at)).collect())
        .collect();
    let own: Vec<Levels> = observed.iter().map(|calls| levels(calls)).collect();
    let mut all = Levels::default();
    for (api, arm, class) in all_levels() {
        own.iter()
            .for_each(|o| all[api][arm][class].merge(&o[api][arm][class]));
    }
    let mut sums: [Sums; 5] = std::array::from_fn(|_| Sums::default());
    for ((trajectory, calls), own) in world.iter().zip(&observed).zip(&own) {
        for one in &mut sums {
            one.trajectories.push(CallSums::default());
        }
        for (at, call) in calls.iter().enumerate() {
            let weight = temporal_weight(at as i64, CALLS as i64 - 1, GAMMA).unwrap();
            if let Some(found) = outcome(trajectory, at) {
                sums[0].add(weight, &found);
            }
            if let Some(found) = answers(call, &all[at % 2], &own[at % 2]) {
                for region in [1, 2 + at % 2] {
                    sums[region].add(weight, &found);
                    sums[region].borrow(weight, at % 2, call);
                }
                if found.noise == Noise::Measured {
                    sums[4].add(weight, &found);
                }
            }
        }
    }
    let found = |region: Region, sums: &Sums, ratio: &RatioSums| Found {
        region,
        estimate: ratio.estimate(),
        unfloored: ratio.unfloored().unwrap(),
        plain: sums.plain.value() / sums.weight.value(),
    };
    let plain = |region, sums: &Sums| found(region, sums, &sums.ratio());
    let whole = |region, sums: &Sums| found(region, sums, &sums.ratio_with_levels(&all, &own));
    let [outcomes, answers, of_0, of_1, measured] = &sums;
    [
        plain(Region::Outcome, outcomes),
        whole(Region::Answers, answers),
        whole(Region::AnswersOf0, of_0),
        whole(Region::AnswersOf1, of_1),
        plain(Region::AnswersMeasured, measured),
        plain(Region::AnswersLevelsTaken, answers),
    ]
}
