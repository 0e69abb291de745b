//! Cutting pieces out of a text, and finding where a piece of a *decoded*
//! string stands in the source that spells it.
//!
//! Replacements hold only letters, digits, `:`, `<` and `>`, so they need no
//! escape at any depth of strings in strings: an edit found five levels deep is
//! mapped outwards, and every other byte, odd escapes and lone surrogates
//! included, stays as it was.

use std::fmt::Write;
use std::ops::Range;

use super::judge::looks_random;
use super::rules::Id;
use crate::json::key::Key;

/// What stands in the place of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    Password,
    Token,
    Email,
    Phone,
}

/// A piece to be replaced, in bytes of the text it was found in. Small, because
/// one long text may hold millions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) range: Range<usize>,
    pub(super) label: Label,
    pub(super) rule: Id,
    /// The first 32 bits of the secret's hash, for what cannot be found by trying.
    hash: Option<u32>,
}

impl Edit {
    pub(super) fn new(text: &str, range: Range<usize>, label: Label, rule: Id) -> Self {
        let secret = text.get(range.clone()).unwrap_or_default();
        let random = label == Label::Token && (looks_random(secret, 16) || secret.len() >= 40);
        Self {
            range,
            label,
            rule,
            hash: random.then(|| (Key::of(secret.as_bytes()).bits() >> 96) as u32),
        }
    }

    fn write(&self, out: &mut String) {
        match (self.label, self.hash) {
            (Label::Password, _) => out.push_str("<masked:password>"),
            (Label::Email, _) => out.push_str("<masked:email>"),
            (Label::Phone, _) => out.push_str("<masked:phone>"),
            (Label::Token, None) => out.push_str("<masked:token>"),
            (Label::Token, Some(hash)) => {
                // Writing to a string cannot fail.
                let _ = write!(out, "<masked:token:{hash:08x}>");
            }
        }
    }
}

/// The text with the edits made. `base` is subtracted from their places.
pub(super) fn apply(text: &str, base: usize, edits: &[Edit]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        let (start, end) = (edit.range.start - base, edit.range.end - base);
        out.push_str(text.get(at..start).unwrap_or_default());
        edit.write(&mut out);
        at = end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// Which escapes a literal uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    Json,
    Python,
}

/// Moves `edits`, sorted and found in the decoded text of the literal `raw`, to
/// places in the source, where the literal starts at `start`. An edit that begins
/// or ends inside an escape takes the whole escape.
pub(super) fn to_source(raw: &str, start: usize, syntax: Syntax, edits: &mut [Edit]) {
    let bytes = raw.as_bytes();
    let open = match syntax {
        Syntax::Json => 1,
        Syntax::Python => match bytes.iter().take(3).position(|b| matches!(b, b'\'' | b'"')) {
            Some(quote) => quote + 1,
            // Text without a literal form stands as it is.
            None => 0,
        },
    };
    let opaque = open == 0;
    let mut units = Units {
        bytes,
        syntax,
        raw: open,
        decoded: 0,
        opaque,
    };
    for edit in edits {
        let from = units.floor(edit.range.start);
        let to = units.ceil(edit.range.end);
        edit.range = start + from..start + to;
    }
}

/// Walks a literal; between two backslashes source and text run in step.
struct Units<'r> {
    bytes: &'r [u8],
    syntax: Syntax,
    raw: usize,
    decoded: usize,
    opaque: bool,
}

impl Units<'_> {
    /// The source place of the unit that holds the decoded place `at`.
    fn floor(&mut self, at: usize) -> usize {
        loop {
            let (plain, escape) = self.ahead(at);
            if at < self.decoded + plain {
                return self.step(at);
            }
            let Some((raw, decoded)) = escape else {
                return self.step(self.decoded + plain);
            };
            if at < self.decoded + plain + decoded {
                return self.step(self.decoded + plain);
            }
            self.raw += plain + raw;
            self.decoded += plain + decoded;
        }
    }

    /// The source place where the unit that ends at or after `at` ends.
    fn ceil(&mut self, at: usize) -> usize {
        loop {
            let (plain, escape) = self.ahead(at);
            if at <= self.decoded + plain {
                return self.step(at);
            }
            let Some((raw, decoded)) = escape else {
                return self.step(self.decoded + plain);
            };
            self.raw += plain + raw;
            self.decoded += plain + decoded;
            if at <= self.decoded {
                return self.raw;
            }
        }
    }

    /// Moves over plain bytes to the decoded place `to`; its place in the source.
    /// Later questions start there, so a literal is walked once.
    fn step(&mut self, to: usize) -> usize {
        self.raw += to.saturating_sub(self.decoded);
        self.decoded = self.decoded.max(to);
        self.raw
    }

    /// The plain bytes up to the next escape (no further than `at` needs), and
    /// the lengths of that escape in the source and in the text.
    fn ahead(&self, at: usize) -> (usize, Option<(usize, usize)>) {
        let rest = self.bytes.get(self.raw..).unwrap_or_default();
        if self.opaque {
            return (rest.len(), None);
        }
        let need = (at - self.decoded.min(at))
            .saturating_add(1)
            .min(rest.len());
        match memchr::memchr(b'\\', &rest[..need]) {
            Some(plain) => (plain, Some(escape(&rest[plain..], self.syntax))),
            None => (need, None),
        }
    }
}

/// The lengths of the escape that `rest` begins with, as the readers decode it.
fn escape(rest: &[u8], syntax: Syntax) -> (usize, usize) {
    let hex = |from: usize, digits: usize| -> Option<u32> {
        let text = std::str::from_utf8(rest.get(from..from + digits)?).ok()?;
        u32::from_str_radix(text, 16).ok()
    };
    let coded = |code: Option<u32>, len: usize| match code.and_then(char::from_u32) {
        Some(c) => (len, c.len_utf8()),
        None => (len, len),
    };
    match (syntax, rest.get(1)) {
        (Syntax::Json, Some(b'u')) => {
            let first = hex(2, 4);
            let high = first.is_some_and(|code| (0xD800..0xDC00).contains(&code));
            let low = hex(8, 4).is_some_and(|code| (0xDC00..0xE000).contains(&code));
            if high && rest.get(6..8) == Some(b"\\u") && low {
                (12, 4)
            } else {
                coded(first, 6)
            }
        }
        (Syntax::Json, _) => (2, 1),
        (Syntax::Python, Some(b'x')) => coded(hex(2, 2), 4),
        (Syntax::Python, Some(b'u')) => coded(hex(2, 4), 6),
        (Syntax::Python, Some(b'U')) => coded(hex(2, 8), 10),
        (
            Syntax::Python,
            Some(b'n' | b't' | b'r' | b'a' | b'b' | b'f' | b'v' | b'0' | b'\\' | b'\'' | b'"'),
        ) => (2, 1),
        (Syntax::Python, _) => (1, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Doc;
    use proptest::prelude::*;

    /// Every character of the decoded text maps to the source that spells it.
    fn check(raw: &str, syntax: Syntax) {
        let doc = match syntax {
            Syntax::Json => Doc::parse(raw),
            Syntax::Python => Doc::parse_python(raw),
        };
        let Ok(doc) = doc else { return };
        let Some(text) = doc.root().as_str() else {
            return;
        };
        for (at, c) in text.char_indices() {
            let mut edits = [Edit::new(
                text,
                at..at + c.len_utf8(),
                Label::Email,
                Id::Email,
            )];
            to_source(
                doc.root().raw(),
                doc.root().span().start,
                syntax,
                &mut edits,
            );
            let masked = apply(raw, 0, &edits);
            let again = match syntax {
                Syntax::Json => Doc::parse(&masked).unwrap(),
                Syntax::Python => Doc::parse_python(&masked).unwrap(),
            };
            let masked_text = again.root().as_str().unwrap();
            if doc.root().has_lone_surrogate() || text.contains('\\') {
                assert!(masked_text.contains("<masked:email>"), "{raw}");
            } else {
                let want = apply(
                    text,
                    0,
                    &[Edit::new(
                        text,
                        at..at + c.len_utf8(),
                        Label::Email,
                        Id::Email,
                    )],
                );
                assert_eq!(masked_text, want, "{raw} at {at}");
            }
        }
    }

    proptest! {
        #[test]
        fn places_map_through_json_escapes(parts in prop::collection::vec(
            prop::sample::select(vec!["a", "é", "日", "😀", "\\n", "\\\"", "\\\\", "\\u0041", "\\u00e9", "\\ud83d\\ude00", "\\ud83d", "\\/"]), 0..12)
        ) {
            check(&format!("\"{}\"", parts.concat()), Syntax::Json);
        }

        #[test]
        fn places_map_through_python_escapes(parts in prop::collection::vec(
            prop::sample::select(vec!["a", "é", "😀", "\\n", "\\'", "\"", "\\x41", "\\xe9", "\\u00e9", "\\U0001F600", "\\0"]), 0..12),
            prefix in prop::sample::select(vec!["", "b", "rb"]),
        ) {
            check(&format!("{prefix}'{}'", parts.concat()), Syntax::Python);
        }
    }
}
