//! What cannot be mined, shown or probed is said plainly.

use serde_json::json;

use super::{Made, error, line, mined, ok, shop};
use crate::support::{Place, assert_said};

#[test]
fn nothing_to_mine_is_said() {
    let place = Place::new();
    assert_eq!(place.run(&["mine"]).code, Some(1));
    place.write(
        "one.jsonl",
        line(0, "sim", 0, &super::calls(0, "sim"), true),
    );
    place.import(&["one.jsonl"]);
    assert_said!(place, "mine_no_gaps", place.run(&["mine"]));
    assert_said!(place, "patterns_none", place.run(&["patterns"]));
    assert_said!(place, "probe_none", place.run(&["probe", "p1"]));
    let place = Place::new();
    shop(&place, 0, 4, 2, true);
    assert_said!(
        place,
        "mine_too_few",
        place.run(&["mine", "--min-calls", "100"])
    );
    assert_said!(
        place,
        "mine_no_environment",
        place.run(&["mine", "--environment", "shoe"])
    );
    assert_said!(
        place,
        "mine_wrong_where",
        place.run(&["mine", "--where", "api ="])
    );
    assert_said!(
        place,
        "mine_wrong_column",
        place.run(&["mine", "--where", "colour = 'red'"])
    );
    assert_eq!(place.run(&["mine", "--min-gap", "2"]).code, Some(2));
    // Two arms that agree.
    let place = Place::new();
    let same = |arm| line(1, arm, 0, &super::calls(3, "sim"), true);
    place.write("same.jsonl", same("sim") + &same("real"));
    place.import(&["same.jsonl"]);
    place.done(&["profile"]);
    assert_said!(place, "mine_no_difference", place.run(&["mine"]));
}

#[test]
fn one_cluster_and_constant_features_are_one_pattern() {
    let place = Place::new();
    let mut lines = String::new();
    for trajectory in 0..20 {
        for arm in ["sim", "real"] {
            let call = Made {
                name: "get_user",
                arguments: json!({"id": "u"}),
                result: if arm == "sim" {
                    ok(json!(1))
                } else {
                    error("timeout")
                },
            };
            lines.push_str(&line(trajectory, arm, 0, &[call], false));
        }
    }
    place.write("runs.jsonl", lines);
    place.import(&["runs.jsonl"]);
    place.done(&["profile"]);
    let (report, said) = mined(&place, &[]);
    // All calls are alike, so nothing tells the pattern from other calls: its rule is its tool.
    let patterns = report["patterns"].as_array().unwrap();
    assert_eq!(patterns.len(), 1, "{report:#}");
    assert_eq!(
        (&patterns[0]["calls"], &patterns[0]["family"]),
        (&20.into(), &"error masking".into())
    );
    assert!(
        said.contains("20 of the calls could not be held against a catalog"),
        "{said}"
    );
}

#[test]
fn ten_thousand_tools_are_no_trouble() {
    let place = Place::new();
    let mut lines = String::new();
    for trajectory in 0..50 {
        for arm in ["sim", "real"] {
            let calls: Vec<serde_json::Value> = (0..200)
                .map(|n| {
                    let name = format!("tool_{}", trajectory * 200 + n);
                    let fails = arm == "real" && n % 10 == 0;
                    let result = if fails {
                        error("timeout")
                    } else {
                        ok(json!({"n": n}))
                    };
                    json!({"turn": n, "index": 0, "name": name, "arguments": {}, "result": result})
                })
                .collect();
            let run = json!({"fidelake": 1, "trajectory_id": format!("many/{trajectory}"), "environment": "many", "arm": arm, "calls": calls});
            lines.push_str(&format!("{run}\n"));
        }
    }
    place.write("runs.jsonl", lines);
    place.import(&["runs.jsonl"]);
    place.done(&["profile"]);
    // No tool fails twice: no pattern of a tool, and nothing is invented.
    let (report, _) = mined(&place, &[]);
    assert_eq!(report["differing"], 1000);
    for pattern in report["patterns"].as_array().unwrap() {
        assert_eq!(pattern["family"], "error masking", "{pattern}");
    }
}

#[test]
fn a_pattern_that_is_not_there_is_said() {
    let place = Place::new();
    shop(&place, 0, 40, 2, true);
    mined(&place, &[]);
    assert_said!(place, "patterns_unknown", place.run(&["patterns", "zz"]));
    assert_said!(
        place,
        "patterns_ambiguous_diff",
        place.run(&["patterns", "diff", "0", "1"])
    );
    let ran = place.run(&["patterns", "p"]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("several patterns begin with p"),
        "{}",
        ran.stderr
    );
    assert_eq!(place.run(&["patterns", "diff", "0", "99"]).code, Some(1));
}
