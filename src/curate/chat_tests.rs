//! Conversations as trainers read them.

use serde_json::{Value, json};

use super::super::message::json_of;
use super::*;

fn call(turn: i32, index: i32, id: &str, name: &str, arguments: &str) -> CallRow {
    let status = fidelake_core::model::argument_status(name, arguments).0;
    CallRow {
        turn,
        index,
        id: (!id.is_empty()).then(|| id.to_owned()),
        name: Some(name.to_owned()),
        arguments: Some(arguments.to_owned()),
        arguments_status: status.as_str().to_owned(),
        call_status: "answered".to_owned(),
        ..CallRow::default()
    }
}

fn answer(turn: i32, index: i32, content: &str) -> ObservationRow {
    ObservationRow {
        turn,
        index,
        content: Some(content.to_owned()),
        kind: "text".to_owned(),
        ..ObservationRow::default()
    }
}

fn said(role: &str, content: Option<&str>) -> MessageRow {
    MessageRow {
        role: role.to_owned(),
        content: content.map(str::to_owned),
        kind: if content.is_some() { "text" } else { "null" }.to_owned(),
        ..MessageRow::default()
    }
}

fn run(parts: &Parts) -> (Value, Value, ChatCounts) {
    let mut counts = ChatCounts::default();
    let chat = conversation(parts, &mut counts);
    let read = |messages: &[Message]| serde_json::from_str(&json_of(messages)).unwrap();
    (read(chat.prompt()), read(&chat.messages), counts)
}

#[test]
fn without_messages_it_is_built_from_calls() {
    let parts = Parts {
        task: Some("do it".into()),
        calls: vec![
            call(0, 0, "x", "f", r#"{"a":1}"#),
            call(0, 1, "x", "g", ""),
            call(1, 0, "y", "f", "{broken"),
        ],
        observations: vec![answer(0, 0, "one"), answer(0, 1, "two")],
        ..Parts::default()
    };
    let (prompt, messages, counts) = run(&parts);
    assert_eq!(prompt, json!([{"role": "user", "content": "do it"}]));
    assert_eq!(
        messages,
        json!([
            {"role": "user", "content": "do it"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "call_0_0", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}},
                {"id": "call_0_1", "type": "function", "function": {"name": "g", "arguments": "{}"}},
            ]},
            {"role": "tool", "tool_call_id": "call_0_0", "name": "f", "content": "one"},
            {"role": "tool", "tool_call_id": "call_0_1", "name": "g", "content": "two"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "y", "type": "function", "function": {"name": "f", "arguments": "{broken"}},
            ]},
        ])
    );
    assert_eq!((counts.rebuilt, counts.ids_made), (1, 2));
    assert_eq!(
        (counts.arguments_not_object, counts.calls_without_result),
        (1, 1)
    );
}

#[test]
fn a_recorded_conversation_keeps_its_order() {
    let mut asks = said("assistant", None);
    asks.calls = vec![(0, 0), (0, 1)];
    let result = |index| MessageRow {
        role: "tool".into(),
        kind: "observation".into(),
        result: Some((0, index)),
        ..MessageRow::default()
    };
    let parts = Parts {
        task: Some("not used".into()),
        messages: vec![
            said("system", Some("rules")),
            said("user", Some("please")),
            asks,
            result(1),
            result(0),
            said("assistant", Some("done")),
        ],
        calls: vec![call(0, 0, "a", "f", "{}"), call(0, 1, "b", "g", "{}")],
        observations: vec![answer(0, 0, "zero"), answer(0, 1, "one")],
        repaired: false,
    };
    let (prompt, messages, counts) = run(&parts);
    assert_eq!(
        prompt,
        json!([{"role": "system", "content": "rules"}, {"role": "user", "content": "please"}])
    );
    let contents: Vec<&Value> = messages
        .as_array()
        .unwrap()
        .iter()
        .map(|m| &m["content"])
        .collect();
    assert_eq!(
        contents,
        [
            &json!("rules"),
            &json!("please"),
            &Value::Null,
            &json!("one"),
            &json!("zero"),
            &json!("done")
        ]
    );
    assert_eq!(messages[3]["tool_call_id"], "b");
    assert_eq!(counts, ChatCounts::default());
}

#[test]
fn what_has_no_place_is_left_out_and_counted() {
    let mut user_call = call(0, 0, "u", "phone", "{}");
    user_call.requestor = Some("user".into());
    let mut orphan = call(1, 1, "o", "f", "{}");
    orphan.call_status = "orphan_result".into();
    let mut user = said("user", None);
    user.calls = vec![(0, 0)];
    let mut asks = said("assistant", Some("wait"));
    asks.calls = vec![(1, 0)];
    let result = |turn, index| MessageRow {
        role: "tool".into(),
        kind: "observation".into(),
        result: Some((turn, index)),
        ..MessageRow::default()
    };
    let parts = Parts {
        messages: vec![user, result(0, 0), asks, result(1, 1), result(1, 0)],
        calls: vec![user_call, call(1, 0, "c", "f", "{}"), orphan],
        observations: vec![answer(0, 0, "ring"), answer(1, 0, "yes"), answer(1, 1, "?")],
        ..Parts::default()
    };
    let (prompt, messages, counts) = run(&parts);
    assert_eq!(prompt, json!([]));
    assert_eq!(messages.as_array().unwrap().len(), 2);
    assert_eq!((counts.user_calls, counts.orphan_results), (1, 1));
    assert_eq!((counts.without_prompt, counts.rebuilt), (1, 0));
}

#[test]
fn odd_values_become_json() {
    let mut image = said(
        "user",
        Some(r#"[{"type":"text","text":"\ud83d"},{"x":NaN}]"#),
    );
    image.kind = "json".into();
    let mut parts = answer(
        0,
        0,
        r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#,
    );
    parts.kind = "parts".into();
    let mut object = answer(0, 1, r#"{"x": Infinity}"#);
    object.kind = "json".into();
    let structured = ObservationRow {
        turn: 0,
        index: 2,
        kind: "absent".into(),
        structured: Some(r#"{"y": 1}"#.into()),
        ..ObservationRow::default()
    };
    let run_parts = Parts {
        messages: vec![image],
        calls: vec![
            call(0, 0, "", "f", r#"{"v":NaN}"#),
            call(0, 1, "", "f", "[1]"),
            call(0, 2, "call_0_0", "f", "{}"),
        ],
        observations: vec![parts, object, structured],
        ..Parts::default()
    };
    let (prompt, messages, counts) = run(&run_parts);
    assert_eq!(prompt[0]["content"][1]["x"], Value::Null);
    let calls = messages[1]["tool_calls"].as_array().unwrap();
    assert_eq!(calls[0]["function"]["arguments"], r#"{"v":null}"#);
    assert_eq!(calls[1]["function"]["arguments"], "[1]");
    // The id that would be made is somebody else's.
    assert_eq!(calls[0]["id"], "call_0_0_");
    assert_eq!(messages[2]["content"], "a\nb");
    assert_eq!(messages[3]["content"], r#"{"x":null}"#);
    assert_eq!(messages[4]["content"], r#"{"y": 1}"#);
    assert_eq!(counts.sanitised.not_finite, 3);
    assert_eq!(counts.sanitised.lone_surrogates, 1);
}
