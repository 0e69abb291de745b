//! Which values of an answer name things.

use super::diff::Diff;
use super::tokens::hash;
use crate::json::Doc;

/// Hashes of the strings of a canonical JSON value that look like identifiers,
/// sorted, each once: 3 to 64 characters without white space, that hold letters
/// and digits (`YAX4DR`, `mia_li_3668`) or are five or more capitals, and do not
/// start like a date. A text that is no JSON is cut at its white space.
#[must_use]
pub fn identifiers(text: &str) -> Vec<u64> {
    let mut found = vec![];
    match Doc::parse(text) {
        Ok(doc) => {
            let values = doc.string_values().filter_map(|node| node.as_str());
            found.extend(
                values
                    .filter(|v| is_identifier(v))
                    .map(|v| hash(v.as_bytes())),
            );
        }
        Err(_) => {
            let words = text.split(|c: char| c.is_whitespace() || "\"'()[]{},;:.".contains(c));
            found.extend(
                words
                    .filter(|v| is_identifier(v))
                    .map(|v| hash(v.as_bytes())),
            );
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn is_identifier(text: &str) -> bool {
    let bytes = text.as_bytes();
    if !(3..=64).contains(&bytes.len()) || !text.is_ascii() {
        return false;
    }
    let date = bytes.len() >= 5 && bytes[..4].iter().all(u8::is_ascii_digit) && bytes[4] == b'-';
    let digits = bytes.iter().any(u8::is_ascii_digit);
    let letters = bytes.iter().any(u8::is_ascii_alphabetic);
    let code = bytes.len() >= 5 && bytes.iter().all(u8::is_ascii_uppercase);
    let plain = bytes
        .iter()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'#' | b'@' | b'.'));
    // Hexadecimal ones (UUIDs) may start like a date.
    let uuid = bytes.len() == 36;
    plain && ((digits && letters && (!date || uuid)) || code)
}

impl Diff {
    /// The identifiers under the paths that differ, as far as their values are shown.
    #[must_use]
    pub fn identifiers(&self) -> Vec<u64> {
        let shown = self.paths.iter().flat_map(|diff| [&diff.left, &diff.right]);
        let mut found: Vec<u64> = shown
            .flatten()
            .flat_map(|value| identifiers(value))
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gap::{Answer, Comparer};

    #[test]
    fn what_differs_is_named() {
        let (left, right) = (r#"[{"a":1},{"a":"YAX4DR"}]"#, r#"[{"b":7},{"b":2}]"#);
        let two = Comparer::default().diff(Answer::json(left), Answer::json(right), 9);
        assert_eq!(two.identifiers(), identifiers(r#""YAX4DR""#));
    }

    #[test]
    fn identifiers_by_hand() {
        let words = [
            "YAX4DR",
            "mia_li_3668",
            "NRTLAX",
            "550e8400-e29b-41d4-a716-446655440000",
        ];
        let not = [
            "economy",
            "2024-05-20",
            "2024-05-11T08:28:51",
            "12345",
            "JFK",
            "New York 2",
            "a1",
        ];
        assert!(words.iter().all(|w| is_identifier(w)));
        assert!(!not.iter().any(|w| is_identifier(w)));
        assert_eq!(
            identifiers("cancelled: YAX4DR, (YAX4DR)"),
            identifiers(r#"["YAX4DR"]"#)
        );
    }
}
