//! Texts as weighted bags of words, and the angle between them.

use super::terms::TermWeights;
use crate::gap::tokens::hash;

/// Calls `take` with the hash and the text of every word: split between a
/// lower-case and an upper-case letter, lower-case, runs of `[a-z0-9]`, no stemming.
pub(super) fn each_word(text: &str, mut take: impl FnMut(u64, &str)) {
    let mut word = String::new();
    let mut lower_before = false;
    for byte in text.bytes() {
        let ends = !byte.is_ascii_alphanumeric() || (lower_before && byte.is_ascii_uppercase());
        if ends && !word.is_empty() {
            take(hash(word.as_bytes()), &word);
            word.clear();
        }
        if byte.is_ascii_alphanumeric() {
            word.push(char::from(byte.to_ascii_lowercase()));
        }
        lower_before = byte.is_ascii_lowercase();
    }
    if !word.is_empty() {
        take(hash(word.as_bytes()), &word);
    }
}

/// Words with tf x idf, by hash, and the length of that vector.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Bag {
    weights: Vec<(u64, f64)>,
    length: f64,
}

impl Bag {
    pub(super) fn read<'t>(texts: impl IntoIterator<Item = &'t str>, terms: &TermWeights) -> Self {
        let mut words = Vec::new();
        for text in texts {
            each_word(text, |word, _| words.push(word));
        }
        words.sort_unstable();
        let weights: Vec<(u64, f64)> = words
            .chunk_by(|a, b| a == b)
            .map(|same| (same[0], same.len() as f64 * terms.idf(same[0])))
            .collect();
        let square: f64 = weights.iter().map(|(_, weight)| weight * weight).sum();
        Self {
            weights,
            length: square.sqrt(),
        }
    }

    /// Cosine, in `[0,1]`; 0 where a text has no words.
    pub(super) fn cosine(&self, other: &Self) -> f64 {
        let lengths = self.length * other.length;
        if lengths <= 0.0 {
            return 0.0;
        }
        let (mut i, mut j, mut dot) = (0, 0, 0.0);
        while let (Some(a), Some(b)) = (self.weights.get(i), other.weights.get(j)) {
            match a.0.cmp(&b.0) {
                std::cmp::Ordering::Less => i += 1,
                std::cmp::Ordering::Greater => j += 1,
                std::cmp::Ordering::Equal => {
                    dot += a.1 * b.1;
                    i += 1;
                    j += 1;
                }
            }
        }
        (dot / lengths).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_by_hand() {
        let words = |text: &str| {
            let mut found = vec![];
            each_word(text, |_, word| found.push(word.to_owned()));
            found.join(" ")
        };
        assert_eq!(words("getUserDetails_v2"), "get user details v2");
        assert_eq!(words("HTTPServer x1Y"), "httpserver x1y");
        assert_eq!(words("caféBar 日本 3.5"), "caf bar 3 5");
        assert_eq!(words(""), "");
    }

    #[test]
    fn cosines_by_hand() {
        let terms = TermWeights::flat();
        let bag = |text: &str| Bag::read([text], &terms);
        // (1, 1) and (1, 0); (2, 1) and (1, 1).
        assert!((bag("a b").cosine(&bag("a")) - 0.5f64.sqrt()).abs() < 1e-12);
        assert!((bag("a a b").cosine(&bag("b a")) - 3.0 / 10f64.sqrt()).abs() < 1e-12);
        assert_eq!(bag("a").cosine(&bag("b")), 0.0);
        assert_eq!(bag("").cosine(&bag("")), 0.0);
    }
}
