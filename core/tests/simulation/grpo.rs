//! Two behaviours learn by GRPO from simulated rewards: one that the real world
//! pays as well, and one that only the simulator pays. How long does the faithful
//! one live? (docs/measures.md, "Advantages")

use fidelake_core::gap::{group_advantages, reward_corrected};

use super::world::Rng;

/// What the policy is updated with.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// Plain GRPO.
    NoGate,
    /// The weight on the advantage, over the plain baseline.
    Seed,
    /// Over the weighted baseline: `advantage_fidelity`.
    Weighted,
    /// The weighted form of corrected rewards.
    Corrected,
}

/// Rollouts of a group, groups of a step.
const GROUP: usize = 8;
const GROUPS: usize = 16;
const RATE: f64 = 5.0;

/// The faithful behaviour is paid alike in both worlds.
const FAITHFUL: f64 = 0.5;
/// The other in the simulator, and in the real world.
const FAVOURED: (f64, f64) = (0.8, 0.2);
/// Weights that a gate gives them.
const WEIGHTS: (f64, f64) = (0.95, 0.3);

/// The behaviour is lost below this probability.
const LOST: f64 = 0.01;
const STEPS: usize = 300;

/// Steps until the faithful behaviour is lost.
fn steps(form: Form, seed: u64) -> usize {
    let mut chance = Rng::new(seed);
    let mut logit = 0.0f64;
    for step in 1..=STEPS {
        let p = 1.0 / (1.0 + (-logit).exp());
        let mut gradient = 0.0;
        for _ in 0..GROUPS {
            let faithful: [bool; GROUP] = std::array::from_fn(|_| chance.happens(p));
            let reward = |yes: bool| {
                let paid = if yes { FAITHFUL } else { FAVOURED.0 };
                f64::from(u8::from(chance.happens(paid)))
            };
            let mut rewards: Vec<f64> = faithful.into_iter().map(reward).collect();
            if matches!(form, Form::Corrected) {
                let excess = |yes: bool| if yes { 0.0 } else { FAVOURED.0 - FAVOURED.1 };
                let both = rewards.iter_mut().zip(faithful);
                both.for_each(|(r, yes)| *r = reward_corrected(*r, Some(excess(yes))).unwrap());
            }
            let weights = faithful.map(|yes| if yes { WEIGHTS.0 } else { WEIGHTS.1 });
            let group = group_advantages(&rewards, &weights).unwrap();
            for (row, yes) in group.rows.iter().zip(faithful) {
                let advantage = match form {
                    Form::NoGate => row.advantage,
                    Form::Seed => row.advantage_fidelity_seed,
                    Form::Weighted | Form::Corrected => row.advantage_fidelity,
                };
                gradient += advantage * if yes { 1.0 - p } else { -p };
            }
        }
        logit += RATE * gradient / (GROUP * GROUPS) as f64;
        if 1.0 / (1.0 + (-logit).exp()) < LOST {
            return step;
        }
    }
    STEPS + 1
}

fn median(form: Form) -> usize {
    let mut all: Vec<usize> = (0..21).map(|seed| steps(form, seed)).collect();
    all.sort_unstable();
    all[10]
}

#[test]
fn only_the_corrected_reward_keeps_the_faithful_behaviour() {
    let [plain, seed, weighted, corrected] =
        [Form::NoGate, Form::Seed, Form::Weighted, Form::Corrected].map(median);
    eprintln!(
        "lost after (median of 21): no gate {plain}, weight over plain baseline {seed}, weighted baseline {weighted}, corrected {corrected}"
    );
    assert!(plain < seed && seed < weighted, "{plain} {seed} {weighted}");
    assert!(
        weighted <= STEPS && corrected > STEPS,
        "{weighted} {corrected}"
    );
}

#[test]
fn a_weight_on_the_reward_cancels_and_one_on_the_advantage_does_not() {
    let rewards = [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0];
    let plain = group_advantages(&rewards, &[1.0; 8]).unwrap();
    // One weight for the whole prompt, as an environment's fidelity is.
    let scaled = rewards.map(|r| 0.3 * r);
    let on_reward = group_advantages(&scaled, &[1.0; 8]).unwrap();
    let on_advantage = group_advantages(&rewards, &[0.3; 8]).unwrap();
    let rows = plain
        .rows
        .iter()
        .zip(&on_reward.rows)
        .zip(&on_advantage.rows);
    for ((plain, on_reward), on_advantage) in rows {
        assert!((on_reward.advantage - plain.advantage).abs() < 1e-4);
        let seed = on_advantage.advantage_fidelity_seed;
        assert!((seed - 0.3 * plain.advantage).abs() < 1e-12);
        let weighted = on_advantage.advantage_fidelity;
        assert!((weighted - 0.3 * plain.advantage_fidelity).abs() < 1e-12);
    }
}
