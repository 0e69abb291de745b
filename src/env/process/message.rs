//! The five messages, and what their answers say.

use std::time::Duration;

use fidelake_core::json::{Doc, Kind, Node, push_json_string};

use super::super::answer::{Answer, Fault, Note};
use super::super::text::one_line;
use super::super::{Snapshot, Start, Tool};

/// Revision of the protocol, said when opening.
const PROTOCOL: u32 = 1;

pub(super) fn open(id: u64, start: &Start) -> String {
    let state = match start {
        Start::Fresh => "null",
        Start::Given(state) => state,
    };
    one_line(&format!(
        r#"{{"id":{id},"op":"open","protocol":{PROTOCOL},"state":{state}}}"#
    ))
}

pub(super) fn plain(id: u64, op: &str) -> String {
    format!(r#"{{"id":{id},"op":"{op}"}}"#)
}

/// A call; arguments that are no JSON go as a text.
pub(super) fn call(id: u64, name: &str, arguments: &str) -> String {
    let mut line = format!(r#"{{"id":{id},"op":"call","name":"#);
    push_json_string(name, &mut line);
    line.push_str(r#","arguments":"#);
    if Doc::parse(arguments).is_ok() {
        line.push_str(&one_line(arguments));
    } else {
        push_json_string(arguments, &mut line);
    }
    line.push('}');
    line
}

/// The text of an `error`, if the answer is one.
pub(super) fn error(answer: Node<'_>) -> Option<String> {
    let error = answer.get_some("error")?;
    Some(error.as_str().unwrap_or_else(|| error.raw()).to_owned())
}

pub(super) fn tools(answer: Node<'_>) -> Result<Vec<Tool>, String> {
    let list = answer
        .get("tools")
        .filter(|list| list.kind() == Kind::Array)
        .ok_or("its answer to `tools` has no list under `tools`")?;
    let tools = list.elements().map(|tool| {
        let name = tool
            .get_str("name")
            .ok_or_else(|| format!("a tool without a name: {}", Note::new("", tool.raw()).text))?;
        let says = |key: &str| tool.get(key).and_then(Node::as_bool);
        Ok(Tool {
            name: name.to_owned(),
            declaration: tool.raw().to_owned(),
            mutates: says("mutates").or_else(|| says("mutates_state")),
        })
    });
    tools.collect()
}

pub(super) fn snapshot(answer: Node<'_>) -> Option<Snapshot> {
    let state = answer.get_some("state").map(|state| state.raw().to_owned());
    let hash = answer.get_str("state_hash").map(str::to_owned);
    (state.is_some() || hash.is_some()).then_some(Snapshot { state, hash })
}

/// What came back from a call.
pub(super) fn answer(given: Node<'_>, latency_ms: f64) -> Answer {
    let raw = |key: &str| given.get_some(key).map(|value| value.raw().to_owned());
    let text = |key: &str| given.get_str(key).map(str::to_owned);
    let flag = |key: &str| given.get(key).and_then(Node::as_bool);
    let number = |key: &str| given.get(key).and_then(Node::as_i64);
    if let Some(error) = given.get_some("error") {
        // The tool was not reached, or broke: the environment says so itself.
        return Answer {
            content: Some(error.raw().to_owned()),
            is_error: Some(true),
            error_type: text("error_type").or_else(|| Some("server_error".to_owned())),
            status: number("status"),
            latency_ms,
            ..Answer::default()
        };
    }
    let Some(content) = given.get("content") else {
        let said = format!("an answer without `content`: {}", given.raw());
        return Answer::fault(Fault::Malformed, latency_ms, "no_content", said);
    };
    let wait = given.get("retry_after").and_then(Node::as_f64);
    Answer {
        content: Some(content.raw().to_owned()),
        structured: raw("structured_content"),
        is_error: flag("is_error"),
        status: number("status"),
        rpc_code: number("rpc_code"),
        error_type: text("error_type"),
        latency_ms,
        truncated: flag("truncated"),
        state: raw("state"),
        state_hash: text("state_hash"),
        retry_after: wait.and_then(|wait| Duration::try_from_secs_f64(wait).ok()),
        ..Answer::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_pass_as_they_are_spelled_on_one_line() {
        let line = call(
            7,
            "a\"b",
            "{\n  \"n\": 18446744073709551617, \"t\": \"x\\\"\ny\"\r\n}",
        );
        assert_eq!(
            line,
            r#"{"id":7,"op":"call","name":"a\"b","arguments":{   "n": 18446744073709551617, "t": "x\"\ny"  }}"#
        );
        let broken = call(8, "t", "{'a': 1");
        assert!(broken.ends_with(r#""arguments":"{'a': 1"}"#), "{broken}");
    }

    #[test]
    fn an_answer_keeps_its_spelling() {
        let text = r#"{"id":1,"content":{"b":1.10,"a":NaN},"is_error":false,"retry_after":1.5,"state_hash":"x"}"#;
        let doc = Doc::parse(text).unwrap();
        let answer = answer(doc.root(), 1.0);
        assert_eq!(answer.content.as_deref(), Some(r#"{"b":1.10,"a":NaN}"#));
        assert_eq!(answer.is_error, Some(false));
        assert_eq!(answer.retry_after, Some(Duration::from_millis(1500)));
        assert_eq!(answer.state_hash.as_deref(), Some("x"));
    }

    #[test]
    fn an_answer_without_content_is_malformed_and_an_error_is_an_answer() {
        let doc = Doc::parse(r#"{"id":1,"result":5}"#).unwrap();
        assert_eq!(answer(doc.root(), 1.0).fault, Some(Fault::Malformed));
        let doc = Doc::parse(r#"{"id":1,"error":"KeyError: 'x'"}"#).unwrap();
        let answer = answer(doc.root(), 1.0);
        assert_eq!(
            (answer.fault, answer.error_type.as_deref()),
            (None, Some("server_error"))
        );
    }
}
