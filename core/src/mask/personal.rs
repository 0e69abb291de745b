//! E-mail addresses and telephone numbers.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

static EMAIL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"[A-Za-z0-9._%+\-]{1,64}@(?:[A-Za-z0-9](?:[A-Za-z0-9\-]{0,62})\.){1,6}[A-Za-z]{2,24}",
    )
    .ok()
});

/// `+687 27.25.92`, `+1 (555) 010-2030`, `+59899123456`.
static INTERNATIONAL: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\+[1-9](?:[ \u{a0}\u{202f}./()\-]{0,2}[0-9]){8,14}").ok());

/// `(555) 010-2030`, `555-010-2030`, `1-555-010-2030`, `555.010.2030`.
static NATIONAL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?:1[\- ])?(?:\([2-9][0-9]{2}\)[ \-]?[0-9]{3}[\-. ][0-9]{4}|[2-9][0-9]{2}-[0-9]{3}-[0-9]{4}|[2-9][0-9]{2}\.[0-9]{3}\.[0-9]{4})").ok()
});

/// Endings of file names that look like `icon@2x.png`.
const FILE_ENDINGS: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "svg", "webp", "js", "css", "json", "html", "py", "ts", "md",
];

/// Whether a text may hold an address or a number. Never no in error.
pub(super) fn candidate(text: &str) -> bool {
    let bytes = text.as_bytes();
    let address = memchr::memchr_iter(b'@', bytes).any(|at| {
        let before = at > 0
            && (bytes[at - 1].is_ascii_alphanumeric()
                || matches!(bytes[at - 1], b'.' | b'_' | b'%' | b'+' | b'-'));
        before && bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric)
    });
    let international = || {
        memchr::memchr_iter(b'+', bytes).any(|at| {
            let free = at == 0 || !(bytes[at - 1].is_ascii_digit());
            let rest = bytes.get(at + 1..).unwrap_or_default();
            free && rest.first().is_some_and(|b| (b'1'..=b'9').contains(b))
                && rest.iter().take(400).filter(|b| b.is_ascii_digit()).count() >= 8
        })
    };
    address || international() || national_candidate(bytes)
}

/// Three digits, a separator, three more.
fn national_candidate(bytes: &[u8]) -> bool {
    let digits = |from: usize| {
        bytes
            .get(from..from + 3)
            .is_some_and(|three| three.iter().all(u8::is_ascii_digit))
    };
    memchr::memchr3_iter(b'-', b'.', b')', bytes).any(|at| {
        at >= 3 && digits(at - 3) && (digits(at + 1) || (bytes[at] == b')' && digits(at + 2)))
    })
}

/// Where e-mail addresses stand.
pub(super) fn emails(text: &str) -> impl Iterator<Item = Range<usize>> {
    EMAIL
        .as_ref()
        .into_iter()
        .flat_map(move |regex| regex.find_iter(text))
        .filter(|found| {
            let (user, host) = found.as_str().split_once('@').unwrap_or_default();
            let ending = host.rsplit('.').next().unwrap_or_default();
            // `git@host:path` names a repository.
            user != "git" && !FILE_ENDINGS.iter().any(|e| ending.eq_ignore_ascii_case(e))
        })
        .map(|found| found.range())
}

/// Where telephone numbers stand.
pub(super) fn phones(text: &str) -> impl Iterator<Item = Range<usize>> {
    let international = INTERNATIONAL
        .as_ref()
        .into_iter()
        .flat_map(move |regex| regex.find_iter(text))
        .filter(|found| !is_decimal(found.as_str()));
    let national = NATIONAL
        .as_ref()
        .into_iter()
        .flat_map(move |regex| regex.find_iter(text));
    international
        .chain(national)
        .map(|found| found.range())
        .filter(move |range| stands_free(text, range))
}

/// `+48.85771234`: a coordinate, not a number with one dot.
fn is_decimal(text: &str) -> bool {
    let body = text.trim_start_matches('+');
    body.split_once('.')
        .is_some_and(|(whole, rest)| whole.len() <= 3 && rest.bytes().all(|b| b.is_ascii_digit()))
}

/// No letter, digit or sign of a longer number on either side.
fn stands_free(text: &str, range: &Range<usize>) -> bool {
    let bytes = text.as_bytes();
    let joins =
        |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'=' | b'$' | b'#' | b'&' | b'%');
    let before = range
        .start
        .checked_sub(1)
        .and_then(|at| bytes.get(at))
        .copied();
    // `\n` written out before a number is a line break.
    let written = range.start >= 2 && bytes[range.start - 2] == b'\\';
    let free_before =
        before.is_none_or(|b| written || !(joins(b) || matches!(b, b'-' | b'.' | b'/' | b'+')));
    let after = bytes.get(range.end).copied();
    let more = bytes.get(range.end + 1).copied();
    let runs_on =
        |b: u8| matches!(b, b'-' | b'.' | b'/' | b':') && more.is_some_and(|b| b.is_ascii_digit());
    free_before && after.is_none_or(|b| !(joins(b) || runs_on(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        let mut all: Vec<_> = emails(text).chain(phones(text)).collect();
        all.sort_by_key(|r| r.start);
        all.into_iter().map(|r| &text[r]).collect()
    }

    #[test]
    fn addresses_and_numbers_are_found() {
        for (text, want) in [
            (
                "write to ana.lopez+x@mail.example.com.",
                "ana.lopez+x@mail.example.com",
            ),
            ("<sales@act.example>", "sales@act.example"),
            ("call +687 27.25.92 00", "+687 27.25.92 00"),
            ("+1 (555) 010-2030", "+1 (555) 010-2030"),
            ("tel:+59899123456", "+59899123456"),
            ("(555) 010-2030", "(555) 010-2030"),
            ("Call 555-010-2030 now", "555-010-2030"),
            ("fax 555.010.2030.", "555.010.2030"),
            ("1-800-555-0199", "1-800-555-0199"),
        ] {
            assert_eq!(found(text), [want], "{text}");
            assert!(candidate(text), "{text}");
        }
    }

    #[test]
    fn other_numbers_are_left_alone() {
        for text in [
            "2024-05-13",
            "2024-05-13T10:00:00+00:00",
            "HAT069",
            "03:00:00+1",
            "credit_card_4421486",
            "7447",
            "Mon Dec 02 00:00:00 +0000 2024",
            "+48.85771234",
            "40.7127837,-74.0059413",
            "1732863383553",
            "call_555-010-2030",
            "$1,250.00",
            "192.168.100.2000",
            "1.234.567.8901",
            "978-0-306-40615-7",
            "550e8400-e29b-41d4-a716-446655440000",
            "123 456 7890",
            "01 02 03 04 05",
            "12:30-555-010-2030",
            "icon@2x.png",
            "git@github.com:org/repo",
            "package@1.2.3",
            "@user",
            "a @ b.com",
            "7442736828668529454",
            "x+123456789012",
            "1+1234567890",
            "order 123-456-78901",
        ] {
            assert!(found(text).is_empty(), "{text}: {:?}", found(text));
        }
    }
}
