//! Whether a text was cut before it reached us.

use std::sync::LazyLock;

use regex::Regex;

use crate::json::{Doc, ParseError, ParseErrorKind};

/// Marks that stand in brackets of their own, with a count, or at the very end,
/// so that prose about truncation is not taken for one.
const MARKS: &[(&str, &str)] = &[
    // `[... 1234 characters trimmed for size ...]`, `[... omitted 12 of 90 lines ...]`
    (
        "marker:count",
        r"(?i)[\[(<](?:\.\.\.|…)\s?(?:(?:trimmed|truncated|omitted|clipped|removed|skipped)\s)?[\d,]{1,12} (?:more |of [\d,]{1,12} )?(?:characters|chars|bytes|lines|tokens|words|items)\b[^\])>\n]{0,60}[\])>]",
    ),
    // `…512 tokens truncated…`, `... [320 lines truncated] ...`
    (
        "marker:count",
        r"(?i)(?:\.\.\.|…)\s?[\[(]?[\d,]{1,12} (?:more )?(?:characters|chars|bytes|lines|tokens|words|items) (?:were )?(?:truncated|trimmed|omitted|clipped|removed)\b",
    ),
    (
        "marker:clipped",
        r"(?i)<(?:response|output|content|text|result)[ _](?:clipped|truncated|trimmed)>",
    ),
    (
        "marker:count",
        r"(?i)\[(?:output |response |content |text |result )?(?:truncated|trimmed|clipped)[:,]? (?:after |at |to )?(?:the first )?[\d,]{1,12} ?(?:of [\d,]{1,12} )?(?:more )?(?:characters|chars|bytes|lines|tokens|words|[kmg]i?b)\b",
    ),
];

/// The same, but only at the end of a text.
const END_MARKS: &[(&str, &str)] = &[
    (
        "marker:bracket",
        r"(?i)[\[<](?:\.\.\.|…)?\s?(?:the )?(?:output|response|content|text|result|message|file)?\s?(?:was |has been |is )?(?:truncated|trimmed|clipped|cut off|omitted)\b[^\]>\n]{0,80}[\]>]?\s?(?:\.\.\.|…)?\s*$",
    ),
    (
        "marker:dots",
        r"(?i)(?:\.\.\.|…)\s{0,2}[\[(<]?\s?(?:output |response |content |text |result |message )?(?:was |has been )?(?:truncated|trimmed|clipped|cut off)\b[^\n]{0,60}$",
    ),
    (
        "marker:line",
        r"(?im)^\W{0,6}(?:output|response|content|text|result) (?:was |has been )?(?:truncated|trimmed|clipped|cut off)\b[^\n]{0,100}\s*\z",
    ),
    (
        "marker:paren",
        r"(?i)\((?:output|response|content|text|result|message) (?:was |has been )?(?:truncated|trimmed|clipped|cut off)\b[^)\n]{0,80}\)\s*$",
    ),
    (
        "marker:more",
        r"(?i)(?:^|\n)\s{0,8}(?:\.\.\.|…) ?(?:and )?[\d,]{1,12} more (?:characters|chars|bytes|lines|items|rows)\W{0,6}$",
    ),
];

/// How far from the end an end mark may begin, in bytes.
const TAIL: usize = 240;

static MARKS_EACH: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| compile(MARKS));
static END_MARKS_EACH: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| compile(END_MARKS));

/// What every mark contains at least one of.
static WORDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = r"(?i)truncated|trimmed|clipped|omitted|cut off|\d (?:more |of [\d,]{1,12} )?(?:characters|chars|bytes|lines|tokens|words|items)| more (?:characters|chars|bytes|lines|items|rows)";
    Regex::new(words).ok()
});

fn compile(table: &[(&'static str, &str)]) -> Vec<(&'static str, Regex)> {
    table
        .iter()
        .filter_map(|(name, pattern)| Some((*name, Regex::new(pattern).ok()?)))
        .collect()
}

/// The name of the rule by which a text was cut, or `None` if it seems whole:
/// `marker:*` for the marks that tools leave, `cut:json` and `cut:python` for a
/// value that ends too early, `cut:dots` for a broken value that ends in dots.
///
/// ```
/// use fidelake_core::model::truncation;
/// assert_eq!(truncation("abc [... 1234 characters trimmed for size ...] xyz"), Some("marker:count"));
/// assert_eq!(truncation(r#"{"a": [1, 2"#), Some("cut:json"));
/// assert_eq!(truncation("the list was truncated by the council"), None);
/// ```
#[must_use]
pub fn truncation(text: &str) -> Option<&'static str> {
    truncation_mark(text).or_else(|| cut_value(text))
}

/// The marks only, for a text that is known to be a whole value.
#[must_use]
pub fn truncation_mark(text: &str) -> Option<&'static str> {
    // One pass over the words without which no mark is made.
    if WORDS.as_ref().is_some_and(|words| !words.is_match(text)) {
        return None;
    }
    let bytes = text.as_bytes();
    let marked = memchr::memmem::find(bytes, b"...").is_some()
        || memchr::memmem::find(bytes, "…".as_bytes()).is_some()
        || memchr::memchr3(b'[', b'<', b'(', bytes).is_some();
    if marked && let Some((name, _)) = MARKS_EACH.iter().find(|(_, mark)| mark.is_match(text)) {
        return Some(name);
    }
    let end = tail(text);
    END_MARKS_EACH
        .iter()
        .find(|(_, mark)| mark.is_match(end))
        .map(|(name, _)| *name)
}

fn tail(text: &str) -> &str {
    let text = text.trim_end();
    let mut from = text.len().saturating_sub(TAIL);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}

fn cut_value(text: &str) -> Option<&'static str> {
    let trimmed = text.trim();
    if !trimmed.starts_with(['{', '[']) {
        return None;
    }
    let json = Doc::parse(trimmed).err()?;
    let python = Doc::parse_python(trimmed).err()?;
    let starts_as_value = trimmed[1..]
        .trim_start()
        .starts_with(['"', '\'', '{', '[', '(']);
    let dots = trimmed.ends_with("...") || trimmed.ends_with('…');
    if dots && starts_as_value {
        return Some("cut:dots");
    }
    if ends_too_early(json, trimmed) {
        return Some("cut:json");
    }
    ends_too_early(python, trimmed).then_some("cut:python")
}

/// Also a number, an escape or a word of Python that was cut in its middle.
fn ends_too_early(error: ParseError, text: &str) -> bool {
    if error.is_truncation() {
        return true;
    }
    let rest = text.get(error.offset..).unwrap_or_default();
    match error.kind {
        ParseErrorKind::BadNumber => rest
            .bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b'e' | b'E' | b'+' | b'-' | b'.')),
        ParseErrorKind::BadEscape => rest.len() < 6 && rest.starts_with('\\'),
        ParseErrorKind::Unexpected => {
            !rest.is_empty()
                && ["None", "True", "False"]
                    .iter()
                    .any(|word| word.starts_with(rest))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cut_texts_are_found() {
        for (text, rule) in [
            (
                "abc\n[... 1234 characters trimmed for size ...]\nxyz",
                "marker:count",
            ),
            ("head [... omitted 12 of 90 lines ...] tail", "marker:count"),
            ("a…512 tokens truncated…b", "marker:count"),
            ("a\n... [320 lines truncated] ...\nb", "marker:count"),
            ("some text [truncated]", "marker:bracket"),
            ("some text...[truncated", "marker:bracket"),
            (
                "some text [Output truncated: 30000 of 50000]",
                "marker:bracket",
            ),
            (
                "some <response clipped><NOTE>only part is shown</NOTE>",
                "marker:clipped",
            ),
            ("some text ... (output truncated)", "marker:dots"),
            (
                "lines\n(Output was truncated. See the log.)\n",
                "marker:line",
            ),
            ("rows (result truncated at 100 rows)", "marker:paren"),
            ("[\n  1,\n  ... 98 more items\n", "marker:more"),
            (r#"{"a": [1, 2"#, "cut:json"),
            (r#"{"a": "text"#, "cut:json"),
            (r#"{"a": tr"#, "cut:json"),
            (r#"{"a": -"#, "cut:json"),
            (r#"{"a": "\u00"#, "cut:json"),
            ("{'a': 'b", "cut:python"),
            ("[{'a': No", "cut:python"),
            (r#"{"error": "", "response": "[{\"id\":\"9..."#, "cut:dots"),
            ("{'a': [1, 2], 'b...", "cut:dots"),
        ] {
            assert_eq!(truncation(text), Some(rule), "{text}");
        }
    }

    #[test]
    fn whole_texts_are_left_alone() {
        for text in [
            "",
            "The output was truncated because the disk was full, so I ran it again.",
            "Truncated cones have two radii.",
            "See section 3 (truncated normal distribution).",
            "and so on...",
            "[E03004] map parameter error (invalid combination)",
            "[FILE] a.txt\n[DIR] b",
            "{not json} ...",
            r#"{"a": "wait..."}"#,
            r#"{"error": "", "response": "{"a": 1}"}"#,
            "{'a': 1}",
            "[1, 2, 3]",
            "TRUNCATE TABLE a; -- truncated",
        ] {
            assert_eq!(truncation(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_judged(text in ".*") {
            let _ = truncation(&text);
        }

        #[test]
        fn every_cut_of_a_value_is_found(cut in 1usize..58) {
            let whole = r#"{"name": "Ana", "list": [1, 2.5e3, null, true], "x": {"y": "z"}}"#;
            prop_assert!(truncation(&whole[..cut]).is_some());
            prop_assert_eq!(truncation(whole), None);
        }
    }
}
