//! Rules on invented candidates.

use std::path::Path;
use std::sync::Arc;

use super::super::sequence::Sequence;
use super::*;

fn recipe(text: &str) -> Recipe {
    Recipe::parse(Path::new("r"), &format!("version = 1\n{text}")).unwrap()
}

fn run(id: &str, group: &str) -> Candidate {
    Candidate {
        run_id: id.into(),
        trajectory_id: id.into(),
        environment: Arc::from("e"),
        group: group.into(),
        task: group.into(),
        ..Candidate::default()
    }
}

fn ids(candidates: &[Candidate]) -> Vec<&str> {
    candidates.iter().map(|run| &*run.run_id).collect()
}

#[test]
fn splits_are_by_task_and_stay_when_the_lake_grows() {
    let rules = recipe("seed = 7\n[split]\nvalidation = 0.2\ntest = 0.3\n").rules;
    let mut few: Vec<Candidate> = (0..400)
        .map(|at| run(&format!("t{at}"), &format!("g{}", at / 4)))
        .collect();
    let mut many: Vec<Candidate> = (0..4_000)
        .map(|at| run(&format!("t{at}"), &format!("g{}", at / 4)))
        .collect();
    let mut ledger = Ledger::default();
    split(&rules, &mut few, &mut ledger);
    split(&rules, &mut many, &mut ledger);
    for (a, b) in few.iter().zip(&many) {
        assert_eq!(a.split, b.split);
    }
    for group in many.chunks(4) {
        assert!(group.iter().all(|run| run.split == group[0].split));
    }
    // Five standard deviations of 1,000 tasks.
    let share = |part| many.iter().filter(|run| run.split == part).count() as f64 / 4_000.0;
    assert!((share(Split::Test) - 0.3).abs() < 0.075);
    assert!((share(Split::Validation) - 0.2).abs() < 0.065);
    let other = recipe("seed = 8\n[split]\nvalidation = 0.2\ntest = 0.3\n").rules;
    let before: Vec<Split> = many.iter().map(|run| run.split).collect();
    split(&other, &mut many, &mut ledger);
    assert!(before.iter().zip(&many).any(|(a, run)| *a != run.split));
}

#[test]
fn quotas_bound_every_value() {
    let recipe_of = |whole| {
        recipe(&format!(
            "[[quota]]\nby = \"policy\"\nmax_rows = 3\nvalues = {{b = 1}}\n[groups]\nwhole = {whole}\n"
        ))
    };
    let candidates = || -> Vec<Candidate> {
        (0..20)
            .map(|at| {
                let mut run = run(&format!("t{at}"), &format!("g{}", at / 2));
                run.quotas = Box::new([Some(Arc::from(["a", "b"][at / 10]))]);
                run
            })
            .collect()
    };
    let mut ledger = Ledger::watching("t0");
    let kept = within(
        &recipe_of(false),
        0,
        candidates(),
        &mut Sequences::default(),
        &mut ledger,
    )
    .unwrap();
    let of = |value: &str, kept: &[Candidate]| {
        kept.iter()
            .filter(|run| run.quotas[0].as_deref() == Some(value))
            .count()
    };
    assert_eq!((of("a", &kept), of("b", &kept)), (3, 1));
    assert_eq!((ledger.rules[0].runs_in, ledger.rules[0].runs_out), (20, 4));
    // Groups of two: one fits below three, none below one.
    let kept = within(
        &recipe_of(true),
        0,
        candidates(),
        &mut Sequences::default(),
        &mut Ledger::default(),
    )
    .unwrap();
    assert_eq!((of("a", &kept), of("b", &kept)), (2, 0));
    assert_eq!(kept[0].group, kept[1].group);
    let nothing = recipe("[[quota]]\nby = \"policy\"\nmax_rows = 0\n");
    let error = within(
        &nothing,
        0,
        candidates(),
        &mut Sequences::default(),
        &mut Ledger::default(),
    );
    assert!(matches!(error, Err(CurateError::Empty(why)) if why.contains("quota")));
}

fn with_calls(calls: &[&[u64]]) -> Sequences {
    let mut sequences = Sequences::default();
    for run in calls {
        let calls = run.iter().map(|key| (*key as u32, *key)).collect();
        sequences.runs.push(Sequence {
            calls,
            outcomes: vec![],
            patterns: Vec::new(),
        });
    }
    sequences
}

#[test]
fn of_equal_runs_the_best_known_stays() {
    let mut candidates = vec![run("a", "g"), run("b", "g"), run("c", "h"), run("d", "h")];
    let judged = |source| {
        Some(super::super::fidelity::Judged {
            f: 0.5,
            source,
            ..Default::default()
        })
    };
    for (run, source) in
        candidates
            .iter_mut()
            .zip(["predicted", "measured", "measured", "predicted"])
    {
        run.judged = judged(source);
    }
    let calls: [&[u64]; 4] = [&[1, 2, 3], &[1, 2, 3], &[9], &[]];
    let mut ledger = Ledger::watching("a");
    let mut sequences = with_calls(&calls);
    let text = "[duplicates]\nsimilarity = 0.9\n";
    let rules = recipe(text);
    let part = rules.rules.duplicates.unwrap();
    let kept = unrepeated(
        &rules,
        part,
        candidates.clone(),
        &mut sequences,
        &mut ledger,
    );
    assert_eq!(ids(&kept), ["b", "c", "d"]);
    assert_eq!(sequences.runs.len(), 3);
    assert_eq!(
        ledger.left_out[0].why,
        "its calls repeat those of b (repeat 0)"
    );
    // Trials of one group stay beside each other where the recipe says so.
    let rules = recipe(&format!("{text}keep_groups = true\n"));
    let part = rules.rules.duplicates.unwrap();
    let kept = unrepeated(
        &rules,
        part,
        candidates,
        &mut with_calls(&calls),
        &mut Ledger::default(),
    );
    assert_eq!(kept.len(), 4);
}
