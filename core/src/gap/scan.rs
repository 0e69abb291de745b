//! Reading canonical JSON in place: where a value ends, how many leaves it has.
//!
//! Canonical text has no white space and sorted keys, so two answers can be
//! compared without building anything. The scanner is lenient about what it
//! does not need (which bracket closes which) and never leaves the text.

/// The text is not canonical JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// A container nested deeper than this counts as one leaf, compared as a whole.
pub(super) const MAX_DEPTH: usize = 64;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

const fn zeros(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGHS
}

/// Where the string that opens at `at` ends (after its closing quote), and
/// whether it holds an escape.
#[inline]
pub(super) fn string_end(bytes: &[u8], at: usize) -> Result<(usize, bool), Malformed> {
    const QUOTES: u64 = ONES * b'"' as u64;
    const BACKSLASHES: u64 = ONES * b'\\' as u64;
    let mut at = at + 1;
    let mut escaped = false;
    loop {
        while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
            let word = u64::from_le_bytes(*chunk);
            let hit = zeros(word ^ QUOTES) | zeros(word ^ BACKSLASHES);
            if hit != 0 {
                at += (hit.trailing_zeros() / 8) as usize;
                break;
            }
            at += 8;
        }
        match bytes.get(at) {
            Some(b'"') => return Ok((at + 1, escaped)),
            Some(b'\\') => {
                escaped = true;
                at += 2;
            }
            Some(_) => at += 1,
            None => return Err(Malformed),
        }
    }
}

/// Where the number or word that starts at `at` ends.
#[inline]
pub(super) fn scalar_end(bytes: &[u8], at: usize) -> Result<usize, Malformed> {
    let mut end = at;
    while let Some(byte) = bytes.get(end) {
        match byte {
            b',' | b']' | b'}' => break,
            b'"' | b':' | b'[' | b'{' => return Err(Malformed),
            _ => end += 1,
        }
    }
    if end == at { Err(Malformed) } else { Ok(end) }
}

/// Where the container that opens at `at` ends.
pub(super) fn container_end(bytes: &[u8], mut at: usize) -> Result<usize, Malformed> {
    let mut open = 0usize;
    loop {
        match bytes.get(at) {
            Some(b'{' | b'[') => {
                open += 1;
                at += 1;
            }
            Some(b'}' | b']') => {
                at += 1;
                open -= 1;
                if open == 0 {
                    return Ok(at);
                }
            }
            Some(b'"') => at = string_end(bytes, at)?.0,
            Some(_) => at += 1,
            None => return Err(Malformed),
        }
    }
}

/// Where the value that starts at `at` ends.
pub(super) fn value_end(bytes: &[u8], at: usize) -> Result<usize, Malformed> {
    match bytes.get(at) {
        Some(b'{' | b'[') => container_end(bytes, at),
        Some(b'"') => Ok(string_end(bytes, at)?.0),
        _ => scalar_end(bytes, at),
    }
}

/// The leaves of a value: how many, how many of them null, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Leaves {
    pub(super) count: u32,
    pub(super) nulls: u32,
    /// Bytes of canonical text of all leaves.
    pub(super) mass: u64,
}

impl Leaves {
    fn add(&mut self, mass: usize) {
        self.count = self.count.saturating_add(1);
        self.mass += mass as u64;
    }
}

/// Counts the leaves of the value at `at`, which lies `depth` containers deep;
/// returns them and where the value ends. An empty container is one leaf.
pub(super) fn measure(
    bytes: &[u8],
    mut at: usize,
    depth: usize,
) -> Result<(Leaves, usize), Malformed> {
    let mut leaves = Leaves::default();
    let mut open = 0usize;
    loop {
        match bytes.get(at) {
            Some(b'{' | b'[') => {
                let end = match bytes.get(at + 1) {
                    Some(b'}' | b']') => at + 2,
                    _ if depth + open >= MAX_DEPTH => container_end(bytes, at)?,
                    _ => {
                        open += 1;
                        at += 1;
                        continue;
                    }
                };
                leaves.add(end - at);
                at = end;
            }
            Some(b'"') => {
                let (end, _) = string_end(bytes, at)?;
                if bytes.get(end) == Some(&b':') {
                    at = end + 1;
                    continue;
                }
                leaves.add(end - at);
                at = end;
            }
            _ => {
                let end = scalar_end(bytes, at)?;
                leaves.add(end - at);
                leaves.nulls += u32::from(bytes[at] == b'n');
                at = end;
            }
        }
        // A value is complete.
        loop {
            if open == 0 {
                return Ok((leaves, at));
            }
            match bytes.get(at) {
                Some(b',') => {
                    at += 1;
                    break;
                }
                Some(b'}' | b']') => {
                    at += 1;
                    open -= 1;
                }
                _ => return Err(Malformed),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn leaves(text: &str) -> (u32, u32, u64) {
        let (found, end) = measure(text.as_bytes(), 0, 0).unwrap();
        assert_eq!(end, text.len());
        (found.count, found.nulls, found.mass)
    }

    #[test]
    fn leaves_are_counted_by_hand() {
        // 1, "x", null, {}: masses 1 + 3 + 4 + 2.
        assert_eq!(leaves(r#"{"a":[1,"x"],"b":{"c":null,"d":{}}}"#), (4, 1, 10));
        assert_eq!(leaves("[]"), (1, 0, 2));
        assert_eq!(leaves("12.5"), (1, 0, 4));
        assert_eq!(leaves(r#"["a:\"b\\",":"]"#), (2, 0, 12));
    }

    #[test]
    fn deep_nesting_is_one_leaf() {
        let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
        let (count, _, mass) = leaves(&deep);
        assert_eq!(count, 1);
        assert_eq!(mass, 2_000_000 - 2 * MAX_DEPTH as u64);
    }

    #[test]
    fn what_is_cut_is_refused() {
        for text in [
            "",
            "[",
            "[1",
            "\"a",
            "{\"a\":",
            "[1 \"a\"]",
            "\"a\\",
            "]",
            "[,]",
        ] {
            assert_eq!(
                measure(text.as_bytes(), 0, 0).map(|_| ()),
                Err(Malformed),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_text_is_safe(text in r#"[\[\]{}:,"\\a0n]{0,30}"#) {
            if let Ok((_, end)) = measure(text.as_bytes(), 0, 0) {
                prop_assert!(end <= text.len());
            }
            let _ = value_end(text.as_bytes(), 0);
        }
    }
}
