//! The loss of two leaves of one type.
//!
//! Classes by type (docs/measures.md, observation 3): numbers, booleans and
//! strings of at most [`SHORT_CHARS`] characters are `exact`, longer strings
//! are `text`. `tolerant` and `form` come from rules only, never by themselves.

use std::borrow::Cow;

use super::cosmetic;
use super::kinds::{CosmeticKind, DiffKind, Loss, Rules};
use super::numbers;
use super::rules::{ContentClass, Effect};
use super::shape;
use super::tokens::{self, Bags};
use crate::json::{Doc, is_blob};

/// Up to this many characters a string is compared as a whole.
pub const SHORT_CHARS: usize = 64;

/// What comparing leaves needs besides the leaves.
pub(super) struct Context<'w> {
    pub(super) rules: &'w Rules,
    pub(super) bags: &'w mut Bags,
    /// How many strings that hold JSON were opened to get here.
    pub(super) level: u8,
}

impl Context<'_> {
    /// The same, one string further in.
    pub(super) fn inside(&mut self) -> Context<'_> {
        Context {
            rules: self.rules,
            bags: self.bags,
            level: self.level + 1,
        }
    }
}

/// The loss of two leaves of one type in different spellings (canonical JSON);
/// `None` if a rule makes them equal. Linear in their length.
pub(super) fn compare(
    left: &str,
    right: &str,
    effect: Option<&Effect>,
    context: &mut Context<'_>,
) -> Option<Loss> {
    let found = match left.as_bytes().first() {
        Some(b'"') => texts(&decode(left), &decode(right), effect, context),
        Some(b'-' | b'0'..=b'9' | b'N' | b'I') => {
            if has_class(effect, ContentClass::Form)
                && shape::of_leaf(left) == shape::of_leaf(right)
            {
                return None;
            }
            numbers::loss(left, right, effect, context.rules)
        }
        _ => Some(Loss::of(DiffKind::Value, 1.0)),
    }?;
    Some(ruled(found, effect))
}

/// What a rule makes of a difference.
fn ruled(found: Loss, effect: Option<&Effect>) -> Loss {
    match effect.and_then(|effect| effect.cosmetic) {
        Some(weight) if found.weight > 0.0 => Loss::cosmetic(CosmeticKind::Rule, weight),
        _ => found,
    }
}

fn has_class(effect: Option<&Effect>, class: ContentClass) -> bool {
    effect.is_some_and(|effect| effect.class == Some(class))
}

/// The loss of two bare texts; `None` if they are equal.
pub(super) fn texts(
    left: &str,
    right: &str,
    effect: Option<&Effect>,
    context: &mut Context<'_>,
) -> Option<Loss> {
    if left == right {
        return None;
    }
    if has_class(effect, ContentClass::Form) && shape::shape(left) == shape::shape(right) {
        return None;
    }
    let whole = Loss::of(DiffKind::Value, 1.0);
    // In base64 the case of a letter is data, and there are no words.
    let found = if is_blob(left) || is_blob(right) {
        whole
    } else if let Some(slight) = cosmetic::loss(left, right, context) {
        slight
    } else if has_class(effect, ContentClass::Exact)
        || (is_short(left) && is_short(right) && !has_class(effect, ContentClass::Text))
    {
        whole
    } else {
        match 1.0 - tokens::similarity(left, right, usize::MAX, context.bags) {
            0.0 => Loss::slight(CosmeticKind::Wording, context.rules),
            loss => Loss::of(DiffKind::Value, loss),
        }
    };
    Some(ruled(found, effect))
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
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
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

    fn loss(left: &str, right: &str) -> Loss {
        ruled_loss(left, right, &Effect::default()).unwrap()
    }

    fn ruled_loss(left: &str, right: &str, effect: &Effect) -> Option<Loss> {
        let mut context = Context {
            rules: &Rules::default(),
            bags: &mut Bags::default(),
            level: 0,
        };
        compare(left, right, Some(effect), &mut context)
    }

    #[test]
    fn short_strings_are_equal_or_not() {
        assert_eq!(
            loss(r#""economy""#, r#""business""#),
            Loss::of(DiffKind::Value, 1.0)
        );
        assert_eq!(
            loss(r#""Economy""#, r#""economy""#),
            Loss::cosmetic(CosmeticKind::LetterCase, 0.1)
        );
    }

    #[test]
    fn long_strings_share_tokens() {
        let common = "w ".repeat(40);
        let (left, right) = (format!("\"{common}a\""), format!("\"{common}b\""));
        // 40 shared, 42 in the union.
        let found = loss(&left, &right);
        assert!((found.weight - 2.0 / 42.0).abs() < 1e-12);
        assert_eq!(found.kind, DiffKind::Value);
    }

    #[test]
    fn length_is_counted_in_characters() {
        let left = format!("\"{}\"", "é".repeat(64));
        let right = format!("\"{}\"", "e".repeat(64));
        assert_eq!(loss(&left, &right).weight, 1.0);
        let left = format!("\"{} x y\"", "é".repeat(64));
        assert!(loss(&left, "\"x y\"").weight < 1.0);
    }

    #[test]
    fn escapes_are_read() {
        assert_eq!(decode(r#""a\"b""#), "a\"b");
        assert_eq!(
            loss(r#""a\nb""#, r#""a b""#),
            Loss::cosmetic(CosmeticKind::WhiteSpace, 0.05)
        );
    }

    #[test]
    fn classes_by_hand() {
        let class = |class| Effect {
            class: Some(class),
            ..Effect::default()
        };
        let form = class(ContentClass::Form);
        assert_eq!(ruled_loss(r#""YAX4DR""#, r#""PGWUVE""#, &form), None);
        assert_eq!(ruled_loss("17", "180000", &form), None);
        assert!(ruled_loss(r#""YAX4DR""#, r#""YAX4D""#, &form).is_some());
        let text = class(ContentClass::Text);
        let found = ruled_loss(r#""a b c""#, r#""a b d""#, &text).unwrap();
        assert_eq!(found.weight, 0.5);
        let long = format!("\"{}x\"", "w ".repeat(40));
        let exact = class(ContentClass::Exact);
        assert_eq!(ruled_loss(&long, "\"w\"", &exact).unwrap().weight, 1.0);
        let slight = Effect {
            cosmetic: Some(0.3),
            ..Effect::default()
        };
        assert_eq!(
            ruled_loss("1", "2", &slight),
            Some(Loss::cosmetic(CosmeticKind::Rule, 0.3))
        );
    }

    #[test]
    fn base64_is_equal_or_not() {
        let a = format!("\"{}\"", "QUJDREVG/abc+".repeat(100));
        let b = a.to_lowercase();
        assert_eq!(loss(&a, &b), Loss::of(DiffKind::Value, 1.0));
    }
}
