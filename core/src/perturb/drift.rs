//! An answer of another shape than promised: an interface that changed unannounced.

use crate::json::{Doc, Kind, Node, push_json_string};
use crate::stats::Chance;

use super::answer::New;

/// Nested deeper, values stay as they are.
const DEEPEST: usize = 32;

/// What a drift does. Fields are always renamed.
#[derive(Clone, Copy, Debug)]
struct Drift {
    wraps: bool,
    numbers_as_text: bool,
    /// Of objects with several fields the last is missing.
    drops: bool,
}

/// The text with its fields renamed (`user_id` and `userId` change places, single
/// words get `Value`), and by chance wrapped in `data`, numbers as texts, a field
/// missing. What is no object or list is wrapped. Take the same chance for all
/// calls of a tool: an interface changes once. Always another value.
#[must_use]
pub fn drifted(text: &str, chance: &mut Chance) -> New {
    let mut coin = || chance.below(2) == 0;
    let drift = Drift {
        wraps: coin(),
        numbers_as_text: coin(),
        drops: coin(),
    };
    let mut out = String::with_capacity(text.len() + 32);
    let doc = Doc::parse(text).ok();
    let root = doc.as_ref().map(Doc::root);
    match root.filter(|root| has_fields(*root, 0)) {
        Some(root) if drift.wraps => {
            out.push_str("{\"data\":");
            write(root, drift, 0, &mut out);
            out.push('}');
        }
        Some(root) => write(root, drift, 0, &mut out),
        None => {
            out.push_str("{\"data\":{\"value\":");
            match root {
                Some(root) => out.push_str(root.raw()),
                None => push_json_string(text, &mut out),
            }
            out.push_str("}}");
        }
    }
    New::Json(out)
}

fn has_fields(node: Node<'_>, depth: usize) -> bool {
    match node.kind() {
        Kind::Object => !node.is_empty(),
        Kind::Array if depth < DEEPEST => node.elements().any(|one| has_fields(one, depth + 1)),
        _ => false,
    }
}

fn write(node: Node<'_>, drift: Drift, depth: usize, out: &mut String) {
    match node.kind() {
        Kind::Number if drift.numbers_as_text => push_json_string(node.raw(), out),
        Kind::Array if depth < DEEPEST => {
            out.push('[');
            for (at, element) in node.elements().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(element, drift, depth + 1, out);
            }
            out.push(']');
        }
        Kind::Object if depth < DEEPEST => {
            let left = node.len() - usize::from(drift.drops && node.len() > 1);
            out.push('{');
            for (at, (key, value)) in node.entries().take(left).enumerate() {
                if at > 0 {
                    out.push(',');
                }
                push_json_string(&other_name(key), out);
                out.push(':');
                write(value, drift, depth + 1, out);
            }
            out.push('}');
        }
        _ => out.push_str(node.raw()),
    }
}

/// Names keep apart: no two of one object become the same, but for odd spellings of one name.
fn other_name(key: &str) -> String {
    if key.contains('_') {
        let mut out = String::with_capacity(key.len());
        let mut upper = false;
        for letter in key.chars() {
            if letter == '_' && !out.is_empty() {
                upper = true;
            } else if std::mem::take(&mut upper) {
                out.extend(letter.to_uppercase());
            } else {
                out.push(letter);
            }
        }
        if out != key {
            return out;
        }
    }
    if key.chars().skip(1).any(char::is_uppercase) {
        let mut out = String::with_capacity(key.len() + 4);
        for (at, letter) in key.chars().enumerate() {
            if letter.is_uppercase() && at > 0 {
                out.push('_');
            }
            out.extend(letter.to_lowercase());
        }
        return out;
    }
    format!("{key}Value")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::canonical;
    use proptest::prelude::*;

    fn all(text: &str) -> Vec<String> {
        let mut found: Vec<String> = (0..64)
            .map(|seed| match drifted(text, &mut Chance::new(seed)) {
                New::Json(json) | New::Text(json) => json,
            })
            .collect();
        found.sort();
        found.dedup();
        found
    }

    #[test]
    fn shapes_by_hand() {
        let found = all(r#"{"user_id":1.10,"name":"x"}"#);
        assert_eq!(found.len(), 8, "{found:?}");
        for shape in [
            r#"{"userId":1.10,"nameValue":"x"}"#,
            r#"{"userId":"1.10"}"#,
            r#"{"data":{"userId":1.10}}"#,
        ] {
            assert!(found.iter().any(|f| f == shape), "{found:?}");
        }
        assert_eq!(all("done"), [r#"{"data":{"value":"done"}}"#]);
        assert_eq!(all("[1,2]"), [r#"{"data":{"value":[1,2]}}"#]);
        assert!(all(r#"[{"createdAt":"x"}]"#).contains(&r#"[{"created_at":"x"}]"#.to_owned()));
    }

    proptest! {
        #[test]
        fn always_json_and_never_the_same(text in "\\PC{0,40}", key in "[a-zA-Z_]{1,8}", seed: u64) {
            for text in [text, format!(r#"{{"{key}":[1,{{"b":null}}]}}"#)] {
                let New::Json(other) = drifted(&text, &mut Chance::new(seed)) else { panic!() };
                let new = canonical(Doc::parse(&other).unwrap().root()).0;
                let old = Doc::parse(&text).map(|doc| canonical(doc.root()).0);
                prop_assert_ne!(Ok(new), old);
            }
        }
    }
}
