//! The budget, what is permitted, and dry runs.

use serde_json::json;

use super::{Bench, visit};
use crate::support::assert_said;

#[test]
fn a_budget_is_never_exceeded_and_can_be_raised() {
    let bench = Bench::new();
    bench.trajectories(&[("a", visit("a")), ("b", visit("b")), ("c", visit("c"))]);
    let real =
        |budget: u32| format!("budget = {budget}\nconcurrency = 3\nallow = [\"put\", \"add\"]");
    bench.plan("", "", &real(12), "");
    let ran = bench.run(&["dual", "run", "plan.toml"]);
    assert_eq!(ran.code, Some(1));
    assert_said!(bench.place, "dual_budget", ran);
    // It ends between runs: two of them fit.
    assert_eq!(bench.seen("real").len(), 10);
    assert_eq!(bench.status()["trial/real"]["pending"], 1);
    bench.plan("", "", &real(15), "");
    bench.place.done(&["dual", "run", "plan.toml"]);
    assert_eq!(bench.seen("real").len(), 15);
    assert_eq!(bench.number("SELECT count(*) FROM runs"), 6);
    let ran = bench.run(&["dual", "status", "plan.toml"]);
    assert_said!(bench.place, "dual_status", ran);
}

#[test]
fn retries_count_and_a_call_that_was_not_sent_is_no_observation() {
    let bench = Bench::new();
    bench.trajectories(&[("a", vec![("die", json!({})), ("get", json!({"key": "x"}))])]);
    bench.plan(
        "",
        "none",
        "budget = 9\nallow = [\"die\"]\nbackoff = 0.0",
        "",
    );
    let ran = bench.run(&["dual", "run", "plan.toml"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(ran.stdout.contains("1 runs done"), "{}", ran.stdout);
    let rows = bench.query("SELECT status, fault, purpose FROM ledger ORDER BY seq");
    assert_eq!(
        rows,
        [json!({"status": "in_doubt", "fault": "lost", "purpose": "call"})]
    );
    let rows = bench.query("SELECT termination, call_count FROM runs");
    assert_eq!(
        rows,
        [json!({"termination": "environment_ended", "call_count": 1})]
    );
    assert_eq!(
        bench.query("SELECT outcome FROM observations"),
        [json!({"outcome": "transport"})]
    );
}

#[test]
fn what_may_change_something_is_refused_on_the_real_arm() {
    let bench = Bench::new();
    bench.trajectories(&[
        ("reads", vec![("get", json!({"key": "x"}))]),
        ("writes", visit("y")),
        (
            "unsure",
            vec![("get", json!({"key": "z"})), ("unsure", json!({}))],
        ),
    ]);
    bench.plan("", "", "budget = 50", "");
    let ran = bench.run(&["dual", "run", "plan.toml"]);
    assert_eq!(ran.code, Some(3));
    assert_said!(bench.place, "dual_refused", ran);
    // The others ran on neither arm.
    let names = |arm: &str| -> Vec<String> {
        bench
            .seen(arm)
            .into_iter()
            .map(|(_, name, _)| name)
            .collect()
    };
    assert_eq!(
        (names("real"), names("sim")),
        (vec!["get".to_owned()], vec!["get".to_owned()])
    );
    assert_eq!(bench.status()["trial/real"]["refused"], 2);
    // Permitted later, under the same name; the rest is cut before the call.
    bench.plan(
        "refused = \"cut\"",
        "",
        "budget = 50\nallow = [\"put\", \"add\"]",
        "",
    );
    let ran = bench.run(&["dual", "run", "plan.toml"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert_eq!(names("real").len(), 7);
    assert_eq!(names("sim").len(), 7);
    assert!(!names("sim").contains(&"unsure".to_owned()));
}

#[test]
fn a_dry_run_starts_nothing() {
    let bench = Bench::new();
    bench.trajectories(&[("a", visit("a"))]);
    bench.plan("", "", "budget = 3\nrate = 0.5\nallow = [\"put\"]", "");
    let ran = bench.place.done(&["dual", "run", "plan.toml", "--dry-run"]);
    assert_said!(bench.place, "dual_dry_run", ran);
    assert!(!bench.place.lake().exists());
    assert!(bench.seen("sim").is_empty() && bench.seen("real").is_empty());
    // What was refused is tried again when the plan permits more: it costs.
    let dry = || bench.run(&["dual", "run", "plan.toml", "--dry-run"]).stderr;
    bench.plan("", "", "budget = 50", "");
    assert_eq!(bench.run(&["dual", "run", "plan.toml"]).code, Some(3));
    bench.plan("", "", "budget = 50\nallow = [\"put\", \"add\"]", "");
    assert!(
        dry().contains("2 runs, 10 calls, 5 of them on the real arm"),
        "{}",
        dry()
    );
}
