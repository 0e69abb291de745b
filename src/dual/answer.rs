//! An answer as the result of a call in the native run form.

use fidelake_core::json::key::Key;
use fidelake_core::json::{Doc, push_json_string};

use super::ledger::Received;
use crate::env::{Answer, Fault, Origin};
pub(super) use crate::formats::Object;

/// JSON text on one line. What is no JSON is kept as a string.
pub(super) fn one_line(json: &str) -> String {
    if Doc::parse(json).is_ok() {
        return crate::env::one_line(json);
    }
    let mut text = String::with_capacity(json.len() + 2);
    push_json_string(json, &mut text);
    text
}

/// Notes as a JSON list of {kind, text}; `None` if there are none.
pub(super) fn notes<'a>(notes: impl Iterator<Item = (&'a str, &'a str)>) -> Option<String> {
    let mut list = String::new();
    for (kind, text) in notes {
        list.push(if list.is_empty() { '[' } else { ',' });
        let mut note = Object::default();
        list.push_str(&note.text("kind", kind).text("text", text).finish());
    }
    (!list.is_empty()).then(|| list + "]")
}

/// The word of a fault in the ledger.
const fn word(fault: Fault) -> &'static str {
    match fault {
        Fault::NotSent => "not_sent",
        Fault::Unsendable => "unsendable",
        Fault::Lost => "lost",
        Fault::Late => "late",
        Fault::Malformed => "malformed",
        Fault::Missed => "missed",
    }
}

/// What the journal keeps of an answer. `more` are further keys of the result,
/// JSON text each.
pub(super) fn received(answer: &Answer, more: &[(&str, String)]) -> Received {
    let status = match answer.fault {
        Some(Fault::NotSent) => "not_sent",
        Some(fault) if fault.in_doubt() => "in_doubt",
        _ => "answered",
    };
    let mut result = Object::default();
    if let Some(content) = &answer.content {
        result.raw("content", &one_line(content));
    }
    if let Some(structured) = &answer.structured {
        result.raw("structured_content", &one_line(structured));
    }
    let latency = Some(answer.latency_ms).filter(|ms| ms.is_finite());
    if let Some(envelope) = &answer.envelope {
        result.raw("envelope", &one_line(envelope));
    }
    result
        .opt("is_error", answer.is_error)
        .opt("status", answer.status)
        .opt("rpc_code", answer.rpc_code)
        .opt_text("error_type", answer.error_type.as_deref())
        .opt("latency_ms", latency)
        .opt("truncated", answer.truncated);
    if let Some(state) = &answer.state {
        result.raw("state", &one_line(state));
    }
    // What is no answer came from nowhere.
    let origin = (answer.fault != Some(Fault::Missed)).then(|| answer.origin.as_str());
    result
        .opt_text("state_hash", answer.state_hash.as_deref())
        .opt_text("origin", origin)
        .opt("distance", answer.distance)
        .opt_text("fault", answer.fault.map(word));
    let said = answer.notes.iter().map(|note| (note.kind, &*note.text));
    result.opt("notes", notes(said));
    for (key, json) in more {
        result.raw(key, json);
    }
    Received {
        status,
        fault: answer.fault.map(word),
        latency: latency.unwrap_or_default(),
        answer: result.finish(),
    }
}

/// What a probe compares of an answer: its content, its outcome, the state after it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Mark {
    content: String,
    outcome: String,
    state: Option<String>,
}

impl Mark {
    /// Of a result in the native run form.
    pub(super) fn of(result: &str) -> Self {
        let Ok(doc) = Doc::parse(result) else {
            return Self::default();
        };
        let root = doc.root();
        let form = |key: &str| {
            let node = root.get_some(key)?;
            Some(fidelake_core::json::canonical(node).0)
        };
        let state = form("state_hash").or_else(|| form("state"));
        Self {
            content: Key::of_parts(&[
                &form("content").unwrap_or_default(),
                &form("structured_content").unwrap_or_default(),
            ])
            .to_string(),
            outcome: ["is_error", "status", "rpc_code", "error_type"]
                .map(|key| form(key).unwrap_or_default())
                .join(" "),
            state: state.map(|state| Key::of(state.as_bytes()).to_string()),
        }
    }

    /// What differs: `same`, or the first of `outcome`, `answer`, `state`.
    pub(super) fn changed(&self, other: &Self) -> &'static str {
        if self.outcome != other.outcome {
            "outcome"
        } else if self.content != other.content {
            "answer"
        } else if self.state.is_some() && other.state.is_some() && self.state != other.state {
            "state"
        } else {
            "same"
        }
    }

    /// Whether the states are known and equal, or known and not.
    pub(super) fn state(&self, other: &Self) -> &'static str {
        match (&self.state, &other.state) {
            (Some(a), Some(b)) if a == b => "same",
            (Some(_), Some(_)) => "changed",
            _ => "unknown",
        }
    }
}

/// The origin of a whole run: the least direct of its answers.
pub(super) fn run_origin<'a>(results: impl Iterator<Item = &'a str>) -> &'static str {
    // From the least direct on.
    const ORDER: [Origin; 3] = [Origin::Generated, Origin::ReplayNear, Origin::ReplayExact];
    let mut worst = ORDER.len();
    for result in results {
        let Ok(doc) = Doc::parse(result) else {
            continue;
        };
        let origin = doc.root().get_str("origin");
        let place = ORDER.iter().position(|one| Some(one.as_str()) == origin);
        worst = worst.min(place.unwrap_or(worst));
    }
    ORDER.get(worst).copied().unwrap_or_default().as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_stays_on_one_line_and_keeps_its_spelling() {
        assert_eq!(
            one_line("{\"a\": 1.10,\n \"b\": \"x\\\"\ny\"}"),
            "{\"a\": 1.10,  \"b\": \"x\\\"\\ny\"}"
        );
        assert_eq!(one_line("no json\n"), "\"no json\\n\"");
        let answer = Answer {
            content: Some("18446744073709551617".into()),
            latency_ms: f64::NAN,
            ..Answer::default()
        };
        let got = received(&answer, &[("rebound", "[]".into())]);
        assert_eq!(
            got.answer,
            r#"{"content":18446744073709551617,"origin":"live","rebound":[]}"#
        );
        assert_eq!(got.status, "answered");
        let late = received(&Answer::fault(Fault::Late, 5.0, "silent", "5 ms"), &[]);
        assert_eq!((late.status, late.fault), ("in_doubt", Some("late")));
    }
}
