//! Differences between two texts that change no meaning.

use super::kinds::{CosmeticKind, Loss};
use super::leaf::Context;
use super::nested;
use super::tokens;

/// Which cosmetic differences two texts show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    case: bool,
    space: bool,
    version: bool,
}

/// What two different texts lose if they differ only cosmetically (the weights
/// of what was seen, added up, at most 1, under the name of the heaviest);
/// `None` if they differ for real.
pub(super) fn loss(left: &str, right: &str, context: &mut Context<'_>) -> Option<Loss> {
    let Some(seen) = walk(left, right) else {
        // The same value, written twice inside a text.
        return nested::texts(left, right, context);
    };
    let weights = &context.rules.cosmetic;
    let mut sum = 0.0;
    let mut heaviest = (CosmeticKind::WhiteSpace, -1.0);
    for (seen, kind) in [
        (seen.case, CosmeticKind::LetterCase),
        (seen.space, CosmeticKind::WhiteSpace),
        (seen.version, CosmeticKind::UrlVersion),
    ] {
        if seen {
            let weight = weights.of(kind);
            sum += weight;
            if weight > heaviest.1 {
                heaviest = (kind, weight);
            }
        }
    }
    Some(Loss::cosmetic(heaviest.0, f64::min(sum, 1.0)))
}

fn walk(left: &str, right: &str) -> Option<Seen> {
    let mut seen = Seen::default();
    let (trim_left, trim_right) = (left.trim(), right.trim());
    seen.space = trim_left.len() != left.len() || trim_right.len() != right.len();
    if seen.space {
        // Equal margins are no difference.
        let margin = |whole: &str, inner: &str| {
            let from = whole.len() - whole.trim_start().len();
            (
                whole[..from].to_owned(),
                whole[from + inner.len()..].to_owned(),
            )
        };
        seen.space = margin(left, trim_left) != margin(right, trim_right);
    }
    let (mut i, mut j) = (0, 0);
    loop {
        let same = tokens::common_prefix(&trim_left.as_bytes()[i..], &trim_right.as_bytes()[j..]);
        // White space is taken whole below, a character never apart.
        let same = settled(trim_left, i, same);
        i += same;
        j += same;
        let (a, b) = match (next(trim_left, i), next(trim_right, j)) {
            (None, None) => return Some(seen),
            (Some(a), Some(b)) => (a, b),
            // A version may stand at the very end of one of them.
            _ => {
                (i, j) = skip_version(trim_left, i, trim_right, j)?;
                seen.version = true;
                continue;
            }
        };
        if a.is_whitespace() && b.is_whitespace() {
            let (m, n) = (space_end(trim_left, i), space_end(trim_right, j));
            seen.space |= trim_left[i..m] != trim_right[j..n];
            (i, j) = (m, n);
        } else if a == b {
            i += a.len_utf8();
            j += b.len_utf8();
        } else if a.to_lowercase().eq(b.to_lowercase()) {
            seen.case = true;
            i += a.len_utf8();
            j += b.len_utf8();
        } else {
            (i, j) = skip_version(trim_left, i, trim_right, j)?;
            seen.version = true;
        }
    }
}

/// How much of the `same` equal bytes at `at` can be passed: up to the last
/// word that stands there, as a run of white space may go on on one side only.
fn settled(text: &str, at: usize, same: usize) -> usize {
    let mut end = at + same;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[at..end].trim_end().len()
}

fn next(text: &str, at: usize) -> Option<char> {
    text[at..].chars().next()
}

fn space_end(text: &str, at: usize) -> usize {
    text.len() - text[at..].trim_start().len()
}

/// Past the segments at `i` and `j`, if both are versions inside a URL.
fn skip_version(left: &str, i: usize, right: &str, j: usize) -> Option<(usize, usize)> {
    let (m, n) = (version_end(left, i)?, version_end(right, j)?);
    // Something must be passed, or the walk would stand still.
    (m > i || n > j).then_some((m, n))
}

/// How far back the scheme of a URL is looked for.
const URL_BYTES: usize = 512;

/// The end of the path segment around `at`, if it is a version (`v1`, `2.14`,
/// `v2.0.1`; a bare number is an id) and stands in a URL.
fn version_end(text: &str, at: usize) -> Option<usize> {
    let from = text[..at].rfind('/')? + 1;
    // The URL must begin near by: looking back over all of it each time would be quadratic.
    let near = &text.as_bytes()[from.saturating_sub(URL_BYTES)..from];
    let word = near
        .iter()
        .rposition(|b| b.is_ascii_whitespace() || b"\"'<(,".contains(b))
        .map_or(near, |space| &near[space..]);
    if !word.windows(3).any(|w| w == b"://") {
        return None;
    }
    let end = text[from..]
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '.'))
        .map_or(text.len(), |len| from + len);
    let segment = text[from..end].trim_end_matches('.');
    let (prefixed, digits) = match segment.strip_prefix(['v', 'V']) {
        Some(rest) => (true, rest),
        None => (false, segment),
    };
    let parts = || digits.split('.');
    let numeric = parts().all(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()));
    (numeric && (prefixed || parts().count() > 1) && from + segment.len() >= at)
        .then_some(from + segment.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gap::kinds::Rules;
    use crate::gap::tokens::Bags;
    use proptest::prelude::*;

    fn cost(left: &str, right: &str) -> Option<f64> {
        let mut context = Context {
            rules: &Rules::default(),
            bags: &mut Bags::default(),
            level: 0,
        };
        loss(left, right, &mut context).map(|found| found.weight)
    }

    #[test]
    fn each_kind_by_hand() {
        assert_eq!(cost("Error: Payment", "Error: payment"), Some(0.1));
        assert_eq!(cost("a  b", "a\nb"), Some(0.05));
        assert_eq!(cost("a b ", "a b"), Some(0.05));
        assert_eq!(cost(" A b", " a b"), Some(0.1));
        let sum = cost("A  b", "a b").unwrap();
        assert!((sum - 0.15).abs() < 1e-12);
        assert_eq!(
            cost(
                "see https://errors.pydantic.dev/2.12/v/x",
                "see https://errors.pydantic.dev/2.14/v/x"
            ),
            Some(0.01)
        );
        assert_eq!(cost("http://a.b/v1/c", "http://a.b/v2/c"), Some(0.01));
        assert_eq!(cost("http://a.b/1.9", "http://a.b/1.10"), Some(0.01));
        assert_eq!(cost("http://a.b/1.9", "http://a.b/1.9.1"), Some(0.01));
        assert_eq!(cost("{'a': None}", r#"{"a": null}"#), Some(0.05));
        assert_eq!(
            cost(r#"{"b":1,"a":2}"#, r#"{"a": 2, "b": 1.0}"#),
            Some(0.05)
        );
    }

    #[test]
    fn real_differences_are_not_cosmetic() {
        for (left, right) in [
            ("ab", "a b"),
            ("a", ""),
            ("2.12/v", "2.14/v"),
            ("http://a.b/users/1", "http://a.b/users/2"),
            ("http://a.b/v1/c", "http://a.b/v2/d"),
            ("{'a': 1}", r#"{"a": 2}"#),
            ("ß", "x"),
        ] {
            assert_eq!(cost(left, right), None, "{left} | {right}");
        }
    }

    #[test]
    fn a_long_chain_of_versions_is_quick() {
        let chain = |version: &str| format!("http://a{}", format!("/{version}").repeat(200_000));
        let start = std::time::Instant::now();
        assert_eq!(cost(&chain("1.0"), &chain("1.1")), None);
        assert!(start.elapsed().as_secs() < 5);
    }

    proptest! {
        #[test]
        fn symmetric_and_safe(
            a in r"([hH]ttp://a/|[vV]?[0-9]\.?|/| |\t|é|É|[a-c{}\[\]':])*",
            b in r"([hH]ttp://a/|[vV]?[0-9]\.?|/| |\t|é|É|[a-c{}\[\]':])*",
        ) {
            prop_assert_eq!(cost(&a, &b), cost(&b, &a));
            prop_assert!(cost(&a, &a.to_uppercase()).is_none_or(|c| c <= 1.0));
        }
    }
}
