//! From the exact text of an answer to what it says.

use fidelake_core::json::{Doc, Kind, Node, push_json_string};

use super::super::Tool;
use super::super::answer::{Answer, Fault, Note};
use super::tap::{Raw, Refusal};

/// What came back from a call.
pub(super) fn answer(raw: &Raw) -> Answer {
    let latency_ms = raw.latency.as_secs_f64() * 1e3;
    if let Some((kind, said)) = &raw.unreadable {
        return Answer::fault(Fault::Malformed, latency_ms, kind, said.as_str());
    }
    let doc = match Doc::parse(&raw.text) {
        Ok(doc) => doc,
        Err(error) => {
            let said = format!("{error}: {}", raw.text);
            return Answer::fault(Fault::Malformed, latency_ms, "broken_answer", said);
        }
    };
    if let Some(error) = doc.root().get_some("error") {
        return Answer {
            content: Some(error.raw().to_owned()),
            is_error: Some(true),
            rpc_code: error.get("code").and_then(Node::as_i64),
            latency_ms,
            ..Answer::default()
        };
    }
    let Some(result) = doc.root().get_some("result") else {
        return Answer::fault(Fault::Malformed, latency_ms, "no_result", raw.text.as_str());
    };
    of_result(result, latency_ms)
}

fn of_result(result: Node<'_>, latency_ms: f64) -> Answer {
    let text = |key: &str| result.get(key).map(|value| value.raw().to_owned());
    let waits = result.get_some("task").is_some()
        || result
            .get_str("resultType")
            .is_some_and(|kind| kind != "complete");
    if waits {
        // Nobody is here to give more input, and a task is not waited for.
        return Answer {
            content: Some(result.raw().to_owned()),
            is_error: Some(true),
            error_type: Some("tool_error".to_owned()),
            latency_ms,
            notes: vec![Note::new("not_complete", result.raw())],
            ..Answer::default()
        };
    }
    let (content, structured) = (text("content"), text("structuredContent"));
    if content.is_none() && structured.is_none() {
        let said = format!("a result without content: {}", result.raw());
        return Answer::fault(Fault::Malformed, latency_ms, "no_content", said);
    }
    Answer {
        content,
        structured,
        is_error: result.get("isError").and_then(Node::as_bool),
        latency_ms,
        ..Answer::default()
    }
}

/// What HTTP said where no answer of the protocol came.
pub(super) fn refused(refusal: &Refusal) -> Answer {
    if (200..300).contains(&refusal.status) {
        let latency_ms = refusal.latency.as_secs_f64() * 1e3;
        let said = refusal.body.as_str();
        return Answer {
            status: Some(i64::from(refusal.status)),
            ..Answer::fault(Fault::Malformed, latency_ms, "no_answer_in_body", said)
        };
    }
    Answer {
        content: Some(as_json(&refusal.body)),
        is_error: Some(true),
        status: Some(i64::from(refusal.status)),
        latency_ms: refusal.latency.as_secs_f64() * 1e3,
        retry_after: refusal.retry_after,
        ..Answer::default()
    }
}

/// A body as it is if it is JSON, else as a JSON string.
pub(in crate::env) fn as_json(body: &str) -> String {
    if Doc::parse(body).is_ok() {
        return body.trim().to_owned();
    }
    let mut text = String::with_capacity(body.len() + 2);
    push_json_string(body, &mut text);
    text
}

/// One page of tools, and where the next one starts.
pub(super) fn tools(raw: &Raw, into: &mut Vec<Tool>) -> Result<Option<String>, String> {
    if let Some((kind, said)) = &raw.unreadable {
        // Declarations that rmcp cannot read are still declarations.
        if Doc::parse(&raw.text).is_err() {
            return Err(format!("{kind}: {said}"));
        }
    }
    let doc = Doc::parse(&raw.text).map_err(|error| error.to_string())?;
    if let Some(error) = doc.root().get_some("error") {
        return Err(format!("tools/list: {}", error.raw()));
    }
    let result = doc.root().get_some("result");
    let list = result.and_then(|result| result.get("tools"));
    let Some(list) = list.filter(|list| list.kind() == Kind::Array) else {
        let said = Note::new("", raw.text.as_str()).text;
        return Err(format!("tools/list answers without a list: {said}"));
    };
    for tool in list.elements() {
        let name = tool
            .get_str("name")
            .ok_or_else(|| format!("a tool without a name: {}", Note::new("", tool.raw()).text))?;
        into.push(Tool {
            name: name.to_owned(),
            declaration: tool.raw().to_owned(),
            mutates: mutates(tool),
        });
    }
    let next = result.and_then(|result| result.get_str("nextCursor"));
    Ok(next.filter(|next| !next.is_empty()).map(str::to_owned))
}

/// What its annotations hint at.
fn mutates(tool: Node<'_>) -> Option<bool> {
    let annotations = tool.get_some("annotations")?;
    let hint = |key: &str| annotations.get(key).and_then(Node::as_bool);
    match (hint("readOnlyHint"), hint("destructiveHint")) {
        (Some(read_only), _) => Some(!read_only),
        (None, Some(true)) => Some(true),
        (None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn raw(text: &str) -> Raw {
        Raw {
            text: text.to_owned(),
            latency: Duration::from_millis(2),
            unreadable: None,
        }
    }

    #[test]
    fn content_is_kept_as_it_is_spelled() {
        let text = r#"{"result":{"content":[{"text":"a","type":"text","n":1.10}],"structuredContent":{"z":18446744073709551617,"a":NaN},"isError":false},"jsonrpc":"2.0","id":3}"#;
        let answer = answer(&raw(text));
        assert_eq!(
            answer.content.as_deref(),
            Some(r#"[{"text":"a","type":"text","n":1.10}]"#)
        );
        assert_eq!(
            answer.structured.as_deref(),
            Some(r#"{"z":18446744073709551617,"a":NaN}"#)
        );
        assert_eq!((answer.is_error, answer.fault), (Some(false), None));
    }

    #[test]
    fn errors_keep_their_code_and_unfinished_results_are_errors() {
        let error = answer(&raw(
            r#"{"id":1,"error":{"code":-32602,"message":"Unknown tool"}}"#,
        ));
        assert_eq!((error.rpc_code, error.is_error), (Some(-32602), Some(true)));
        let asks = answer(&raw(
            r#"{"id":1,"result":{"resultType":"input_required","inputRequests":{}}}"#,
        ));
        assert_eq!(asks.error_type.as_deref(), Some("tool_error"));
        let nothing = answer(&raw(r#"{"id":1,"result":{}}"#));
        assert_eq!(nothing.fault, Some(Fault::Malformed));
    }

    #[test]
    fn annotations_hint_at_changes() {
        let mut tools_found = Vec::new();
        let text = r#"{"id":1,"result":{"tools":[
            {"name":"r","annotations":{"readOnlyHint":true}},
            {"name":"w","annotations":{"destructiveHint":true}},
            {"name":"u","inputSchema":{"type":7}}],"nextCursor":"p2"}}"#;
        let next = tools(&raw(text), &mut tools_found).unwrap();
        assert_eq!(next.as_deref(), Some("p2"));
        let hints: Vec<_> = tools_found.iter().map(|tool| tool.mutates).collect();
        assert_eq!(hints, [Some(false), Some(true), None]);
        assert_eq!(
            tools_found[2].declaration,
            r#"{"name":"u","inputSchema":{"type":7}}"#
        );
    }
}
