//! Profiles after more was imported: what is new is computed, whatever it is called.

use serde_json::{Value, json};

use crate::support::Place;

/// Runs of both arms whose answers differ in one field.
fn runs(environment: &str, from: usize) -> String {
    let mut lines = String::new();
    for trajectory in from..from + 3 {
        for arm in ["sim", "real"] {
            let answer = json!({"n": trajectory, "arm": arm});
            let call = json!({"turn": 0, "index": 0, "name": "get", "arguments": {"n": trajectory},
                "result": {"content": answer.to_string()}});
            let run = json!({"fidelake": 1, "trajectory_id": format!("t{trajectory}"),
                "environment": environment, "arm": arm, "calls": [call]});
            lines.push_str(&format!("{run}\n"));
        }
    }
    lines
}

fn profiled(place: &Place) -> Value {
    let ran = place.done(&["profile", "--format", "json"]);
    serde_json::from_str(&ran.stdout).unwrap()
}

/// The folders of a table are named after environments, percent-encoded; so are the files in
/// its log, once more.
#[test]
fn environments_may_have_any_name() {
    let names = [
        "plain",
        "two words",
        "ü/東",
        "50%",
        "a%20b",
        "x:y",
        "q?#",
        "a=b&c",
    ];
    let place = Place::new();
    for (round, from) in [0, 100, 200].into_iter().enumerate() {
        let lines: String = names.iter().map(|name| runs(name, from)).collect();
        place.write("runs.jsonl", lines);
        place.import(&["runs.jsonl"]);
        let report = profiled(&place);
        let (new, before) = (3 * names.len(), 3 * names.len() * round);
        assert_eq!(
            (&report["trajectories"], &report["unchanged"]),
            (&json!(new), &json!(before)),
            "round {round}"
        );
    }
    // A repeat of old trajectories: these are read whole, from all files.
    let again: String = names.iter().map(|name| runs(name, 0)).collect();
    let again = again.replace(
        "\"arm\":\"sim\",\"calls\"",
        "\"arm\":\"sim\",\"repeat\":1,\"calls\"",
    );
    place.write("again.jsonl", again);
    place.import(&["again.jsonl"]);
    let report = profiled(&place);
    assert_eq!(report["trajectories"], json!(3 * names.len()), "{report}");
    let sql = "SELECT environment, count(*) AS n FROM profiles_now GROUP BY environment";
    let ran = place.done(&["sql", "--format", "ndjson", sql]);
    assert_eq!(ran.stdout.lines().count(), names.len());
    assert!(
        ran.stdout.lines().all(|line| line.contains("\"n\":9")),
        "{}",
        ran.stdout
    );
}
