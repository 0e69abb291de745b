//! Probes of idempotency.

use serde_json::json;

use super::{Bench, visit};

#[test]
fn a_probe_records_what_a_repetition_changes() {
    let bench = Bench::new();
    bench.trajectories(&[("a", visit("a"))]);
    bench.plan(
        "",
        "",
        "budget = 40\nallow = [\"put\", \"add\"]",
        "[probe]\ntools = [\"put\", \"add\", \"get\"]",
    );
    bench
        .place
        .done(&["dual", "run", "plan.toml", "--probe", "idempotency"]);
    let rows = bench.query(
        "SELECT DISTINCT name, labels FROM runs r JOIN calls c ON c.run_id = r.run_id
         WHERE c.name IN ('put', 'add') AND labels LIKE '%probe_tool\":\"' || c.name || '\"%' AND r.arm = 'real' AND r.repeat = 1
         ORDER BY name",
    );
    let labels: Vec<serde_json::Value> = rows
        .iter()
        .map(|row| serde_json::from_str(row["labels"].as_str().unwrap()).unwrap())
        .collect();
    // Adding twice is not adding once, setting twice is; in a fresh state both are the same.
    assert_eq!(
        (&labels[0]["probe_tool"], &labels[0]["in_place"]),
        (&json!("add"), &json!("answer"))
    );
    assert_eq!(labels[0]["in_place_state"], "changed");
    assert_eq!(
        (&labels[1]["probe_tool"], &labels[1]["in_place"]),
        (&json!("put"), &json!("same"))
    );
    assert_eq!(labels[1]["in_place_state"], "same");
    assert!(
        labels
            .iter()
            .all(|labels| labels["fresh"] == "same" && labels["probe"] == "idempotency")
    );
    // The probed calls stand there twice, and its trajectories have names of their own.
    assert_eq!(
        bench.number("SELECT count(*) FROM runs WHERE trajectory_id NOT LIKE 'a#idempotency/%'"),
        0
    );
    // One budget for the plan and its probe.
    let spent = bench.status()["trial+idempotency/real"]["spent"]
        .as_i64()
        .unwrap();
    assert_eq!(spent, i64::try_from(bench.seen("real").len()).unwrap());
}
