//! The tool's own answer in an envelope that a server puts around it.
//!
//! Some servers wrap what a tool says into an object that repeats the call,
//! names the session and counts. An agent's harness takes the answer out of it,
//! and so do we where the plan says where it stands; the envelope is kept.

use std::borrow::Cow;

use fidelake_core::json::{Doc, Kind, Node, canonical, push_json_string};

use super::super::answer::{Answer, Note};

/// Puts what stands at these keys in the place of the content. An answer that
/// has nothing there, such as an error of the protocol, stays as it is.
pub(super) fn open(answer: &mut Answer, at: &[String]) {
    if answer.fault.is_some() || answer.rpc_code.is_some() || answer.status.is_some() {
        return;
    }
    let text = answer.content.as_deref().and_then(only_text);
    let given = [answer.structured.as_deref(), text.as_deref()];
    let own = given.into_iter().flatten().find_map(|json| taken(json, at));
    let Some(own) = own else {
        let said = format!("nothing stands at {}", at.join("."));
        answer.notes.push(Note::new("no_envelope", said));
        return;
    };
    // Servers that speak to old clients say the same twice.
    let twice = matches!(given, [Some(a), Some(b)] if same(a, b));
    let mut envelope = String::from("{");
    let parts = [
        ("content", answer.content.as_deref()),
        (
            "structuredContent",
            answer.structured.as_deref().filter(|_| !twice),
        ),
    ];
    for (key, json) in parts {
        let Some(json) = json else { continue };
        if envelope.len() > 1 {
            envelope.push(',');
        }
        push_json_string(key, &mut envelope);
        envelope.push(':');
        envelope.push_str(json);
    }
    envelope.push('}');
    answer.envelope = Some(envelope);
    answer.content = Some(own);
    answer.structured = None;
}

fn taken(json: &str, at: &[String]) -> Option<String> {
    let doc = Doc::parse(json).ok()?;
    let found = at
        .iter()
        .try_fold(doc.root(), |node: Node<'_>, key| node.get(key))?;
    Some(found.raw().to_owned())
}

fn same(one: &str, other: &str) -> bool {
    match (Doc::parse(one), Doc::parse(other)) {
        (Ok(one), Ok(other)) => canonical(one.root()) == canonical(other.root()),
        _ => false,
    }
}

/// The text of the only part of a content.
fn only_text(content: &str) -> Option<Cow<'_, str>> {
    let doc = Doc::parse(content).ok()?;
    let root = doc.root();
    if root.kind() != Kind::Array || root.len() != 1 {
        return None;
    }
    let text = root.elements().next()?.get_str("text")?;
    Some(Cow::Owned(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(keys: &str) -> Vec<String> {
        keys.split('.').map(str::to_owned).collect()
    }

    #[test]
    fn the_answer_is_taken_out_as_it_is_spelled_and_the_rest_is_kept() {
        let content =
            r#"[{"type":"text","text":"{\"call\": 1, \"said\": {\"content\": \"1.10\"}}"}]"#;
        let mut answer = Answer {
            content: Some(content.to_owned()),
            structured: Some(r#"{"said":{"content":"1.10"},"call":1.0}"#.to_owned()),
            ..Answer::default()
        };
        open(&mut answer, &at("said.content"));
        assert_eq!(answer.content.as_deref(), Some(r#""1.10""#));
        assert_eq!(answer.structured, None);
        assert_eq!(answer.envelope, Some(format!(r#"{{"content":{content}}}"#)));
    }

    #[test]
    fn what_the_text_does_not_say_is_kept_as_well() {
        let mut answer = Answer {
            content: Some(r#"[{"type":"text","text":"done"}]"#.to_owned()),
            structured: Some(r#"{"said":null}"#.to_owned()),
            ..Answer::default()
        };
        open(&mut answer, &at("said"));
        assert_eq!(answer.content.as_deref(), Some("null"));
        let envelope = answer.envelope.unwrap();
        assert!(
            envelope.ends_with(r#","structuredContent":{"said":null}}"#),
            "{envelope}"
        );
    }

    #[test]
    fn an_answer_without_the_envelope_stays_as_it_is() {
        let plain = Answer {
            content: Some(r#"[{"type":"text","text":"{\"other\": 1}"}]"#.to_owned()),
            ..Answer::default()
        };
        let mut answer = plain.clone();
        open(&mut answer, &at("said.content"));
        assert_eq!((&answer.content, &answer.envelope), (&plain.content, &None));
        assert_eq!(answer.notes.len(), 1);
    }
}
