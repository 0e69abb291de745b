//! A campaign against two small worlds: rounds, one budget, the ledger, a kill.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::rows;
use crate::dual::Bench;
use crate::support::{Place, query};

/// Sim runs of forty trajectories of three calls, imported.
fn pool() -> Bench {
    let bench = Bench::new();
    let mut lines = String::new();
    for at in 0..40 {
        let calls: Vec<Value> = ["put", "get", "get"]
            .iter()
            .enumerate()
            .map(|(turn, name)| {
                let arguments = json!({"key": format!("k{at}"), "value": turn});
                json!({"turn": turn, "name": name, "arguments": arguments, "result": {"content": {"ok": true}}})
            })
            .collect();
        let run = json!({"fidelake": 1, "trajectory_id": format!("t{at}"), "environment": "world", "arm": "sim", "calls": calls});
        writeln!(lines, "{run}").unwrap();
    }
    bench.place.write("pool.jsonl", lines);
    bench.place.import(&["pool.jsonl"]);
    bench.place.write("tasks.jsonl", "");
    bench
}

fn spent(place: &Place, plan: &str) -> (i64, i64) {
    let told = rows(&place.done(&["dual", "status", plan, "--format", "ndjson"]));
    let real = told.iter().find(|row| row["arm"] == "real").unwrap();
    (
        real["calls"].as_i64().unwrap(),
        real["budget"].as_i64().unwrap(),
    )
}

#[test]
fn rounds_share_one_budget_and_their_draws_are_told() {
    let bench = pool();
    let place = &bench.place;
    bench.plan(
        "",
        "",
        "budget = 1\nreads = [\"get\"]\nallow = [\"put\"]\nrepeatable = [\"*\"]",
        "",
    );
    let plan = |more: &[&str]| {
        let mut args = vec![
            "plan",
            "plan.toml",
            "--name",
            "c",
            "--budget",
            "60",
            "--adaptive",
            "--format",
            "ndjson",
        ];
        args.extend(more);
        place.run(&args)
    };
    let first = plan(&[]);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let told = rows(&first);
    let cost: i64 = told.iter().map(|r| r["real_calls"].as_i64().unwrap()).sum();
    assert!(cost > 0 && cost <= 12, "a fifth of 60: {told:?}");
    let files =
        || ["c-1.toml", "c-1.tasks.jsonl"].map(|name| std::fs::read(place.path(name)).unwrap());
    // The same command, the same bytes.
    let written = files();
    assert_eq!(first.stdout, plan(&[]).stdout);
    assert_eq!(written, files());
    // A draw of a read brings the write before it, and no other read.
    let tasks = String::from_utf8(written[1].clone()).unwrap();
    for line in tasks.lines() {
        let run: Value = serde_json::from_str(line).unwrap();
        let calls = run["calls"].as_array().unwrap();
        let label = &run["labels"]["budget"];
        assert_eq!(calls.last().unwrap()["turn"], label["turn"]);
        assert_eq!(calls.len(), if label["turn"] == 0 { 1 } else { 2 }, "{run}");
        let chance = label["drawn"].as_f64().unwrap() / label["of"].as_f64().unwrap();
        assert!((label["inclusion"].as_f64().unwrap() - chance).abs() < 1e-12);
    }

    place.done(&["dual", "run", "c-1.toml"]);
    assert_eq!(spent(place, "c-1"), (cost, 60));
    let early = plan(&[]);
    assert_eq!(early.code, Some(1));
    assert!(
        early.stderr.contains("fidelake profile"),
        "{}",
        early.stderr
    );
    let mut all = cost;
    for round in 2..=3 {
        place.done(&["profile"]);
        let ran = plan(&[]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let unfinished = format!("c-{round}.toml");
        all += rows(&ran)
            .iter()
            .map(|r| r["real_calls"].as_i64().unwrap())
            .sum::<i64>();
        place.done(&["dual", "run", &unfinished]);
    }
    assert!(all <= 60, "{all}");
    let ledger = query(
        &place.lake(),
        "SELECT count(*) AS n FROM ledger WHERE arm = 'real' AND budgeted",
    );
    assert_eq!(ledger[0]["n"], all);
    place.done(&["profile"]);
    let told = rows(&place.done(&["estimate", "--format", "ndjson"]));
    for api in ["get", "put"] {
        let row = told.iter().find(|r| r["api"] == api).unwrap();
        assert!(row["drawn"].as_i64() > Some(0), "{row}");
        assert!(row["low"].as_f64() <= row["fidelity"].as_f64(), "{row}");
    }
    // No call was drawn twice.
    let twice = "SELECT count(*) AS n, count(DISTINCT trajectory_id) AS once FROM runs
                 WHERE arm = 'real' AND trajectory_id LIKE '%#call/%'";
    let twice = &query(&place.lake(), twice)[0];
    assert_eq!(twice["n"], twice["once"]);
    let over = place.run(&["plan", "plan.toml", "--name", "c", "--budget", "2"]);
    assert_eq!(over.code, Some(1));
    assert!(
        over.stderr.contains("the budget is spent"),
        "{}",
        over.stderr
    );
}

#[test]
fn no_kill_and_no_second_plan_exceeds_the_budget() {
    let bench = pool();
    let place = &bench.place;
    bench.plan(
        "",
        "",
        "budget = 1\nreads = [\"get\"]\nallow = [\"put\"]\nrepeatable = [\"*\"]\nrate = 40.0",
        "",
    );
    place.done(&["plan", "plan.toml", "--name", "k", "--budget", "30"]);
    for _ in 0..4 {
        let mut child = place.command(&["dual", "run", "k-1.toml"]).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(700));
        let _ = child.kill();
        let _ = child.wait();
    }
    // What is left may need prefixes again, for which there may be no budget: that is told, not done.
    place.run(&["dual", "run", "k-1.toml"]);
    let seen = std::fs::read_to_string(place.path("seen-real")).unwrap_or_default();
    let (calls, budget) = spent(place, "k-1");
    assert_eq!(budget, 30);
    assert!(
        seen.lines().count() as i64 <= calls && calls <= 30,
        "{} seen, {calls} counted",
        seen.lines().count()
    );
}

#[test]
fn what_is_not_permitted_is_not_drawn() {
    let bench = pool();
    let place = &bench.place;
    let world = "version = 1\nname = \"t\"\n[trajectories]\nfile = \"tasks.jsonl\"\n\
         [environments.live]\nkind = \"mcp\"\ncommand = [\"true\"]\n\
         [environments.cache]\nkind = \"replay\"\nenvironment = \"world\"\n\
         [sim]\nenvironment = \"cache\"\n[real]\nenvironment = \"live\"\nbudget = 1\nreads = [\"get\"]\n";
    place.write("template.toml", world);
    let ran = place.run(&[
        "plan",
        "template.toml",
        "--budget",
        "20%",
        "--format",
        "ndjson",
    ]);
    // Every trajectory begins with a write that nothing permits.
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("120 calls cannot be bought"),
        "{}",
        ran.stderr
    );
    assert!(
        rows(&ran)
            .iter()
            .all(|row| row["why"] == "cannot be bought"),
        "{}",
        ran.stdout
    );
    assert!(!place.path("campaign-1.toml").exists());
}
