//! An answer of the lake as the result of `tools/call`.

use std::fmt::Write as _;

use fidelake_core::json::{Doc, Kind, push_json_string};

use crate::env::{Answer, Fault, Origin};

/// What goes back for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// The members of a result object, without its braces.
    Result(String),
    /// A JSON-RPC error object.
    Error(String),
}

/// What was recorded goes out as it is spelled: content parts as they are, a text as
/// one text part, any other value as the text of its JSON.
pub(super) fn reply(answer: &Answer, name: &str) -> Reply {
    if answer.rpc_code.is_some()
        && let Some(content) = &answer.content
        && is_rpc_error(content)
    {
        return Reply::Error(content.clone());
    }
    let mut json = String::from("\"content\":");
    match &answer.content {
        Some(content) => push_parts(content, &mut json),
        None => push_text(&nothing(answer, name), &mut json),
    }
    if let Some(structured) = &answer.structured {
        let _ = write!(json, ",\"structuredContent\":{structured}");
    }
    let is_error = answer.is_error.unwrap_or_else(|| {
        answer.status.is_some_and(|status| status >= 400) || answer.content.is_none()
    });
    let _ = write!(json, ",\"isError\":{is_error},\"_meta\":{{");
    let origin = match answer.fault {
        Some(Fault::Missed) => "none",
        _ => answer.origin.as_str(),
    };
    let _ = write!(json, "\"fidelake/origin\":\"{origin}\"");
    if let Some(distance) = answer.distance.filter(|d| d.is_finite() && *d > 0.0) {
        let _ = write!(json, ",\"fidelake/distance\":{distance}");
    }
    if let Some(status) = answer.status {
        let _ = write!(json, ",\"fidelake/status\":{status}");
    }
    if let Some(wait) = answer.retry_after {
        let _ = write!(json, ",\"fidelake/retry_after_s\":{}", wait.as_secs_f64());
    }
    for (at, note) in answer.notes.iter().enumerate() {
        json.push_str(if at == 0 {
            ",\"fidelake/notes\":["
        } else {
            ","
        });
        push_json_string(&format!("{}: {}", note.kind, note.text), &mut json);
    }
    if !answer.notes.is_empty() {
        json.push(']');
    }
    json.push('}');
    Reply::Result(json)
}

/// What an agent is told where there is no answer at all.
fn nothing(answer: &Answer, name: &str) -> String {
    match answer.fault {
        Some(Fault::Late) => format!("Error: {name} did not answer in time."),
        Some(Fault::Missed) => format!("no recorded answer for this call of {name}"),
        _ => format!("Error: {name} gave no answer."),
    }
}

/// Whether an answer is missing and was made up for: what it was, if so.
pub(super) fn unanswered(answer: &Answer) -> Option<&'static str> {
    let failed = answer
        .notes
        .iter()
        .any(|note| matches!(note.kind, "calibrated_failure" | "perturbed"));
    match (answer.fault, answer.origin) {
        _ if failed => None,
        (Some(Fault::Missed), _) => Some("missed"),
        (_, Origin::ReplayNear) => Some("near"),
        (_, Origin::Generated) => Some("generated"),
        _ => None,
    }
}

fn is_rpc_error(content: &str) -> bool {
    Doc::parse(content).is_ok_and(|doc| {
        let root = doc.root();
        root.get("code").and_then(|code| code.as_i64()).is_some()
            && root.get_str("message").is_some()
    })
}

fn push_parts(content: &str, json: &mut String) {
    let Ok(doc) = Doc::parse(content) else {
        return push_text(content, json);
    };
    let root = doc.root();
    match root.kind() {
        Kind::Array
            if !root.is_empty() && root.elements().all(|part| part.get_str("type").is_some()) =>
        {
            json.push_str(root.raw());
        }
        // Its escapes stay as they were written.
        Kind::String => {
            let _ = write!(json, "[{{\"type\":\"text\",\"text\":{}}}]", root.raw());
        }
        _ => push_text(root.raw(), json),
    }
}

fn push_text(text: &str, json: &mut String) {
    json.push_str("[{\"type\":\"text\",\"text\":");
    push_json_string(text, json);
    json.push_str("}]");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(content: &str) -> String {
        let answer = Answer {
            content: Some(content.into()),
            origin: Origin::ReplayExact,
            ..Answer::default()
        };
        match reply(&answer, "t") {
            Reply::Result(json) | Reply::Error(json) => json,
        }
    }

    #[test]
    fn answers_keep_their_spelling() {
        let end = r#","isError":false,"_meta":{"fidelake/origin":"replay_exact"}"#;
        for (content, parts) in [
            (
                r#""\u00e9 18446744073709551617""#,
                r#"[{"type":"text","text":"\u00e9 18446744073709551617"}]"#,
            ),
            (
                r#"[{"type":"text","text":"x","z":1.10}]"#,
                r#"[{"type":"text","text":"x","z":1.10}]"#,
            ),
            (
                r#"{"b": NaN, "a": 1.10}"#,
                r#"[{"type":"text","text":"{\"b\": NaN, \"a\": 1.10}"}]"#,
            ),
            ("[]", r#"[{"type":"text","text":"[]"}]"#),
        ] {
            assert_eq!(members(content), format!("\"content\":{parts}{end}"));
        }
    }

    #[test]
    fn errors_of_the_protocol_stay_errors_of_the_protocol() {
        let error = r#"{"code":-32602,"message":"no such tool"}"#;
        let answer = Answer {
            content: Some(error.into()),
            rpc_code: Some(-32602),
            ..Answer::default()
        };
        assert_eq!(reply(&answer, "t"), Reply::Error(error.into()));
        let late = Answer::fault(Fault::Late, 1.0, "late", "x");
        let Reply::Result(json) = reply(&late, "t") else {
            panic!()
        };
        assert!(json.contains("did not answer in time") && json.contains("\"isError\":true"));
    }
}
