//! A look around a needle: cheap, and wider than any rule, so that it never
//! drops what a rule would match.

use std::ops::Range;

use super::judge::is_basic_credential;
use super::needles::{KEY_OF, Needle};

/// Whether a needle found at `at` can be part of something to mask.
pub(super) fn may_matter(needle: Needle, bytes: &[u8], at: Range<usize>) -> bool {
    match needle {
        Needle::Query => true,
        Needle::Unicode => matches!(
            (bytes.get(at.end), bytes.get(at.end + 1)),
            (Some(b'2'), Some(b'b' | b'B' | b'd' | b'D' | b'e' | b'E'))
                | (Some(b'3'), Some(b'0'..=b'9' | b'a' | b'A' | b'd' | b'D'))
                | (Some(b'4'..=b'7'), _)
                | (Some(b'0'), Some(b'0'))
        ),
        Needle::Hex => matches!(bytes.get(at.end), Some(b'2'..=b'7')),
        Needle::Key => key_may_matter(bytes, at),
        Needle::KeyOf => {
            // A query may ask for a bare `key=`.
            let query = bytes.get(at.end) == Some(&b'=');
            query || (is_key_of(&bytes[..at.start]) && key_may_matter(bytes, at))
        }
        Needle::Prefix(prefix, least) => {
            let rest = &bytes[at.end..];
            bytes[at].eq(prefix.as_bytes())
                && rest.iter().take(least).filter(|b| is_token(**b)).count() == least
        }
        Needle::Scheme => scheme_may_matter(bytes, at),
        Needle::Url => userinfo(&bytes[at.end..]),
    }
}

/// Whether a text ends in a word that makes a `key` behind it a secret.
fn is_key_of(before: &[u8]) -> bool {
    let before = match before.last() {
        Some(b'_' | b'-' | b' ') => &before[..before.len() - 1],
        _ => before,
    };
    KEY_OF.iter().any(|word| {
        before.len() >= word.len()
            && before[before.len() - word.len()..].eq_ignore_ascii_case(word.as_bytes())
    })
}

/// `Bearer`, space, and something that may be a token.
fn scheme_may_matter(bytes: &[u8], at: Range<usize>) -> bool {
    let rest = &bytes[at.end..];
    if !matches!(
        rest.first(),
        Some(b' ' | b'\t' | b'\\' | b'+' | b'%' | b'\n')
    ) {
        return false;
    }
    let rest = rest[1..].trim_ascii_start();
    let len = rest
        .iter()
        .take(500)
        .position(|b| !is_token(*b))
        .unwrap_or(rest.len().min(500));
    let word = &rest[..len];
    if len < 8 || word.iter().any(|b| matches!(b, b'\\' | b'%')) {
        return len >= 8;
    }
    let basic = bytes[at.start].eq_ignore_ascii_case(&b'b') && at.len() == 5;
    !basic || std::str::from_utf8(word).is_ok_and(is_basic_credential)
}

fn is_token(b: u8) -> bool {
    b.is_ascii_alphanumeric()
        || matches!(
            b,
            b'_' | b'-' | b'.' | b'/' | b'+' | b'=' | b'~' | b'\\' | b'%'
        )
}

/// Between `://` and the end of the host: a colon, and after it an `@`.
fn userinfo(rest: &[u8]) -> bool {
    let mut colon = false;
    for &b in rest.iter().take(320) {
        match b {
            b':' => colon = true,
            b'@' => return colon,
            b'/' | b' ' | b'"' | b'\'' | b'<' | b'>' | b'?' | b'#' | b'\n' => return false,
            _ => {}
        }
    }
    false
}

/// Whether a key word ends a key or a name that is followed by its value.
fn key_may_matter(bytes: &[u8], at: Range<usize>) -> bool {
    // `tokens` is never a secret; a longer word that is one has a needle of its own.
    let mut i = at.end;
    while i < bytes.len()
        && i - at.end <= 24
        && (bytes[i].is_ascii_alphanumeric() || matches!(bytes[i], b'_' | b'-' | b'.'))
    {
        i += 1;
    }
    if !tail_may_matter(&bytes[at.end..i]) {
        return false;
    }
    let from = bytes[..at.start]
        .iter()
        .rposition(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.')));
    let flag = from.map_or(0, |f| f + 1);
    if bytes[flag..at.start].starts_with(b"--") || bytes[flag..at.end].starts_with(b"--") {
        return true;
    }
    // `shipping:` ends in no key word.
    let short = at.len() == 3 && at.start > 0;
    if short
        && bytes[at.start - 1].is_ascii_lowercase()
        && bytes[at.start] == b'p'
        && bytes[at.start + 1] == b'i'
    {
        return false;
    }
    value_follows(bytes, i) || names_a_value(bytes, flag, i)
}

/// What may stand between a key word and the end of its key.
fn tail_may_matter(tail: &[u8]) -> bool {
    let letters = tail.iter().filter(|b| b.is_ascii_alphabetic()).count();
    letters == 0
        || ["hash", "value", "confirmation", "confirm"]
            .iter()
            .any(|word| {
                letters == word.len()
                    && tail
                        .iter()
                        .filter(|b| b.is_ascii_alphabetic())
                        .zip(word.bytes())
                        .all(|(a, b)| a.to_ascii_lowercase() == b)
            })
}

/// Behind quotes, backslashes and space; `None` if that never ends.
fn skip_quotes(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    while let Some(b'\\' | b'"' | b'\'' | b'`' | b' ' | b'\n' | b'\r' | b'\t') = bytes.get(at) {
        at += 1;
        if at - start > 300 {
            return None;
        }
        // An escaped line break or tab is white space too.
        if bytes[at - 1] == b'\\' && matches!(bytes.get(at), Some(b'n' | b'r' | b't')) {
            at += 1;
        }
    }
    Some(at)
}

/// Whether a value follows that could be masked: no object, as in a schema.
fn value_follows(bytes: &[u8], start: usize) -> bool {
    let Some(at) = skip_quotes(bytes, start) else {
        return true;
    };
    match bytes.get(at) {
        Some(b':') => {
            let plain = |from: usize| bytes.get(from..).and_then(<[u8]>::first);
            let space = plain(at + 1) == Some(&b' ');
            plain(at + 1 + usize::from(space)) != Some(&b'{')
        }
        Some(b'=' | b'>' | b'%') => true,
        Some(b'u') => at > start && bytes[at - 1] == b'\\',
        _ => false,
    }
}

/// `"name": "Authorization", "value": ...` and `["Authorization", ...]`.
fn names_a_value(bytes: &[u8], from: usize, end: usize) -> bool {
    let quoted = from > 0
        && matches!(bytes[from - 1], b'"' | b'\'')
        && matches!(bytes.get(end), Some(b'"' | b'\'' | b'\\'));
    if !quoted {
        return false;
    }
    let Some(comma) = skip_quotes(bytes, end) else {
        return true;
    };
    if bytes.get(comma) != Some(&b',') {
        return false;
    }
    let before = bytes[..from]
        .iter()
        .rev()
        .take(300)
        .find(|b| !matches!(b, b'\\' | b'"' | b'\'' | b' ' | b'\n' | b'\r' | b'\t'));
    // `[\n"x"` with its line break written out.
    if matches!(before, None | Some(b'[' | b'(' | b'n' | b'r' | b't')) {
        return true;
    }
    match skip_quotes(bytes, comma + 1) {
        Some(next) => bytes
            .get(next..next + 5)
            .is_some_and(|word| word.eq_ignore_ascii_case(b"value")),
        None => true,
    }
}
