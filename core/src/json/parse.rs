//! The JSON reader: one loop, an explicit stack, no recursion.

use super::doc::{Cell, Doc, Kind};
use super::flags::Flags;
use super::number;
use super::string;

/// Why a text is not a value, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at byte {offset}")]
pub struct ParseError {
    /// Byte offset of the fault.
    pub offset: usize,
    /// What is wrong there.
    pub kind: ParseErrorKind,
}

impl ParseError {
    pub(super) fn new(offset: usize, kind: ParseErrorKind) -> Self {
        Self { offset, kind }
    }

    /// Whether the text simply ends too early, as a cut one does.
    #[must_use]
    pub fn is_truncation(self) -> bool {
        matches!(
            self.kind,
            ParseErrorKind::EndOfText | ParseErrorKind::UnclosedString
        )
    }
}

/// The kinds of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseErrorKind {
    /// The text ends where a value, a comma or a bracket should stand.
    #[error("the text ends too early")]
    EndOfText,
    /// A byte that cannot stand here.
    #[error("unexpected character")]
    Unexpected,
    /// A string without its closing quote.
    #[error("unclosed string")]
    UnclosedString,
    /// An escape that does not exist.
    #[error("bad escape")]
    BadEscape,
    /// Something that starts like a number and is none.
    #[error("bad number")]
    BadNumber,
    /// A value, and then more.
    #[error("more text after the value")]
    Trailing,
    /// 4 GiB or more.
    #[error("text too large")]
    TooLarge,
}

/// Builds the tape for both readers, JSON and Python.
pub(super) struct Builder<'s> {
    pub(super) doc: Doc<'s>,
    /// Indices of the open containers.
    pub(super) open: Vec<u32>,
}

impl<'s> Builder<'s> {
    pub(super) fn new(src: &'s str) -> Result<Self, ParseError> {
        if u32::try_from(src.len()).is_err() {
            return Err(ParseError::new(0, ParseErrorKind::TooLarge));
        }
        let cells = Vec::with_capacity(src.len() / 8 + 1);
        Ok(Self {
            doc: Doc {
                src,
                buf: String::new(),
                cells,
                flags: Flags::NONE,
                depth: 0,
                is_json: true,
            },
            open: Vec::new(),
        })
    }

    pub(super) fn push(&mut self, kind: Kind, start: usize, end: usize) -> &mut Cell {
        let at = self.doc.cells.len();
        self.doc.cells.push(Cell {
            kind,
            decoded: false,
            surrogate: false,
            start: start as u32,
            end: end as u32,
            next: at as u32 + 1,
            offset: 0,
            len: 0,
        });
        &mut self.doc.cells[at]
    }

    pub(super) fn begin(&mut self, kind: Kind, start: usize) {
        let at = self.doc.cells.len() as u32;
        self.push(kind, start, start);
        self.open.push(at);
        self.doc.depth = self.doc.depth.max(self.open.len() as u32);
    }

    /// Closes the innermost container; its kind, if one was open.
    pub(super) fn end(&mut self, end: usize) -> Option<Kind> {
        let at = self.open.pop()? as usize;
        let next = self.doc.cells.len() as u32;
        let cell = &mut self.doc.cells[at];
        cell.end = end as u32;
        cell.next = next;
        Some(cell.kind)
    }

    /// One more element or entry in the innermost container.
    pub(super) fn count(&mut self) {
        if let Some(&at) = self.open.last() {
            self.doc.cells[at as usize].len += 1;
        }
    }

    pub(super) fn inside(&self) -> Option<Kind> {
        self.open.last().map(|&at| self.doc.cells[at as usize].kind)
    }

    /// A JSON string whose opening quote stands at `start`; returns its end.
    pub(super) fn string(&mut self, start: usize) -> Result<usize, ParseError> {
        let src = self.doc.src;
        let read = string::read(src, start + 1, &mut self.doc.buf, &mut self.doc.flags)?;
        let cell = self.push(Kind::String, start, read.end);
        cell.surrogate = read.surrogate;
        match read.decoded {
            Some((from, to)) => {
                cell.decoded = true;
                cell.offset = from as u32;
                cell.len = (to - from) as u32;
            }
            None => {
                cell.offset = start as u32 + 1;
                cell.len = (read.end - start - 2) as u32;
            }
        }
        Ok(read.end)
    }

    pub(super) fn number(&mut self, start: usize, end: usize) {
        self.doc.flags |= number::flags(&self.doc.src[start..end]);
        self.push(Kind::Number, start, end);
    }
}

pub(super) fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}

enum Expect {
    Value,
    /// A value or `]`.
    FirstElement,
    /// A key or `}`.
    FirstKey,
    Key,
    CommaOrEnd,
}

pub(super) fn parse(src: &str) -> Result<Doc<'_>, ParseError> {
    let bytes = src.as_bytes();
    let mut tape = Builder::new(src)?;
    let mut expect = Expect::Value;
    let mut at = 0;
    loop {
        at = skip_space(bytes, at);
        let Some(&byte) = bytes.get(at) else {
            return Err(ParseError::new(at, ParseErrorKind::EndOfText));
        };
        let unexpected = Err(ParseError::new(at, ParseErrorKind::Unexpected));
        match expect {
            Expect::FirstElement if byte == b']' => at = close(&mut tape, at)?,
            Expect::FirstKey if byte == b'}' => at = close(&mut tape, at)?,
            Expect::Value | Expect::FirstElement => {
                tape.count();
                match byte {
                    b'{' => {
                        tape.begin(Kind::Object, at);
                        at += 1;
                        expect = Expect::FirstKey;
                        continue;
                    }
                    b'[' => {
                        tape.begin(Kind::Array, at);
                        at += 1;
                        expect = Expect::FirstElement;
                        continue;
                    }
                    b'"' => at = tape.string(at)?,
                    b'-' | b'0'..=b'9' | b'N' | b'I' => {
                        let end = number::end(bytes, at)
                            .ok_or(ParseError::new(at, ParseErrorKind::BadNumber))?;
                        tape.number(at, end);
                        at = end;
                    }
                    _ => at = word(&mut tape, bytes, at)?,
                }
            }
            Expect::FirstKey | Expect::Key => {
                if byte != b'"' {
                    return unexpected;
                }
                at = skip_space(bytes, tape.string(at)?);
                match bytes.get(at) {
                    Some(b':') => at += 1,
                    Some(_) => return Err(ParseError::new(at, ParseErrorKind::Unexpected)),
                    None => return Err(ParseError::new(at, ParseErrorKind::EndOfText)),
                }
                expect = Expect::Value;
                continue;
            }
            Expect::CommaOrEnd => match (byte, tape.inside()) {
                (b',', Some(Kind::Object)) => {
                    at += 1;
                    expect = Expect::Key;
                    continue;
                }
                (b',', _) => {
                    at += 1;
                    expect = Expect::Value;
                    continue;
                }
                (b'}', Some(Kind::Object)) | (b']', Some(Kind::Array)) => {
                    at = close(&mut tape, at)?
                }
                _ => return unexpected,
            },
        }
        // A value is complete.
        if tape.open.is_empty() {
            at = skip_space(bytes, at);
            if at < bytes.len() {
                return Err(ParseError::new(at, ParseErrorKind::Trailing));
            }
            return Ok(tape.doc);
        }
        expect = Expect::CommaOrEnd;
    }
}

fn close(tape: &mut Builder<'_>, at: usize) -> Result<usize, ParseError> {
    match tape.end(at + 1) {
        Some(_) => Ok(at + 1),
        None => Err(ParseError::new(at, ParseErrorKind::Unexpected)),
    }
}

fn word(tape: &mut Builder<'_>, bytes: &[u8], at: usize) -> Result<usize, ParseError> {
    for (text, kind, truth) in [
        ("null", Kind::Null, 0),
        ("true", Kind::Bool, 1),
        ("false", Kind::Bool, 0),
    ] {
        let rest = &bytes[at..];
        if rest.starts_with(text.as_bytes()) {
            tape.push(kind, at, at + text.len()).offset = truth;
            return Ok(at + text.len());
        }
        if text.as_bytes().starts_with(rest) {
            return Err(ParseError::new(bytes.len(), ParseErrorKind::EndOfText));
        }
    }
    Err(ParseError::new(at, ParseErrorKind::Unexpected))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_million_brackets_neither_overflow_nor_slow_down() {
        let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
        let doc = Doc::parse(&deep).unwrap();
        assert_eq!(doc.depth(), 1_000_000);
        assert_eq!(crate::json::canonical(doc.root()).0, deep);
        assert!(
            Doc::parse(&"[".repeat(1_000_000))
                .unwrap_err()
                .is_truncation()
        );
    }

    #[test]
    fn oddities_survive_and_are_flagged() {
        let doc =
            Doc::parse("{\"a\":[NaN,-Infinity,1e400,9007199254740993,\"\\ud83d x\",\"a\nb\"]}")
                .unwrap();
        let names: Vec<_> = doc.flags().names().collect();
        assert_eq!(
            names,
            [
                "nan",
                "infinity",
                "lone_surrogate",
                "big_integer",
                "control_character"
            ]
        );
        let list = doc.root().get("a").unwrap();
        assert_eq!(list.elements().nth(4).unwrap().as_str(), Some("\\ud83d x"));
        assert_eq!(list.elements().nth(3).unwrap().raw(), "9007199254740993");
        assert_eq!(
            Doc::parse("\"\\ud83d\\ude00\"").unwrap().root().as_str(),
            Some("😀")
        );
    }

    #[test]
    fn faults_name_their_place() {
        for (text, offset, kind) in [
            ("", 0, ParseErrorKind::EndOfText),
            ("{\"a\":1,}", 7, ParseErrorKind::Unexpected),
            ("[1 2]", 3, ParseErrorKind::Unexpected),
            ("{} {}", 3, ParseErrorKind::Trailing),
            ("\"abc", 1, ParseErrorKind::UnclosedString),
            ("\"\\x\"", 1, ParseErrorKind::BadEscape),
            ("01", 0, ParseErrorKind::BadNumber),
            ("[1}", 2, ParseErrorKind::Unexpected),
            ("nul", 3, ParseErrorKind::EndOfText),
        ] {
            assert_eq!(
                Doc::parse(text).unwrap_err(),
                ParseError::new(offset, kind),
                "{text}"
            );
        }
    }

    #[test]
    fn string_values_are_values_not_keys() {
        let doc = Doc::parse(r#"{"k":["a",{"x":"b","y":1,"z":"c"}],"e":"d"}"#).unwrap();
        let texts: Vec<_> = doc.string_values().filter_map(Node::as_str).collect();
        assert_eq!(texts, ["a", "b", "c", "d"]);
    }

    use super::super::doc::Node;

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".*") {
            if let Ok(doc) = Doc::parse(&text) {
                let (canonical, _) = crate::json::canonical(doc.root());
                let again = Doc::parse(&canonical).unwrap();
                prop_assert_eq!(crate::json::canonical(again.root()).0, canonical);
            }
            let _ = Doc::parse_python(&text);
        }

        #[test]
        fn json_like_text_is_read_or_refused(text in r#"[\[\]{}:,"'\\a0-9eE.NInfuty \-\n]{0,40}"#) {
            let _ = Doc::parse(&text);
            let _ = Doc::parse_python(&text);
        }
    }
}
