//! The loss of two leaves of one type.
//!
//! Classes by type (docs/measures.md, observation 3): numbers, booleans and
//! strings of at most [`SHORT_CHARS`] characters are `exact`, longer strings
//! are `text`. `tolerant` and `form` are only ever learned, never assumed.

use std::borrow::Cow;

use super::answer::{DiffKind, Rules};
use super::cosmetic;
use super::tokens::{self, Bags};
use crate::json::Doc;

/// Up to this many characters a string is compared as a whole.
pub const SHORT_CHARS: usize = 64;

/// The loss in `[0,1]` of two different string leaves (canonical JSON, quotes
/// included), and its kind.
pub(super) fn strings(left: &str, right: &str, rules: &Rules, bags: &mut Bags) -> (f64, DiffKind) {
    texts(&decode(left), &decode(right), rules, bags)
}

/// The same for bare texts.
pub(super) fn texts(left: &str, right: &str, rules: &Rules, bags: &mut Bags) -> (f64, DiffKind) {
    if left == right {
        return (0.0, DiffKind::Value);
    }
    if let Some(loss) = cosmetic::loss(left, right, &rules.cosmetic) {
        return (loss, DiffKind::Cosmetic);
    }
    if is_short(left) && is_short(right) {
        return (1.0, DiffKind::Value);
    }
    match 1.0 - tokens::similarity(left, right, usize::MAX, bags) {
        // The same words in another order or with other punctuation.
        0.0 => (0.0, DiffKind::Cosmetic),
        loss => (loss, DiffKind::Value),
    }
}

fn is_short(text: &str) -> bool {
    text.len() <= SHORT_CHARS
        || (text.len() <= 4 * SHORT_CHARS && text.chars().nth(SHORT_CHARS).is_none())
}

/// The text of a canonical string, its quotes and escapes removed.
pub(super) fn decode(raw: &str) -> Cow<'_, str> {
    let inner = raw
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or(raw);
    if !inner.contains('\\') {
        return Cow::Borrowed(inner);
    }
    match Doc::parse(raw) {
        Ok(doc) => Cow::Owned(doc.root().as_str().unwrap_or(inner).to_owned()),
        Err(_) => Cow::Borrowed(inner),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loss(left: &str, right: &str) -> (f64, DiffKind) {
        strings(left, right, &Rules::default(), &mut Bags::default())
    }

    #[test]
    fn short_strings_are_equal_or_not() {
        assert_eq!(
            loss(r#""economy""#, r#""business""#),
            (1.0, DiffKind::Value)
        );
        assert_eq!(
            loss(r#""Economy""#, r#""economy""#),
            (0.1, DiffKind::Cosmetic)
        );
    }

    #[test]
    fn long_strings_share_tokens() {
        let common = "w ".repeat(40);
        let (left, right) = (format!("\"{common}a\""), format!("\"{common}b\""));
        // 40 shared, 42 in the union.
        let (found, kind) = loss(&left, &right);
        assert!((found - 2.0 / 42.0).abs() < 1e-12);
        assert_eq!(kind, DiffKind::Value);
    }

    #[test]
    fn length_is_counted_in_characters() {
        let left = format!("\"{}\"", "é".repeat(64));
        let right = format!("\"{}\"", "e".repeat(64));
        assert_eq!(loss(&left, &right).0, 1.0);
        let left = format!("\"{} x y\"", "é".repeat(64));
        assert!(loss(&left, "\"x y\"").0 < 1.0);
    }

    #[test]
    fn escapes_are_read() {
        assert_eq!(decode(r#""a\"b""#), "a\"b");
        assert_eq!(loss(r#""a\nb""#, r#""a b""#), (0.05, DiffKind::Cosmetic));
    }
}
