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

/// The whole round as one command, as docs/patterns.md has its figures: mined, probed, replaced, and
/// asked on tasks that were never probed.
#[test]
fn one_round_of_real_calls_mends_tasks_that_were_never_probed() {
    let Some(servers) = servers() else { return };
    let place = Place::new();
    let output = Command::new(servers.join("tau2/bin/python"))
        .arg(project("benches/mended_loop.py"))
        .args(["--fidelake", env!("CARGO_BIN_EXE_fidelake")])
        .args(["--servers", text(&servers), "--folder"])
        .arg(place.path("loop"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    eprintln!("{said}");
    // Exit code 0: at most 200 real calls, a gap of at least .10 before, lower by at least 60 %.
    assert!(output.status.success(), "{output:?}");
    // What replacing cannot mend is left out, and shown.
    assert!(
        said.contains("sim has no such tool: left out") && said.contains("not probed"),
        "{said}"
    );
}
