//! Runs that were never run on the other arm get what is known of their calls.

use serde_json::{Value, json};

use crate::support::Place;

/// A run that calls these APIs, one a turn.
fn run(trajectory: &str, arm: &str, apis: &[&str]) -> String {
    let calls: Vec<Value> = apis
        .iter()
        .enumerate()
        .map(|(turn, api)| {
            // `drifts` answers otherwise on the real arm, `holds` does not.
            let answer = match (*api, arm) {
                ("drifts", "real") => json!({"price": 2, "name": "x"}),
                _ => json!({"price": 1, "name": "x"}),
            };
            let result = json!({"content": answer, "latency_ms": 1.0});
            json!({"turn": turn, "index": 0, "name": api, "arguments": {"n": turn}, "result": result})
        })
        .collect();
    let line = json!({
        "fidelake": 1, "trajectory_id": trajectory, "environment": "e", "arm": arm,
        "task_id": trajectory, "calls": calls, "verdicts": [{"judge": "j", "reward": 1.0}],
    });
    format!("{line}\n")
}

/// Thirty trajectories on both arms, and some on sim only.
fn place() -> Place {
    let place = Place::new();
    let mut lines = String::new();
    for n in 0..30 {
        let apis: &[&str] = match n % 3 {
            0 => &["drifts", "drifts"],
            1 => &["holds", "holds"],
            _ => &["drifts", "holds"],
        };
        for arm in ["sim", "real"] {
            lines += &run(&format!("both/{n}"), arm, apis);
        }
    }
    lines += &run("only/drifts", "sim", &["drifts", "drifts"]);
    lines += &run("only/holds", "sim", &["holds", "holds"]);
    lines += &run("only/new", "sim", &["never seen"]);
    place.write("runs.jsonl", lines);
    place.write("r.toml", "version = 1\n[groups]\nby = \"task_id\"\n");
    place.done(&["import", "runs.jsonl"]);
    place.done(&["profile"]);
    place
}

fn manifest(place: &Place) -> Value {
    let ran = place.done(&["curate", "r.toml", "--out", "out", "--format", "json"]);
    serde_json::from_str(&ran.stdout).unwrap()
}

fn weight(place: &Place, trajectory: &str) -> f64 {
    let sql = format!(
        "SELECT fidelity_weight AS w FROM curation_rows WHERE trajectory_id = '{trajectory}'"
    );
    let ran = place.done(&["sql", &sql, "--format", "json"]);
    let rows: Value = serde_json::from_str(&ran.stdout).unwrap();
    rows[0]["w"].as_f64().unwrap()
}

#[test]
fn a_run_is_weighed_by_the_calls_that_it_makes() {
    let place = place();
    let manifest = manifest(&place);
    let sources = &manifest["rows_by_profile_source"];
    assert_eq!(sources["measured"], 30);
    assert_eq!(sources["predicted"], 3);
    let [drifts, holds, new] = ["only/drifts", "only/holds", "only/new"].map(|t| weight(&place, t));
    assert!(drifts < new && new < holds, "{drifts} {new} {holds}");
}

#[test]
fn predictions_are_checked_on_tasks_that_they_were_not_made_from() {
    let place = place();
    let manifest = manifest(&place);
    let check = &manifest["predictions_held_back"]["run_obs"];
    assert_eq!(check["trajectories"], 30, "{manifest:#}");
    let number = |name: &str| check[name].as_f64().unwrap();
    // The calls say nearly everything here: far better than the mean of all.
    assert!(
        number("mean_error") < 0.3 * number("mean_error_of_mean"),
        "{check}"
    );
    assert!(
        number("correlation") > 0.95 && number("bias").abs() < 0.02,
        "{check}"
    );
}
