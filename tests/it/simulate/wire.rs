//! The protocol over the pipes of a process, and what is said when something is wrong.

use serde_json::Value;

use super::{Pipes, shop, shop_lake};
use crate::support::{Place, number};

#[test]
fn answers_go_out_byte_for_byte() {
    let place = shop_lake();
    let mut pipes = Pipes::start(&place, &[]);
    let hello = pipes.raw(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}"#,
    );
    assert!(
        hello.contains("\"protocolVersion\":\"2025-06-18\""),
        "{hello}"
    );
    let odd = pipes.raw(&super::call("odd", "{}"));
    let spelled =
        r#""content":[{"type": "text", "text": "18446744073709551617 \u00e9 1.10", "z": 1.10}]"#;
    assert!(odd.contains(spelled), "{odd}");
    assert!(
        odd.contains("\"fidelake/origin\":\"replay_exact\""),
        "{odd}"
    );
    let listed: Value =
        serde_json::from_str(&pipes.raw(r#"{"jsonrpc":"2.0","id":"x","method":"tools/list"}"#))
            .unwrap();
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert_eq!(listed["id"], "x");
    assert!(
        tools
            .iter()
            .all(|tool| tool["inputSchema"]["type"] == "object"),
        "{tools:?}"
    );
    let said = pipes.end();
    assert!(said.contains("no schema was recorded of odd"), "{said}");
    assert!(said.contains("1 calls in 1 episodes, 0 without"), "{said}");
}

#[test]
fn state_is_the_episodes_own() {
    let place = shop_lake();
    let mut pipes = Pipes::start(&place, &[]);
    let old = pipes.says("get", r#"{"id":"R1"}"#).0;
    assert!(old.contains("\"old\""), "{old}");
    pipes.says("set", r#"{"cabin":"biz","id":"R1"}"#);
    let new = pipes.says("get", r#"{"id": "R1"}"#);
    assert!(new.0.contains("\"biz\""), "{new:?}");
    pipes.end();
    // Another process is another episode.
    let mut pipes = Pipes::start(&place, &[]);
    assert_eq!(pipes.says("get", r#"{"id":"R1"}"#).0, old);
    pipes.end();
}

#[test]
fn what_is_wrong_is_told_and_the_episode_goes_on() {
    let place = shop_lake();
    let mut pipes = Pipes::start(&place, &[]);
    let mut told = String::new();
    for line in [
        "{\"jsonrpc\":\"2.0\",\"id\":1,",
        "[]",
        r#"{"id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"resources/list"}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"get","arguments":[1]}}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"fly","arguments":{}}}"#,
        r#"{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01"}}}"#,
        r#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"get","arguments":{"id":"nobody"}}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#,
    ] {
        told.push_str(&pipes.raw(line));
        told.push('\n');
    }
    let said = pipes.end();
    insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("simulate_wrong_messages", told);
    });
    assert!(said.contains("2 new questions stand in"), "{said}");
}

#[test]
fn a_notification_and_an_empty_line_have_no_answer() {
    let place = shop_lake();
    let mut pipes = Pipes::start(&place, &[]);
    let ping = "\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
    assert_eq!(pipes.raw(ping), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    pipes.end();
}

#[test]
fn what_had_no_answer_can_be_run_for_real() {
    let place = shop_lake();
    for _ in 0..2 {
        let mut pipes = Pipes::start(&place, &["--unanswered", "asked.jsonl"]);
        pipes.says("set", r#"{"cabin":"biz","id":"R1"}"#);
        let missed = pipes.says("get", r#"{"id":"R77"}"#);
        assert_eq!(missed.1, "none", "{missed:?}");
        pipes.end();
    }
    let text = std::fs::read_to_string(place.path("asked.jsonl")).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    let asked: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(asked["labels"]["asked"], "missed");
    assert_eq!(
        asked["calls"].as_array().unwrap().len(),
        2,
        "the write that made the state, and the call"
    );
    place.write(
        "plan.toml",
        "version = 1\nname = \"asked\"\n[trajectories]\nfile = \"asked.jsonl\"\n[environments.cache]\nkind = \"replay\"\n\
         environment = \"shop\"\n[sim]\nenvironment = \"cache\"\n",
    );
    place.done(&["dual", "run", "plan.toml"]);
    let runs = number(
        &place.lake(),
        "SELECT count(*) FROM runs WHERE trajectory_id LIKE 'asked/%'",
    );
    assert_eq!(runs, 1);
}

#[test]
fn policies_answer_what_was_never_recorded() {
    let place = shop_lake();
    let ask = |options: &[&str]| {
        let mut pipes = Pipes::start(&place, options);
        let said = pipes.says("get", r#"{"id":"R78"}"#);
        pipes.end();
        said
    };
    assert_eq!(ask(&[]).1, "none");
    // One field, wholly different: nothing is near.
    assert_eq!(ask(&["--policy", "nearest"]).1, "none");
    let near = ask(&["--policy", "nearest", "--threshold", "1"]);
    assert_eq!(near.1, "replay_near", "{near:?}");
    let made = ask(&["--policy", "template"]);
    assert_eq!(
        made,
        ("Error: R78 not found".to_owned(), "generated".to_owned())
    );
}

#[test]
fn failures_and_times_come_from_the_seed() {
    let place = Place::new();
    // Every third real call was refused for a limit, and took long.
    let mut lines = String::new();
    for at in 0..30 {
        let (status, content) = if at % 3 == 0 {
            (429, "too many")
        } else {
            (200, "fine")
        };
        lines.push_str(&format!(
            "{{\"fidelake\":1,\"trajectory_id\":\"t{at}\",\"environment\":\"shop\",\"arm\":\"real\",\"calls\":[{{\"turn\":0,\"index\":0,\"name\":\"get\",\"arguments\":{{}},\"result\":{{\"content\":\"{content}\",\"status\":{status},\"latency_ms\":40.0}}}}]}}\n"
        ));
    }
    place.write("runs.jsonl", lines);
    place.import(&["runs.jsonl"]);
    let play = |options: &[&str]| -> Vec<String> {
        let mut pipes = Pipes::start(&place, options);
        let said = (0..60).map(|_| pipes.says("get", "{}").0).collect();
        pipes.end();
        said
    };
    let refused = |said: &[String]| said.iter().filter(|text| *text == "too many").count();
    let first = play(&["--seed", "1"]);
    assert_eq!(first, play(&["--seed", "1"]));
    assert_ne!(first, play(&["--seed", "2"]));
    assert_ne!(first, play(&["--seed", "1", "--episode", "other"]));
    // A third of sixty, within four standard deviations.
    assert!(refused(&first).abs_diff(20) <= 15, "{}", refused(&first));
    assert_eq!(refused(&play(&["--no-calibration"])), 0);
    // The latency is waited for as far as it is asked to be.
    let begun = std::time::Instant::now();
    let mut pipes = Pipes::start(&place, &["--speed", "0.5"]);
    for _ in 0..10 {
        pipes.says("get", "{}");
    }
    assert!(begun.elapsed().as_millis() >= 200);
    let said = pipes.end();
    assert!(said.contains("no catalog was recorded"), "{said}");
}

#[test]
fn wrong_use_is_told() {
    let place = Place::new();
    place.write("shop.jsonl", shop());
    place.import(&["shop.jsonl"]);
    place.write(
        "r.toml",
        "version = 1\nenvironment = \"shop\"\n[[perturb]]\nname = \"raining\"\n",
    );
    let mut told = String::new();
    for options in [
        &["--environment", "none", "--stdio"][..],
        &["--environment", "shop"],
        &["--environment", "shop", "--http", "0.0.0.0:0"],
        &["--environment", "shop", "--stdio", "--speed", "2"],
        &[
            "--environment",
            "shop",
            "--stdio",
            "--randomization",
            "r.toml",
        ],
        &["--environment", "shop", "--stdio", "--where", "arm = "],
        &["--environment", "none", "--check"],
    ] {
        let mut all = vec!["simulate"];
        all.extend(options);
        let ran = place.run(&all);
        told.push_str(&format!("$ {}\n{}\n", all.join(" "), place.said(&ran)));
    }
    insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("simulate_wrong_use", told);
    });
}
