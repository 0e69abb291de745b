//! Texts as bags of words.

use std::sync::LazyLock;

pub(super) use super::bags::Bags;

/// Similarity of two texts: Jaccard over the multisets of their tokens,
/// `sum min(count) / sum max(count)`, in `[0,1]` (docs/measures.md, observation: `text`).
///
/// A token is a run of letters, digits and `_`; a point between two digits and
/// a minus before a number belong to it (`-1.5` is one token); a character of
/// a script written without spaces is a token by itself. Case counts, other
/// punctuation does not. Two texts without any token are 1 if equal, else 0.
///
/// ```
/// use fidelake_core::gap::text_similarity;
/// assert_eq!(text_similarity("a b b c", "a b d"), 2.0 / 5.0);
/// ```
#[must_use]
pub fn text_similarity(left: &str, right: &str) -> f64 {
    similarity(left, right, usize::MAX, &mut Bags::default())
}

/// So many tokens of the part of a text that differs are compared; what comes
/// after them counts as different. 64 MiB for the table that counts them.
pub(super) const MAX_TOKENS: usize = 1 << 20;

/// As [`text_similarity`], over at most the first `limit` tokens of each text.
pub(super) fn similarity(left: &str, right: &str, limit: usize, bags: &mut Bags) -> f64 {
    if limit < usize::MAX {
        let limit = limit.min(MAX_TOKENS);
        let found = bags.meet(left, right, limit);
        return match found.union() {
            0 => f64::from(u8::from(left == right)),
            union => found.both as f64 / union as f64,
        };
    }
    // What both start and end with adds the same tokens to both bags, so it is
    // only counted: J = (shared + both) / (shared + union).
    let (start, end) = margins(left, right);
    let shared = count(&left[..start]) + count(&left[left.len() - end..]);
    let (left, right) = (
        &left[start..left.len() - end],
        &right[start..right.len() - end],
    );
    let found = bags.meet(left, right, MAX_TOKENS);
    match shared + found.union() + found.beyond {
        0 => f64::from(u8::from(left == right)),
        all => (shared + found.both) as f64 / all as f64,
    }
}

/// Share of the tokens of a cut text that stand anywhere in another, `sum min(count) / sum count`; its last
/// token may be half of one and does not count. 1 if it has no other.
pub(super) fn contained(cut: &str, other: &str, bags: &mut Bags) -> f64 {
    let known = count(cut).saturating_sub(1).min(MAX_TOKENS);
    match known {
        0 => 1.0,
        _ => bags.meet_limited([cut, other], [known, MAX_TOKENS]).both as f64 / known as f64,
    }
}

/// How many bytes two byte strings share at the start.
pub(super) fn common_prefix(left: &[u8], right: &[u8]) -> usize {
    let len = left.len().min(right.len());
    let mut at = 0;
    while let (Some(a), Some(b)) = (
        left.get(at..).and_then(|rest| rest.first_chunk::<8>()),
        right.get(at..).and_then(|rest| rest.first_chunk::<8>()),
    ) {
        let differ = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if differ != 0 {
            return at + (differ.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while at < len && left[at] == right[at] {
        at += 1;
    }
    at
}

/// The lengths of what two texts share at their start and end, cut at white
/// space, where tokens never join.
fn margins(left: &str, right: &str) -> (usize, usize) {
    let (a, b) = (left.as_bytes(), right.as_bytes());
    let same = common_prefix(a, b);
    let start = a[..same]
        .iter()
        .rposition(u8::is_ascii_whitespace)
        .map_or(0, |at| at + 1);
    let room = a.len().min(b.len()) - start;
    let mut same = 0;
    while same < room && a[a.len() - 1 - same] == b[b.len() - 1 - same] {
        same += 1;
    }
    let tail = &a[a.len() - same..];
    let end = tail
        .iter()
        .position(u8::is_ascii_whitespace)
        .map_or(0, |at| same - at);
    (start, end)
}

/// How many tokens a text has.
pub(super) fn count(text: &str) -> usize {
    let mut count = 0;
    each_token(text, |_| {
        count += 1;
        true
    });
    count
}

/// Calls `take` for every token until it says stop.
pub(super) fn each_token<'t>(text: &'t str, mut take: impl FnMut(&'t str) -> bool) {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let (mut at, mut ended) = (0, usize::MAX);
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        if byte >= 0x80 {
            let c = char_at(text, at);
            at += c.len_utf8();
            if !is_alphanumeric(c) {
                continue;
            }
            if is_unspaced(c) {
                if !take(&text[start..at]) {
                    return;
                }
                continue;
            }
        } else if is_word(byte) {
            at += 1;
        } else {
            at += 1;
            // Right behind a token it is a hyphen.
            let minus = byte == b'-' && digit(at) && start != ended;
            if !minus {
                continue;
            }
        }
        at = token_end(text, at);
        ended = at;
        if !take(&text[start..at]) {
            return;
        }
    }
}

/// Where the token ends of which the first character stands before `at`.
fn token_end(text: &str, mut at: usize) -> usize {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    loop {
        while bytes.get(at).is_some_and(|&byte| is_word(byte)) {
            at += 1;
        }
        match bytes.get(at) {
            Some(b'.') if digit(at - 1) && digit(at + 1) => at += 1,
            Some(0x80..) => {
                let c = char_at(text, at);
                if !is_alphanumeric(c) || is_unspaced(c) {
                    return at;
                }
                at += c.len_utf8();
            }
            _ => return at,
        }
    }
}

fn char_at(text: &str, at: usize) -> char {
    text[at..].chars().next().unwrap_or(' ')
}

/// Letters, digits and `_`.
const WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_';
        byte += 1;
    }
    table
};

const fn is_word(byte: u8) -> bool {
    WORD[byte as usize]
}

/// As `char::is_alphanumeric`, whose search costs more than all the rest of a text of
/// another script: a bit for each of the first 65,536 characters.
pub(super) fn is_alphanumeric(c: char) -> bool {
    static KNOWN: LazyLock<Vec<u64>> = LazyLock::new(|| {
        let bit = |at: u32| u64::from(char::from_u32(at).is_some_and(char::is_alphanumeric));
        let word = |first: u32| (0..64).map(|at| bit(first + at) << at).sum();
        (0..1 << 16).step_by(64).map(word).collect()
    });
    let at = c as usize;
    match KNOWN.get(at / 64) {
        Some(word) => word >> (at % 64) & 1 == 1,
        None => c.is_alphanumeric(),
    }
}

/// Thai, Lao, Khmer, Myanmar, and what follows from the East Asian scripts on, Hangul apart.
pub(super) const fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}'
        | '\u{2E80}'..='\u{A4CF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

/// A fixed 64-bit hash (multiply and fold, eight bytes at a time).
pub(super) fn hash(bytes: &[u8]) -> u64 {
    const A: u64 = 0x9E37_79B9_7F4A_7C15;
    const B: u64 = 0xD6E8_FEB8_6659_FD93;
    let fold = |x: u64, y: u64| {
        let wide = u128::from(x) * u128::from(y);
        (wide >> 64) as u64 ^ wide as u64
    };
    let mut state = A ^ bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        state = fold(state ^ u64::from_le_bytes(*word), B).wrapping_add(A);
    }
    if !rest.is_empty() {
        state = fold(state ^ few(rest), B).wrapping_add(A);
    }
    fold(state, A ^ B)
}

/// One to seven bytes as a number, the first one lowest. Read in two halves that may lap over
/// each other, since most words are so short, and copying a few bytes is a call.
fn few(bytes: &[u8]) -> u64 {
    let shifted = |byte: u8, at: usize| u64::from(byte) << (8 * at);
    let last = bytes.len() - 1;
    match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (Some(low), Some(high)) => {
            let (low, high) = (u32::from_le_bytes(*low), u32::from_le_bytes(*high));
            u64::from(low) | u64::from(high) << (8 * (last - 3))
        }
        _ => {
            let middle = last.div_ceil(2);
            shifted(bytes[0], 0) | shifted(bytes[middle], middle) | shifted(bytes[last], last)
        }
    }
}

/// A hash of a hash and what comes after it; the order counts.
pub(super) fn then(state: u64, next: u64) -> u64 {
    let wide = u128::from(state ^ 0x9E37_79B9_7F4A_7C15) * u128::from(next | 1 << 63);
    ((wide >> 64) as u64 ^ wide as u64)
        .wrapping_add(next)
        .rotate_left(23)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tokens(text: &str) -> Vec<&str> {
        let mut found = vec![];
        each_token(text, |token| {
            found.push(token);
            true
        });
        found
    }

    #[test]
    fn the_table_is_what_the_standard_library_says() {
        for c in (0..0x3_0000).filter_map(char::from_u32) {
            assert_eq!(is_alphanumeric(c), c.is_alphanumeric(), "{c:?}");
        }
    }

    /// The rules of [`text_similarity`], letter by letter.
    fn plainly(text: &str) -> Vec<String> {
        let chars: Vec<char> = text.chars().collect();
        let digit = |at: usize| chars.get(at).is_some_and(char::is_ascii_digit);
        let (mut found, mut token) = (vec![], String::new());
        for (at, &c) in chars.iter().enumerate() {
            let before = at.checked_sub(1).map(|at| chars[at]);
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let joins = match c {
                '.' => !token.is_empty() && at > 0 && digit(at - 1) && digit(at + 1),
                '-' => token.is_empty() && digit(at + 1) && !before.is_some_and(word),
                _ => word(c) || (!c.is_ascii() && c.is_alphanumeric()),
            };
            if joins && !is_unspaced(c) {
                token.push(c);
                continue;
            }
            found.extend(Some(std::mem::take(&mut token)).filter(|t| !t.is_empty()));
            found.extend(joins.then(|| c.to_string()));
        }
        found.extend(Some(token).filter(|t| !t.is_empty()));
        found
    }

    #[test]
    fn tokens_by_hand() {
        assert_eq!(
            tokens("Total: -1.5, not 2-3. user_id=x9."),
            ["Total", "-1.5", "not", "2", "3", "user_id", "x9"]
        );
        assert_eq!(tokens("é1 東京 ok"), ["é1", "東", "京", "ok"]);
        assert_eq!(tokens("..-- "), Vec::<&str>::new());
        assert_eq!(count("a b c"), 3);
    }

    #[test]
    fn hashes_stay_what_they_are() {
        // They are stored, as parts of the numbers of paths.
        let padded = |bytes: &[u8]| {
            let mut word = [0u8; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        };
        for len in 1..8 {
            let bytes: Vec<u8> = (0..len).map(|at| 0xA1 + 7 * at).collect();
            assert_eq!(few(&bytes), padded(&bytes), "{len}");
        }
        assert_eq!(hash(b""), 0x9D9E_C808_4F58_1E51);
        assert_eq!(hash(b"address"), 0x9193_190B_8A62_BAA1);
        assert_eq!(hash(b"a longer text than 8"), 0x85BC_A390_FDBB_D6E3);
    }

    #[test]
    fn jaccard_by_hand() {
        // min: a 1, b 1 = 2; max: a 1, b 2, c 1, d 1 = 5.
        assert!((text_similarity("a b b c", "a b d") - 0.4).abs() < 1e-15);
        assert_eq!(text_similarity("", ""), 1.0);
        assert_eq!(text_similarity("---", "+++"), 0.0);
        assert_eq!(text_similarity("a", ""), 0.0);
        assert_eq!(similarity("a b c", "a b d", 2, &mut Bags::default()), 1.0);
    }

    #[test]
    fn shared_margins_change_nothing() {
        let mut bags = Bags::default();
        let whole = |a: &str, b: &str| {
            let found = Bags::default().meet(a, b, usize::MAX);
            found.both as f64 / found.union() as f64
        };
        for (a, b) in [
            ("a b -1.5 c d", "a b -1.6 c d"),
            ("x 1 y", "x 1 1 y"),
            ("same words", "same words here"),
            ("a a a a", "a a a"),
            ("a.b c", "a b c"),
        ] {
            assert_eq!(
                similarity(a, b, usize::MAX, &mut bags),
                whole(a, b),
                "{a} {b}"
            );
        }
    }

    #[test]
    fn beyond_the_cap_all_is_different() {
        let tail = "x ".repeat(MAX_TOKENS);
        let (a, b) = (format!("a{tail}"), format!("b{tail}y"));
        let found = text_similarity(&a, &b);
        assert!(found > 0.99 && found < 1.0, "{found}");
        let (a, b) = (format!("{tail}a b"), format!("{tail}b a"));
        assert_eq!(text_similarity(&a, &b), 1.0);
    }

    proptest! {
        #[test]
        fn tokens_are_those_of_the_rules(text in r"([a-z0-9_]{1,3}|[-. ,]|é|Ω|東|—|٣|\u{10400}|\u{3000}){0,30}") {
            prop_assert_eq!(tokens(&text), plainly(&text));
        }

        #[test]
        fn symmetric_and_bounded(a in ".{0,40}", b in ".{0,40}") {
            let s = text_similarity(&a, &b);
            prop_assert!((0.0..=1.0).contains(&s));
            prop_assert_eq!(s, text_similarity(&b, &a));
            prop_assert_eq!(text_similarity(&a, &a), 1.0);
        }
    }
}
