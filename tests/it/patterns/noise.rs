//! Noise makes no pattern; what was not repeated is not confirmed.

use fidelake_core::stats::Chance;
use serde_json::json;

use super::{Made, error, line, mined, ok, shop};
use crate::support::Place;

/// A world that differs from itself: errors and values at random, in every run anew.
fn noisy(trajectory: usize, chance: &mut Chance) -> Vec<Made> {
    let mut all = Vec::new();
    for n in 0..8 {
        let name = ["get_user", "get_order"][n % 2];
        let arguments = json!({"id": format!("x{trajectory}-{n}")});
        let result = match chance.unit() {
            x if x < 0.1 => error("rate_limited"),
            x if x < 0.2 => ok(json!({"id": n, "value": chance.below(5)})),
            _ => ok(json!({"id": n, "value": 0})),
        };
        all.push(Made {
            name,
            arguments,
            result,
        });
    }
    all
}

#[test]
fn two_repeats_of_one_world_are_no_pattern() {
    let mut wrong = 0;
    for seed in 0..4 {
        let place = Place::new();
        let mut chance = Chance::new(seed);
        let mut lines = String::new();
        for trajectory in 0..40 {
            for arm in ["sim", "real"] {
                for repeat in 0..2 {
                    lines.push_str(&line(
                        trajectory,
                        arm,
                        repeat,
                        &noisy(trajectory, &mut chance),
                        true,
                    ));
                }
            }
        }
        place.write("runs.jsonl", lines);
        place.import(&["runs.jsonl"]);
        place.done(&["profile"]);
        let (report, said) = mined(&place, &["--seed", &seed.to_string()]);
        assert!(report["differing"].as_u64().unwrap() > 50, "{report}");
        wrong += usize::from(!report["patterns"].as_array().unwrap().is_empty());
        // What only later runs show is no difference of another kind.
        let state = "SELECT slot FROM pattern_features WHERE differs = 'state'";
        let ran = place.done(&["sql", state, "--format", "ndjson"]);
        assert_eq!(ran.stdout, "");
        assert!(
            !report["refuted"].as_array().unwrap().is_empty(),
            "{report:#}"
        );
        assert!(said.contains("no more than noise"), "{said}");
    }
    assert_eq!(wrong, 0);
}

#[test]
fn without_repeats_only_what_has_a_direction_is_confirmed() {
    let place = Place::new();
    shop(&place, 0, 60, 1, true);
    let (report, said) = mined(&place, &[]);
    let patterns = report["patterns"].as_array().unwrap();
    let of = |family: &str| patterns.iter().find(|p| p["family"] == family).unwrap();
    let told = |family: &str| {
        (
            of(family)["status"].as_str().unwrap(),
            of(family)["test"].as_str().unwrap(),
        )
    };
    // ok against rate_limited, and never the other way round.
    assert_eq!(told("error masking"), ("confirmed", "mirror"));
    assert_eq!(told("consistency drift"), ("confirmed", "mirror"));
    assert!(!said.contains("unconfirmed"), "{said}");
    // A value that is just another one has no direction.
    let other = Place::new();
    let mut lines = String::new();
    for trajectory in 0..30 {
        for arm in ["sim", "real"] {
            let call = Made {
                name: "get_user",
                arguments: json!({"id": trajectory}),
                result: ok(json!({"id": trajectory, "name": arm})),
            };
            lines.push_str(&line(trajectory, arm, 0, &[call], true));
        }
    }
    other.write("runs.jsonl", lines);
    other.import(&["runs.jsonl"]);
    other.done(&["profile"]);
    let (report, said) = mined(&other, &[]);
    assert_eq!(report["patterns"][0]["status"], "unconfirmed", "{report}");
    assert!(said.contains("1 patterns are unconfirmed"), "{said}");
}

#[test]
fn latencies_that_go_both_ways_are_no_pattern() {
    // Slower and faster calls of one tool are near each other, and may be one cluster.
    let mut wrong = 0;
    for seed in 0..4 {
        let place = Place::new();
        let mut chance = Chance::new(seed);
        let mut lines = String::new();
        for trajectory in 0..60 {
            for arm in ["sim", "real"] {
                let calls: Vec<Made> = ["get_user", "get_order", "cancel_order"]
                    .into_iter()
                    .map(|name| {
                        let slow = chance.unit() < 0.3;
                        let mut result = ok(json!({"id": trajectory}));
                        result["latency_ms"] = json!(if slow { 400.0 } else { 5.0 });
                        let arguments = json!({"id": format!("x{trajectory}")});
                        Made {
                            name,
                            arguments,
                            result,
                        }
                    })
                    .collect();
                lines.push_str(&line(trajectory, arm, 0, &calls, true));
            }
        }
        place.write("runs.jsonl", lines);
        place.import(&["runs.jsonl"]);
        place.done(&["profile"]);
        let (report, _) = mined(&place, &["--min-gap", "0", "--seed", &seed.to_string()]);
        assert!(report["differing"].as_u64().unwrap() > 50, "{report}");
        wrong += usize::from(!report["patterns"].as_array().unwrap().is_empty());
    }
    assert_eq!(wrong, 0);
}
