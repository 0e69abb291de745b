//! Results find their calls, or stay alone and say so. One conversation per oddity
//! that people reported of real logs.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::support::{Place, query};

/// Every call of every conversation, in one line of text each.
fn read(place: &Place) -> HashMap<String, Vec<String>> {
    let rows = query(
        &place.lake(),
        "SELECT c.trajectory_id, c.turn, c.index, c.name, c.call_id, c.requestor, c.arguments_raw,
                c.arguments_status, c.call_status, c.pairing, c.result_order, o.content,
                o.content_kind, o.is_error, o.truncated
         FROM calls c LEFT JOIN observations o
         ON c.run_id = o.run_id AND c.turn = o.turn AND c.index = o.index
         ORDER BY c.trajectory_id, c.turn, c.index",
    );
    let mut found: HashMap<String, Vec<String>> = HashMap::new();
    for row in rows {
        let text = |key: &str| match &row[key] {
            Value::Null => "-".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        found
            .entry(text("trajectory_id"))
            .or_default()
            .push(format!(
                "{}.{} {} {} {} {} by {}/{}/{}: {}",
                text("turn"),
                text("index"),
                text("name"),
                text("arguments_raw"),
                text("arguments_status"),
                text("call_status"),
                text("pairing"),
                text("result_order"),
                text("requestor"),
                text("content"),
            ));
    }
    found
}

/// Imports conversations named by their ids.
fn conversations(cases: &[(&str, Value)]) -> (Place, HashMap<String, Vec<String>>) {
    let place = Place::new();
    let mut lines = String::new();
    for (id, messages) in cases {
        lines.push_str(&json!({"id": id, "messages": messages}).to_string());
        lines.push('\n');
    }
    place.write("chat.jsonl", lines);
    let counts = place.import(&["chat.jsonl", "--from", "openai"]);
    assert_eq!(counts.imported, cases.len() as u64);
    let found = read(&place);
    (place, found)
}

fn asks(calls: &[(&str, &str, &str)]) -> Value {
    let calls: Vec<Value> = calls
        .iter()
        .map(|(id, name, arguments)| {
            let mut call =
                json!({"type": "function", "function": {"name": name, "arguments": arguments}});
            if !id.is_empty() {
                call["id"] = (*id).into();
            }
            call
        })
        .collect();
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

fn says(id: &str, content: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": content})
}

#[test]
fn every_oddity_of_chat_logs_is_paired_or_marked() {
    let user = json!({"role": "user", "content": "go"});
    let cases: Vec<(&str, Value, &[&str])> = vec![
        (
            // The same id for two calls of one run, in different turns.
            "repeated id over turns",
            json!([
                user,
                asks(&[("a", "f", "{}")]),
                says("a", "one"),
                asks(&[("a", "g", "{}")]),
                says("a", "two"),
            ]),
            &[
                "0.0 f {} object answered by id/0/assistant: one",
                "1.0 g {} object answered by id/0/assistant: two",
            ],
        ),
        (
            "repeated id in one turn",
            json!([
                asks(&[("a", "f", "{\"x\":1}"), ("a", "f", "{\"x\":2}")]),
                says("a", "one"),
                says("a", "two"),
            ]),
            &[
                "0.0 f {\"x\":1} object ambiguous_result by id/0/assistant: one",
                "0.1 f {\"x\":2} object ambiguous_result by id/1/assistant: two",
            ],
        ),
        (
            "an unanswered call and the same id later",
            json!([
                asks(&[("a", "f", "{}")]),
                user,
                asks(&[("a", "g", "{}")]),
                says("a", "two"),
            ]),
            &[
                "0.0 f {} object no_result by -/-/assistant: -",
                "1.0 g {} object answered by id/0/assistant: two",
            ],
        ),
        (
            // Parallel results come in the order of completion.
            "completion order",
            json!([
                asks(&[("a", "f", "{}"), ("b", "g", "{}"), ("c", "h", "{}")]),
                says("c", "of c"),
                says("a", "of a"),
                says("b", "of b"),
            ]),
            &[
                "0.0 f {} object answered by id/1/assistant: of a",
                "0.1 g {} object answered by id/2/assistant: of b",
                "0.2 h {} object answered by id/0/assistant: of c",
            ],
        ),
        (
            // Results without ids: the only call, the only one of that name, else just order.
            "no id, one call",
            json!([asks(&[("a", "f", "{}")]), {"role": "tool", "content": "one"}]),
            &["0.0 f {} object answered by only/0/assistant: one"],
        ),
        (
            "no id, names differ",
            json!([
                asks(&[("", "f", "{}"), ("", "g", "{}")]),
                {"role": "tool", "name": "g", "content": "of g"},
                {"role": "tool", "name": "f", "content": "of f"},
            ]),
            &[
                "0.0 f {} object answered by only/1/assistant: of f",
                "0.1 g {} object answered by name/0/assistant: of g",
            ],
        ),
        (
            "no id, equal names",
            json!([
                asks(&[("a", "f", "{\"x\":1}"), ("b", "f", "{\"x\":2}")]),
                {"role": "tool", "name": "f", "content": "first"},
                {"role": "tool", "name": "f", "content": "second"},
            ]),
            &[
                "0.0 f {\"x\":1} object ambiguous_result by name/0/assistant: first",
                "0.1 f {\"x\":2} object ambiguous_result by only/1/assistant: second",
            ],
        ),
        (
            "no id, no name",
            json!([
                asks(&[("a", "f", "{}"), ("b", "g", "{}")]),
                {"role": "tool", "content": "first"},
                {"role": "tool", "content": "second"},
            ]),
            &[
                "0.0 f {} object ambiguous_result by position/0/assistant: first",
                "0.1 g {} object ambiguous_result by only/1/assistant: second",
            ],
        ),
        (
            // A result whose id no call has is an orphan, never somebody's result.
            "id mismatch",
            json!([asks(&[("a", "f", "{}")]), says("z", "whose?")]),
            &[
                "0.0 f {} object no_result by -/-/assistant: -",
                "0.1 - - no_name orphan_result by -/0/-: whose?",
            ],
        ),
        (
            "a result before any call",
            json!([
                user,
                says("z", "early"),
                asks(&[("a", "f", "{}")]),
                says("a", "one")
            ]),
            &[
                "-1.0 - - no_name orphan_result by -/0/-: early",
                "0.0 f {} object answered by id/0/assistant: one",
            ],
        ),
        (
            "one result too many",
            json!([
                asks(&[("a", "f", "{}")]),
                says("a", "one"),
                says("a", "again")
            ]),
            &[
                "0.0 f {} object answered by id/0/assistant: one",
                "0.1 - - no_name orphan_result by -/1/-: again",
            ],
        ),
        (
            "another tool's result without id",
            json!([asks(&[("a", "f", "{}")]), {"role": "tool", "name": "g", "content": "of g"}]),
            &[
                "0.0 f {} object no_result by -/-/assistant: -",
                "0.1 g - empty orphan_result by -/0/-: of g",
            ],
        ),
        (
            "interrupted",
            json!([
                asks(&[("a", "f", "{}"), ("b", "g", "{}")]),
                says("b", "of b")
            ]),
            &[
                "0.0 f {} object no_result by -/-/assistant: -",
                "0.1 g {} object answered by id/0/assistant: of b",
            ],
        ),
        (
            // Consecutive messages of one call each, then their results (parallel calls, unrolled).
            "calls over several messages",
            json!([
                asks(&[("a", "f", "{}")]),
                asks(&[("b", "g", "{}")]),
                says("b", "of b"),
                says("a", "of a"),
            ]),
            &[
                "0.0 f {} object answered by id/1/assistant: of a",
                "1.0 g {} object answered by id/0/assistant: of b",
            ],
        ),
        (
            "arguments of every kind",
            json!([asks(&[
                ("a", "f", ""),
                ("b", "f", "{}"),
                ("c", "f", "[1,2]"),
                ("d", "f", "\"{\\\"x\\\":1}\""),
                ("e", "f", "{'x': 1}"),
                ("g", "f", "</think>{\"x\":1}"),
                ("h", "f", "null"),
                ("i", "", "{}"),
            ])]),
            &[
                "0.0 f  empty no_result by -/-/assistant: -",
                "0.1 f {} object no_result by -/-/assistant: -",
                "0.2 f [1,2] not_object no_result by -/-/assistant: -",
                "0.3 f \"{\\\"x\\\":1}\" not_object no_result by -/-/assistant: -",
                "0.4 f {'x': 1} unparseable no_result by -/-/assistant: -",
                "0.5 f </think>{\"x\":1} unparseable no_result by -/-/assistant: -",
                "0.6 f null empty no_result by -/-/assistant: -",
                "0.7  {} no_name no_result by -/-/assistant: -",
            ],
        ),
        (
            "arguments that are no text",
            json!([
                {"role": "assistant", "tool_calls": [
                    {"id": "a", "function": {"name": "f", "arguments": {"x": 1}}},
                    {"id": "b", "function": {"name": "f"}},
                    {"id": "c", "function": {"arguments": "{}"}},
                ]},
            ]),
            &[
                "0.0 f {\"x\":1} object no_result by -/-/assistant: -",
                "0.1 f - empty no_result by -/-/assistant: -",
                "0.2 - {} no_name no_result by -/-/assistant: -",
            ],
        ),
        (
            // A user that calls tools; the requestor is kept.
            "user calls",
            json!([
                {"role": "user", "content": null, "tool_calls": [
                    {"id": "", "name": "toggle", "arguments": {"on": true}, "requestor": "user"}]},
                {"role": "tool", "id": "", "content": "on", "requestor": "user", "error": false},
                {"role": "assistant", "tool_calls": [{"id": "a", "name": "f", "arguments": {}}]},
                {"role": "tool", "id": "a", "content": "one", "requestor": "assistant", "error": false},
            ]),
            &[
                "0.0 toggle {\"on\":true} object answered by only/0/user: on",
                "1.0 f {} object answered by id/0/assistant: one",
            ],
        ),
        (
            "the old form of one function call",
            json!([
                {"role": "assistant", "content": "", "function_call": {"name": "f", "arguments": "{\"x\":1}"}},
                {"role": "function", "name": "f", "content": "one"},
            ]),
            &["0.0 f {\"x\":1} object answered by only/0/assistant: one"],
        ),
    ];
    let given: Vec<(&str, Value)> = cases.iter().map(|(id, m, _)| (*id, m.clone())).collect();
    let (place, found) = conversations(&given);
    for (id, _, wanted) in &cases {
        assert_eq!(found[*id], *wanted, "{id}");
    }
    // Null content beside calls is a normal turn, kept as null.
    let null = "SELECT count(*) AS n FROM messages
                WHERE content IS NULL AND content_kind = 'null' AND calls IS NOT NULL";
    assert!(query(&place.lake(), null)[0]["n"].as_i64().unwrap() >= 10);
    // Every message points at the calls that it makes, and at the one that it answers.
    let dangling = "SELECT count(*) AS n FROM messages m
        WHERE m.role IN ('tool', 'function') AND NOT EXISTS (
            SELECT 1 FROM observations o WHERE o.run_id = m.run_id
            AND o.turn = m.result_turn AND o.index = m.result_index)";
    assert_eq!(query(&place.lake(), dangling)[0]["n"], 0);
}

#[test]
fn a_trimmed_tau2_file_is_paired_by_position_and_its_errors_are_unknown() {
    let place = Place::new();
    let call = |name: &str| json!({"name": name, "arguments": {"x": 1}});
    let file = json!({
        "info": {"environment_info": {"domain_name": "airline"}},
        "tasks": [{"id": "7", "user_scenario": {"instructions": "book it"}}],
        "simulations": [{
            "id": "s", "task_id": "7", "trial": 0, "reward_info": {"reward": 1.0},
            "messages": [
                {"role": "assistant", "content": null, "tool_calls": [call("f"), call("g")]},
                {"role": "tool", "content": "first"},
                {"role": "tool", "content": "{\"a\": 1, ... [TRUNCATED] ... \"z\": 2}"},
                {"role": "assistant", "content": "done"},
            ],
        }],
    });
    place.write("trimmed.json", file.to_string());
    let counts = place.import(&["trimmed.json"]);
    assert_eq!((counts.calls, counts.observations), (2, 2));
    let rows = query(
        &place.lake(),
        "SELECT c.name, c.call_status, c.pairing, o.content, o.is_error, o.outcome
         FROM calls c JOIN observations o ON c.run_id = o.run_id AND c.turn = o.turn AND c.index = o.index
         ORDER BY c.turn, c.index",
    );
    assert_eq!(rows[0]["content"], "first");
    assert_eq!(rows[0]["pairing"], "position");
    assert_eq!(rows[0]["call_status"], "ambiguous_result");
    // Unknown, which is not false.
    assert_eq!(rows[0]["is_error"], Value::Null);
    assert_eq!(rows[1]["name"], "g");
    let cut = query(
        &place.lake(),
        "SELECT truncated FROM observations ORDER BY turn, index",
    );
    assert_eq!(cut[1]["truncated"], true, "{rows:?}");
}

#[test]
fn a_wire_pairs_by_id_and_type_of_id() {
    let place = Place::new();
    let line =
        |dir: &str, message: Value| json!({"ts": 1.0, "dir": dir, "raw": message.to_string()});
    let ask = |id: Value, name: &str| {
        line(
            "c2s",
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": {}}}),
        )
    };
    let say = |id: Value, text: &str| {
        line(
            "s2c",
            json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}]}}),
        )
    };
    let lines = [
        ask(json!(1), "number"),
        ask(json!("1"), "string"),
        // The server asks the client something under the same id.
        line("s2c", json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})),
        line("c2s", json!({"jsonrpc": "2.0", "id": 1, "result": {}})),
        json!({"ts": 2.0, "dir": "s2c", "raw": "Server started on stdio 🚀"}),
        json!({"ts": 2.0, "dir": "s2c", "raw": ""}),
        say(json!("1"), "of string"),
        say(json!(1), "of number"),
        say(json!(1), "once more"),
        ask(json!(1), "number again"),
        ask(json!(2), "lost"),
        say(json!(1), "of number again"),
    ];
    place.write("wire.jsonl", lines.map(|l| l.to_string()).join("\n"));
    let counts = place.import(&["wire.jsonl"]);
    assert_eq!((counts.records, counts.imported), (4, 4));
    assert_eq!(
        (counts.calls, counts.observations, counts.messages),
        (5, 4, 12)
    );
    let found = read(&place);
    let found = found.values().next().unwrap();
    assert_eq!(
        found,
        &[
            "0.0 number {} object answered by id/-/client: of number",
            "1.0 string {} object answered by id/-/client: of string",
            "1.1 - - no_name orphan_result by -/-/-: once more",
            "2.0 number again {} object answered by id/-/client: of number again",
            "3.0 lost {} object no_result by -/-/client: -",
        ]
    );
    let noise = "SELECT count(*) AS n FROM messages WHERE name = 'noise'";
    assert_eq!(query(&place.lake(), noise)[0]["n"], 2);
}
