//! Killed at random moments: calls seen <= ledger <= budget, nothing lost, nothing twice.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Bench, visit};
use crate::generate::Chance;

const TRAJECTORIES: usize = 30;

fn bench(trajectories: usize, budget: usize, repeatable: &str) -> Bench {
    let bench = Bench::new();
    let ids: Vec<String> = (0..trajectories).map(|n| format!("t{n}")).collect();
    let list: Vec<_> = ids
        .iter()
        .map(|id| {
            let mut calls = visit(id);
            calls.insert(2, ("slow", json!({"s": 0.01, "of": id})));
            (id.as_str(), calls)
        })
        .collect();
    bench.trajectories(&list);
    // The lake is there: what is killed is the runner.
    bench.place.write(
        "other.jsonl",
        r#"{"fidelake":1,"trajectory_id":"o","environment":"other","arm":"sim"}"#,
    );
    bench.place.done(&["import", "other.jsonl"]);
    bench.plan(
        "",
        "concurrency = 2",
        &format!("concurrency = 4\nbudget = {budget}\nallow = [\"put\", \"add\"]\n{repeatable}"),
        "",
    );
    bench
}

/// Runs and kills `kills` times, then to the end; checks after each step.
fn killed(bench: &Bench, trajectories: usize, kills: u64, calls: u64, budget: i64) {
    let mut chance = Chance::new(kills);
    let mut cut = 0;
    for _ in 0..kills {
        let mut child = bench
            .place
            .command(&["dual", "run", "plan.toml"])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // Mostly while calls are made, else anywhere, while it starts or folds.
        if chance.below(5) > 0 {
            let wanted = bench.seen("real").len() as u64 + 1 + chance.below(calls);
            let started = Instant::now();
            while (bench.seen("real").len() as u64) < wanted
                && started.elapsed() < Duration::from_secs(60)
                && child.try_wait().unwrap().is_none()
            {
                std::thread::sleep(Duration::from_millis(3));
            }
        } else {
            std::thread::sleep(Duration::from_millis(chance.below(2500)));
        }
        child.kill().unwrap();
        cut += u32::from(!child.wait().unwrap().success());
        check(bench, budget);
    }
    assert!(u64::from(cut) * 2 >= kills, "only {cut} kills came in time");
    let ran = bench.place.run(&["dual", "run", "plan.toml"]);
    // 3: some runs were interrupted where repeating is not safe.
    assert!(
        matches!(ran.code, Some(0 | 3)),
        "{}\n{}",
        ran.stdout,
        ran.stderr
    );
    check(bench, budget);
    let status = bench.status();
    let real = &status["trial/real"];
    assert_eq!(real["in_lake"], trajectories as i64, "{real}");
    assert_eq!(real["spent"], real["calls"]);
    // Each run once, every answered call of it in the lake once.
    assert_eq!(
        bench.number("SELECT count(*) FROM runs WHERE environment = 'world'"),
        2 * trajectories as i64
    );
    assert_eq!(
        bench.number("SELECT count(DISTINCT run_id) FROM runs WHERE environment = 'world'"),
        2 * trajectories as i64
    );
    assert_eq!(
        bench.number("SELECT count(*) FROM runs WHERE repeat > 0"),
        0
    );
    let answered = "SELECT count(*) FROM (SELECT DISTINCT run_id, position FROM ledger WHERE status = 'answered' AND purpose <> 'prefix')";
    let once = "SELECT count(*) FROM observations WHERE content_kind <> 'absent'";
    assert_eq!(bench.number(answered), bench.number(once));
    let ledger = bench.number("SELECT count(*) FROM ledger WHERE arm = 'real'");
    assert_eq!(real["calls"], ledger);
    assert_eq!(
        bench.number("SELECT count(DISTINCT seq) FROM ledger"),
        bench.number("SELECT count(*) FROM ledger")
    );
    bench.assert_no_payload();
    eprintln!(
        "{kills} kills ({cut} in time): {} calls seen by the real world, {ledger} in the ledger, {} in doubt, budget {budget}",
        bench.seen("real").len(),
        real["in_doubt"]
    );
}

fn check(bench: &Bench, budget: i64) {
    let path = bench.place.lake().join("_fidelake/dual.sqlite");
    let Ok(db) =
        rusqlite::Connection::open_with_flags(path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)
    else {
        assert!(bench.seen("real").is_empty());
        return;
    };
    let sql = "SELECT count(*) FROM dual_calls c JOIN dual_runs r USING (plan_id, run) WHERE r.arm = 'real'";
    let ledger = db
        .query_row(sql, [], |row| row.get::<_, i64>(0))
        .unwrap_or_default();
    let seen = i64::try_from(bench.seen("real").len()).unwrap();
    assert!(seen <= ledger, "{seen} calls seen, {ledger} in the ledger");
    assert!(ledger <= budget, "{ledger} in the ledger, budget {budget}");
}

/// How often the real world saw each call.
fn counts(bench: &Bench) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for (_, name, arguments) in bench.seen("real") {
        *counts.entry(format!("{name} {arguments}")).or_default() += 1;
    }
    counts
}

#[test]
fn a_few_kills_where_repeating_is_safe() {
    let bench = bench(TRAJECTORIES, 400, "repeatable = [\"*\"]");
    killed(&bench, TRAJECTORIES, 5, 30, 400);
    // All runs came to their end.
    assert_eq!(
        bench.number(
            "SELECT count(*) FROM runs WHERE environment = 'world' AND termination = 'completed'"
        ),
        2 * TRAJECTORIES as i64
    );
    assert_eq!(
        bench.number("SELECT count(*) FROM observations"),
        12 * TRAJECTORIES as i64
    );
}

#[test]
fn a_few_kills_where_repeating_is_not_safe() {
    let bench = bench(TRAJECTORIES, 400, "");
    killed(&bench, TRAJECTORIES, 5, 30, 400);
    // No call that may change something was made twice: each has a key of its own.
    for (call, times) in counts(&bench) {
        let changing = call.starts_with("put") || call.starts_with("add");
        assert!(!changing || times == 1, "{call}: {times} times");
    }
    let interrupted = bench
        .number("SELECT count(*) FROM runs WHERE environment = 'world' AND termination = 'interrupted' AND arm = 'real'");
    let completed =
        bench.number("SELECT count(*) FROM runs WHERE environment = 'world' AND termination = 'completed' AND arm = 'real'");
    assert_eq!(interrupted + completed, TRAJECTORIES as i64);
    // What nobody knows the fate of says so.
    let doubts = bench.number("SELECT count(*) FROM ledger WHERE status = 'in_doubt' AND fault = 'killed' AND name IN ('put', 'add') AND arm = 'real'");
    let said = bench.number("SELECT count(*) FROM calls WHERE extra LIKE '%in_doubt%' AND name IN ('put', 'add') AND arm = 'real'");
    assert_eq!(doubts, said);
}

#[test]
#[ignore = "takes some minutes: make test-kill"]
fn fifty_kills_over_one_plan() {
    // More than a fast machine gets through before the last kill.
    let trajectories = 5 * TRAJECTORIES;
    let bench = bench(trajectories, 4000, "repeatable = [\"*\"]");
    killed(&bench, trajectories, 50, 5, 4000);
}

#[test]
fn ctrl_c_finishes_what_is_under_way() {
    let bench = bench(TRAJECTORIES, 400, "");
    let child = bench
        .place
        .command(&["dual", "run", "plan.toml"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while bench.seen("real").len() < 6 {
        assert!(started.elapsed().as_secs() < 60, "it makes no call");
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = child.id().to_string();
    assert!(
        std::process::Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("run the same command again to go on"),
        "{said}"
    );
    // Nothing was cut, and nothing is in doubt.
    let real = &bench.status()["trial/real"];
    assert_eq!(
        (&real["cut"], &real["in_doubt"], &real["finished"]),
        (&json!(0), &json!(0), &json!(0))
    );
    assert!(real["pending"].as_i64() > Some(0), "{real}");
    bench.place.done(&["dual", "run", "plan.toml"]);
    assert_eq!(
        bench.number(
            "SELECT count(*) FROM runs WHERE environment = 'world' AND termination = 'completed'"
        ),
        2 * TRAJECTORIES as i64
    );
    assert_eq!(bench.seen("real").len(), 6 * TRAJECTORIES);
}
