//! The shape of a leaf: what stays when an id, a time or a token is another one.

use super::leaf;

/// From this length on a run of hex digits is an identifier even without a digit.
const HEX_RUN: usize = 8;
/// From this length on a run of capitals is a code (`NRTLAX`).
const CODE_RUN: usize = 5;

/// The shape of a text.
///
/// * A date is `date`; a time of day or a date with one `time` or `datetime`,
///   whatever its fraction of a second and its zone.
/// * A UUID is `uuid`.
/// * Else run by run: letters only `L<characters>`; letters and digits, digits
///   only, five or more capitals, eight or more hex digits `W<characters>`;
///   white space one space; anything else stands for itself.
///
/// ```
/// use fidelake_core::gap::shape;
/// assert_eq!(shape("order #A12-7"), "L5 #W3-W1");
/// assert_eq!(shape("2024-05-01T10:00:00Z"), shape("2023-11-30 09:59:59.123+02:00"));
/// ```
#[must_use]
pub fn shape(text: &str) -> String {
    let bytes = text.as_bytes();
    match time(bytes) {
        Some(name) => return name.to_owned(),
        None if is_uuid(bytes) => return "uuid".to_owned(),
        None => {}
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = first.is_alphanumeric();
        let len = if word {
            rest.find(|c: char| !c.is_alphanumeric())
        } else if first.is_whitespace() {
            rest.find(|c: char| !c.is_whitespace())
        } else {
            Some(first.len_utf8())
        };
        let (run, after) = rest.split_at(len.unwrap_or(rest.len()));
        rest = after;
        if word {
            out.push(if is_code(run) { 'W' } else { 'L' });
            out.push_str(&run.chars().count().to_string());
        } else if first.is_whitespace() {
            out.push(' ');
        } else {
            out.push(first);
        }
    }
    out
}

/// The shape of a leaf of canonical JSON: a string as [`shape`]; any integer
/// alike, any other number alike; `null`, booleans and containers themselves.
pub(super) fn of_leaf(raw: &str) -> String {
    match raw.as_bytes().first() {
        Some(b'"') => shape(&leaf::decode(raw)),
        Some(b'-' | b'0'..=b'9') if raw.ends_with(|c: char| c.is_ascii_digit()) => {
            let integer = raw.bytes().all(|b| b.is_ascii_digit() || b == b'-');
            if integer { "integer" } else { "decimal" }.to_owned()
        }
        _ => raw.to_owned(),
    }
}

fn is_code(run: &str) -> bool {
    let bytes = run.as_bytes();
    run.chars().any(char::is_numeric)
        || (bytes.len() >= CODE_RUN && bytes.iter().all(u8::is_ascii_uppercase))
        || (bytes.len() >= HEX_RUN && bytes.iter().all(u8::is_ascii_hexdigit))
}

fn is_uuid(bytes: &[u8]) -> bool {
    bytes.len() == 36
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Whether the bytes start like this: `0` is a digit, anything else itself.
fn starts(bytes: &[u8], like: &[u8]) -> bool {
    bytes.len() >= like.len()
        && like.iter().zip(bytes).all(|(want, byte)| match want {
            b'0' => byte.is_ascii_digit(),
            _ => want == byte,
        })
}

fn time(bytes: &[u8]) -> Option<&'static str> {
    let dated = starts(bytes, b"0000-00-00");
    let mut rest = bytes;
    if dated {
        rest = &rest[10..];
        match rest.first() {
            None => return Some("date"),
            Some(b'T' | b't' | b' ') => rest = &rest[1..],
            Some(_) => return None,
        }
    }
    if !starts(rest, b"00:00") {
        return None;
    }
    rest = &rest[5..];
    if starts(rest, b":00") {
        rest = &rest[3..];
        if rest.len() > 1 && matches!(rest[0], b'.' | b',') && rest[1].is_ascii_digit() {
            let digits = rest[1..].iter().take_while(|b| b.is_ascii_digit()).count();
            rest = &rest[1 + digits..];
        }
    }
    let zone = match rest {
        [] | [b'Z' | b'z'] => true,
        [b'+' | b'-', zone @ ..] => [&b"00:00"[..], b"0000", b"00"]
            .iter()
            .any(|like| zone.len() == like.len() && starts(zone, like)),
        _ => false,
    };
    zone.then_some(if dated { "datetime" } else { "time" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shapes_by_hand() {
        for (text, wanted) in [
            ("", ""),
            ("YAX4DR", "W6"),
            ("PGWUVE", "W6"),
            ("JFK", "L3"),
            ("mia_li_3668", "L3_L2_W4"),
            ("550e8400-e29b-41d4-a716-446655440000", "uuid"),
            ("deadbeef", "W8"),
            ("2024-05-20", "date"),
            ("2024-05-20T08:28", "datetime"),
            ("2024-05-20T08:28:51.1234+0100", "datetime"),
            ("08:28:51Z", "time"),
            ("2024-05-20x", "W4-W2-W3"),
            ("2024-05-20T08:28x", "W4-W2-W5:W3"),
            ("a  b\nc", "L1 L1 L1"),
            ("é1 東京", "W2 L2"),
        ] {
            assert_eq!(shape(text), wanted, "{text}");
        }
        assert_eq!(of_leaf("12"), of_leaf("-7000"));
        assert_eq!(of_leaf("1.5"), of_leaf("2e70"));
        assert_ne!(of_leaf("1.5"), of_leaf("2"));
        assert_eq!(of_leaf("NaN"), "NaN");
    }

    proptest! {
        #[test]
        fn digits_do_not_matter(text in r"[a-z0-9:. +TZ-]{0,30}", d in 1u8..9) {
            let turned: String = text
                .chars()
                .map(|c| c.to_digit(10).map_or(c, |v| char::from(b'0' + (v as u8 + d) % 10)))
                .collect();
            prop_assert_eq!(shape(&text), shape(&turned));
        }

        #[test]
        fn any_text_has_one(text in ".{0,40}") {
            let _ = shape(&text);
        }
    }
}
