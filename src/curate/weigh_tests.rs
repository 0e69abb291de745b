//! Weights and advantages by hand.

use std::path::Path;
use std::sync::Arc;

use fidelake_core::stats::quantile;

use super::super::fidelity::gate;
use super::super::region::PerFactor;
use super::super::select::Profile;
use super::*;
use crate::curate::predicted::Predicted;

impl Row {
    /// Any row.
    pub(in crate::curate) fn sample() -> Self {
        Self {
            run: candidate("e", "t", 0, 1.0, None),
            source: "measured",
            fidelity: Some(0.5),
            fidelity_mean: None,
            fidelity_se: None,
            fidelity_low: Some(0.4),
            reward_corrected: None,
            group: GroupFigures::default(),
            advantages: Advantages::default(),
            gate_weight: 0.5,
            unrepaired_weight: None,
            difficulty_factor: 1.0,
            split: Split::Train,
        }
    }
}

fn candidate(
    environment: &str,
    trajectory: &str,
    repeat: i32,
    reward: f64,
    gaps: Option<PerFactor<Option<f64>>>,
) -> Candidate {
    Candidate {
        run_id: format!("{trajectory}/{repeat}").into(),
        environment: environment.into(),
        trajectory_id: trajectory.into(),
        repeat,
        group: "g".into(),
        reward,
        profile: gaps.map(|gaps| {
            Box::new(Profile {
                source: Arc::from("measured"),
                gaps,
                fidelity: [None; 4],
                mean: Some(0.7),
                se: Some(0.02),
                pairs: 1.0,
            })
        }),
        ..Candidate::default()
    }
}

fn all(gap: f64) -> Option<PerFactor<Option<f64>>> {
    Some([Some(gap), Some(0.0), Some(0.0), Some(0.0), Some(0.0)])
}

fn weighed(recipe: &str, candidates: Vec<Candidate>) -> CurateResult<Weighed> {
    let recipe = format!("version = 1\n{recipe}");
    let recipe = Recipe::parse(Path::new("r"), &recipe).unwrap();
    let mut regions = Regions::default();
    for run in candidates.iter().filter(|run| run.repeat == 0) {
        if let Some(profile) = &run.profile {
            regions.add(&run.environment, profile.gaps);
        }
    }
    let excess = Excess {
        mean: 0.25,
        trajectories: 3,
    };
    let mut counts = Counts::default();
    let part = recipe.gate;
    let ledger = &mut Ledger::default();
    let candidates = believe(
        &recipe,
        &part,
        &mut Known::new(&regions, &Predicted::default()),
        candidates,
        &mut counts,
        ledger,
    )?;
    let gates = gate(&recipe, &candidates, None);
    let excess = [("e".to_owned(), excess)].into();
    weigh(&recipe, &part, candidates, counts, &regions, gates, &excess)
}

#[test]
fn the_quantile_gate_sees_each_trajectory_once() {
    // Repeats of the worst trajectory must not move the constants.
    let gaps = [0.9, 0.5, 0.3, 0.1, 0.0];
    let mut runs: Vec<Candidate> = gaps
        .iter()
        .enumerate()
        .map(|(at, gap)| candidate("e", &format!("t{at}"), 0, (at % 2) as f64, all(*gap)))
        .collect();
    runs.push(candidate("e", "t0", 1, 0.0, all(0.9)));
    let weighed = weighed("", runs).unwrap();
    let f: Vec<f64> = gaps.iter().map(|gap| 1.0 - gap).collect();
    let (beta, median) = (quantile(&f, 0.2).unwrap(), quantile(&f, 0.5).unwrap());
    let alpha = 9f64.ln() / (median - beta);
    assert_eq!(weighed.gates.from, 5);
    assert_eq!(weighed.gates.shown, Gate::Quantile { alpha, beta });
    let row = &weighed.rows[1];
    assert!((row.fidelity_low.unwrap() - 0.48).abs() < 1e-12);
    let weight = 1.0 / (1.0 + (-alpha * (0.48 - beta)).exp());
    assert!((row.advantages.fidelity_weight - weight).abs() < 1e-12);
    assert_eq!(row.source, "measured");
    assert_eq!(row.reward_corrected, Some(0.75));
    // One group: its weighted advantages sum to 0.
    let sum: f64 = weighed
        .rows
        .iter()
        .map(|r| r.advantages.advantage_fidelity)
        .sum();
    assert!(sum.abs() < 1e-9 && weighed.counts.groups == 1);
    assert!(weighed.left_out.is_empty());
}

#[test]
fn what_is_not_measured_is_expected_of_the_environment() {
    let gaps = [0.2, 0.4, 0.2, 0.4, 0.2, 0.4];
    let mut runs: Vec<Candidate> = gaps
        .iter()
        .enumerate()
        .map(|(at, gap)| {
            let profile = Some([Some(*gap), None, None, Some(0.1), None]);
            candidate("e", &format!("t{at}"), 0, 0.0, profile)
        })
        .collect();
    runs.push(candidate("e", "no profile", 0, 1.0, None));
    runs.push(candidate(
        "e",
        "half",
        0,
        1.0,
        Some([None, None, None, Some(0.5), None]),
    ));
    let weighed = weighed("[gate]\nkind = \"seed\"\n", runs).unwrap();
    assert_eq!(weighed.left_out, ["run_act", "run_rew", "gap_decision"]);
    let [.., predicted, half] = weighed.rows.as_slice() else {
        panic!()
    };
    assert_eq!((predicted.source, half.source), ("predicted", "mixed"));
    // obs: the environment is the lake, so .3; trans: (6 * .1 + .5) / 7 (shrinkage to itself).
    let trans = 1.1 / 7.0;
    assert!((predicted.fidelity.unwrap() - 0.7 * (1.0 - trans)).abs() < 1e-12);
    assert!((half.fidelity.unwrap() - 0.7 * 0.5).abs() < 1e-12);
    // sqrt(.02^2 + (.5 * spread)^2), spread = .1 * sqrt(1 + 1/11).
    let spread = 0.1 * (1.0 + 1.0 / 11.0f64).sqrt();
    let se = (0.02f64.powi(2) + (0.5 * spread).powi(2)).sqrt();
    assert!((half.fidelity_se.unwrap() - se).abs() < 1e-12);
    // The seed's gate takes the mean: of the profile, or of what is expected.
    assert!((half.advantages.fidelity_weight - 0.5).abs() < 1e-12);
    let mean = (0.7 + 1.0 - trans) / 2.0;
    assert!((predicted.fidelity_mean.unwrap() - mean).abs() < 1e-12);
    let share: f64 = weighed.weight_by_source.values().sum();
    assert!((share - 1.0).abs() < 1e-12 && weighed.rows_by_source["measured"] == 6);
}

#[test]
fn predictions_do_not_move_the_constants() {
    let known = [0.9, 0.5, 0.3, 0.1, 0.0];
    let mut runs: Vec<Candidate> = known
        .iter()
        .enumerate()
        .map(|(at, gap)| candidate("e", &format!("t{at}"), 0, 0.0, all(*gap)))
        .collect();
    let alone = weighed("", runs.clone()).unwrap().gates.shown;
    runs.extend((0..50).map(|at| candidate("e", &format!("p{at}"), 0, 0.0, None)));
    let among = weighed("", runs).unwrap();
    assert_eq!((among.gates.shown, among.gates.from), (alone, 5));
}

#[test]
fn without_evidence_the_policy_decides() {
    let runs = || {
        let known = (0..5).map(|at| candidate("e", &format!("t{at}"), 0, 0.0, all(0.3)));
        known
            .chain([candidate("new", "x", 0, 1.0, None)])
            .collect::<Vec<_>>()
    };
    let last = |recipe: &str| {
        let rows = weighed(recipe, runs()).unwrap().rows;
        rows.last().unwrap().clone()
    };
    let kept = last("");
    assert_eq!(
        (kept.source, kept.advantages.fidelity_weight),
        ("unknown", 1.0)
    );
    assert_eq!((kept.fidelity, kept.reward_corrected), (None, None));
    let half = last("[gate]\nunknown = \"weight\"\nunknown_weight = 0.5\n");
    assert_eq!(half.advantages.fidelity_weight, 0.5);
    let dropped = weighed("[gate]\nunknown = \"drop\"\n", runs()).unwrap();
    assert_eq!((dropped.rows.len(), dropped.counts.dropped_unknown), (5, 1));
    let none = weighed(
        "[gate]\nunknown = \"drop\"\n",
        vec![candidate("n", "x", 0, 1.0, None)],
    );
    assert!(matches!(none, Err(CurateError::Empty(why)) if why.contains("fidelake profile")));
}

#[test]
fn policies_are_not_mixed_unless_told() {
    let runs = || {
        let mut runs = vec![
            candidate("e", "a", 0, 1.0, all(0.0)),
            candidate("e", "b", 0, 0.0, all(0.0)),
            candidate("e", "c", 0, 0.0, all(0.0)),
        ];
        runs[2].policy = Some("p".into());
        runs
    };
    let apart = weighed("", runs()).unwrap();
    assert_eq!(
        (apart.counts.groups, apart.counts.degenerate_groups),
        (2, 1)
    );
    assert_eq!((apart.rows[0].group.size, apart.rows[2].group.size), (2, 1));
    assert!(apart.rows[2].group.degenerate && apart.weight_scale == Some(1.0));
    let mixed = weighed("[groups]\nmix_policies = true\n", runs()).unwrap();
    assert_eq!((mixed.counts.groups, mixed.rows[2].group.size), (1, 3));
    // All are faithful: there is no gate.
    assert_eq!(mixed.gates.shown, Gate::Open);
}

#[test]
fn the_real_arm_is_the_measure() {
    let runs = vec![
        candidate("e", "a", 0, 1.0, all(0.9)),
        candidate("e", "b", 0, 0.0, None),
    ];
    let weighed = weighed("[source]\narm = \"real\"\n", runs).unwrap();
    assert!(
        weighed
            .rows
            .iter()
            .all(|r| r.source == "real" && r.advantages.fidelity_weight == 1.0)
    );
    assert_eq!(weighed.rows[0].reward_corrected, Some(1.0));
}

#[test]
fn the_joint_gate_keeps_the_shares_of_feasible_difficulty() {
    // Hard tasks are less faithful; one of them only the simulator can solve.
    let mut runs: Vec<Candidate> = (0..100)
        .map(|at| {
            let hard = at < 50;
            let gap = if hard { 0.4 } else { 0.1 } + f64::from(at % 7) / 50.0;
            let mut run = candidate("e", &format!("t{at}"), 0, f64::from(at % 2), all(gap));
            run.figures.pass_rate = Some(if hard { 0.1 } else { 0.9 });
            run.figures.feasible = at != 3;
            run
        })
        .collect();
    let joint = "[difficulty]\njoint = true\nstrata = 2\n";
    let weighed_jointly = weighed(joint, runs.clone()).unwrap();
    let figures = weighed_jointly.joint.as_ref().unwrap();
    assert_eq!((figures.strata.len(), figures.infeasible_rows), (2, 1));
    let total: f64 = weighed_jointly
        .rows
        .iter()
        .map(|r| r.advantages.fidelity_weight)
        .sum();
    let of_hard = |row: &&Row| row.run.figures.pass_rate == Some(0.1);
    let hard: f64 = weighed_jointly
        .rows
        .iter()
        .filter(of_hard)
        .map(|r| r.advantages.fidelity_weight)
        .sum();
    assert!(
        (hard / total - 49.0 / 99.0).abs() < 0.1 * 49.0 / 99.0,
        "{}",
        hard / total
    );
    // The gate alone takes it away from the hard ones.
    let alone = weighed("", runs.clone()).unwrap();
    let total: f64 = alone
        .rows
        .iter()
        .map(|r| r.advantages.fidelity_weight)
        .sum();
    let hard: f64 = alone
        .rows
        .iter()
        .filter(of_hard)
        .map(|r| r.advantages.fidelity_weight)
        .sum();
    assert!(hard / total < 0.4, "{}", hard / total);
    for row in weighed_jointly.rows.iter() {
        let v = f64::from(u8::from(row.run.figures.feasible));
        let w = v * row.gate_weight * row.difficulty_factor / figures.scale;
        assert!((row.advantages.fidelity_weight - w).abs() < 1e-12 && w <= 1.0);
    }
    // A task of which no pass rate is known keeps its gate.
    runs[0].figures.pass_rate = None;
    let again = weighed(joint, runs).unwrap();
    assert_eq!(again.joint.unwrap().without_rate, 1);
}

#[test]
fn a_profile_of_which_too_little_is_known_says_nothing() {
    let mut runs: Vec<Candidate> = (0..6)
        .map(|at| candidate("e", &format!("t{at}"), 0, f64::from(at % 2), all(0.3)))
        .collect();
    if let Some(profile) = &mut runs[0].profile {
        profile.pairs = 0.4;
    }
    let kept = weighed(
        "[gate]\nmin_pairs = 0.5\nunknown = \"drop\"\n",
        runs.clone(),
    )
    .unwrap();
    assert_eq!((kept.rows.len(), kept.counts.dropped_unknown), (5, 1));
    let none = weighed(
        "[gate]\ndimensions = [\"obs\"]\nmin_dimensions = 1\n",
        runs.clone(),
    )
    .unwrap();
    // Only obs counts: f is 1 - .3, whatever the others say.
    assert!(
        none.rows
            .iter()
            .all(|row| (row.fidelity.unwrap() - 0.7).abs() < 1e-12)
    );
    assert_eq!(none.chosen, ["run_obs"]);
    let constants = weighed("[gate]\nalpha = 10.0\nbeta = 0.5\n", runs).unwrap();
    assert_eq!(
        constants.gates.shown,
        Gate::Quantile {
            alpha: 10.0,
            beta: 0.5
        }
    );
}

#[test]
fn groups_of_two_scales_are_counted() {
    let runs = vec![
        candidate("e", "a", 0, 0.5, all(0.0)),
        candidate("e", "b", 0, 80.0, all(0.0)),
    ];
    assert_eq!(weighed("", runs).unwrap().counts.mixed_scale_groups, 1);
}
