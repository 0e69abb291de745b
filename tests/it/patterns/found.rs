//! What is planted is found, named and described, and keeps its id.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{mined, shop};
use crate::support::{Place, assert_said, newest, number, query, sample, text};

fn by_family(report: &Value) -> BTreeMap<String, Value> {
    let patterns = report["patterns"].as_array().unwrap();
    let named = patterns
        .iter()
        .map(|p| (p["family"].as_str().unwrap().to_owned(), p.clone()));
    named.collect()
}

#[test]
fn the_three_families_are_found_with_rules_that_hold() {
    let place = Place::new();
    shop(&place, 0, 60, 2, true);
    let (report, _) = mined(&place, &[]);
    let found = by_family(&report);
    assert_eq!(
        report["patterns"].as_array().unwrap().len(),
        3,
        "{report:#}"
    );
    for (family, api, calls, rule) in [
        (
            "error masking",
            "get_user",
            40,
            "api = 'get_user' AND differs = 'outcome'",
        ),
        (
            "consistency drift",
            "get_order",
            60,
            "api = 'get_order' AND differs = 'answer'",
        ),
        (
            "semantic hallucination",
            "sum_up",
            30,
            "api = 'sum_up' AND differs = 'outcome'",
        ),
    ] {
        let pattern = &found[family];
        assert_eq!(
            (&pattern["apis"][0], &pattern["calls"]),
            (&api.into(), &calls.into()),
            "{pattern}"
        );
        assert_eq!(
            (&pattern["status"], &pattern["test"]),
            (&"confirmed".into(), &"excess".into())
        );
        assert_eq!(
            (&pattern["precision"], &pattern["recall"]),
            (&1.0.into(), &1.0.into()),
            "{pattern}"
        );
        assert!(pattern["p_value"].as_f64().unwrap() < 1e-4);
        let rule_is = pattern["rule"].as_str().unwrap();
        assert!(
            rule_is.split(" AND ").all(|part| part.contains(" = ")),
            "{rule_is}"
        );
        assert!(rule_is.len() <= rule.len() + 40, "{rule_is}");
        // The rule, pasted, finds its calls.
        let sql = format!("SELECT count(*) AS n FROM pattern_features WHERE {rule_is}");
        let ran = place.done(&["sql", "--format", "json", &sql]);
        assert_eq!(
            ran.stdout.trim(),
            format!("[{{\"n\":{calls}}}]"),
            "{rule_is}"
        );
    }
    let shares: f64 = found
        .values()
        .map(|p| p["share_gap"].as_f64().unwrap())
        .sum();
    assert!((shares - 1.0).abs() < 1e-9, "{shares}");
    let members = number(&place.lake(), "SELECT count(*) FROM pattern_members");
    assert_eq!(members, 130);
    let twice = query(
        &place.lake(),
        "SELECT trajectory_id FROM pattern_members GROUP BY trajectory_id, slot HAVING count(*) > 1",
    );
    assert!(twice.is_empty());
    // A catalog of its own, not needed: the same command on the same lake writes nothing.
    let before = newest(&place.lake());
    let (again, said) = mined(&place, &[]);
    assert_eq!(again["patterns"], report["patterns"]);
    assert!(said.contains("nothing was written"), "{said}");
    assert_eq!(newest(&place.lake()), before);
}

#[test]
fn what_people_see() {
    let place = Place::new();
    shop(&place, 0, 60, 2, true);
    assert_said!(place, "mine", place.run(&["mine"]));
    assert_said!(place, "patterns", place.run(&["patterns"]));
    let ids = query(
        &place.lake(),
        "SELECT pattern_id FROM patterns WHERE family = 'consistency drift'",
    );
    let id = ids[0]["pattern_id"].as_str().unwrap();
    assert_said!(place, "patterns_one", place.run(&["patterns", &id[..6]]));
    assert_said!(place, "mine_sequences", place.run(&["mine", "--sequences"]));
    assert_said!(place, "mine_again", place.run(&["mine"]));
}

#[test]
fn patterns_keep_their_ids_and_the_diff_says_what_became_of_them() {
    let place = Place::new();
    shop(&place, 0, 40, 2, true);
    let (first, _) = mined(&place, &[]);
    let then = newest(&place.lake());
    shop(&place, 40, 20, 2, true);
    let (second, _) = mined(&place, &["--where", "api <> 'sum_up'"]);
    let now = newest(&place.lake());
    let (old, new) = (by_family(&first), by_family(&second));
    for family in ["error masking", "consistency drift"] {
        assert_eq!(
            old[family]["pattern_id"], new[family]["pattern_id"],
            "{family}"
        );
    }
    let ran = place.done(&["patterns", "diff", &then.to_string(), &now.to_string()]);
    for part in ["grew", "went"] {
        assert!(ran.stdout.contains(part), "{}", ran.stdout);
    }
    assert_eq!(ran.stderr, "0 came, 1 went, 2 grew, 0 shrank, 0 stayed\n");
    let back = place.done(&["patterns", "diff", &now.to_string(), &then.to_string()]);
    assert_eq!(back.stderr, "1 came, 0 went, 0 grew, 2 shrank, 0 stayed\n");
    // The older run is still there, at its version.
    let at = place.done(&[
        "patterns",
        "--version",
        &then.to_string(),
        "--format",
        "csv",
    ]);
    assert_eq!(at.stdout.lines().count(), 4, "{}", at.stdout);
}

#[test]
fn every_method_can_be_asked_for() {
    let place = Place::new();
    shop(&place, 0, 60, 2, true);
    for method in ["kmeans", "dbscan"] {
        let (report, _) = mined(&place, &["--method", method]);
        assert_eq!(report["method"], method);
        assert_eq!(by_family(&report).len(), 3, "{method}: {report:#}");
    }
    // A mixture needs more kinds of calls than there are.
    let ran = place.run(&["mine", "--method", "mixture"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("too few for this method"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_curation_bounds_the_runs_of_a_pattern() {
    let place = Place::new();
    shop(&place, 0, 60, 2, true);
    let (report, _) = mined(&place, &[]);
    let pattern = by_family(&report)["error masking"]["pattern_id"].clone();
    place.write(
        "r.toml",
        format!("version = 1\n[rewards]\nmissing = 1.0\n[[quota]]\nby = \"pattern\"\nvalues = {{ {} = 10 }}\n", pattern.as_str().unwrap()),
    );
    let ran = place.done(&["curate", "r.toml", "--explain", "--format", "json"]);
    let plan: Value = serde_json::from_str(&ran.stdout).unwrap();
    let rules = plan["counts"]["rules"].as_array().unwrap();
    let rule = rules
        .iter()
        .find(|rule| rule["rule"] == "[[quota]] pattern");
    // 20 of 60 trajectories never meet the limit; each was run twice on sim.
    let rule = rule.unwrap_or_else(|| panic!("{rules:?}"));
    assert_eq!(
        (&rule["runs_in"], &rule["runs_out"]),
        (&120.into(), &50.into()),
        "{rule}"
    );
}

/// Rows come from files in any order, and files have names of chance.
#[test]
fn two_lakes_of_the_same_runs_have_the_same_patterns() {
    let reports: Vec<Value> = (0..2)
        .map(|_| {
            let place = Place::new();
            place.import(&[
                text(&sample("airline_probe.jsonl")),
                text(&sample("airline_gold.jsonl")),
            ]);
            place.import(&[text(&sample("files.jsonl"))]);
            place.done(&["profile"]);
            mined(&place, &["--min-calls", "2"]).0
        })
        .collect();
    assert_eq!(reports[0], reports[1]);
}
