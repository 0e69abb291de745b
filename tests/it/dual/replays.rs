//! Answers from the lake.

use serde_json::{Value, json};

use super::Bench;
use crate::support::{shared, text};

/// Records a trajectory on the real arm: get k0 (null), put k0, get k0 (1), get k1.
fn recorded(bench: &Bench) {
    let result = |content: Value, hash: &str| json!({"content": content, "state_hash": hash});
    let run = json!({"fidelake": 1, "trajectory_id": "r", "environment": "world", "arm": "real", "origin": "recorded",
        "catalog": [{"name": "get"}, {"name": "put"}, {"name": "add"}],
        "calls": [
            {"turn": 0, "name": "get", "arguments": {"key": "k0", "deep": 1}, "result": result(Value::Null, "s0")},
            {"turn": 1, "name": "put", "arguments": {"key": "k0", "value": 1}, "result": result(json!("done"), "s1")},
            {"turn": 2, "name": "get", "arguments": {"key": "k0", "deep": 1}, "result": result(json!(1), "s1")}]});
    let file = bench.place.write("recorded.jsonl", format!("{run}\n"));
    bench.place.done(&["import", text(&file)]);
}

fn plan(bench: &Bench, replay: &str, sim: &str) {
    bench.plan("", sim, "none", "");
    let plan = bench.place.path("plan.toml");
    let of_file = std::fs::read_to_string(&plan).unwrap();
    let replayed = of_file.replace("environment = \"sim\"", "environment = \"cache\"");
    let cache =
        format!("[environments.cache]\nkind = \"replay\"\nenvironment = \"world\"\n{replay}\n");
    std::fs::write(&plan, replayed + &cache).unwrap();
}

#[test]
fn every_answer_says_where_it_came_from() {
    let bench = Bench::new();
    recorded(&bench);
    let get = |key: &str, deep: i64| ("get", json!({"key": key, "deep": deep}));
    bench.trajectories(&[(
        "t",
        vec![
            get("k0", 1),
            ("put", json!({"key": "k0", "value": 1})),
            get("k0", 1),
            get("k0", 2),
            ("add", json!({"key": "other", "n": 1})),
        ],
    )]);
    plan(&bench, "threshold = 0.5", "");
    bench.place.done(&["dual", "run", "plan.toml"]);
    let rows = bench.query(
        "SELECT turn, content, extra FROM observations WHERE trajectory_id = 't' ORDER BY turn",
    );
    let said: Vec<(Value, String, f64)> = rows
        .iter()
        .map(|row| {
            let extra: Value = serde_json::from_str(row["extra"].as_str().unwrap()).unwrap();
            (
                row["content"].clone(),
                extra["origin"].as_str().unwrap().to_owned(),
                extra["distance"].as_f64().unwrap(),
            )
        })
        .collect();
    let exact = "replay_exact".to_owned();
    // The same question before and after the write has its own answer.
    assert_eq!(said[0], (Value::Null, exact.clone(), 0.0));
    assert_eq!(said[2], (json!("1"), exact, 0.0));
    assert_eq!((&said[3].0, &*said[3].1), (&json!("1"), "replay_near"));
    assert!(said[3].2 > 0.0 && said[3].2 <= 0.5);
    // Nothing like it was recorded: unknown, no observation.
    assert_eq!(said.len(), 4);
    assert_eq!(
        bench.query("SELECT call_status FROM calls WHERE trajectory_id = 't' AND turn = 4"),
        [json!({"call_status": "no_result"})]
    );
    assert_eq!(
        bench.query("SELECT origin FROM runs WHERE trajectory_id = 't'"),
        [json!({"origin": "replay_near"})]
    );
    assert_eq!(
        bench.number("SELECT count(*) FROM ledger WHERE budgeted"),
        0
    );
}

#[test]
fn a_miss_can_be_an_error_or_be_passed_through_within_the_budget() {
    let bench = Bench::new();
    recorded(&bench);
    let calls = vec![
        ("get", json!({"key": "k0", "deep": 1})),
        ("put", json!({"key": "k0", "value": 1})),
        ("add", json!({"key": "k0", "n": 5})),
    ];
    bench.trajectories(&[("t", calls)]);
    plan(&bench, "threshold = 0.0\nmiss = \"error\"", "");
    bench.place.done(&["dual", "run", "plan.toml"]);
    let missed = bench.query(
        "SELECT is_error, error_type FROM observations WHERE trajectory_id = 't' AND turn = 2",
    );
    assert_eq!(
        missed,
        [json!({"is_error": true, "error_type": "replay_missed"})]
    );

    let through = "threshold = 0.0\nmiss = \"pass_through_and_record\"\nthrough = \"sim\"";
    let rename = || {
        let plan = bench.place.path("plan.toml");
        let text = std::fs::read_to_string(&plan).unwrap();
        std::fs::write(
            &plan,
            text.replace("name = \"trial\"", "name = \"through\""),
        )
        .unwrap();
    };
    plan(&bench, through, "");
    rename();
    let ran = bench.place.run(&["dual", "run", "plan.toml"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("needs `budget`"), "{}", ran.stderr);
    plan(&bench, through, "budget = 9\nallow = [\"add\", \"put\"]");
    rename();
    bench.place.done(&["dual", "run", "plan.toml"]);
    // The put is made again behind the replay, so that the add finds what it would.
    let names: Vec<String> = bench
        .seen("sim")
        .into_iter()
        .map(|(_, name, _)| name)
        .collect();
    assert_eq!(names, ["put", "add"]);
    let rows = bench.query("SELECT name, purpose, budgeted FROM ledger WHERE plan_id = 'through' AND budgeted ORDER BY seq");
    assert_eq!(
        rows,
        [
            json!({"name": "put", "purpose": "prefix", "budgeted": true}),
            json!({"name": "add", "purpose": "pass_through", "budgeted": true}),
        ]
    );
    let live = "SELECT content FROM observations WHERE trajectory_id = 't' AND turn = 2 AND extra LIKE '%\"origin\":\"live\"%'";
    assert_eq!(bench.query(live), [json!({"content": "6"})]);
}

#[test]
fn a_check_leaves_each_trajectory_out() {
    let Some(file) = shared("tau/airline_dual.jsonl") else {
        return;
    };
    let bench = Bench::new();
    bench.place.done(&["import", text(&file)]);
    let ran = bench.place.done(&[
        "dual",
        "replay-check",
        "airline",
        "--where",
        "arm = 'sim'",
        "--threshold",
        "0,0.1,0.25,0.5",
        "--format",
        "ndjson",
    ]);
    eprintln!("{}", ran.stdout);
    let rows: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let count = |row: &Value, name: &str| row[name].as_i64().unwrap();
    for row in &rows {
        let sum: i64 = ["exact_place", "exact_call", "near", "missed"]
            .iter()
            .map(|name| count(row, name))
            .sum();
        assert_eq!(sum, count(row, "calls"));
        assert!(row["gap_near"].as_f64().unwrap() <= 1.0);
    }
    assert_eq!(count(&rows[0], "near"), 0);
    assert!(count(&rows[3], "near") >= count(&rows[1], "near"));
    assert!(count(&rows[0], "exact_place") > 0);
}
