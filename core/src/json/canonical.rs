//! The one form that equal values share.
//!
//! Keys sorted by code point (duplicates kept, in their order), numbers by
//! [`canonical_number`], no white space, the shortest escapes, text as UTF-8.
//! Lone surrogates keep their escape, so they cannot be mistaken for the six
//! characters that spell it.

use super::doc::{Doc, Kind, Node};
use super::flags::Flags;
use super::number::canonical_number;
use super::string::next_special;

enum Frame<'d> {
    Array(super::doc::Elements<'d>),
    /// Where its entries start in `order` (they end at its end), and the next one.
    Object {
        from: usize,
        next: usize,
    },
}

/// Writes the canonical form; the flags say whether an object had a key twice.
///
/// ```
/// use fidelake_core::json::{canonical, Doc};
/// let doc = Doc::parse(r#"{"b": 1.0, "a": [true, "\u00e9"]}"#).unwrap();
/// assert_eq!(canonical(doc.root()).0, r#"{"a":[true,"é"],"b":1}"#);
/// ```
#[must_use]
pub fn canonical(node: Node<'_>) -> (String, Flags) {
    let mut out = String::with_capacity(node.span().len());
    let flags = canonical_into(node, &mut out, &mut |_, _| false);
    (out, flags)
}

/// As [`canonical`], into a buffer; `replace` may write a value itself (and
/// then returns true), which is how long base64 texts become hashes.
pub fn canonical_into<'d>(
    node: Node<'d>,
    out: &mut String,
    replace: &mut dyn FnMut(Node<'d>, &mut String) -> bool,
) -> Flags {
    let mut order: Vec<(&'d str, Node<'d>)> = Vec::new();
    let mut stack: Vec<Frame<'d>> = Vec::new();
    let mut flags = Flags::NONE;
    let mut current = Some(node);
    // Without escapes and control characters every string of a JSON text stands
    // there as it does in the canonical form.
    let plain = node.doc.is_json
        && !node.doc.flags.contains(Flags::CONTROL_CHARACTER)
        && memchr::memchr(b'\\', node.raw().as_bytes()).is_none();
    loop {
        if let Some(value) = current.take()
            && !replace(value, out)
        {
            match value.kind() {
                Kind::Null => out.push_str("null"),
                Kind::Bool => out.push_str(if value.as_bool() == Some(true) {
                    "true"
                } else {
                    "false"
                }),
                Kind::Number => out.push_str(&canonical_number(value.raw())),
                Kind::String if plain => push_plain(value.as_str().unwrap_or_default(), out),
                Kind::String => push_string_node(value, out),
                Kind::Array => {
                    out.push('[');
                    stack.push(Frame::Array(value.elements()));
                }
                Kind::Object => {
                    out.push('{');
                    let from = order.len();
                    order.extend(value.entries());
                    let entries = &mut order[from..];
                    if !entries.is_sorted_by(|a, b| a.0 < b.0) {
                        entries.sort_by(|a, b| a.0.cmp(b.0));
                        if entries.windows(2).any(|w| w[0].0 == w[1].0) {
                            flags |= Flags::DUPLICATE_KEYS;
                        }
                    }
                    stack.push(Frame::Object { from, next: from });
                }
            }
        }
        match stack.last_mut() {
            None => return flags,
            Some(Frame::Array(elements)) => match elements.next() {
                Some(element) => {
                    separate(out, b'[');
                    current = Some(element);
                }
                None => {
                    out.push(']');
                    stack.pop();
                }
            },
            Some(Frame::Object { from, next }) => match order.get(*next).copied() {
                Some((key, value)) => {
                    *next += 1;
                    separate(out, b'{');
                    if plain {
                        push_plain(key, out);
                    } else {
                        push_json_string(key, out);
                    }
                    out.push(':');
                    current = Some(value);
                }
                None => {
                    order.truncate(*from);
                    out.push('}');
                    stack.pop();
                }
            },
        }
    }
}

/// A comma unless the container was just opened.
fn separate(out: &mut String, open: u8) {
    if out.as_bytes().last() != Some(&open) {
        out.push(',');
    }
}

fn push_plain(text: &str, out: &mut String) {
    out.push('"');
    out.push_str(text);
    out.push('"');
}

fn push_string_node(node: Node<'_>, out: &mut String) {
    let text = node.as_str().unwrap_or_default();
    if !node.has_lone_surrogate() {
        return push_json_string(text, out);
    }
    // Decode the source again, piece by piece: what decodes is written
    // canonically, a lone surrogate as its escape.
    out.push('"');
    let raw = node.raw();
    let inner = &raw[1..raw.len() - 1];
    let mut at = 0;
    while at < inner.len() {
        let rest = &inner[at..];
        let lone = lone_surrogate(rest.as_bytes());
        if let Some(code) = lone {
            out.push_str("\\u");
            out.push_str(&code.to_ascii_lowercase());
            at += 6;
            continue;
        }
        let step = if let Some(after) = rest.strip_prefix("\\u") {
            let pair = after.get(..1).is_some_and(|d| d.eq_ignore_ascii_case("d"))
                && !matches!(after.as_bytes().get(1), Some(b'0'..=b'7'));
            if pair { 12 } else { 6 }
        } else if rest.starts_with('\\') {
            2
        } else {
            rest.find('\\').unwrap_or(rest.len())
        };
        let piece = format!("\"{}\"", &rest[..step.min(rest.len())]);
        if let Ok(doc) = Doc::parse(&piece) {
            let mut quoted = String::new();
            push_json_string(doc.root().as_str().unwrap_or_default(), &mut quoted);
            out.push_str(&quoted[1..quoted.len() - 1]);
        }
        at += step;
    }
    out.push('"');
}

/// The four digits of a surrogate escape at the start that has no partner.
fn lone_surrogate(bytes: &[u8]) -> Option<&str> {
    let digits = |from: usize| -> Option<&str> {
        let text = std::str::from_utf8(bytes.get(from..from + 6)?.strip_prefix(b"\\u")?).ok()?;
        let code = u16::from_str_radix(text, 16).ok()?;
        (0xD800..0xE000).contains(&code).then_some(text)
    };
    let first = digits(0)?;
    let high = u16::from_str_radix(first, 16).is_ok_and(|c| c < 0xDC00);
    let paired = high
        && digits(6)
            .and_then(|low| u16::from_str_radix(low, 16).ok())
            .is_some_and(|c| c >= 0xDC00);
    (!paired).then_some(first)
}

/// Writes `text` as a JSON string with the shortest escapes.
pub fn push_json_string(text: &str, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let bytes = text.as_bytes();
    out.push('"');
    let mut at = 0;
    loop {
        let plain = at;
        at = next_special(bytes, at, b'"');
        out.push_str(&text[plain..at]);
        let Some(&byte) = bytes.get(at) else { break };
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            8 => out.push_str("\\b"),
            12 => out.push_str("\\f"),
            _ => {
                out.push_str("\\u00");
                out.push(HEX[usize::from(byte >> 4)] as char);
                out.push(HEX[usize::from(byte & 15)] as char);
            }
        }
        at += 1;
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::ParseError;
    use proptest::prelude::*;

    fn form(text: &str) -> Result<String, ParseError> {
        Ok(canonical(Doc::parse(text)?.root()).0)
    }

    #[test]
    fn order_of_keys_and_spelling_do_not_matter() {
        let a = form(r#"{"b":{"y":1,"x":[1.0,{"q":2,"p":3}]},"a":"\u0041\/"}"#).unwrap();
        let b = form(r#" { "a" : "A/" , "b" : { "x" : [ 1 , {"p":3e0,"q":2.00} ], "y" : 1 } } "#)
            .unwrap();
        assert_eq!(a, b);
        assert_eq!(a, r#"{"a":"A/","b":{"x":[1,{"p":3,"q":2}],"y":1}}"#);
        assert_eq!(
            form(r#"{"a":[[],{},[{}]],"":""}"#).unwrap(),
            r#"{"":"","a":[[],{},[{}]]}"#
        );
        assert_eq!(form("[\"[\",\"{\",1]").unwrap(), "[\"[\",\"{\",1]");
    }

    #[test]
    fn duplicates_are_kept_and_flagged() {
        let doc = Doc::parse(r#"{"a":2,"b":0,"a":1}"#).unwrap();
        let (text, flags) = canonical(doc.root());
        assert_eq!(text, r#"{"a":2,"a":1,"b":0}"#);
        assert!(flags.contains(Flags::DUPLICATE_KEYS));
    }

    #[test]
    fn what_stands_in_python_text_is_written_anew() {
        let doc = Doc::parse_python("[<Foo \"x\">, \"it's\", 'a\"b']").unwrap();
        let (text, _) = canonical(doc.root());
        assert_eq!(canonical(Doc::parse(&text).unwrap().root()).0, text);
        let doc = Doc::parse("[\"it's\",\"a\tb\"]").unwrap();
        assert_eq!(canonical(doc.root()).0, r#"["it's","a\tb"]"#);
    }

    #[test]
    fn a_lone_surrogate_is_not_its_spelling() {
        let lone = form(r#""x \uD83D\n\ud83d\ude00 \udcb2""#).unwrap();
        assert_eq!(lone, r#""x \ud83d\n😀 \udcb2""#);
        assert_ne!(form(r#""\ud83d""#).unwrap(), form(r#""\\ud83d""#).unwrap());
        assert_eq!(form(&lone).unwrap(), lone);
    }

    proptest! {
        #[test]
        fn any_string_survives(text in any::<String>()) {
            let mut written = String::new();
            push_json_string(&text, &mut written);
            let doc = Doc::parse(&written).unwrap();
            prop_assert_eq!(doc.root().as_str(), Some(text.as_str()));
        }
    }
}
