//! Budgets of real calls: replays, estimates, plans, and a campaign in three rounds.

mod airline;
mod campaign;

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::support::{Place, Ran, sample, text};

/// Rows that a command prints with `--format ndjson`.
fn rows(ran: &Ran) -> Vec<Value> {
    ran.stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// A lake with the dual executions of the airline, profiled.
fn airline() -> Place {
    let place = Place::new();
    let files = ["airline_gold.jsonl", "airline_probe.jsonl"].map(sample);
    place.import(&[text(&files[0]), text(&files[1])]);
    place.done(&["profile"]);
    place
}

#[test]
fn what_is_measured_whole_is_known_and_what_is_not_is_unknown() {
    let place = airline();
    let told = rows(&place.done(&["estimate", "--by", "api", "--format", "ndjson"]));
    let all = told.last().unwrap();
    assert_eq!(all["api"], "(all)");
    assert_eq!((&all["pool"], &all["known"]), (&json!(194), &json!(194)));
    // Everything is known: the pool's gap is the mean of its calls, by SQL.
    let sql =
        "SELECT sum(obs_raw) / sum(obs_reliability) AS gap FROM call_gaps_now WHERE side = 'both'";
    let wanted = rows(&place.done(&["sql", sql, "--format", "ndjson"]))[0]["gap"]
        .as_f64()
        .unwrap();
    let found = all["gap_raw"].as_f64().unwrap();
    assert!((found - wanted).abs() < 1e-9, "{found} {wanted}");

    // Sim runs that never ran for real: unknown, and the pool with them.
    let mut lines = String::new();
    for trajectory in 0..30 {
        let call = json!({"turn": 0, "name": "never_seen", "arguments": {"n": trajectory}, "result": {"content": {"a": trajectory}}});
        let run = json!({"fidelake": 1, "trajectory_id": format!("new/{trajectory}"), "environment": "airline", "arm": "sim", "calls": [call]});
        writeln!(lines, "{run}").unwrap();
    }
    place.write("new.jsonl", lines);
    place.import(&["new.jsonl"]);
    let ran = place.done(&["estimate", "--format", "ndjson"]);
    let told = rows(&ran);
    let new = told.iter().find(|r| r["api"] == "never_seen").unwrap();
    assert_eq!(new["interval"], "unknown");
    for column in ["gap_raw", "fidelity", "low", "high"] {
        assert!(new[column].is_null(), "{new}");
    }
    assert!(new["shrunk"].is_number(), "{new}");
    assert_eq!(told.last().unwrap()["interval"], "unknown");
    assert!(
        ran.stderr.contains("1 regions are unknown"),
        "{}",
        ran.stderr
    );

    let predicted = rows(&place.done(&["estimate", "--predict", "--format", "ndjson"]));
    assert_eq!(predicted.len(), 58);
    let one = predicted
        .iter()
        .find(|r| r["trajectory_id"] == "new/3")
        .unwrap();
    assert_eq!(one["source"], "predicted");
    assert!(
        one["fidelity"].is_number() && one["se"].as_f64() > Some(0.0),
        "{one}"
    );
    let calibration = rows(&place.done(&["estimate", "--calibration", "--format", "ndjson"]));
    assert_eq!(calibration.len(), 5, "{calibration:?}");
}

#[test]
fn replays_hold_what_they_promise() {
    let place = Place::new();
    let args = [
        "simulate-budget",
        "--synthetic",
        "--calls",
        "4000",
        "--apis",
        "8",
        "--replays",
        "120",
        "--budgets",
        "20",
        "--methods",
        "proportional,thompson,need,augmented",
        "--format",
        "ndjson",
    ];
    let first = place.done(&args);
    let told = rows(&first);
    let row = |name: &str| told.iter().find(|r| r["method"] == name).unwrap();
    let figure = |name: &str, column: &str| row(name)[column].as_f64().unwrap();
    for method in ["proportional", "need", "augmented"] {
        assert_eq!(row(method)["cap_broken"], 0);
        assert!(figure(method, "bias").abs() < 4.0, "{}", row(method));
        assert!(figure(method, "coverage") > 0.93, "{}", row(method));
    }
    // The surrogate is worth something, and pooling what was chosen by its outcome is not free.
    assert!(
        figure("augmented", "half_width") < 0.9 * figure("need", "half_width"),
        "{told:?}"
    );
    assert!(figure("thompson", "bias") < -4.0, "{told:?}");
    // The same command, the same bytes, whatever the threads do.
    assert_eq!(first.stdout, place.done(&args).stdout);

    let until = place.done(&[
        "simulate-budget",
        "--synthetic",
        "--calls",
        "12000",
        "--correlation",
        "0.8",
        "--replays",
        "20",
        "--until",
        "0.05",
        "--format",
        "ndjson",
    ]);
    let told = rows(&until);
    let augmented = told.iter().find(|r| r["method"] == "augmented").unwrap();
    assert!(augmented["of_uniform"].as_f64() < Some(0.5), "{augmented}");
    assert!(augmented["of_need"].as_f64() < Some(0.65), "{augmented}");
}

#[test]
fn a_lake_is_replayed_with_its_prefixes() {
    let place = airline();
    let ran = place.done(&[
        "simulate-budget",
        "--replays",
        "40",
        "--budgets",
        "40,500",
        "--dimension",
        "worst",
        "--format",
        "ndjson",
    ]);
    for row in rows(&ran) {
        assert_eq!(row["cap_broken"], 0, "{row}");
    }
    assert!(ran.stderr.contains("194 calls"), "{}", ran.stderr);
}

#[test]
fn wrong_uses_are_told() {
    let place = airline();
    place.write("plan.toml", "version = 1\n");
    let cases: &[(&[&str], i32, &str)] = &[
        (
            &["estimate", "--by", "color"],
            2,
            "there is no column \"color\"",
        ),
        (&["estimate", "--by", "api,api"], 2, "--by names api twice"),
        (&["estimate", "--campaign", "x"], 2, "there is no campaign"),
        (&["plan", "plan.toml", "--budget", "0"], 2, "above 0"),
        (
            &["plan", "plan.toml", "--budget", "many"],
            2,
            "hundredths as in 20%",
        ),
        (
            &[
                "plan",
                "plan.toml",
                "--budget",
                "9",
                "--target",
                "halfwidth=2",
            ],
            2,
            "below 0.5",
        ),
        (&["plan", "plan.toml", "--budget", "9"], 2, "missing field"),
        (&["plan", "gone.toml", "--budget", "9"], 1, "gone.toml"),
        (&["simulate-budget", "--budgets", "0"], 2, "above 0"),
        (
            &["simulate-budget", "--methods", "luck"],
            2,
            "there are uniform",
        ),
        (
            &["simulate-budget", "--synthetic", "--correlation", "2"],
            2,
            "from 0 to 1",
        ),
    ];
    for (args, code, said) in cases {
        let ran = place.run(args);
        assert_eq!(ran.code, Some(*code), "{args:?} {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{args:?} {}", ran.stderr);
    }
    let empty = Place::new();
    let ran = empty.run(&["estimate"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
}
