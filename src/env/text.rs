//! JSON texts on their way out and in, without changing what they say.

use std::collections::HashMap;

use fidelake_core::json::{Kind, Node, push_json_string};

/// JSON without line breaks: they may stand between values, where a space
/// means the same, and in strings of lenient writers, where they are escaped.
pub(crate) fn one_line(json: &str) -> String {
    if memchr::memchr2(b'\n', b'\r', json.as_bytes()).is_none() {
        return json.to_owned();
    }
    let mut line = String::with_capacity(json.len());
    let (mut quoted, mut escaped) = (false, false);
    for letter in json.chars() {
        match letter {
            '\n' if quoted => line.push_str("\\n"),
            '\r' if quoted => line.push_str("\\r"),
            '\n' | '\r' => line.push(' '),
            _ => line.push(letter),
        }
        if letter == '"' && !escaped {
            quoted = !quoted;
        }
        escaped = quoted && letter == '\\' && !escaped;
    }
    line
}

/// Whether a line that cannot be read says that it answers the question `id`.
pub(super) fn names_id(line: &str, id: u64) -> bool {
    let id = id.to_string();
    line.match_indices("\"id\"").any(|(at, key)| {
        let rest = line[at + key.len()..].trim_start();
        let value = rest.strip_prefix(':').map(str::trim_start);
        let after = value.and_then(|value| value.strip_prefix(id.as_str()));
        after.is_some_and(|after| !after.starts_with(|c: char| c.is_ascii_digit()))
    })
}

/// Strict readers give up at 128.
const DEPTH: usize = 100;

/// The value as strict JSON, for readers that know no other: numbers that are
/// no finite floats become null, of duplicate keys the last is kept, lone
/// surrogates become text, and what is nested too deeply becomes null.
pub(super) fn strict(node: Node<'_>) -> String {
    let mut out = String::with_capacity(node.raw().len());
    write(node, 0, &mut out);
    out
}

fn write(node: Node<'_>, depth: usize, out: &mut String) {
    match node.kind() {
        Kind::Null => out.push_str("null"),
        Kind::Bool => out.push_str(if node.as_bool() == Some(true) {
            "true"
        } else {
            "false"
        }),
        Kind::Number => {
            let finite = node.as_f64().is_some_and(f64::is_finite);
            let strict = serde_json::from_str::<serde_json::Number>(node.raw()).is_ok();
            out.push_str(if finite && strict { node.raw() } else { "null" });
        }
        Kind::String => push_json_string(node.as_str().unwrap_or_default(), out),
        // Recursion is bounded here.
        Kind::Array | Kind::Object if depth >= DEPTH => out.push_str("null"),
        Kind::Array => {
            out.push('[');
            for (at, element) in node.elements().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(element, depth + 1, out);
            }
            out.push(']');
        }
        Kind::Object => {
            let last: HashMap<&str, usize> = node
                .entries()
                .enumerate()
                .map(|(at, (key, _))| (key, at))
                .collect();
            let mut first = true;
            out.push('{');
            for (at, (key, value)) in node.entries().enumerate() {
                if last.get(key) != Some(&at) {
                    continue;
                }
                if !std::mem::take(&mut first) {
                    out.push(',');
                }
                push_json_string(key, out);
                out.push(':');
                write(value, depth + 1, out);
            }
            out.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fidelake_core::json::Doc;

    #[test]
    fn strict_readers_can_read_what_lenient_writers_wrote() {
        let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
        let text = format!(
            r#"{{"a":NaN,"b":1e400,"c":18446744073709551617,"d":"x{}y","e":"\ud83d","a":[-Infinity,1.10],"deep":{deep}}}"#,
            '\n'
        );
        let strict = strict(Doc::parse(&text).unwrap().root());
        let read: serde_json::Value = serde_json::from_str(&strict).unwrap();
        assert_eq!(read["a"], serde_json::json!([null, 1.1]));
        assert_eq!(read["b"], serde_json::Value::Null);
        assert_eq!(read["d"], "x\ny");
        assert!(strict.contains("18446744073709551617"), "{strict}");
    }

    #[test]
    fn a_broken_line_may_still_say_whose_answer_it_is() {
        assert!(names_id(r#"{"id" : 12, "content": tru"#, 12));
        assert!(!names_id(r#"{"id":123"#, 12));
        assert!(!names_id(r#"{"content": [1"#, 12));
    }

    #[test]
    fn line_breaks_go_without_changing_a_value() {
        assert_eq!(
            one_line("{\"a\":\n\"x\\\"\ny\"\r\n}"),
            "{\"a\": \"x\\\"\\ny\"  }"
        );
    }
}
