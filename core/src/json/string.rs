//! The inside of a JSON string: finding its end fast, decoding its escapes.

use super::flags::Flags;
use super::parse::{ParseError, ParseErrorKind};

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

const fn has_zero(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGHS
}

/// The first byte at or after `at` that is `quote`, a backslash or a control
/// character; the end of the text if there is none. Eight bytes at a time.
pub(super) fn next_special(bytes: &[u8], mut at: usize, quote: u8) -> usize {
    let quotes = ONES * quote as u64;
    let backslashes = ONES * b'\\' as u64;
    while let Some(chunk) = bytes.get(at..at + 8) {
        let word = u64::from_le_bytes([
            chunk[0], chunk[1], chunk[2], chunk[3], chunk[4], chunk[5], chunk[6], chunk[7],
        ]);
        // Bytes below 0x20 have their three top bits clear.
        let control = has_zero(word & (ONES * 0xE0));
        let hit = has_zero(word ^ quotes) | has_zero(word ^ backslashes) | control;
        if hit != 0 {
            return at + (hit.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while at < bytes.len() && bytes[at] != quote && bytes[at] != b'\\' && bytes[at] >= 0x20 {
        at += 1;
    }
    at
}

/// What [`read`] found: the string's end (after the quote) and its text.
pub(super) struct Read {
    pub(super) end: usize,
    /// Range in the side buffer if escapes were decoded.
    pub(super) decoded: Option<(usize, usize)>,
    pub(super) surrogate: bool,
}

/// Reads the string whose opening quote stands before `start`.
pub(super) fn read(
    src: &str,
    start: usize,
    buf: &mut String,
    flags: &mut Flags,
) -> Result<Read, ParseError> {
    let bytes = src.as_bytes();
    let mut at = start;
    // Fast path: no escape up to the closing quote.
    loop {
        at = next_special(bytes, at, b'"');
        match bytes.get(at) {
            Some(b'"') => {
                return Ok(Read {
                    end: at + 1,
                    decoded: None,
                    surrogate: false,
                });
            }
            Some(b'\\') => break,
            Some(_) => {
                *flags |= Flags::CONTROL_CHARACTER;
                at += 1;
            }
            None => return Err(ParseError::new(start, ParseErrorKind::UnclosedString)),
        }
    }
    let from = buf.len();
    buf.push_str(&src[start..at]);
    let mut surrogate = false;
    loop {
        // Invariant: `at` is at a special byte.
        match bytes.get(at) {
            None => return Err(ParseError::new(start, ParseErrorKind::UnclosedString)),
            Some(b'"') => {
                let decoded = Some((from, buf.len()));
                return Ok(Read {
                    end: at + 1,
                    decoded,
                    surrogate,
                });
            }
            Some(b'\\') => at = escape(src, at, buf, &mut surrogate)?,
            Some(_) => {
                *flags |= Flags::CONTROL_CHARACTER;
                buf.push(bytes[at] as char);
                at += 1;
            }
        }
        let plain = at;
        at = next_special(bytes, at, b'"');
        buf.push_str(&src[plain..at]);
        if surrogate {
            *flags |= Flags::LONE_SURROGATE;
        }
    }
}

/// Decodes the escape at `at`; returns where the text goes on.
fn escape(
    src: &str,
    at: usize,
    buf: &mut String,
    surrogate: &mut bool,
) -> Result<usize, ParseError> {
    let bad = || ParseError::new(at, ParseErrorKind::BadEscape);
    let bytes = src.as_bytes();
    let plain = match bytes.get(at + 1) {
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => {
            let first = hex4(bytes, at + 2).ok_or_else(bad)?;
            let mut next = at + 6;
            let mut code = u32::from(first);
            if (0xD800..0xDC00).contains(&first)
                && bytes.get(next..next + 2) == Some(b"\\u")
                && let Some(low) = hex4(bytes, next + 2).filter(|l| (0xDC00..0xE000).contains(l))
            {
                code = 0x10000 + ((u32::from(first) - 0xD800) << 10) + (u32::from(low) - 0xDC00);
                next += 6;
            }
            match char::from_u32(code) {
                Some(c) => buf.push(c),
                None => {
                    *surrogate = true;
                    buf.push_str("\\u");
                    for shift in [12, 8, 4, 0] {
                        let digit = (code >> shift) & 0xF;
                        buf.push(char::from_digit(digit, 16).unwrap_or('0'));
                    }
                }
            }
            return Ok(next);
        }
        _ => return Err(bad()),
    };
    buf.push(plain);
    Ok(at + 2)
}

fn hex4(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 4)?;
    digits.iter().try_fold(0u16, |code, &d| {
        Some(code << 4 | (d as char).to_digit(16)? as u16)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_bytes_are_found_at_every_place_of_a_word() {
        for place in 0..20 {
            for special in [b'"', b'\\', b'\n', 0x1F, 0] {
                let mut text = vec![b'x'; 20];
                text[place] = special;
                assert_eq!(next_special(&text, 0, b'"'), place, "{special} at {place}");
            }
        }
        assert_eq!(next_special(b"caf\xc3\xa9 \x7f \xff no", 0, b'"'), 12);
    }
}
