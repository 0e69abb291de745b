//! Which piece of a value goes because of the key it is held under.

use std::ops::Range;

use super::judge::{is_basic_credential, is_mask, is_public_address, looks_random, placeholder};
use super::keys::KeyClass;
use super::rules::Id;
use super::splice::{Edit, Label};

/// The piece of `value` that must go because of its key.
pub(super) fn masked_part(class: KeyClass, value: &str) -> Option<Edit> {
    if placeholder(value) {
        return None;
    }
    let edit = |range: Range<usize>, label, rule| Some(Edit::new(value, range, label, rule));
    let all = trimmed(value);
    let text = &value[all.clone()];
    match class {
        KeyClass::Password => {
            let address = text.starts_with("http://") || text.starts_with("https://");
            let open = address || is_prose(text);
            (!open)
                .then(|| edit(all, Label::Password, Id::Password))
                .flatten()
        }
        KeyClass::Pin => {
            let pin = (3..=8).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
            pin.then(|| edit(all, Label::Password, Id::Password))
                .flatten()
        }
        KeyClass::Secret => {
            let spaced = text.bytes().any(|b| b.is_ascii_whitespace());
            let word = text.len() < 8 && text.bytes().all(|b| b.is_ascii_alphabetic());
            let address = text.starts_with("http://") || text.starts_with("https://");
            (!spaced && !word && !address)
                .then(|| edit(all, Label::Token, Id::Token))
                .flatten()
        }
        KeyClass::Maybe => (looks_random(text, 10) && !is_public_address(text))
            .then(|| edit(all, Label::Token, Id::Token))
            .flatten(),
        KeyClass::Authorization => {
            let range = credential(text)?;
            let basic = is_basic_credential(&text[range.clone()]);
            let label = if basic { Label::Password } else { Label::Token };
            edit(
                all.start + range.start..all.start + range.end,
                label,
                Id::Authorization,
            )
        }
        KeyClass::Cookie => text
            .contains('=')
            .then(|| edit(all, Label::Token, Id::Cookie))
            .flatten(),
        KeyClass::Phone => {
            let digits = text.bytes().filter(u8::is_ascii_digit).count();
            let only = text.bytes().all(|b| {
                b.is_ascii_digit()
                    || matches!(b, b'+' | b'-' | b'(' | b')' | b'.' | b' ' | b'/' | b'x')
            });
            ((7..=15).contains(&digits) && only)
                .then(|| edit(all, Label::Phone, Id::Phone))
                .flatten()
        }
    }
}

/// The secret behind the scheme of an authorization header. A value without a
/// known scheme counts if it is one word that could be a key.
fn credential(text: &str) -> Option<Range<usize>> {
    const SCHEMES: &[&str] = &[
        "bearer",
        "basic",
        "token",
        "apikey",
        "api-key",
        "digest",
        "negotiate",
        "oauth",
        "aws4-hmac-sha256",
        "key",
        "jwt",
        "hmac",
        "sharedkey",
    ];
    let Some((scheme, rest)) = text.split_once(' ') else {
        return (text.len() >= 8 && text.bytes().any(|b| b.is_ascii_digit()))
            .then_some(0..text.len());
    };
    let known = SCHEMES.iter().any(|s| scheme.eq_ignore_ascii_case(s));
    let secret = rest.trim();
    if !known || placeholder(secret) || is_mask(secret) {
        return None;
    }
    let start = text.len() - rest.trim_start().len();
    Some(start..start + secret.len())
}

fn trimmed(value: &str) -> Range<usize> {
    let start = value.len() - value.trim_start().len();
    start..start + value.trim().len()
}

/// A description that stands where a password would: `The user's password.`
fn is_prose(text: &str) -> bool {
    let spaces = text.bytes().filter(|b| *b == b' ').count();
    let first = text.split(' ').next().unwrap_or_default();
    let article = [
        "The", "A", "An", "Your", "Password", "User", "New", "Optional", "the", "a", "password",
        "must",
    ]
    .contains(&first.trim_end_matches([':', ',']));
    (spaces >= 1 && article) || spaces >= 6
}
