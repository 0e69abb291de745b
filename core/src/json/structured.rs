//! From the text of an answer to a value, with the rule that got it there.

use super::canonical::{canonical_into, push_json_string};
use super::doc::{Doc, Kind, Node};
use super::flags::Flags;
use super::key::Key;
use super::parse::{ParseError, ParseErrorKind};

/// How a value was found in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StructuredRule {
    /// The whole text is JSON (`NaN`, infinities and raw control characters accepted).
    Json,
    /// The whole text is Python's `repr` of a container or a constant.
    PythonRepr,
}

impl StructuredRule {
    /// The name stored in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::PythonRepr => "python_repr",
        }
    }
}

/// A value found in a text, in canonical form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Structured {
    /// How it was found.
    pub rule: StructuredRule,
    /// Canonical form. A base64 text of 1,024 characters or more stands
    /// there as `"blob:<hash>:<characters>"`: bytes are compared by hash, never as text.
    pub canonical: String,
    /// What was odd.
    pub flags: Flags,
}

/// From this length on, a text of base64 characters only is a blob.
const BLOB_CHARS: usize = 1024;

/// Finds the value that a text spells, or `None` if it is just text.
///
/// ```
/// use fidelake_core::json::structured;
/// assert_eq!(structured("299.0").unwrap().canonical, "299");
/// assert_eq!(structured("{'a': None}").unwrap().rule.name(), "python_repr");
/// assert!(structured("Error: no such user").is_none());
/// ```
#[must_use]
pub fn structured(text: &str) -> Option<Structured> {
    let (doc, rule) = structured_doc(text)?;
    Some(Structured::of(doc.root(), rule))
}

/// As [`structured`], for callers that go on reading the value themselves.
#[must_use]
pub fn structured_doc(text: &str) -> Option<(Doc<'_>, StructuredRule)> {
    let bytes = text.trim_ascii().as_bytes();
    let (&first, &last) = (bytes.first()?, bytes.last()?);
    // What was cut need not be read to the end to see that.
    let closes = match first {
        b'{' => last == b'}',
        b'[' => last == b']',
        b'(' => last == b')',
        b'"' | b'\'' => last == first && bytes.len() > 1,
        _ => true,
    };
    if !closes {
        return None;
    }
    let maybe_json = matches!(
        first,
        b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b'N' | b'I' | b't' | b'f' | b'n'
    );
    if maybe_json {
        match Doc::parse(text) {
            Ok(doc) => return Some((doc, StructuredRule::Json)),
            Err(error) if stops_python(text.as_bytes(), error) => return None,
            Err(_) => {}
        }
    }
    let maybe_python = matches!(first, b'{' | b'[' | b'(' | b'\'' | b'N' | b'T' | b'F');
    if maybe_python && let Ok(doc) = Doc::parse_python(text) {
        return Some((doc, StructuredRule::PythonRepr));
    }
    None
}

/// Whether Python's reader cannot get past the fault of the JSON reader either: a word right
/// behind a string or a container (`{"a": "b "c" d"}`, the most frequent way to break JSON).
/// Up to there both read the same.
fn stops_python(bytes: &[u8], error: ParseError) -> bool {
    let between = matches!(
        error.kind,
        ParseErrorKind::Unexpected | ParseErrorKind::Trailing
    );
    let (before, after) = bytes.split_at(error.offset.min(bytes.len()));
    let behind = before.trim_ascii_end().last();
    let word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'\\' | 0x80..);
    between && matches!(behind, Some(b'"' | b'}' | b']')) && after.first().is_some_and(word)
}

impl Structured {
    /// The value at a node, found by `rule`.
    #[must_use]
    pub fn of(node: Node<'_>, rule: StructuredRule) -> Self {
        describe(node, rule)
    }
}

fn describe(node: Node<'_>, rule: StructuredRule) -> Structured {
    let mut flags = node.doc.flags();
    let mut text = String::with_capacity(node.span().len());
    let mut odd = Flags::NONE;
    let found = canonical_into(node, &mut text, &mut |value, out| {
        let Some(string) = value.as_str() else {
            return false;
        };
        if holds_json(string) {
            odd |= Flags::JSON_IN_STRING;
        }
        if !is_blob(string) {
            return false;
        }
        odd |= Flags::BLOB;
        push_json_string(
            &format!("blob:{}:{}", Key::of(string.as_bytes()), string.len()),
            out,
        );
        true
    });
    flags |= found | odd;
    Structured {
        rule,
        canonical: text,
        flags,
    }
}

/// Whether a string is a JSON object or array written as text. Never unwrapped
/// here: what was sent as a string stays one, and carries a flag.
fn holds_json(text: &str) -> bool {
    let text = text.trim_ascii();
    let bracketed = matches!(
        (text.as_bytes().first(), text.as_bytes().last()),
        (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']'))
    );
    bracketed
        && text.len() > 2
        && Doc::parse(text).is_ok_and(|doc| matches!(doc.root().kind(), Kind::Object | Kind::Array))
}

/// Whether a text is long and holds base64 only, with or without `data:` before it.
pub(crate) fn is_blob(text: &str) -> bool {
    if text.len() < BLOB_CHARS {
        return false;
    }
    let body = match text.strip_prefix("data:") {
        Some(rest) => rest.split_once(";base64,").map_or("", |(_, body)| body),
        None => text,
    };
    body.len() >= BLOB_CHARS
        && body.bytes().all(|b| {
            b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'-' | b'_' | b'\n')
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn python_is_given_up_only_where_it_fails(
            text in r#"[\[{("]([\[{]|"a"|"a\\"b"|'a'|"\\'"|1|1_0|null|None|true|x|f\(|[:,)}\]]|[ \n]|b|é|"){0,12}["}\])]"#,
        ) {
            let found = structured_doc(&text).map(|(_, rule)| rule);
            let python = text.starts_with(['{', '[', '(']) && Doc::parse_python(&text).is_ok();
            let plainly = match (Doc::parse(&text).is_ok(), python) {
                (true, _) => Some(StructuredRule::Json),
                (false, true) => Some(StructuredRule::PythonRepr),
                (false, false) => None,
            };
            // What does not close is not read at all.
            prop_assert!(found == plainly || (found.is_none() && !closes(text.as_bytes())));
        }
    }

    fn closes(bytes: &[u8]) -> bool {
        let wanted = match bytes[0] {
            b'{' => b'}',
            b'[' => b']',
            b'(' => b')',
            other => other,
        };
        bytes.len() > 1 && bytes.last() == Some(&wanted)
    }

    #[test]
    fn blobs_become_hashes_and_words_do_not() {
        let blob = "iVBORw0KGgo".repeat(200);
        let found = structured(&format!("{{\"data\":\"{blob}\"}}")).unwrap();
        assert!(found.flags.contains(Flags::BLOB));
        assert!(found.canonical.starts_with("{\"data\":\"blob:") && found.canonical.len() < 80);
        let prose = "many words ".repeat(200);
        assert!(
            !structured(&format!("[\"{prose}\"]"))
                .unwrap()
                .flags
                .contains(Flags::BLOB)
        );
    }

    #[test]
    fn json_in_strings_is_flagged_not_unwrapped() {
        let found = structured(r#"{"response":"{\"a\":1}"}"#).unwrap();
        assert!(found.flags.contains(Flags::JSON_IN_STRING));
        assert_eq!(found.canonical, r#"{"response":"{\"a\":1}"}"#);
        assert!(
            !structured(r#"["{broken}","[]"]"#)
                .unwrap()
                .flags
                .contains(Flags::JSON_IN_STRING)
        );
    }

    #[test]
    fn broken_json_is_text() {
        assert!(structured(r#"{"response": "{"a": 1}"}"#).is_none());
        assert!(structured("").is_none() && structured("  ").is_none());
    }
}
