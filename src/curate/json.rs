//! JSON that every reader takes: what evidence may hold and JSON may not is
//! replaced, and counted.

use fidelake_core::json::{Doc, Flags, Kind, Node, push_json_string};
use serde::{Deserialize, Serialize};

/// What was changed so that the shards hold JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sanitised {
    /// `NaN`, the infinities, and floats too large for one: written as null.
    pub(super) not_finite: u64,
    /// Texts with half of a surrogate pair: written as the six characters of its escape.
    pub(super) lone_surrogates: u64,
}

impl Sanitised {
    /// Counts of other texts.
    pub(super) fn add(&mut self, other: &Self) {
        self.not_finite += other.not_finite;
        self.lone_surrogates += other.lone_surrogates;
    }
}

/// Flags of a text that cannot be handed out as it is.
const NEEDS_REWRITING: [Flags; 5] = [
    Flags::NAN,
    Flags::INFINITY,
    Flags::LONE_SURROGATE,
    Flags::CONTROL_CHARACTER,
    Flags::INVALID_UTF8,
];

enum Frame<'d> {
    Array(fidelake_core::json::Elements<'d>, bool),
    Object(fidelake_core::json::Entries<'d>, bool),
}

/// Appends a value: keys in their order, numbers as they were written.
pub(super) fn push_value(node: Node<'_>, out: &mut String, changed: &mut Sanitised) {
    let mut stack: Vec<Frame<'_>> = Vec::new();
    let mut current = Some(node);
    loop {
        if let Some(value) = current.take() {
            match value.kind() {
                Kind::Null => out.push_str("null"),
                Kind::Bool => out.push_str(if value.as_bool() == Some(true) {
                    "true"
                } else {
                    "false"
                }),
                Kind::Number => push_number(value, out, changed),
                Kind::String => {
                    changed.lone_surrogates += u64::from(value.has_lone_surrogate());
                    push_json_string(value.as_str().unwrap_or_default(), out);
                }
                Kind::Array => {
                    out.push('[');
                    stack.push(Frame::Array(value.elements(), true));
                }
                Kind::Object => {
                    out.push('{');
                    stack.push(Frame::Object(value.entries(), true));
                }
            }
        }
        match stack.last_mut() {
            None => return,
            Some(Frame::Array(elements, first)) => match elements.next() {
                Some(element) => {
                    separate(out, first);
                    current = Some(element);
                }
                None => {
                    out.push(']');
                    stack.pop();
                }
            },
            Some(Frame::Object(entries, first)) => match entries.next_nodes() {
                Some((key, value)) => {
                    separate(out, first);
                    changed.lone_surrogates += u64::from(key.has_lone_surrogate());
                    push_json_string(key.as_str().unwrap_or_default(), out);
                    out.push(':');
                    current = Some(value);
                }
                None => {
                    out.push('}');
                    stack.pop();
                }
            },
        }
    }
}

/// A comma before everything but the first.
pub(super) fn separate(out: &mut String, first: &mut bool) {
    if !std::mem::take(first) {
        out.push(',');
    }
}

fn push_number(node: Node<'_>, out: &mut String, changed: &mut Sanitised) {
    let raw = node.raw();
    let whole = raw.bytes().all(|b| b == b'-' || b.is_ascii_digit());
    // A whole number is exact at any size; a float must be one.
    if whole || node.as_f64().is_some_and(f64::is_finite) {
        out.push_str(raw);
    } else {
        changed.not_finite += 1;
        out.push_str("null");
    }
}

/// The text of a value: as it was given, unless that is no JSON for strict readers.
pub(super) fn text_of(raw: &str, changed: &mut Sanitised) -> String {
    match Doc::parse(raw) {
        Ok(doc) if NEEDS_REWRITING.iter().any(|f| doc.flags().contains(*f)) => {
            let mut out = String::with_capacity(raw.len());
            push_value(doc.root(), &mut out, changed);
            out
        }
        _ => raw.to_owned(),
    }
}

/// The text of a list of parts that are all texts.
pub(super) fn joined(parts: &str) -> Option<String> {
    let doc = Doc::parse(parts).ok()?;
    let texts: Option<Vec<&str>> = doc
        .root()
        .elements()
        .map(|part| {
            (part.get_str("type") == Some("text"))
                .then(|| part.get_str("text"))
                .flatten()
        })
        .collect();
    texts.map(|texts| texts.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(raw: &str) -> (String, Sanitised) {
        let mut changed = Sanitised::default();
        let text = text_of(raw, &mut changed);
        assert!(
            serde_json::from_str::<serde_json::Value>(&text).is_ok(),
            "{text}"
        );
        (text, changed)
    }

    #[test]
    fn good_json_stays_as_it_is() {
        let raw = r#"{ "b": 1.0, "a": [1, 123456789012345678901234567890, "é"] }"#;
        assert_eq!(clean(raw), (raw.to_owned(), Sanitised::default()));
    }

    #[test]
    fn what_is_no_json_is_replaced_and_counted() {
        let (text, changed) = clean(r#"{"b":NaN,"a":[-Infinity,1e400,2],"s":"\ud83d x"}"#);
        assert_eq!(text, r#"{"b":null,"a":[null,null,2],"s":"\\ud83d x"}"#);
        assert_eq!(
            changed,
            Sanitised {
                not_finite: 3,
                lone_surrogates: 1
            }
        );
        assert_eq!(clean("{\"a\":\"x\ty\"}").0, r#"{"a":"x\ty"}"#);
        assert_eq!(clean(r#""\ud83d\ude00""#).1, Sanitised::default());
    }

    #[test]
    fn nesting_is_no_danger() {
        let raw = format!("{}NaN{}", "[".repeat(50_000), "]".repeat(50_000));
        let mut changed = Sanitised::default();
        let text = text_of(&raw, &mut changed);
        assert_eq!(text.len(), 100_004);
        assert_eq!(changed.not_finite, 1);
    }
}
