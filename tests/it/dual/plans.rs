//! Plans with mistakes, and trajectories that stand in the lake.

use serde_json::json;

use super::{Bench, visit};
use crate::support::{assert_said, text};

#[test]
fn mistakes_are_told_with_their_place() {
    let bench = Bench::new();
    bench.trajectories(&[("a", visit("a"))]);
    let run = || bench.run(&["dual", "run", "plan.toml"]);
    bench.plan("", "speed = 3", "budget = 1", "");
    assert_said!(bench.place, "dual_plan_unknown_key", run());
    bench.plan("", "", "", "");
    let ran = run();
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("needs `budget`"), "{}", ran.stderr);
    bench.plan("mask = \"some\"", "", "budget = 1", "");
    let ran = run();
    assert!(
        ran.stderr.contains("plan.toml:3:8: mask: write"),
        "{}",
        ran.stderr
    );
    let ran = bench.run(&["dual", "status", "nobody"]);
    assert_eq!(ran.code, Some(1));
    bench.plan("", "", "budget = 50\nallow = [\"put\", \"add\"]", "");
    bench.place.write("tasks.jsonl", "{\"fidelake\": 1}\n");
    let ran = run();
    assert!(ran.stderr.contains("tasks.jsonl:1:"), "{}", ran.stderr);
}

#[test]
fn trajectories_of_the_lake_get_further_repeats_and_gold_lists_their_own_names() {
    let bench = Bench::new();
    let call =
        json!({"turn": 0, "name": "get", "arguments": {"key": "k"}, "result": {"content": "1"}});
    let gold = json!([{"name": "get", "arguments": {"key": "right"}}]);
    let lines: String = ["x", "y"]
        .iter()
        .map(|id| {
            let run = json!({"fidelake": 1, "trajectory_id": id, "environment": "world", "arm": "sim",
                "task_id": "7", "gold": gold, "calls": [call]});
            format!("{run}\n")
        })
        .collect();
    let recorded = bench.place.write("recorded.jsonl", lines);
    bench.place.done(&["import", text(&recorded)]);
    bench.plan("", "", "budget = 9", "");
    let plan = bench.place.path("plan.toml");
    let of_file = std::fs::read_to_string(&plan).unwrap();
    let asked = of_file.replace(
        "file = \"tasks.jsonl\"",
        "where = \"arm = 'sim' -- recorded\"",
    );
    std::fs::write(&plan, &asked).unwrap();
    bench.place.done(&["dual", "run", "plan.toml"]);
    let repeats = bench.query(
        "SELECT arm, repeat, count(*) AS n FROM runs GROUP BY arm, repeat ORDER BY arm, repeat",
    );
    assert_eq!(
        repeats,
        [
            json!({"arm": "real", "repeat": 0, "n": 2}),
            json!({"arm": "sim", "repeat": 0, "n": 2}),
            json!({"arm": "sim", "repeat": 1, "n": 2}),
        ]
    );
    // Both attempts at task 7 share one list.
    let gold = asked
        .replace("name = \"trial\"", "name = \"gold\"")
        .replace("[trajectories]", "[trajectories]\ntake = \"gold\"");
    std::fs::write(&plan, gold).unwrap();
    bench.place.done(&["dual", "run", "plan.toml"]);
    let rows = bench.query(
        "SELECT trajectory_id, arm, policy FROM runs WHERE trajectory_id LIKE 'gold%' ORDER BY arm",
    );
    assert_eq!(
        rows,
        [
            json!({"trajectory_id": "gold/7", "arm": "real", "policy": "gold"}),
            json!({"trajectory_id": "gold/7", "arm": "sim", "policy": "gold"}),
        ]
    );
    let wrong = asked.replace("arm = 'sim' -- recorded", "arms = 'sim'");
    std::fs::write(&plan, wrong.replace("name = \"trial\"", "name = \"wrong\"")).unwrap();
    let ran = bench.run(&["dual", "run", "plan.toml"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("[trajectories] where"),
        "{}",
        ran.stderr
    );
}
