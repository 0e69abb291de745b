//! A text cut into words that may be changed and everything else.

use std::ops::Range;

/// A word that may be changed: plain letters, no name, no quote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// Where it stands, in bytes.
    pub(super) at: Range<usize>,
    /// Whether a sentence begins with it.
    pub(super) first: bool,
}

/// The plain words of a text in order. What could carry meaning by its letters is
/// none: names (a capital inside a sentence), numbers, identifiers, addresses,
/// paths, quotes, and what stands in brackets of code.
pub(super) fn plain_words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut quote: Option<char> = None;
    let mut first = true;
    for (start, chunk) in chunks(text) {
        let inside = quote.is_some();
        let begins = chunk
            .chars()
            .find(|c| matches!(c, '"' | '`' | '\'' | '“' | '‘'));
        let opens = begins.filter(|c| chunk.starts_with(*c) || matches!(c, '"' | '`' | '“'));
        if inside {
            if quote.is_some_and(|q| closes(chunk, q)) {
                quote = None;
            }
        } else if let Some(mark) = opens {
            let rest = chunk.split_once(mark).map_or("", |(_, rest)| rest);
            if !closes(rest, mark) {
                quote = Some(mark);
            }
        }
        let core = chunk.trim_matches(|c: char| !c.is_alphanumeric());
        if !inside && opens.is_none() && is_plain(core, first) && is_loose(chunk, core) {
            let offset = start + chunk.find(core).unwrap_or_default();
            words.push(Word {
                at: offset..offset + core.len(),
                first,
            });
        }
        if !core.is_empty() || ends_sentence(chunk) {
            first = ends_sentence(chunk);
        }
    }
    words
}

/// What stands between spaces, with its place.
fn chunks(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let base = text.as_ptr() as usize;
    text.split_whitespace()
        .map(move |chunk| (chunk.as_ptr() as usize - base, chunk))
}

fn closes(chunk: &str, mark: char) -> bool {
    let end = match mark {
        '“' => '”',
        '‘' => '’',
        same => same,
    };
    match end {
        // An apostrophe inside a word closes nothing.
        '\'' | '’' => chunk
            .trim_end_matches(['.', ',', ';', ':', '!', '?', ')'])
            .ends_with(end),
        _ => chunk.contains(end),
    }
}

fn ends_sentence(chunk: &str) -> bool {
    let bare = chunk.trim_end_matches(['"', '\'', ')', '”', '’']);
    bare.ends_with(['.', '!', '?', ':'])
}

fn is_plain(core: &str, first: bool) -> bool {
    if matches!(core, "I" | "I'm" | "I'd" | "I'll" | "I've") {
        return true;
    }
    let mut letters = core.chars();
    // Capitals inside a sentence are names; whole words of them are acronyms.
    letters
        .next()
        .is_some_and(|c| c.is_ascii_lowercase() || (first && c.is_ascii_uppercase()))
        && letters.all(|c| c.is_ascii_lowercase() || matches!(c, '\'' | '’'))
}

/// Whether only marks of a sentence stand around the word.
fn is_loose(chunk: &str, core: &str) -> bool {
    let around = chunk.replacen(core, "", 1);
    around
        .chars()
        .all(|c| matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | '(' | ')' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        plain_words(text)
            .into_iter()
            .map(|word| &text[word.at])
            .collect()
    }

    #[test]
    fn names_numbers_quotes_and_identifiers_are_left_alone() {
        assert_eq!(
            found(
                "Please book flight HAT083 for Mia Li, don't use `my card` or user_id x/y a.b me@example.com (really). Thanks"
            ),
            [
                "Please", "book", "flight", "for", "don't", "use", "or", "really", "Thanks"
            ]
        );
        assert_eq!(
            found("say \"two words here\" and 'one of two' once"),
            ["say", "and", "once"]
        );
        assert_eq!(
            found("It's the user's file, getUser 12 I"),
            ["It's", "the", "user's", "file", "I"]
        );
        assert!(found("  \n 3.5 ??").is_empty());
    }
}
