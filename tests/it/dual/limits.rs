//! Rates, waits, timeouts, and environments that are down.

use std::time::Instant;

use serde_json::json;

use super::{Bench, visit};

#[test]
fn a_rate_is_kept_and_a_wait_that_is_asked_for() {
    let bench = Bench::new();
    let calls = |key: &str| {
        vec![
            ("get", json!({"key": key})),
            ("get", json!({"key": key, "again": 1})),
        ]
    };
    bench.trajectories(&[("a", calls("a")), ("b", calls("b")), ("c", calls("c"))]);
    bench.plan("", "none", "budget = 50\nrate = 10.0\nconcurrency = 3", "");
    bench.place.done(&["dual", "run", "plan.toml"]);
    let times: Vec<f64> = bench.seen("real").into_iter().map(|seen| seen.0).collect();
    assert_eq!(times.len(), 6);
    let first = times.iter().copied().fold(f64::INFINITY, f64::min);
    let last = times.iter().copied().fold(0.0, f64::max);
    // Five intervals of a tenth of a second; the world's clock has its own delays.
    assert!(last - first > 0.4, "{times:?}");

    let bench = Bench::new();
    bench.trajectories(&[(
        "a",
        vec![("limited", json!({"s": 1.0})), ("get", json!({"key": "k"}))],
    )]);
    bench.plan("", "none", "budget = 50", "");
    bench.place.done(&["dual", "run", "plan.toml"]);
    let seen = bench.seen("real");
    assert!(seen[1].0 - seen[0].0 > 0.95, "{seen:?}");
    assert_eq!(
        bench.query("SELECT outcome FROM observations WHERE turn = 0"),
        [json!({"outcome": "rate_limited"})]
    );
    // A wait that is too long ends the arm, not the command's patience.
    let bench = Bench::new();
    bench.trajectories(&[
        ("a", vec![("limited", json!({"s": 4000.0}))]),
        ("b", visit("b")),
    ]);
    bench.plan(
        "",
        "none",
        "budget = 50\nallow = [\"put\", \"add\"]",
        "[breaker]\nlongest_wait = 2.0",
    );
    let started = Instant::now();
    let ran = bench.place.run(&["dual", "run", "plan.toml"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr
            .contains("environment real failed: it asks to wait 4000 s"),
        "{}",
        ran.stderr
    );
    assert!(started.elapsed().as_secs() < 60);
}

#[test]
fn a_silent_tool_is_in_doubt_and_the_run_goes_on() {
    let bench = Bench::new();
    bench.trajectories(&[(
        "a",
        vec![("silent", json!({})), ("get", json!({"key": "k"}))],
    )]);
    bench.plan("", "none", "budget = 50\ntimeout = 0.5", "");
    // Done, but not well.
    let ran = bench.run(&["dual", "run", "plan.toml"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("1 calls got no answer"),
        "{}",
        ran.stderr
    );
    let rows = bench.query("SELECT name, status, fault FROM ledger ORDER BY seq");
    assert_eq!(
        rows[0],
        json!({"name": "silent", "status": "in_doubt", "fault": "late"})
    );
    assert_eq!(rows[1]["status"], "answered");
    assert_eq!(
        bench.query("SELECT outcome FROM observations WHERE turn = 0"),
        [json!({"outcome": "timeout"})]
    );
}

#[test]
fn an_arm_that_is_down_leaves_its_runs_and_the_other_goes_on() {
    let bench = Bench::new();
    bench.trajectories(&[("a", visit("a")), ("b", visit("b"))]);
    bench.plan(
        "",
        "",
        "budget = 50\nallow = [\"put\", \"add\"]",
        "[breaker]\nfailures = 1\npause = 0.1\ngive_up = 1",
    );
    let down = bench.place.write("down-real", "");
    let ran = bench.place.run(&["dual", "run", "plan.toml"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("environment real failed"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("the world is down"), "{}", ran.stderr);
    assert_eq!(
        bench.number("SELECT count(*) FROM runs WHERE arm = 'sim'"),
        2
    );
    assert_eq!(
        bench.number("SELECT count(*) FROM runs WHERE arm = 'real'"),
        0
    );
    assert_eq!(bench.status()["trial/real"]["spent"], 0);
    std::fs::remove_file(down).unwrap();
    bench.place.done(&["dual", "run", "plan.toml"]);
    assert_eq!(
        bench.number("SELECT count(*) FROM runs WHERE arm = 'real'"),
        2
    );
    assert_eq!(bench.seen("sim").len(), 10);
}

#[test]
#[ignore = "takes a minute: 10,000 calls"]
fn ten_thousand_calls_with_eight_in_flight() {
    let bench = Bench::new();
    let ids: Vec<String> = (0..200).map(|n| format!("t{n}")).collect();
    let list: Vec<_> = ids
        .iter()
        .map(|id| {
            let calls = (0..50)
                .map(|n| ("get", json!({"key": id, "n": n})))
                .collect();
            (id.as_str(), calls)
        })
        .collect();
    bench.trajectories(&list);
    bench.plan(
        "",
        "none",
        "budget = 10000\nconcurrency = 8\nreuse = true",
        "",
    );
    let started = Instant::now();
    bench.place.done(&["dual", "run", "plan.toml"]);
    eprintln!("10,000 calls in {:.1?}", started.elapsed());
    let mut seen: Vec<String> = bench
        .seen("real")
        .into_iter()
        .map(|(_, _, arguments)| arguments.to_string())
        .collect();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 10_000);
    assert_eq!(bench.seen("real").len(), 10_000);
    assert_eq!(bench.number("SELECT count(*) FROM observations"), 10_000);
    assert_eq!(
        bench.number("SELECT count(*) FROM ledger WHERE status = 'answered'"),
        10_000
    );
}

/// What the runner adds to a call: from one call to the next, less the call itself.
#[test]
#[ignore = "measures: 2,000 calls, one at a time"]
fn overhead_per_call() {
    let bench = Bench::new();
    let calls = (0..2000)
        .map(|n| ("get", json!({"key": "k", "n": n})))
        .collect();
    bench.trajectories(&[("a", calls)]);
    bench.plan("", "none", "budget = 2000", "");
    bench.place.done(&["dual", "run", "plan.toml"]);
    let rows =
        bench.query("SELECT cast(sent_at AS bigint) AS sent, latency_ms FROM ledger ORDER BY seq");
    let number = |row: &serde_json::Value, name: &str| row[name].as_f64().unwrap();
    let mut added: Vec<f64> = rows
        .windows(2)
        .map(|pair| {
            (number(&pair[1], "sent") - number(&pair[0], "sent")) / 1000.0
                - number(&pair[0], "latency_ms")
        })
        .collect();
    let mut direct: Vec<f64> = rows.iter().map(|row| number(row, "latency_ms")).collect();
    added.sort_by(f64::total_cmp);
    direct.sort_by(f64::total_cmp);
    let at = |list: &[f64], share: f64| list[(list.len() as f64 * share) as usize];
    eprintln!(
        "the call itself: median {:.3} ms, p99 {:.3} ms; added: median {:.3} ms, p99 {:.3} ms",
        at(&direct, 0.5),
        at(&direct, 0.99),
        at(&added, 0.5),
        at(&added, 0.99)
    );
    assert!(at(&added, 0.5) > 0.0);
}
