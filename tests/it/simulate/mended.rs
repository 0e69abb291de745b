//! Answers replaced by what the real arm says, and what that does to the gap.

use std::process::Command;

use serde_json::Value;

use super::{Pipes, shop_lake};
use crate::real_worlds::{project, servers};
use crate::support::{Place, text};

#[test]
fn what_only_the_simulator_answered_is_mended() {
    let place = shop_lake();
    let mut pipes = Pipes::start(&place, &[]);
    // t9 was run by the simulator alone: an old value, a stale read, a masked error.
    let set = pipes.says("set", r#"{"cabin":"biz","id":"R9"}"#);
    assert_eq!(set.0, r#"{"id": "R9", "cabin": "biz", "price": 1.10}"#);
    assert_eq!(pipes.says("get", r#"{"id":"R9"}"#), set);
    let gone = pipes.call("get", r#"{"id":"R999"}"#);
    assert_eq!(
        gone["result"]["content"][0]["text"],
        "Error: R999 not found"
    );
    assert_eq!(gone["result"]["isError"], true);
    let said = pipes.end();
    assert!(
        said.contains("1 reads that answer as the write before them, 1 refusals"),
        "{said}"
    );
    // As it was recorded.
    let mut pipes = Pipes::start(&place, &["--no-mend"]);
    let set = pipes.says("set", r#"{"cabin":"biz","id":"R9"}"#);
    assert!(
        set.0.contains("\"old\"") && set.1 == "replay_exact",
        "{set:?}"
    );
    pipes.end();
}

#[test]
fn the_newest_real_answer_supersedes_and_nothing_is_deleted() {
    let place = shop_lake();
    let newer = super::shop()
        .lines()
        .filter(|line| line.contains("\"arm\":\"real\""))
        .map(|line| {
            let line = line
                .replace("\"repeat\":0", "\"repeat\":1")
                .replace("2026-07-31", "2026-08-31");
            line.replace("1.10", "2.20") + "\n"
        })
        .collect::<String>();
    place.write("newer.jsonl", newer);
    let before = crate::support::number(&place.lake(), "SELECT count(*) FROM observations");
    place.import(&["newer.jsonl"]);
    let mut pipes = Pipes::start(&place, &[]);
    assert!(pipes.says("get", r#"{"id":"R1"}"#).0.contains("2.20"));
    pipes.end();
    // The older version of the lake answers as it did.
    let version = crate::support::newest(&place.lake()) - 1;
    let mut pipes = Pipes::start(&place, &["--version", &version.to_string()]);
    assert!(pipes.says("get", r#"{"id":"R1"}"#).0.contains("1.10"));
    pipes.end();
    let after = crate::support::number(&place.lake(), "SELECT count(*) FROM observations");
    assert!(after > before);
}

#[test]
fn regions_before_and_after() {
    let place = shop_lake();
    let ran = place.done(&[
        "simulate",
        "--environment",
        "shop",
        "--check",
        "--format",
        "ndjson",
    ]);
    let rows: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |api: &str| rows.iter().find(|row| row["api"] == api).unwrap();
    let calls = |api: &str| of(api)["calls"].as_i64();
    assert_eq!((calls("set"), calls("get")), (Some(8), Some(24)));
    for api in ["get", "set"] {
        let (before, after) = (
            of(api)["gap_before"].as_f64(),
            of(api)["gap_after"].as_f64(),
        );
        assert!(
            before > Some(0.2) && after < before.map(|gap| gap / 2.0),
            "{rows:?}"
        );
    }
}

struct Loop {
    calls: i64,
    before: Vec<f64>,
    after: Vec<f64>,
}

/// Mean gap of the calls of each held-out task. Latency is no part of it: a plan's
/// process and a replay in memory are not two speeds of one service.
const GAPS: &str = "SELECT trajectory_id, avg(1 - (1 - coalesce(greatest(obs_raw, 0), 0)) * (1 - coalesce(greatest(outcome_raw, 0), 0))) AS gap
    FROM call_gaps_now GROUP BY trajectory_id ORDER BY trajectory_id";

fn gaps(place: &Place, lake: &str) -> Vec<f64> {
    place.done(&["profile", "--lake", lake]);
    let ran = place.done(&["sql", GAPS, "--format", "ndjson", "--lake", lake]);
    let rows = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.map(|row| row["gap"].as_f64().unwrap()).collect()
}

/// One round in one domain, with so many real calls.
fn round(place: &Place, servers: &std::path::Path, domain: &str, budget: i64) -> Loop {
    let python = servers.join("tau2/bin/python");
    let shown = |script: &str, argument: &str| {
        let output = Command::new(&python)
            .arg(project(script))
            .arg(argument)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        output.stdout
    };
    place.write("gold.jsonl", shown("adapters/tau2_tasks.py", domain));
    let made = Command::new("sh")
        .arg("-c")
        .arg(format!(
            "{} {} < {}",
            text(&python),
            text(&project("tests/it/simulate/tasks.py")),
            text(&place.path("gold.jsonl"))
        ))
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let lines = String::from_utf8(made.stdout).unwrap();
    // Every second task is held out. It is never run for real in the lake that answers.
    let part = |which: usize| -> String {
        let lines = lines.lines().enumerate().filter(|(at, _)| at % 2 == which);
        lines.map(|(_, line)| format!("{line}\n")).collect()
    };
    place.write(&format!("{domain}_seen.jsonl"), part(0));
    place.write(&format!("{domain}_held.jsonl"), part(1));
    let worlds = format!(
        "[environments.planted]\nkind = \"process\"\ncommand = [{python:?}, {:?}, \"{domain}\"]\n\
         [environments.tau2]\nkind = \"process\"\ncommand = [{python:?}, {:?}, \"{domain}\"]\n\
         [environments.mended]\nkind = \"replay\"\nenvironment = \"{domain}\"\nlake = \"answers\"\nmend = true\ntemplates = true\nmiss = \"error\"\n",
        project("tests/it/simulate/planted.py"),
        project("adapters/tau2_domain.py"),
    );
    let run = |lake: &str, name: &str, file: &str, sim: &str, real: Option<i64>| {
        let sim = match sim {
            "mended" => "[sim]\nenvironment = \"mended\"\n".to_owned(),
            sim => format!("[sim]\nenvironment = \"{sim}\"\nreuse = true\n"),
        };
        let real = real.map(|budget| {
            format!("[real]\nenvironment = \"tau2\"\nreuse = true\nallow = [\"*\"]\nrepeatable = [\"*\"]\nbudget = {budget}\n")
        });
        let plan = format!(
            "version = 1\nname = \"{domain}-{name}\"\n[trajectories]\nfile = \"{domain}_{file}.jsonl\"\n{worlds}{sim}{}",
            real.unwrap_or_default()
        );
        place.write("plan.toml", plan);
        let ran = place.run(&["dual", "run", "plan.toml", "--lake", lake]);
        assert!(matches!(ran.code, Some(0 | 1)), "{name}: {ran:?}");
        ran
    };
    // The probes: what the budget reaches for. Then the simulator alone on the others.
    run("answers", "seen", "seen", "planted", Some(budget));
    run("answers", "held", "held", "planted", None);
    let calls = Command::new(env!("CARGO_BIN_EXE_fidelake"))
        .args([
            "sql",
            "--format",
            "ndjson",
            "--lake",
            text(&place.path("answers")),
        ])
        .arg(format!(
            "SELECT count(*) AS n FROM calls WHERE arm = 'real' AND environment = '{domain}'"
        ))
        .output()
        .unwrap();
    let calls: Value = serde_json::from_slice(&calls.stdout).unwrap();
    let (before, after) = (format!("{domain}_before"), format!("{domain}_after"));
    run(&before, "before", "held", "planted", Some(100_000));
    run(&after, "after", "held", "mended", Some(100_000));
    Loop {
        calls: calls["n"].as_i64().unwrap(),
        before: gaps(place, &before),
        after: gaps(place, &after),
    }
}

#[test]
fn one_round_of_real_calls_mends_tasks_that_were_never_probed() {
    let Some(servers) = servers() else { return };
    let place = Place::new();
    let rounds = [("airline", 100), ("retail", 100)]
        .map(|(domain, budget)| (domain, round(&place, &servers, domain, budget)));
    let (mut before, mut after, mut calls) = (Vec::new(), Vec::new(), 0);
    for (domain, round) in rounds {
        assert_eq!(round.before.len(), round.after.len());
        let mean = |gaps: &[f64]| gaps.iter().sum::<f64>() / gaps.len() as f64;
        eprintln!(
            "{domain}: {} real calls, {} held-out tasks, mean gap {:.4} before, {:.4} after",
            round.calls,
            round.before.len(),
            mean(&round.before),
            mean(&round.after)
        );
        calls += round.calls;
        before.extend(round.before);
        after.extend(round.after);
    }
    // A ratio of means over tasks, as in docs/measures.md, with a normal interval.
    let n = before.len() as f64;
    let (b, a): (f64, f64) = (before.iter().sum(), after.iter().sum());
    let left = a / b;
    let squares: f64 = before
        .iter()
        .zip(&after)
        .map(|(b, a)| (a - left * b).powi(2))
        .sum();
    let half = 1.96 * (n / (n - 1.0) * squares).sqrt() / b;
    eprintln!(
        "{calls} real calls; mean gap of {n} held-out tasks {:.4} -> {:.4}: lowered by {:.1} % (95 % {:.1} to {:.1})",
        b / n,
        a / n,
        (1.0 - left) * 100.0,
        (1.0 - left - half) * 100.0,
        (1.0 - left + half) * 100.0
    );
    assert!(calls <= 200, "{calls}");
    assert!(b / n >= 0.10, "the planted gap is too small: {}", b / n);
    assert!(1.0 - left >= 0.6, "lowered by {}", 1.0 - left);
}
