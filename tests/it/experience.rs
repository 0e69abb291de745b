//! The experience graph, and rare failures spliced into runs.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::readers::python;
use crate::support::{Place, Ran};

/// A run of `(api, outcome)` calls; `success` is what a judge says.
fn run(id: &str, arm: &str, task: &str, calls: &[(&str, &str)], success: Option<bool>) -> String {
    let calls = calls.iter().enumerate().map(|(turn, (api, outcome))| {
        let (content, error) = match *outcome {
            "ok" => (format!("fine {turn}"), None),
            _ => (format!("{outcome} for order-{id}"), Some(*outcome)),
        };
        json!({
            "turn": turn, "index": 0, "id": format!("c{turn}"), "name": api, "arguments": if *api == "login" { json!({}) } else { json!({"order": format!("order-{id}")}) },
            "result": {"content": content, "is_error": error.is_some(), "error_type": error}, "state_hash": format!("s{turn}"),
        })
    });
    let mut line = json!({
        "fidelake": 1, "trajectory_id": id, "environment": "shop", "arm": arm, "task_id": task,
        "calls": calls.collect::<Vec<_>>(),
    });
    if let Some(success) = success {
        line["verdicts"] =
            json!([{"judge": "j", "reward": f64::from(u8::from(success)), "success": success}]);
    }
    format!("{line}\n")
}

fn rows(place: &Place, args: &[&str]) -> Vec<Value> {
    let args = [args, &["--format", "json"]].concat();
    serde_json::from_str(&place.done(&args).stdout).unwrap()
}

/// Real runs: `find` times out now and then and is made again; a wrong run pays at once.
fn place() -> Place {
    let place = Place::new();
    let mut lines = String::new();
    for n in 0..100 {
        let calls: &[(&str, &str)] = match n {
            0..4 => &[
                ("login", "ok"),
                ("find", "timeout"),
                ("find", "ok"),
                ("pay", "ok"),
            ],
            _ => &[("login", "ok"), ("find", "ok"), ("pay", "ok")],
        };
        lines += &run(
            &format!("t{n}"),
            "real",
            &format!("t{n}"),
            calls,
            Some(true),
        );
    }
    let hasty = [("login", "ok"), ("pay", "conflict")];
    lines += &run("hasty", "real", "t0", &hasty, Some(false));
    let good = [("login", "ok"), ("find", "ok"), ("pay", "ok")];
    for n in 0..50 {
        lines += &run(&format!("t{n}"), "sim", &format!("t{n}"), &good, Some(true));
    }
    place.write("runs.jsonl", lines);
    place.done(&["import", "runs.jsonl"]);
    place.done(&["profile"]);
    place
}

#[test]
fn edges_count_what_followed_what() {
    let place = place();
    let edges = rows(&place, &["graph", "show", "edges"]);
    let find = |from: Value, to: Value| {
        let found = edges.iter().find(|edge| {
            json!([edge["from_api"], edge["from_outcome"]]) == from
                && json!([edge["to_api"], edge["to_outcome"]]) == to
        });
        found
            .unwrap_or_else(|| panic!("{from} to {to}: {edges:#?}"))
            .clone()
    };
    let again = find(json!(["find", "timeout"]), json!(["find", "ok"]));
    assert_eq!([&again["real_count"], &again["sim_count"]], [4, 0]);
    let begins = find(json!([null, null]), json!(["login", "ok"]));
    assert_eq!(
        [
            &begins["real_count"],
            &begins["sim_count"],
            &begins["real_right"],
            &begins["real_judged"]
        ],
        [101, 50, 100, 101]
    );
    let ends = find(json!(["pay", "conflict"]), json!([null, null]));
    assert_eq!([&ends["real_count"], &ends["real_right"]], [1, 0]);
    // Every step is entered once and left once.
    let nodes = rows(&place, &["graph", "show", "nodes"]);
    for arm in ["real", "sim"] {
        let mut balance: BTreeMap<String, i64> = BTreeMap::new();
        for edge in &edges {
            let count = edge[format!("{arm}_count")].as_i64().unwrap();
            *balance
                .entry(format!("{} {}", edge["to_api"], edge["to_outcome"]))
                .or_default() += count;
        }
        for node in &nodes {
            let name = format!("{} {}", node["api"], node["outcome"]);
            assert_eq!(
                Some(balance[&name]),
                node[format!("{arm}_calls")].as_i64(),
                "{name}"
            );
        }
    }
}

#[test]
fn what_worked_from_here_comes_first() {
    let place = place();
    let next = rows(&place, &["graph", "next", "--after", "login"]);
    let names: Vec<_> = next
        .iter()
        .map(|row| row["api"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["find", "pay"]);
    assert_eq!(
        [
            &next[0]["real_right"],
            &next[0]["real_judged"],
            &next[0]["real_ok"]
        ],
        [100, 100, 96]
    );
    // Wilson, by hand: 100 of 100 is at least 100 / (100 + 1.96^2) = .9630.
    assert_eq!(next[0]["right_low"], 0.963);
    let ran = place.done(&[
        "graph",
        "next",
        "--after",
        "login:ok",
        "--after",
        "find:timeout",
    ]);
    assert!(
        ran.stderr.contains("behind the last 1 of these calls"),
        "{ran:?}"
    );
    let ran = place.done(&["graph", "next", "--after", "nothing"]);
    assert!(ran.stderr.contains("no recorded run went on"), "{ran:?}");
    let ran = place.run(&["graph", "next", "--after", ":ok"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let ran = place.run(&["graph", "next", "--environment", "elsewhere"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("no runs of environment \"elsewhere\""),
        "{ran:?}"
    );
}

#[test]
fn failures_have_repairs() {
    let place = place();
    let fixes = rows(&place, &["graph", "show", "fixes"]);
    let kinds: Vec<_> = fixes
        .iter()
        .map(|fix| {
            (
                fix["kind"].as_str().unwrap(),
                fix["times"].as_i64().unwrap(),
            )
        })
        .collect();
    assert_eq!(kinds, [("retried", 4), ("fixed_by", 1)]);
    assert_eq!(fixes[0]["same_call"], 4);
    // The wrong run parts from the right one behind the login.
    let [failed, repair] =
        ["failed_api", "repair_api"].map(|name| fixes[1][name].as_str().unwrap());
    assert_eq!([failed, repair], ["pay", "find"]);
}

#[test]
fn graphml_and_parquet_are_read_by_others() {
    let place = place();
    place.done(&["graph", "export", "--out", "g.graphml"]);
    place.done(&["graph", "export", "--out", "tables"]);
    for out in ["g.graphml", "tables"] {
        let ran = place.run(&["graph", "export", "--out", out]);
        assert_eq!(ran.code, Some(1));
        assert!(ran.stderr.contains("is there already"), "{ran:?}");
    }
    let ran = place.run(&["graph", "export", "--out", "g.csv"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let Some(python) = python() else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/graph.py");
    let files = [place.path("g.graphml"), place.path("tables")];
    let ran = Ran::of(Command::new(python).arg(script).args(files));
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
}

#[test]
fn a_rare_failure_is_spliced_where_the_real_world_had_it() {
    let place = place();
    let table = rows(&place, &["augment", "--out", "more.jsonl"]);
    let timeout = table
        .iter()
        .find(|row| row["outcome"] == "timeout")
        .unwrap();
    assert_eq!(
        [
            &timeout["api"],
            &timeout["real"],
            &timeout["real_calls"],
            &timeout["places"]
        ],
        [&json!("find"), &json!(4), &json!(104), &json!(50)]
    );
    let added = timeout["added"].as_i64().unwrap();
    // 4 of 104 is real; the exact test lets 6 of 62 pass at .05 / 2 and not many more.
    assert!((3..=9).contains(&added), "{added}");
    assert!(timeout["p_share"].as_f64().unwrap() >= 0.025);
    let written = std::fs::read_to_string(place.path("more.jsonl")).unwrap();
    assert_eq!(written.lines().count() as i64, added);
    for line in written.lines() {
        let run: Value = serde_json::from_str(line).unwrap();
        let own = run["calls"][1]["arguments"]["order"].as_str().unwrap();
        let failed = &run["calls"][1];
        assert_eq!(
            [&failed["name"], &failed["arguments"]["order"]],
            ["find", own]
        );
        // The donor's answer names the host's order.
        assert_eq!(failed["result"]["content"], format!("timeout for {own}"));
        assert_eq!(run["labels"]["parents"].as_array().map(Vec::len), Some(2));
        assert_eq!(
            [&run["origin"], &run["calls"][2]["result"]["content"]],
            ["generated", "fine 1"]
        );
    }
    // Same lake, same command, same bytes; and no more of it once it is there.
    place.done(&["augment", "--out", "again.jsonl"]);
    assert_eq!(
        written,
        std::fs::read_to_string(place.path("again.jsonl")).unwrap()
    );
    place.done(&["import", "more.jsonl"]);
    let table = rows(&place, &["augment"]);
    let timeout = table
        .iter()
        .find(|row| row["outcome"] == "timeout")
        .unwrap();
    assert_eq!(timeout["sim"], added);
    assert!(timeout["added"].as_i64().unwrap() <= 1, "{timeout}");
    let next = rows(&place, &["graph", "show", "edges"]);
    let kept = next
        .iter()
        .find(|edge| edge["from_outcome"] == "timeout")
        .unwrap();
    assert_eq!(
        [&kept["sim_count"], &kept["to_outcome"]],
        [&json!(added), &json!("ok")]
    );
}

#[test]
fn nothing_rare_nothing_spliced() {
    let place = Place::new();
    place.write("runs.jsonl", run("a", "real", "t", &[("find", "ok")], None));
    place.done(&["import", "runs.jsonl"]);
    let ran = place.done(&["augment", "--out", "none.jsonl"]);
    assert!(ran.stderr.contains("no failure is rare"), "{ran:?}");
    assert_eq!(
        std::fs::read_to_string(place.path("none.jsonl")).unwrap(),
        ""
    );
    let ran = place.run(&["augment", "--below", "1.5"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}
