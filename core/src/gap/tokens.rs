//! Texts as bags of words.

/// Room for the hashes of two bags, kept between calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Bags {
    left: Vec<u64>,
    right: Vec<u64>,
}

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

/// As [`text_similarity`], over at most the first `limit` tokens of each text.
pub(super) fn similarity(left: &str, right: &str, limit: usize, bags: &mut Bags) -> f64 {
    bag(left, limit, &mut bags.left);
    bag(right, limit, &mut bags.right);
    jaccard(&bags.left, &bags.right).unwrap_or(f64::from(u8::from(left == right)))
}

/// Of two sorted bags; `None` if both are empty.
fn jaccard(left: &[u64], right: &[u64]) -> Option<f64> {
    let (mut i, mut j, mut both) = (0, 0, 0usize);
    while let (Some(a), Some(b)) = (left.get(i), right.get(j)) {
        match a.cmp(b) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                both += 1;
                i += 1;
                j += 1;
            }
        }
    }
    let union = left.len() + right.len() - both;
    (union > 0).then(|| both as f64 / union as f64)
}

fn bag(text: &str, limit: usize, out: &mut Vec<u64>) {
    out.clear();
    each_token(text, |token| {
        out.push(hash(token.as_bytes()));
        out.len() < limit
    });
    out.sort_unstable();
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
    let mut start = None;
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        let (word, alone, width) = if byte < 0x80 {
            let joins = match byte {
                b'.' => start.is_some() && digit(at - 1) && digit(at + 1),
                b'-' => start.is_none() && digit(at + 1) && !(at > 0 && is_word(bytes[at - 1])),
                _ => is_word(byte),
            };
            (joins, false, 1)
        } else {
            let c = text[at..].chars().next().unwrap_or(' ');
            let word = c.is_alphanumeric();
            (word, word && is_unspaced(c), c.len_utf8())
        };
        if alone || !word {
            if let Some(from) = start.take()
                && !take(&text[from..at])
            {
                return;
            }
            if alone && !take(&text[at..at + width]) {
                return;
            }
        } else if start.is_none() {
            start = Some(at);
        }
        at += width;
    }
    if let Some(from) = start {
        take(&text[from..]);
    }
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Thai, Lao, Khmer, Myanmar, and what follows from the East Asian scripts on, Hangul apart.
const fn is_unspaced(c: char) -> bool {
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
    for chunk in bytes.chunks(8) {
        let mut word = [0u8; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        state = fold(state ^ u64::from_le_bytes(word), B).wrapping_add(A);
    }
    fold(state, A ^ B)
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
    fn jaccard_by_hand() {
        // min: a 1, b 1 = 2; max: a 1, b 2, c 1, d 1 = 5.
        assert!((text_similarity("a b b c", "a b d") - 0.4).abs() < 1e-15);
        assert_eq!(text_similarity("", ""), 1.0);
        assert_eq!(text_similarity("---", "+++"), 0.0);
        assert_eq!(text_similarity("a", ""), 0.0);
        assert_eq!(similarity("a b c", "a b d", 2, &mut Bags::default()), 1.0);
    }

    proptest! {
        #[test]
        fn symmetric_and_bounded(a in ".{0,40}", b in ".{0,40}") {
            let s = text_similarity(&a, &b);
            prop_assert!((0.0..=1.0).contains(&s));
            prop_assert_eq!(s, text_similarity(&b, &a));
            prop_assert_eq!(text_similarity(&a, &a), 1.0);
        }
    }
}
