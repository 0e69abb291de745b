//! The decision gap of one trajectory.

use super::agent::{Agent, Offer};
use super::ground::{Episode, Text};
use super::mix::{Dimension, Mix};
use super::pair::Pair;
use super::right::{Right, RightCall};

/// What the two worlds do to an agent's decisions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// Mean over the right calls of (pick x ground), in sim; in `[0,1]`. `None`
    /// without right calls, or where the agent was not seen in sim.
    pub sim: Option<f64>,
    /// The same in real.
    pub real: Option<f64>,
    /// sim - real, in `[-1,1]`; positive: real is harder. Sum of the split.
    pub signed: Option<f64>,
    /// Its exact Shapley split over obs, act, rew; `None` where the agent was not
    /// seen in all mixed worlds.
    pub split: Option<[f64; 3]>,
    /// Product over the calls of (pick x ground) in sim less that in real.
    pub all_calls: Option<f64>,
    /// Total variation between the picks of the two worlds, tools aligned, in
    /// `[0,1]`: known without right calls, and no more than surface.
    pub pick_shift: Option<f64>,
    /// Of the argument values that only an answer of sim can have given: the share
    /// that real gives no more, in `[0,1]`. `None` where no call uses an answer.
    pub flow: Option<f64>,
    /// Call by call.
    pub calls: Vec<CallDecision>,
}

/// One right call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CallDecision {
    /// Probability of the right pick: sim, real.
    pub pick: [f64; 2],
    /// Whether its arguments can be found: sim, real.
    pub ground: [f64; 2],
}

impl CallDecision {
    /// pick x ground in sim less that in real.
    #[must_use]
    pub fn signed(&self) -> f64 {
        self.pick[0] * self.ground[0] - self.pick[1] * self.ground[1]
    }
}

impl Decision {
    /// `clip(mean(p_sim - p_real), 0, 1)`.
    #[must_use]
    pub fn gap(&self) -> Option<f64> {
        self.signed.map(|signed| signed.clamp(0.0, 1.0))
    }
}

/// Compares what an agent would do in two worlds. Without right calls only
/// [`Decision::pick_shift`] is known.
#[must_use]
pub fn decide(
    agent: &impl Agent,
    pair: &Pair,
    sim: Episode<'_>,
    real: Episode<'_>,
    right: &[RightCall<'_>],
) -> Decision {
    let picks = agent.all_picks(&Offer::new(pair, &sim, &real));
    let of = |mix: Mix| picks.get(mix.place()).and_then(Option::as_deref);
    let mut found = Decision {
        pick_shift: of(Mix::SIM)
            .zip(of(Mix::REAL))
            .map(|(a, b)| shift(pair, a, b)),
        ..Decision::default()
    };
    if right.is_empty() {
        return found;
    }
    let texts = [Text::read(sim), Text::read(real)];
    let right: Vec<Right> = right.iter().map(|call| Right::read(call, pair)).collect();
    let grounds: Vec<[[f64; 2]; 2]> = right
        .iter()
        .map(|call| {
            // By the arm of what was seen, then by that of the arguments.
            [0, 1].map(|obs: usize| {
                let ground = |act: usize| call.leaves[act].ground(&texts[obs], call.turns[obs]);
                [ground(0), ground(1)]
            })
        })
        .collect();
    let ground =
        |call: usize, mix: Mix| grounds[call][mix.arm(Dimension::Obs)][mix.arm(Dimension::Act)];
    let count = right.len() as f64;
    let values: Vec<Option<f64>> = Mix::all()
        .map(|mix| {
            let picks = of(mix)?;
            let each = right.iter().enumerate();
            let each = each.map(|(at, call)| call.picked(pair, mix, picks) * ground(at, mix));
            Some(each.sum::<f64>() / count)
        })
        .collect();
    (found.sim, found.real) = (values[Mix::SIM.place()], values[Mix::REAL.place()]);
    found.signed = found.sim.zip(found.real).map(|(a, b)| a - b);
    let losses: Option<Vec<f64>> = values.iter().map(|v| v.map(|v| -v)).collect();
    found.split = losses.map(|losses| shapley(&losses));
    if let (Some(a), Some(b)) = (of(Mix::SIM), of(Mix::REAL)) {
        let calls = right.iter().enumerate().map(|(at, call)| CallDecision {
            pick: [
                call.picked(pair, Mix::SIM, a),
                call.picked(pair, Mix::REAL, b),
            ],
            ground: [ground(at, Mix::SIM), ground(at, Mix::REAL)],
        });
        found.calls = calls.collect();
        let product = |arm: usize| -> f64 {
            let each = found.calls.iter();
            each.map(|call| call.pick[arm] * call.ground[arm]).product()
        };
        found.all_calls = Some(product(0) - product(1));
    }
    let (mut given, mut lost) = (0, 0);
    for call in &right {
        let [g, l] = call.leaves[0].flow(&texts[0], &texts[1], call.turns);
        given += g;
        lost += l;
    }
    found.flow = (given > 0).then(|| f64::from(lost) / f64::from(given));
    found
}

/// Total variation over the tools of both worlds.
fn shift(pair: &Pair, sim: &[f64], real: &[f64]) -> f64 {
    let mut both = vec![[0.0; 2]; pair.tools.len()];
    for (arm, (mix, picks)) in [(Mix::SIM, sim), (Mix::REAL, real)].into_iter().enumerate() {
        for (tool, pick) in pair.offered(mix).zip(picks) {
            both[tool.place][arm] = *pick;
        }
    }
    let sum: f64 = both.iter().map(|[a, b]| (a - b).abs()).sum();
    (0.5 * sum).clamp(0.0, 1.0)
}

/// The exact Shapley values of three players from the values of all eight
/// coalitions, by [`Mix::place`] (Shapley 1953): they sum to the value of all less
/// that of none.
#[must_use]
pub fn shapley(values: &[f64]) -> [f64; 3] {
    // |S|! (2 - |S|)! / 3!
    const SHARE: [f64; 3] = [1.0 / 3.0, 1.0 / 6.0, 1.0 / 3.0];

    let value = |mix: Mix| values.get(mix.place()).copied().unwrap_or_default();
    Dimension::ALL.map(|dimension| {
        Mix::all()
            .filter(|mix| !mix.real(dimension))
            .map(|mix| SHARE[mix.size()] * (value(mix.with(dimension)) - value(mix)))
            .sum()
    })
}
