//! Which values of an answer name things.

use super::answer::{Answer, Form};
use super::diff::{Diff, SHOWN_CHARS};
use super::leaf::decode;
use super::scan::{Malformed, string_end};
use super::tokens::{hash, is_alphanumeric, is_unspaced};
use crate::json::Doc;

/// Hashes of the strings of a JSON value that look like identifiers,
/// sorted, each once: 3 to 64 characters without white space, that hold letters
/// and digits (`YAX4DR`, `mia_li_3668`) or are five or more capitals, and do not
/// start like a date; or an address (`mia@example.org`). A text that is no JSON is cut at its
/// white space and punctuation, and at characters of scripts written without spaces.
#[must_use]
pub fn identifiers(text: &str) -> Vec<u64> {
    let mut found = vec![];
    of_text(text, &mut found);
    found.sort_unstable();
    found.dedup();
    found
}

/// [`identifiers()`] of an answer, in any order.
pub(super) fn of_answer(answer: Answer<'_>, found: &mut Vec<u64>) {
    let mark = found.len();
    if answer.form == Form::Text || values(answer.text, found).is_err() {
        found.truncate(mark);
        words(answer.text, found);
    }
}

/// [`identifiers()`] of a differing value as an explanation shows it, in any order.
pub(super) fn of_value(value: &str, found: &mut Vec<u64>) {
    if value.len() > SHOWN_CHARS
        && let Some((end, _)) = value.char_indices().nth(SHOWN_CHARS)
    {
        // What was cut is no JSON, and its last word is not known.
        let shown = &value[..end];
        let whole = shown.rfind(ends_word).map_or("", |at| &shown[..at]);
        return words(whole, found);
    }
    let string = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
    match string.filter(|inner| !inner.contains(['"', '\\'])) {
        Some(inner) => keep(inner, found),
        None => of_text(value, found),
    }
}

fn of_text(text: &str, found: &mut Vec<u64>) {
    let mark = found.len();
    if Doc::parse(text).is_err() || values(text, found).is_err() {
        found.truncate(mark);
        words(text, found);
    }
}

/// The strings of a JSON text that are no keys.
fn values(json: &str, found: &mut Vec<u64>) -> Result<(), Malformed> {
    let bytes = json.as_bytes();
    let mut at = 0;
    while let Some(ahead) = memchr::memchr(b'"', &bytes[at..]) {
        let from = at + ahead;
        let (end, escaped) = string_end(bytes, from)?;
        let next = bytes[end..].iter().find(|byte| !byte.is_ascii_whitespace());
        if next != Some(&b':') {
            match escaped {
                true => keep(&decode(&json[from..end]), found),
                false => keep(&json[from + 1..end - 1], found),
            }
        }
        at = end;
    }
    Ok(())
}

fn words(text: &str, found: &mut Vec<u64>) {
    let bytes = text.as_bytes();
    let (mut start, mut at, mut seen) = (0, 0, 0);
    loop {
        let class = bytes
            .get(at)
            .map_or(ENDS_WORD, |byte| CLASS[usize::from(*byte)]);
        let width = match class {
            _ if class & ENDS_WORD != 0 => 1,
            _ if class & LEADS != 0 => {
                let c = text[at..].chars().next().unwrap_or_default();
                if ends_word(c) { c.len_utf8() } else { 0 }
            }
            _ => 0,
        };
        if width == 0 {
            seen |= class & !LEADS;
            at += 1;
            continue;
        }
        if names(seen, &bytes[start..at]) {
            found.push(hash(&bytes[start..at]));
        }
        if at >= bytes.len() {
            return;
        }
        at += width;
        (start, seen) = (at, 0);
    }
}

fn keep(value: &str, found: &mut Vec<u64>) {
    if is_identifier(value) {
        found.push(hash(value.as_bytes()));
    }
}

const DIGIT: u8 = 1;
const UPPER: u8 = 2;
const LOWER: u8 = 4;
/// What else an identifier may hold.
const MARK: u8 = 8;
const OTHER: u8 = 16;
/// What words of a bare text are cut at.
const ENDS_WORD: u8 = 32;
/// Begins a character beyond ASCII.
const LEADS: u8 = 64;
const AT: u8 = 128;

/// What each byte is.
const CLASS: [u8; 256] = {
    let mut table = [OTHER; 256];
    let mut at = 0xC2;
    while at < 0xF5 {
        table[at] = OTHER | LEADS;
        at += 1;
    }
    at = 0;
    while at < 128 {
        let byte = at as u8;
        table[at] = match byte {
            b'0'..=b'9' => DIGIT,
            b'A'..=b'Z' => UPPER,
            b'a'..=b'z' => LOWER,
            b'.' => MARK | ENDS_WORD,
            b'_' | b'-' | b'#' => MARK,
            b'@' => MARK | AT,
            b'\t'..=b'\r' | b' ' => OTHER | ENDS_WORD,
            b'"' | b'\'' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b',' | b';' | b':' => {
                OTHER | ENDS_WORD
            }
            _ => OTHER,
        };
        at += 1;
    }
    table
};

fn ends_word(c: char) -> bool {
    match u8::try_from(c) {
        Ok(byte) if byte < 0x80 => CLASS[usize::from(byte)] & ENDS_WORD != 0,
        // Where a shown value was cut, its last word is not known.
        _ if c == '…' => false,
        // A letter that others join is part of a word, which is no identifier then.
        _ => c.is_whitespace() || !is_alphanumeric(c) || is_unspaced(c),
    }
}

fn is_identifier(text: &str) -> bool {
    let bytes = text.as_bytes();
    let of = |seen, byte: &u8| seen | CLASS[usize::from(*byte)];
    bytes.len() <= LONGEST && names(bytes.iter().fold(0, of), bytes)
}

/// Bytes of the longest identifier.
const LONGEST: usize = 64;

/// Whether a text in which these classes were seen is an identifier.
fn names(seen: u8, bytes: &[u8]) -> bool {
    if seen & OTHER != 0 || !(3..=LONGEST).contains(&bytes.len()) {
        return false;
    }
    if seen & AT != 0 && is_address(bytes) {
        return true;
    }
    if seen & DIGIT == 0 || seen & (UPPER | LOWER) == 0 {
        return seen == UPPER && bytes.len() >= 5;
    }
    let date = bytes.len() >= 5 && bytes[..4].iter().all(u8::is_ascii_digit) && bytes[4] == b'-';
    // Hexadecimal ones (UUIDs) may start like a date.
    !date || bytes.len() == 36
}

/// `name@host.domain`.
fn is_address(bytes: &[u8]) -> bool {
    let mut parts = bytes.split(|byte| *byte == b'@');
    let (name, host) = (parts.next(), parts.next());
    let dotted = |host: &[u8]| {
        host.windows(3)
            .any(|w| w[1] == b'.' && w[0] != b'.' && w[2] != b'.')
    };
    parts.next().is_none() && name.is_some_and(|name| !name.is_empty()) && host.is_some_and(dotted)
}

impl Diff {
    /// The identifiers under the paths that differ, as far as their values are shown.
    #[must_use]
    pub fn identifiers(&self) -> Vec<u64> {
        let shown = self.paths.iter().flat_map(|diff| [&diff.left, &diff.right]);
        let mut found = vec![];
        for value in shown.flatten() {
            of_text(value, &mut found);
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gap::Comparer;
    use crate::json::push_json_string;
    use proptest::prelude::*;

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
        // Keys name nothing; white space of any script ends a word; accents are no identifiers.
        assert_eq!(identifiers(r#"{"A1B2" : "x"}"#), []);
        assert_eq!(
            identifiers("a\u{3000}YAX4DR\u{85}b é1YAX"),
            identifiers("YAX4DR")
        );
        assert_eq!(identifiers(r#"["\u0059AX4DR"]"#), identifiers("YAX4DR"));
        assert_eq!(identifiers("预订新为YAX4DR。"), identifiers("YAX4DR"));
        assert!(
            is_identifier("mia@example.org")
                && !is_identifier("mia@example")
                && !is_identifier("@a.b")
        );
    }

    /// What this module says, read off the whole tree and by the characters.
    fn plainly(text: &str) -> Vec<u64> {
        let named = |v: &str| {
            let any = |is: fn(&u8) -> bool| v.as_bytes().iter().any(is);
            let all = |is: fn(&u8) -> bool| v.as_bytes().iter().all(is);
            let date = v.len() > 4
                && v.as_bytes()[..4].iter().all(u8::is_ascii_digit)
                && v.as_bytes()[4] == b'-';
            let both = any(u8::is_ascii_digit) && any(u8::is_ascii_alphabetic);
            let address = v.split_once('@').is_some_and(|(name, host)| {
                let dots = host.match_indices('.').map(|(at, _)| at);
                let inside = |at: usize| {
                    let around = [at.checked_sub(1), Some(at + 1)];
                    around.iter().all(|at| {
                        at.and_then(|at| host.as_bytes().get(at))
                            .is_some_and(|b| *b != b'.')
                    })
                };
                !name.is_empty() && !host.contains('@') && dots.into_iter().any(inside)
            });
            (3..=64).contains(&v.len())
                && all(|b| b.is_ascii_alphanumeric() || b"_-#@.".contains(b))
                && (address
                    || (both && (!date || v.len() == 36))
                    || (v.len() >= 5 && all(u8::is_ascii_uppercase)))
        };
        let ends = |c: char| {
            c.is_whitespace()
                || "\"'()[]{},;:.".contains(c)
                || (!c.is_ascii() && c != '…' && (!c.is_alphanumeric() || is_unspaced(c)))
        };
        let doc = Doc::parse(text);
        let mut found: Vec<u64> = match &doc {
            Ok(doc) => doc
                .string_values()
                .filter_map(|v| v.as_str())
                .filter(|v| named(v))
                .map(|v| hash(v.as_bytes()))
                .collect(),
            Err(_) => text
                .split(ends)
                .filter(|v| named(v))
                .map(|v| hash(v.as_bytes()))
                .collect(),
        };
        found.sort_unstable();
        found.dedup();
        found
    }

    proptest! {
        #[test]
        fn as_the_tree_says(text in r#"([A-Z0-9]{3,6}|[a-z]|[ \t\u{3000}\u{a0}é東—…@.,:_'"{}\[\]-]|2024-0|"a@[a.@]{1,4}"|"[A-Z0-9]{0,6}"|"[A-Z0-9]{4}" ?:|\\u0041){0,30}"#) {
            prop_assert_eq!(identifiers(&text), plainly(&text));
            let listed = format!("[{text}]");
            prop_assert_eq!(identifiers(&listed), plainly(&listed));
        }

        #[test]
        fn a_differing_value_names_what_its_explanation_shows(
            a in r#"([A-Z0-9]{3,6}|[ .,:é東])*"#,
            b in r#"([A-Z0-9]{3,6}|[ .,:é東"\\]){0,120}"#,
        ) {
            let json = |text: &str| {
                let mut out = "{\"k\":".to_owned();
                push_json_string(text, &mut out);
                out + "}"
            };
            let (left, right) = (json(&a), json(&b));
            let (left, right) = (Answer::json(&left), Answer::json(&right));
            let diff = Comparer::default().diff(left, right, 9);
            let mut found = vec![];
            for value in diff.paths.iter().flat_map(|p| [&p.left, &p.right]).flatten() {
                of_value(value, &mut found);
            }
            found.sort_unstable();
            found.dedup();
            prop_assert_eq!(found, diff.identifiers());
        }
    }
}
