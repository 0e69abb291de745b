//! Names and values in free text: broken JSON, configuration, command lines,
//! queries of URLs.

use std::sync::LazyLock;

use regex::Regex;

use super::held::masked_part;
use super::judge::{looks_random, placeholder};
use super::keys::{KeyClass, key_class};
use super::patterns::Found;
use super::rules::Id;
use super::splice::Label;

/// A name, then `:`, `=`, `=>`, `%3D`, or the end of an XML tag, then perhaps a quote.
/// The name's own quotes may be escaped several times over.
static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"((?i:api|access|secret|private|auth) [Kk]ey|[A-Za-z][A-Za-z0-9_.\-]{1,60})(?:(\\*["'`])?[ \t]{0,3}(?::|=>|=|%3[Dd])[ \t\r\n]{0,3}(\\*["'`])?|(>)|([ ]))"#).ok()
});

/// A value longer than this is not looked for to its end.
const VALUE: usize = 8192;

/// Names that are secrets only in the query of a URL.
const QUERY: &[&str] = &[
    "key",
    "sig",
    "signature",
    "appid",
    "auth",
    "hmac",
    "pass",
    "token",
    "secret",
];

/// Finds secrets that follow their name.
pub(super) fn named(text: &str, phones: bool, found: &mut Vec<Found>) {
    let Some(regex) = NAME.as_ref() else { return };
    let mut at = 0;
    while let Some(captures) = regex.captures_at(text, at) {
        let (Some(whole), Some(name)) = (captures.get(0), captures.get(1)) else {
            return;
        };
        at = whole.end();
        let before = &text.as_bytes()[..name.start()];
        let tag = captures.get(4).is_some();
        let option = captures.get(5).is_some();
        if (tag && before.last() != Some(&b'<')) || (option && !before.ends_with(b"--")) {
            continue;
        }
        let query = matches!(before.last(), Some(b'?' | b'&')) || before.ends_with(b"&amp;");
        let class = key_class(name.as_str()).filter(|c| phones || *c != KeyClass::Phone);
        let in_query = query && whole.as_str().ends_with('=') && is_query_name(name.as_str());
        if class.is_none() && !in_query {
            continue;
        }
        let value = match captures.get(3) {
            Some(quote) => quoted(text, whole.end(), quote.as_str()),
            None if tag => until(text, whole.end(), |b| b == b'<' || b.is_ascii_whitespace()),
            None => bare(text, whole.end(), query),
        };
        let body = &text[value.clone()];
        let is_quoted = captures.get(3).is_some() || tag;
        let piece = if query {
            of_query(class, body)
        } else {
            class.and_then(|class| of_class(class, text, value.clone(), is_quoted))
        };
        if let Some((range, label, rule)) = piece {
            let start = value.start;
            at = at.max(start + range.end);
            found.push((start + range.start..start + range.end, label, rule));
        }
    }
}

/// `apikey`, `x-amz-signature` and the like.
fn is_query_name(name: &str) -> bool {
    let last = name.rsplit(['-', '_', '.']).next().unwrap_or_default();
    QUERY.iter().any(|q| last.eq_ignore_ascii_case(q))
        && !["public", "sort", "primary", "partition", "cache"]
            .iter()
            .any(|p| name.to_ascii_lowercase().starts_with(p))
}

fn of_query(class: Option<KeyClass>, value: &str) -> Option<Found> {
    if placeholder(value) {
        return None;
    }
    match class {
        Some(KeyClass::Password) => Some((0..value.len(), Label::Password, Id::UrlQuery)),
        Some(KeyClass::Phone) => None,
        Some(KeyClass::Secret) if value.len() >= 8 => {
            Some((0..value.len(), Label::Token, Id::UrlQuery))
        }
        _ => looks_random(value, 16).then_some((0..value.len(), Label::Token, Id::UrlQuery)),
    }
}

fn of_class(
    class: KeyClass,
    text: &str,
    value: std::ops::Range<usize>,
    is_quoted: bool,
) -> Option<Found> {
    let body = &text[value.clone()];
    // Authorization has a space in it, so take the rest of the line.
    if class == KeyClass::Authorization && !is_quoted {
        let line = until(text, value.start, |b| {
            matches!(b, b'\n' | b'\r' | b'"' | b'\'' | b'\\' | b'<')
        });
        let edit = masked_part(class, &text[line])?;
        return Some((edit.range, edit.label, edit.rule));
    }
    if !is_quoted && !is_bare_secret(class, text, &value) {
        return None;
    }
    let edit = masked_part(class, body)?;
    Some((edit.range, edit.label, edit.rule))
}

/// Without quotes, code and prose must be told from values: `password: str`,
/// `token = get_token()`, `Password: must be long`.
fn is_bare_secret(class: KeyClass, text: &str, value: &std::ops::Range<usize>) -> bool {
    let body = &text[value.clone()];
    let next = text.as_bytes().get(value.end).copied();
    if body.is_empty() || matches!(next, Some(b'(' | b'[' | b'{')) {
        return false;
    }
    match class {
        KeyClass::Password | KeyClass::Pin => {
            let odd = body.bytes().any(|b| !b.is_ascii_lowercase());
            let only_first_upper = body.bytes().skip(1).all(|b| b.is_ascii_lowercase());
            let ends = matches!(
                next,
                None | Some(b'\n' | b'\r' | b',' | b';' | b'&' | b'"' | b'\'' | b'\\' | b'<')
            );
            (odd && !only_first_upper) || ends
        }
        KeyClass::Cookie | KeyClass::Phone | KeyClass::Authorization => true,
        KeyClass::Secret | KeyClass::Maybe => looks_random(body, 12),
    }
}

/// From an opening quote to the same quote, escaped as often as it was.
fn quoted(text: &str, start: usize, quote: &str) -> std::ops::Range<usize> {
    let limit = text.len().min(start + VALUE);
    let window = &text.as_bytes()[start..limit];
    let mut from = 0;
    let slashes = quote.len() - 1;
    while let Some(at) = memchr::memmem::find(&window[from..], quote.as_bytes()) {
        let at = from + at;
        // One more backslash before it belongs to the value.
        let escaped = window[..at]
            .iter()
            .rev()
            .take_while(|b| **b == b'\\')
            .count();
        if slashes > 0 || escaped % 2 == 0 {
            return start..start + at;
        }
        from = at + 1;
    }
    bounded(text, start, limit)
}

fn bare(text: &str, start: usize, query: bool) -> std::ops::Range<usize> {
    until(text, start, |b| {
        b.is_ascii_whitespace()
            || matches!(b, b'"' | b'\'' | b'`' | b'&' | b'<' | b'>' | b'\\' | b';')
            || (!query && matches!(b, b',' | b'(' | b')' | b'[' | b']' | b'{' | b'}'))
            || (query && matches!(b, b'#' | b')' | b']' | b'}'))
    })
}

fn until(text: &str, start: usize, stops: impl Fn(u8) -> bool) -> std::ops::Range<usize> {
    let limit = text.len().min(start + VALUE);
    let window = &text.as_bytes()[start..limit];
    match window.iter().position(|b| stops(*b)) {
        Some(len) => start..start + len,
        None => bounded(text, start, limit),
    }
}

fn bounded(text: &str, start: usize, mut end: usize) -> std::ops::Range<usize> {
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<&str> {
        assert!(NAME.is_some());
        let mut found = vec![];
        named(text, true, &mut found);
        found.into_iter().map(|(range, ..)| &text[range]).collect()
    }

    #[test]
    fn values_behind_their_names() {
        for (text, want) in [
            (r#"{"password": "hunter2", broken"#, "hunter2"),
            (r#"{\"api_key\": \"a1b2c3d4e5f6a7b8\"}"#, "a1b2c3d4e5f6a7b8"),
            (
                r#"{\\\"api_key\\\": \\\"a1b2c3d4e5f6a7b8\\\"}"#,
                "a1b2c3d4e5f6a7b8",
            ),
            ("{'passwd': 'it is me'}", "it is me"),
            ("password=hunter2", "hunter2"),
            ("Password: hunter2", "hunter2"),
            ("password: qwerty\n", "qwerty"),
            ("API_KEY=8f14e45fceea167a5a36", "8f14e45fceea167a5a36"),
            ("API key: 8f14e45fceea167a5a36", "8f14e45fceea167a5a36"),
            ("curl --password hunter2 x", "hunter2"),
            ("<password>hunter2</password>", "hunter2"),
            (
                "https://a.b/c?key=8f14e45fceea167a5a36&x=1",
                "8f14e45fceea167a5a36",
            ),
            (
                "https://a.b/c?x=1&access_token=8f14e45fceea",
                "8f14e45fceea",
            ),
            (
                "https://a.b/?X-Amz-Signature=8f14e45fceea167a5a36dedd",
                "8f14e45fceea167a5a36dedd",
            ),
            (
                "Authorization: Bearer abc.def-123456789",
                "abc.def-123456789",
            ),
            ("authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ] {
            assert_eq!(pieces(text), [want], "{text}");
        }
    }

    #[test]
    fn code_and_prose_are_left_alone() {
        for text in [
            "Password: must be at least 8 characters",
            "password: str, token: Optional[str]",
            "token = get_token()",
            "api_key=os.environ['API_KEY']",
            "password=password)",
            "The token: a string",
            "https://a.b/c?pageToken=8f14e45fceea167a5a36&sort_key=name_1234567890ab",
            "key: 8f14e45fceea167a5a36",
            "max_tokens=1024",
            "password=<masked:password>",
            "secret: \"<masked:token:1a2b3c4d>\"",
        ] {
            assert!(pieces(text).is_empty(), "{text}: {:?}", pieces(text));
        }
    }
}
