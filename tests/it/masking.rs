//! Secrets are gone before anything is written, and nothing else changes.

use std::path::Path;

use fidelake_core::mask::{self, Mode};
use serde_json::{Value, json};

use crate::support::{Place, query, rows, tables};

/// Values that the rules know as secrets, each with a part that must be nowhere in a lake.
const SECRETS: &[&str] = &[
    "sk-proj-Zq3vN8xT2mKp7RbYcW5hJ9dL4fGsA1eU6iO0",
    "ghp_R4nd0mT0kenWithThirtySixCharsAbCdEfGh",
    "AKIAZ7VQ4XK2M5PLN3RT",
    "hunter2-correct-horse-battery",
];

fn planted() -> Vec<(String, Value)> {
    let [key, token, aws, password] = SECRETS else {
        unreachable!()
    };
    let base =
        |id: &str| json!({"fidelake": 1, "trajectory_id": id, "environment": "e", "arm": "sim"});
    let with = |id: &str, field: &str, value: Value| {
        let mut run = base(id);
        run[field] = value;
        (id.to_owned(), run)
    };
    let call = |arguments: Value, content: Value| json!([{"name": "login", "arguments": arguments, "result": {"content": content}}]);
    vec![
        with(
            "arguments",
            "calls",
            call(
                json!({"user": "a", "password": password, "deep": [{"api_key": key}]}),
                json!("ok"),
            ),
        ),
        with(
            "arguments as text",
            "calls",
            call(
                json!(json!({"headers": {"Authorization": format!("Bearer {token}")}}).to_string()),
                json!("ok"),
            ),
        ),
        with(
            "answer as JSON text",
            "calls",
            call(
                json!({}),
                json!(
                    json!({"session": {"access_token": token, "password": password}}).to_string()
                ),
            ),
        ),
        with(
            "answer as text",
            "calls",
            call(json!({}), json!(format!("your new key is {key}, keep it"))),
        ),
        with(
            "answer in parts",
            "calls",
            call(
                json!({}),
                json!([{"type": "text", "text": format!("aws_access_key_id = {aws}")}]),
            ),
        ),
        with(
            "structured",
            "calls",
            json!([{"name": "f", "arguments": {}, "result": {"content": "x", "structured_content": {"client_secret": password}}, "state": {"db": {"api_key": key}}}]),
        ),
        with(
            "message",
            "messages",
            json!([{"role": "user", "content": format!("use {key} please")}]),
        ),
        with(
            "message, other keys",
            "messages",
            json!([{"role": "user", "content": "x", "metadata": {"api_key": key}}]),
        ),
        with("task", "task", json!(format!("log in with token {token}"))),
        with(
            "gold",
            "gold",
            json!([{"name": "login", "arguments": {"password": password}}]),
        ),
        with("labels", "labels", json!({"api_key": key})),
        with(
            "catalog",
            "catalog",
            json!([{"name": "f", "description": format!("e.g. {key}")}]),
        ),
        with(
            "verdict",
            "verdicts",
            json!([{"judge": "j", "criteria": {"seen": {"api_key": key}}}]),
        ),
        with(
            "extra",
            "whatever",
            json!({"a": {"b": [{"password": password}]}}),
        ),
        // Refused, and still masked.
        with(
            "refused",
            "calls",
            json!([{"turn": "x", "arguments": {"api_key": key}}]),
        ),
    ]
}

fn import(mode: &str) -> Place {
    let place = Place::new();
    let mut lines = String::new();
    for (_, run) in planted() {
        lines.push_str(&run.to_string());
        lines.push('\n');
    }
    place.write("in/secrets.jsonl", lines);
    // The same run with another content is refused, too.
    place.write("in/twice.jsonl", {
        let mut run = planted().remove(0).1;
        run["task"] = json!(format!("other, {}", SECRETS[0]));
        run.to_string()
    });
    place.write("in/wire.jsonl", {
        let raw = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "f", "arguments": {"api_key": SECRETS[0]}}});
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": format!("token {}", SECRETS[1])}]}});
        let line = |dir: &str, raw: &Value| json!({"ts": 1.0, "dir": dir, "raw": raw.to_string()}).to_string();
        format!("{}\n{}\n", line("c2s", &raw), line("s2c", &answer))
    });
    // Broken records, and lines of a capture that are none.
    let broken = format!("{{\"api_key\": \"{}\", \"cut\": \"", SECRETS[0]);
    append(&place, "in/secrets.jsonl", &broken);
    append(&place, "in/wire.jsonl", &broken);
    append(
        &place,
        "in/wire.jsonl",
        &json!({"api_key": SECRETS[0]}).to_string(),
    );
    place.import(&["in", "--mask", mode]);
    place
}

fn append(place: &Place, name: &str, line: &str) {
    let mut text = std::fs::read_to_string(place.path(name)).unwrap();
    text.push_str(line);
    text.push('\n');
    place.write(name, text);
}

/// Texts of all rows, and the bytes of everything that is no Parquet file.
fn everything(place: &Place) -> String {
    fn walk(folder: &Path, text: &mut String) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, text);
            } else {
                text.push_str(&String::from_utf8_lossy(&std::fs::read(&path).unwrap()));
            }
        }
    }
    let mut text = String::new();
    for table in tables() {
        for row in rows(&place.lake(), table, &[]) {
            text.push_str(&row);
            text.push('\n');
        }
    }
    walk(&place.lake(), &mut text);
    text
}

/// Whether the rules are there at all: without them these tests say nothing.
fn rules() -> bool {
    let text = json!({"password": SECRETS[3]}).to_string();
    let doc = fidelake_core::json::Doc::parse(&text).unwrap();
    mask::mask_record(&doc, Mode::Secrets).is_some()
}

#[test]
fn no_secret_reaches_a_lake() {
    assert!(rules(), "mask_record masks nothing");
    let kept = everything(&import("off"));
    for mode in ["secrets", "all"] {
        let text = everything(&import(mode));
        for secret in SECRETS {
            assert!(kept.contains(secret), "{secret} was not planted well");
            if let Some(at) = text.find(secret) {
                let from = text.floor_char_boundary(at.saturating_sub(600));
                panic!("--mask {mode}: {}", &text[from..at + secret.len()]);
            }
        }
    }
}

#[test]
fn keys_are_the_same_under_every_mask() {
    let keys = |mode: &str| {
        let place = import(mode);
        query(
            &place.lake(),
            "SELECT c.trajectory_id, c.turn, c.index, c.call_key, r.run_id, r.content_hash
             FROM calls c JOIN runs r ON c.run_id = r.run_id ORDER BY 1, 2, 3",
        )
    };
    let off = keys("off");
    assert!(off.len() >= 7);
    assert_eq!(keys("secrets"), off);
    assert_eq!(keys("all"), off);
}

#[test]
fn a_masked_value_says_which_rule_took_it() {
    assert!(rules(), "mask_record masks nothing");
    let place = import("secrets");
    let masked = query(
        &place.lake(),
        "SELECT sum(masked) AS n, max(mask) AS mask FROM imports",
    );
    assert!(masked[0]["n"].as_i64().unwrap() >= 15, "{masked:?}");
    assert!(
        masked[0]["mask"]
            .as_str()
            .unwrap()
            .starts_with("secrets fidelake-mask/")
    );
    // The rest of the arguments is as it was.
    let row = query(
        &place.lake(),
        "SELECT arguments FROM calls WHERE trajectory_id = 'arguments'",
    );
    let arguments: Value = serde_json::from_str(row[0]["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(arguments["user"], "a");
    assert!(arguments["deep"][0]["api_key"].is_string());
    // The same file under another mask is another import, of runs that are there already.
    let again = place.import(&["in", "--mask", "off"]);
    assert_eq!(again.imported, 0, "{again:?}");
}

#[test]
fn addresses_are_masked_only_when_asked() {
    assert!(rules(), "mask_record masks nothing");
    let run = json!({"fidelake": 1, "trajectory_id": "t", "environment": "e", "arm": "sim",
        "task": "write to mia.li3818@example.com or call +1 415 555 0132"});
    for (mode, kept) in [("off", true), ("secrets", true), ("all", false)] {
        let place = Place::new();
        place.write("a.jsonl", run.to_string());
        place.import(&["a.jsonl", "--mask", mode]);
        let task = query(&place.lake(), "SELECT task FROM runs")[0]["task"].to_string();
        assert_eq!(
            task.contains("mia.li3818@example.com"),
            kept,
            "{mode}: {task}"
        );
        assert_eq!(task.contains("555 0132"), kept, "{mode}: {task}");
    }
}
