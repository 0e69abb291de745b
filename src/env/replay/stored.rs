//! Answers as they were recorded.

use fidelake_core::json::{Doc, Kind};
use fidelake_core::perturb::{New, rewritten};

use super::super::Answer;

/// An answer as it was recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Stored {
    pub(super) content: Option<String>,
    pub(super) structured: Option<String>,
    pub(super) is_error: Option<bool>,
    pub(super) status: Option<i64>,
    pub(super) rpc_code: Option<i64>,
    pub(super) error_type: Option<String>,
    pub(super) truncated: Option<bool>,
    pub(super) state_hash: Option<String>,
    /// What it means: `ok`, or a type of error.
    pub(super) outcome: String,
    /// The value that it spells, and the rule that found it; else its text.
    pub(super) value: (String, String),
}

impl Stored {
    pub(super) fn answer(&self) -> Answer {
        Answer {
            content: self.content.clone(),
            structured: self.structured.clone(),
            is_error: self.is_error,
            status: self.status,
            rpc_code: self.rpc_code,
            error_type: self.error_type.clone(),
            truncated: self.truncated,
            state_hash: self.state_hash.clone(),
            ..Answer::default()
        }
    }

    /// Whether the tool did what was asked.
    pub(super) fn is_ok(&self) -> bool {
        self.outcome == "ok"
    }

    /// What may go otherwise when the same call is made again in the same state.
    pub(super) fn is_transient(&self) -> bool {
        matches!(
            self.outcome.as_str(),
            "rate_limited" | "timeout" | "server_error" | "transport"
        )
    }
}

/// What the tool said: the text of a string, of the only text among content parts;
/// the JSON of anything else.
pub(super) fn said(content: &str) -> Option<String> {
    let doc = Doc::parse(content).ok()?;
    let root = doc.root();
    if let Some(text) = root.as_str() {
        return Some(text.to_owned());
    }
    if root.kind() == Kind::Array {
        let mut parts = root.elements();
        if let (Some(only), None) = (parts.next(), parts.next())
            && only.get_str("type") == Some("text")
        {
            return only.get_str("text").map(str::to_owned);
        }
    }
    Some(root.raw().to_owned())
}

/// The same wrapping with another text inside; a bare value stays one if that is JSON.
pub(super) fn saying(content: &str, text: &str) -> Option<String> {
    let new = |_: &str| {
        Some(match Doc::parse(text) {
            Ok(_) => New::Json(text.to_owned()),
            Err(_) => New::Text(text.to_owned()),
        })
    };
    rewritten(content, new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wrapping_stays() {
        for (content, text, new) in [
            (r#""old""#, "old", r#""{\"n\": 1.10}""#),
            (
                r#"[{"type":"text","text":"old"}]"#,
                "old",
                r#"[{"type":"text","text":"{\"n\": 1.10}"}]"#,
            ),
            (r#"{"a":1}"#, r#"{"a":1}"#, r#"{"n": 1.10}"#),
        ] {
            assert_eq!(said(content).as_deref(), Some(text));
            assert_eq!(saying(content, r#"{"n": 1.10}"#).as_deref(), Some(new));
        }
        assert_eq!(saying("{}", "not found").as_deref(), Some("\"not found\""));
    }
}
