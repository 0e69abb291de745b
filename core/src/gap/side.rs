//! A canonical text that is being read, and how two of them relate.

use std::cmp::Ordering;

use super::leaf;
use super::scan::{Malformed, string_end, value_end};
use super::tokens;

/// One text and how far it was read. Invariant: `at` is a character boundary.
#[derive(Clone, Copy)]
pub(super) struct Side<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
}

impl<'t> Side<'t> {
    pub(super) const fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    #[inline]
    pub(super) fn bytes(&self) -> &'t [u8] {
        self.text.as_bytes()
    }

    #[inline]
    pub(super) fn peek(&self) -> Result<u8, Malformed> {
        self.bytes().get(self.at).copied().ok_or(Malformed)
    }

    #[inline]
    pub(super) fn slice(&self, from: usize, to: usize) -> &'t str {
        self.text.get(from..to).unwrap_or_default()
    }

    /// Past the value that starts here.
    pub(super) fn skip(&mut self) -> Result<(), Malformed> {
        self.at = value_end(self.bytes(), self.at)?;
        Ok(())
    }

    pub(super) const fn done(&self) -> bool {
        self.at == self.text.len()
    }

    /// Past a comma (true) or the closing bracket (false).
    #[inline]
    pub(super) fn more(&mut self) -> Result<bool, Malformed> {
        let byte = self.peek()?;
        self.at += 1;
        match byte {
            b',' => Ok(true),
            b'}' | b']' => Ok(false),
            _ => Err(Malformed),
        }
    }

    /// Past the opening bracket; whether anything stands inside.
    #[inline]
    pub(super) fn open(&mut self) -> Result<bool, Malformed> {
        self.at += 1;
        if matches!(self.peek()?, b'}' | b']') {
            self.at += 1;
            return Ok(false);
        }
        Ok(true)
    }

    /// The key that starts here: its end and whether it holds an escape.
    #[inline]
    pub(super) fn key(&self) -> Result<Key, Malformed> {
        if self.peek()? != b'"' {
            return Err(Malformed);
        }
        let (end, escaped) = string_end(self.bytes(), self.at)?;
        if self.bytes().get(end) != Some(&b':') {
            return Err(Malformed);
        }
        Ok(Key {
            from: self.at,
            to: end,
            escaped,
        })
    }
}

/// A key in place, quotes included.
#[derive(Clone, Copy)]
pub(super) struct Key {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) escaped: bool,
}

/// Keys stand in the order of their decoded text.
#[inline]
pub(super) fn order(left: Side<'_>, a: Key, right: Side<'_>, b: Key) -> Ordering {
    // Eight bytes at once tell most keys apart.
    if !a.escaped
        && !b.escaped
        && let (Some(x), Some(y)) = (head(left, a), head(right, b))
        && x != y
    {
        let place = ((x ^ y).leading_zeros() / 8) as usize;
        if place < a.to - a.from - 2 && place < b.to - b.from - 2 {
            return x.cmp(&y);
        }
    }
    whole_order(left, a, right, b)
}

/// The first eight bytes after the opening quote, as one number.
fn head(side: Side<'_>, key: Key) -> Option<u64> {
    let rest = side.bytes().get(key.from + 1..)?;
    rest.first_chunk::<8>()
        .map(|chunk| u64::from_be_bytes(*chunk))
}

fn whole_order(left: Side<'_>, a: Key, right: Side<'_>, b: Key) -> Ordering {
    let (x, y) = (left.slice(a.from, a.to), right.slice(b.from, b.to));
    if a.escaped || b.escaped {
        let decoded = leaf::decode(x).cmp(&leaf::decode(y));
        return decoded.then_with(|| x.cmp(y));
    }
    // Without the closing quote, which would stand above a space.
    x.as_bytes()[..x.len() - 1].cmp(&y.as_bytes()[..y.len() - 1])
}

/// Whether `text` goes on with `start` at `at`. Keys and leaves are short: not
/// worth a call to compare them.
#[inline]
pub(super) fn goes_on(text: &[u8], at: usize, start: &[u8]) -> bool {
    let Some(there) = text.get(at..at + start.len()) else {
        return false;
    };
    let (mut a, mut b) = (there, start);
    while let (Some((x, more)), Some((y, rest))) =
        (a.split_first_chunk::<8>(), b.split_first_chunk::<8>())
    {
        if u64::from_le_bytes(*x) != u64::from_le_bytes(*y) {
            return false;
        }
        (a, b) = (more, rest);
    }
    // What is left overlaps with what was compared, where there was any.
    match (there.last_chunk::<8>(), start.last_chunk::<8>()) {
        (Some(x), Some(y)) => x == y,
        _ => a.iter().zip(b).all(|(x, y)| x == y),
    }
}

/// Whether two arrays hold the same elements, by their hashes.
pub(super) fn same_elements(left: &str, right: &str) -> Result<bool, Malformed> {
    let hashes = |text: &str| -> Result<Vec<u64>, Malformed> {
        let mut side = Side::new(text);
        let mut found = vec![];
        let mut more = side.open()?;
        while more {
            let end = value_end(side.bytes(), side.at)?;
            found.push(tokens::hash(&side.bytes()[side.at..end]));
            side.at = end;
            more = side.more()?;
        }
        found.sort_unstable();
        Ok(found)
    };
    Ok(hashes(left)? == hashes(right)?)
}
