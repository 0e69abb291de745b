//! The text that Python's `repr` makes of data, read into the same tape.
//!
//! Servers that answer `str(result)` are common (BFCL, mcp-server-sqlite,
//! ToolBench). Tuples and sets read as arrays, keys that are no strings as
//! their text, and objects without a literal form (`mpf('2.0')`,
//! `<Foo at 0x7f..>`) as one opaque string.

use super::doc::{Doc, Kind};
use super::flags::Flags;
use super::number;
use super::parse::{Builder, ParseError, ParseErrorKind, skip_space};

/// What an open bracket has turned out to be so far.
#[derive(Clone, Copy, PartialEq)]
enum Bracket {
    List(u8),
    /// `{`, nothing read yet, or one element whose meaning `:` will decide.
    Brace,
    Set,
    /// In a dict, at a key.
    Key,
    /// In a dict, at a value.
    Value,
}

pub(super) fn parse(src: &str) -> Result<Doc<'_>, ParseError> {
    let bytes = src.as_bytes();
    let mut tape = Builder::new(src)?;
    tape.doc.is_json = false;
    // Every string is decoded, which makes none longer.
    tape.doc.buf.reserve(src.len());
    let mut brackets: Vec<Bracket> = Vec::new();
    let mut at = 0;
    loop {
        at = skip_space(bytes, at);
        let Some(&byte) = bytes.get(at) else {
            return Err(ParseError::new(at, ParseErrorKind::EndOfText));
        };
        let closes = match brackets.last() {
            Some(Bracket::List(close)) => byte == *close,
            Some(Bracket::Brace | Bracket::Set | Bracket::Key) => byte == b'}',
            _ => false,
        };
        if closes {
            // `[1, 2,]` and `(1,)` are fine in Python.
            brackets.pop();
            tape.end(at + 1);
            at += 1;
        } else {
            if brackets.last() != Some(&Bracket::Value) {
                tape.count();
            }
            match byte {
                b'[' | b'(' => {
                    tape.begin(Kind::Array, at);
                    brackets.push(Bracket::List(if byte == b'[' { b']' } else { b')' }));
                    at += 1;
                    continue;
                }
                b'{' => {
                    tape.begin(Kind::Object, at);
                    brackets.push(Bracket::Brace);
                    at += 1;
                    continue;
                }
                _ => at = scalar(&mut tape, src, at)?,
            }
        }
        // A value is complete; what follows decides what it was.
        loop {
            let Some(&bracket) = brackets.last() else {
                at = skip_space(bytes, at);
                if at < bytes.len() {
                    return Err(ParseError::new(at, ParseErrorKind::Trailing));
                }
                return Ok(tape.doc);
            };
            at = skip_space(bytes, at);
            let Some(&byte) = bytes.get(at) else {
                return Err(ParseError::new(at, ParseErrorKind::EndOfText));
            };
            let unexpected = Err(ParseError::new(at, ParseErrorKind::Unexpected));
            match (bracket, byte) {
                (Bracket::Brace | Bracket::Key, b':') => {
                    key_from_last(&mut tape);
                    set_last(&mut brackets, Bracket::Value);
                    at += 1;
                }
                (Bracket::Brace, b',' | b'}') => {
                    if let Some(&open) = tape.open.last() {
                        tape.doc.cells[open as usize].kind = Kind::Array;
                    }
                    set_last(&mut brackets, Bracket::Set);
                    continue;
                }
                (Bracket::Key, _) => return unexpected,
                (Bracket::Value, b',') => {
                    set_last(&mut brackets, Bracket::Key);
                    at += 1;
                }
                (_, b',') => at += 1,
                (Bracket::List(close), _) if byte == close => {
                    brackets.pop();
                    tape.end(at + 1);
                    at += 1;
                    continue;
                }
                (Bracket::Set | Bracket::Value, b'}') => {
                    brackets.pop();
                    tape.end(at + 1);
                    at += 1;
                    continue;
                }
                _ => return unexpected,
            }
            break;
        }
    }
}

fn set_last(brackets: &mut [Bracket], to: Bracket) {
    if let Some(last) = brackets.last_mut() {
        *last = to;
    }
}

/// The value just read in a dict was a key: make it a string cell.
fn key_from_last(tape: &mut Builder<'_>) {
    let Some(&open) = tape.open.last() else {
        return;
    };
    // The key is the last direct child of the open dict.
    let mut at = open as usize + 1;
    while (tape.doc.cells[at].next as usize) < tape.doc.cells.len() {
        at = tape.doc.cells[at].next as usize;
    }
    tape.doc.cells.truncate(at + 1);
    let cell = &mut tape.doc.cells[at];
    if cell.kind != Kind::String {
        cell.kind = Kind::String;
        cell.decoded = false;
        cell.offset = cell.start;
        cell.len = cell.end - cell.start;
        cell.next = at as u32 + 1;
    }
}

fn scalar(tape: &mut Builder<'_>, src: &str, at: usize) -> Result<usize, ParseError> {
    let bytes = src.as_bytes();
    let quote = quote_after_prefix(bytes, at);
    if let Some(start) = quote {
        return string(tape, src, at, start);
    }
    for (word, kind, truth) in [
        ("None", Kind::Null, 0),
        ("True", Kind::Bool, 1),
        ("False", Kind::Bool, 0),
        ("null", Kind::Null, 0),
        ("true", Kind::Bool, 1),
        ("false", Kind::Bool, 0),
    ] {
        if word_at(src, at, word) {
            tape.push(kind, at, at + word.len()).offset = truth;
            return Ok(at + word.len());
        }
    }
    for word in ["inf", "-inf", "nan", "-nan"] {
        if word_at(src, at, word) {
            let flag = if word.ends_with('f') {
                Flags::INFINITY
            } else {
                Flags::NAN
            };
            tape.doc.flags |= flag;
            tape.push(Kind::Number, at, at + word.len());
            return Ok(at + word.len());
        }
    }
    if let Some(end) = number::end(bytes, at) {
        tape.number(at, end);
        return Ok(end);
    }
    let end = opaque_end(bytes, at).ok_or_else(|| {
        let end = at >= bytes.len();
        let kind = if end {
            ParseErrorKind::EndOfText
        } else {
            ParseErrorKind::Unexpected
        };
        ParseError::new(at, kind)
    })?;
    let cell = tape.push(Kind::String, at, end);
    cell.offset = at as u32;
    cell.len = (end - at) as u32;
    Ok(end)
}

fn word_at(src: &str, at: usize, word: &str) -> bool {
    let follows = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'(' || b == b'.';
    src.as_bytes()[at..].starts_with(word.as_bytes())
        && !src
            .as_bytes()
            .get(at + word.len())
            .copied()
            .is_some_and(follows)
}

/// `'`, `"`, `b'`, `rb"` and the like: where the quote stands.
fn quote_after_prefix(bytes: &[u8], at: usize) -> Option<usize> {
    let mut i = at;
    while i < at + 2 && matches!(bytes.get(i), Some(b'b' | b'B' | b'r' | b'R' | b'u' | b'U')) {
        i += 1;
    }
    matches!(bytes.get(i), Some(b'\'' | b'"')).then_some(i)
}

/// `Name.part(...)` or `<...>`: where it ends, brackets and quotes inside respected.
fn opaque_end(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at) == Some(&b'<') {
        return memchr::memchr(b'>', &bytes[at..]).map(|n| at + n + 1);
    }
    let mut i = at;
    if !bytes.get(i)?.is_ascii_alphabetic() {
        return None;
    }
    while bytes
        .get(i)
        .is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.'))
    {
        i += 1;
    }
    if bytes.get(i) != Some(&b'(') {
        return None;
    }
    let (mut depth, mut quote) = (0usize, None);
    while let Some(&b) = bytes.get(i) {
        match (quote, b) {
            (Some(_), b'\\') => i += 1,
            (Some(q), _) if b == q => quote = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"') => quote = Some(b),
            (None, b'(' | b'[' | b'{') => depth += 1,
            (None, b')' | b']' | b'}') => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(i + 1);
                }
            }
            _ => {}
        }
        i += 1;
    }
    None
}

fn string(
    tape: &mut Builder<'_>,
    src: &str,
    start: usize,
    quote_at: usize,
) -> Result<usize, ParseError> {
    let bytes = src.as_bytes();
    let quote = bytes[quote_at];
    let mut at = quote_at + 1;
    let from = tape.doc.buf.len();
    loop {
        let plain = at;
        at = super::string::next_special(bytes, at, quote);
        tape.doc.buf.push_str(&src[plain..at]);
        match bytes.get(at) {
            None => return Err(ParseError::new(start, ParseErrorKind::UnclosedString)),
            Some(&b) if b == quote => break,
            Some(b'\\') => at = escape(tape, src, at)?,
            Some(&b) => {
                tape.doc.flags |= Flags::CONTROL_CHARACTER;
                tape.doc.buf.push(b as char);
                at += 1;
            }
        }
    }
    let to = tape.doc.buf.len();
    let cell = tape.push(Kind::String, start, at + 1);
    cell.decoded = true;
    cell.offset = from as u32;
    cell.len = (to - from) as u32;
    Ok(at + 1)
}

fn escape(tape: &mut Builder<'_>, src: &str, at: usize) -> Result<usize, ParseError> {
    let bytes = src.as_bytes();
    let hex = |from: usize, digits: usize| -> Option<u32> {
        u32::from_str_radix(src.get(from..from + digits)?, 16).ok()
    };
    let bad = ParseError::new(at, ParseErrorKind::BadEscape);
    let Some(&kind) = bytes.get(at + 1) else {
        return Err(ParseError::new(at, ParseErrorKind::UnclosedString));
    };
    let (code, len) = match kind {
        b'n' => (10, 2),
        b't' => (9, 2),
        b'r' => (13, 2),
        b'a' => (7, 2),
        b'b' => (8, 2),
        b'f' => (12, 2),
        b'v' => (11, 2),
        b'0' => (0, 2),
        b'x' => (hex(at + 2, 2).ok_or(bad)?, 4),
        b'u' => (hex(at + 2, 4).ok_or(bad)?, 6),
        b'U' => (hex(at + 2, 8).ok_or(bad)?, 10),
        b'\\' | b'\'' | b'"' => (u32::from(kind), 2),
        // Python keeps an unknown escape as it stands.
        _ => (u32::from(b'\\'), 1),
    };
    match char::from_u32(code) {
        Some(c) => tape.doc.buf.push(c),
        None => {
            tape.doc.flags |= Flags::LONE_SURROGATE;
            tape.doc.buf.push_str(&src[at..at + len]);
        }
    }
    Ok(at + len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::canonical;

    fn read(text: &str) -> String {
        canonical(Doc::parse_python(text).unwrap().root()).0
    }

    #[test]
    fn repr_reads_as_the_json_of_the_same_values() {
        assert_eq!(
            read("[{'a': 9007199254740993, 'b': inf, 'c': None}]"),
            r#"[{"a":9007199254740993,"b":Infinity,"c":null}]"#
        );
        assert_eq!(read("('x', True, (1,), [])"), r#"["x",true,[1],[]]"#);
        assert_eq!(read("{'b', 'a'}"), r#"["b","a"]"#);
        assert_eq!(read("{}"), "{}");
        assert_eq!(
            read("{1: 'a', (1, 2): {'x': {3}},}"),
            r#"{"(1, 2)":{"x":[3]},"1":"a"}"#
        );
        assert_eq!(read(r#""it's""#), r#""it's""#);
        assert_eq!(read(r"'it\'s \x41\n\u00e9'"), r#""it's A\né""#);
        assert_eq!(read("{'result': mpf('2.0')}"), r#"{"result":"mpf('2.0')"}"#);
        assert_eq!(
            read("[<Foo object at 0x7f>, b'x']"),
            r#"["<Foo object at 0x7f>","x"]"#
        );
    }

    #[test]
    fn what_is_no_repr_is_refused() {
        for text in [
            "",
            "{'a' 1}",
            "[1",
            "hello world",
            "{'a': 1, 2}",
            "'x' is missing",
            "{1, 2: 3}",
            "(]",
        ] {
            assert!(Doc::parse_python(text).is_err(), "{text}");
        }
        assert!(
            Doc::parse_python("{'a': [1, 2")
                .unwrap_err()
                .is_truncation()
        );
    }
}
