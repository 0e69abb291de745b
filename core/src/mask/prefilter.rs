//! Whether a text can hold anything to mask at all: one pass over its bytes.
//!
//! Nearly every record holds nothing, so this pass decides the speed. It may
//! say yes in vain (then the record is read properly) but never no in error:
//! whatever the rules match contains one of these needles, also where JSON
//! spells a letter as `\u006b`, and a needle is dropped only after a look at
//! its surroundings that is wider than any rule. The needles are few and in
//! lower case, because a vector search takes at most 64; the text is lowered
//! block by block.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::packed;
use aho_corasick::{AhoCorasick, MatchKind, Span};

use super::Mode;
use super::needles::{KEY_OF, KEY_WORDS, Needle, PHONE_WORDS, PHONES, SECRETS};
use super::personal;
use super::surroundings::may_matter;

/// How much text is lowered at once, and by how much blocks overlap.
const BLOCK: usize = 8192;
const OVERLAP: usize = CUT;

/// A search for needles in lowered text, by their first bytes.
struct Search {
    /// Needles that share their first [`CUT`] bytes, by number of pattern.
    groups: Vec<Vec<(&'static str, Needle)>>,
    /// Vector instructions, where the machine has them.
    fast: Option<packed::Searcher>,
    plain: Option<AhoCorasick>,
}

/// So many bytes of a needle are searched for; shorter needles are searched for
/// apart, because the shortest pattern decides how well a search filters.
const CUT: usize = 4;

impl Search {
    fn new(needles: impl Iterator<Item = (&'static str, Needle)>) -> Self {
        let mut cuts: Vec<&str> = vec![];
        let mut groups: Vec<Vec<(&'static str, Needle)>> = vec![];
        for (needle, kind) in needles {
            let cut = &needle[..needle.len().min(CUT)];
            match cuts.iter().position(|known| *known == cut) {
                Some(at) => groups[at].push((needle, kind)),
                None => {
                    cuts.push(cut);
                    groups.push(vec![(needle, kind)]);
                }
            }
        }
        let fast = packed::Config::new().builder().extend(&cuts).build();
        let plain = match fast {
            Some(_) => None,
            None => AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostFirst)
                .build(&cuts)
                .ok(),
        };
        Self {
            groups,
            fast,
            plain,
        }
    }

    fn find(&self, lowered: &[u8], from: usize) -> Option<(usize, usize)> {
        let span = Span::from(from..lowered.len());
        let found = match (&self.fast, &self.plain) {
            (Some(fast), _) => fast.find_in(lowered, span),
            (None, Some(plain)) => plain.find(aho_corasick::Input::new(lowered).span(span)),
            (None, None) => None,
        }?;
        Some((found.pattern().as_usize(), found.start()))
    }

    /// Whether a needle that begins in the block matters. The block is the
    /// lowered text from `start` on.
    fn block_matters(&self, bytes: &[u8], lowered: &[u8], start: usize) -> bool {
        let mut at = 0;
        while let Some((group, found)) = self.find(lowered, at) {
            let place = start + found;
            let hit = self.groups.get(group).is_some_and(|needles| {
                needles.iter().any(|(needle, kind)| {
                    let range = place..place + needle.len();
                    bytes
                        .get(range.clone())
                        .is_some_and(|b| b.eq_ignore_ascii_case(needle.as_bytes()))
                        && may_matter(*kind, bytes, range)
                })
            });
            if hit {
                return true;
            }
            at = found + 1;
        }
        false
    }
}

/// The searches of a mode.
struct Searches([Search; 2]);

impl Searches {
    fn new(tables: &[&'static [(&'static str, Needle)]]) -> Self {
        let needles = || tables.iter().flat_map(|table| table.iter().copied());
        let is_long = |(needle, _): &(&str, Needle)| needle.len() >= CUT;
        Self([
            Search::new(needles().filter(is_long)),
            Search::new(needles().filter(|n| !is_long(n))),
        ])
    }

    fn any_matters(&self, bytes: &[u8]) -> bool {
        let mut block = [0; BLOCK];
        let mut start = 0;
        loop {
            let len = (bytes.len() - start).min(BLOCK);
            let lowered = &mut block[..len];
            lowered.copy_from_slice(&bytes[start..start + len]);
            lowered.make_ascii_lowercase();
            let lowered = &*lowered;
            if self
                .0
                .iter()
                .any(|search| search.block_matters(bytes, lowered, start))
            {
                return true;
            }
            if start + len == bytes.len() {
                return false;
            }
            start += len - OVERLAP;
        }
    }
}

static SECRETS_SEARCH: LazyLock<Searches> = LazyLock::new(|| Searches::new(&[SECRETS]));
static ALL_SEARCH: LazyLock<Searches> = LazyLock::new(|| Searches::new(&[SECRETS, PHONES]));

/// Key words alone, for finding the one that a key ends in.
struct KeyWords {
    finder: Option<AhoCorasick>,
    words: Vec<String>,
}

static KEYS: LazyLock<KeyWords> = LazyLock::new(|| {
    let plain = KEY_WORDS.iter().chain(PHONE_WORDS).map(|w| (*w).to_owned());
    let of_key = KEY_OF
        .iter()
        .flat_map(|word| ["", "_", "-", " "].map(|separator| format!("{word}{separator}key")));
    let words: Vec<String> = plain.chain(of_key).collect();
    let finder = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostLongest)
        .build(&words)
        .ok();
    KeyWords { finder, words }
});

/// The last key word in a key, and where it stands.
pub(super) fn last_key_needle(key: &str) -> Option<(&'static str, Range<usize>)> {
    let keys: &'static KeyWords = &KEYS;
    let found = keys.finder.as_ref()?.find_iter(key).last()?;
    let word = keys.words.get(found.pattern().as_usize())?;
    Some((word, found.range()))
}

/// Whether anything in `text` may have to be masked.
pub(super) fn candidate(text: &str, mode: Mode) -> bool {
    let bytes = text.as_bytes();
    match mode {
        Mode::Off => false,
        Mode::Secrets => SECRETS_SEARCH.any_matters(bytes),
        Mode::All => ALL_SEARCH.any_matters(bytes) || personal::candidate(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_fit_the_search() {
        for search in SECRETS_SEARCH.0.iter().chain(&ALL_SEARCH.0) {
            assert!(search.fast.is_some() || search.plain.is_some());
            assert!(search.groups.len() <= 64, "no vector search beyond 64");
        }
        for (needle, _) in SECRETS.iter().chain(PHONES) {
            assert_eq!(needle.to_ascii_lowercase(), *needle);
        }
        assert!(KEYS.finder.is_some());
    }

    #[test]
    fn needles_are_found_across_blocks() {
        let secret = "PassWord\": \"x\"";
        for place in BLOCK - 40..BLOCK + 10 {
            let text = "a".repeat(place) + " \"" + secret + &" ".repeat(BLOCK);
            assert!(candidate(&text, Mode::Secrets), "{place}");
        }
    }

    #[test]
    fn usual_records_are_passed_over() {
        for text in [
            r#"{"usage":{"prompt_tokens":12,"total_tokens":30},"name":"passenger","key":"a"}"#,
            r#"{"text":"The password must be long. Tokens are counted. Keep it secret, please."}"#,
            r#"{"description":"Access token.","url":"https://a.b/c?d=e","shipping":"no"}"#,
            "iVBORw0KGgoAAAANSUhEUgAAAaQAAAGkCAIAAADxLsZiAAAACXBIWXMAAA7EAAAOxAGVKw4b",
            r#"{"tool_call_id":"call_1","city":"Asia/Tokyo","class":"task-list"}"#,
        ] {
            assert!(!candidate(text, Mode::Secrets), "{text}");
        }
    }
}
