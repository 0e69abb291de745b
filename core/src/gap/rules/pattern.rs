//! Patterns of paths: `$.items[*].id`, `$..updated_at`, `$["odd key"]`.

use crate::json::{Doc, Kind, push_json_string};

/// Why a rule is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleErrorKind {
    /// Patterns start at the root.
    #[error("a path starts with `$`")]
    NoRoot,
    /// After a value stands `.`, `..` or `[`.
    #[error("expected `.`, `..` or `[`")]
    ExpectedStep,
    /// `.` or `..` without a name or `*` after it. Names hold letters, digits, `_` and `-`.
    #[error("expected a name or `*` (other keys are written `[\"so\"]`)")]
    ExpectedName,
    /// Between brackets stands `*`, a position or a key in quotes.
    #[error("expected `*`, a position or a key in quotes")]
    BadBracket,
    /// A bracket or a quote that is never closed.
    #[error("never closed")]
    Unclosed,
    /// A position of 2^32 or more.
    #[error("the position is too large")]
    BadIndex,
    /// More than [`MAX_STEPS`] steps; nothing is compared path by path so deep.
    #[error("more than {MAX_STEPS} steps")]
    TooLong,
    /// An action that does not exist.
    #[error(
        "unknown action {0:?}: one of ignore, ordered, set, multiset, key_by=field, precision=x, class=exact|tolerant|form|text, cosmetic=w"
    )]
    UnknownAction(String),
    /// An action with a value that it cannot have.
    #[error("{value:?} is no value for {action}: {wants}")]
    BadValue {
        /// The action.
        action: &'static str,
        /// What was given.
        value: String,
        /// What it takes.
        wants: &'static str,
    },
}

/// The most steps of a pattern.
pub const MAX_STEPS: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A key in canonical JSON, quotes included, as it stands in canonical text.
    Key(String),
    AnyKey,
    Index(u32),
    AnyIndex,
    /// Any number of steps, none included.
    Deep,
}

/// How much a pattern says: the more the greater.
pub(super) fn specificity(steps: &[Step]) -> (usize, bool, usize) {
    let count = |of: fn(&Step) -> bool| steps.iter().filter(|step| of(step)).count();
    (
        count(|step| matches!(step, Step::Key(_) | Step::Index(_))),
        count(|step| *step == Step::Deep) == 0,
        count(|step| matches!(step, Step::AnyKey | Step::AnyIndex)),
    )
}

/// Reads a pattern; the error says at which byte it went wrong.
pub(super) fn parse(pattern: &str) -> Result<Vec<Step>, (usize, RuleErrorKind)> {
    let bytes = pattern.as_bytes();
    if bytes.first() != Some(&b'$') {
        return Err((0, RuleErrorKind::NoRoot));
    }
    let mut steps = vec![];
    let mut at = 1;
    while at < bytes.len() {
        if steps.len() >= MAX_STEPS {
            return Err((at, RuleErrorKind::TooLong));
        }
        match bytes[at] {
            b'.' if bytes.get(at + 1) == Some(&b'.') => {
                steps.push(Step::Deep);
                at += 2;
                // `$..[0]` and `$..["odd key"]` too.
                if bytes.get(at) != Some(&b'[') {
                    at = name(pattern, at, &mut steps)?;
                } else {
                    at = bracket(pattern, at, &mut steps)?;
                }
            }
            b'.' => at = name(pattern, at + 1, &mut steps)?,
            b'[' => at = bracket(pattern, at, &mut steps)?,
            _ => return Err((at, RuleErrorKind::ExpectedStep)),
        }
    }
    Ok(steps)
}

fn quoted(key: &str) -> Step {
    let mut out = String::with_capacity(key.len() + 2);
    push_json_string(key, &mut out);
    Step::Key(out)
}

fn name(pattern: &str, at: usize, steps: &mut Vec<Step>) -> Result<usize, (usize, RuleErrorKind)> {
    let rest = &pattern[at..];
    if rest.starts_with('*') {
        steps.push(Step::AnyKey);
        return Ok(at + 1);
    }
    let len = rest
        .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'))
        .unwrap_or(rest.len());
    if len == 0 {
        return Err((at, RuleErrorKind::ExpectedName));
    }
    steps.push(quoted(&rest[..len]));
    Ok(at + len)
}

/// `at` is at the opening bracket.
fn bracket(
    pattern: &str,
    at: usize,
    steps: &mut Vec<Step>,
) -> Result<usize, (usize, RuleErrorKind)> {
    let rest = &pattern[at + 1..];
    let (step, len) = if rest.starts_with('*') {
        (Step::AnyIndex, 1)
    } else if rest.starts_with('"') {
        let len = string_len(rest).ok_or((at, RuleErrorKind::Unclosed))?;
        let bad = || (at + 1, RuleErrorKind::BadBracket);
        let doc = Doc::parse(&rest[..len]).map_err(|_| bad())?;
        let key = doc
            .root()
            .as_str()
            .filter(|_| doc.root().kind() == Kind::String);
        (quoted(key.ok_or_else(bad)?), len)
    } else {
        let len = rest.bytes().take_while(u8::is_ascii_digit).count();
        if len == 0 {
            return Err((at + 1, RuleErrorKind::BadBracket));
        }
        let index = rest[..len].parse();
        (
            Step::Index(index.map_err(|_| (at + 1, RuleErrorKind::BadIndex))?),
            len,
        )
    };
    match rest.as_bytes().get(len) {
        Some(b']') => {
            steps.push(step);
            Ok(at + len + 2)
        }
        Some(_) => Err((at + 1 + len, RuleErrorKind::BadBracket)),
        None => Err((at, RuleErrorKind::Unclosed)),
    }
}

/// The length of the JSON string at the start, quotes included.
fn string_len(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().enumerate().skip(1).find_map(|(at, byte)| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends.then_some(at + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(name: &str) -> Step {
        Step::Key(format!("\"{name}\""))
    }

    #[test]
    fn patterns_by_hand() {
        assert_eq!(parse("$"), Ok(vec![]));
        assert_eq!(parse("$.a.b-c"), Ok(vec![key("a"), key("b-c")]));
        assert_eq!(
            parse("$.items[*].id"),
            Ok(vec![key("items"), Step::AnyIndex, key("id")])
        );
        assert_eq!(parse("$[0][12]"), Ok(vec![Step::Index(0), Step::Index(12)]));
        assert_eq!(parse("$..t"), Ok(vec![Step::Deep, key("t")]));
        assert_eq!(
            parse("$.*..[0]"),
            Ok(vec![Step::AnyKey, Step::Deep, Step::Index(0)])
        );
        assert_eq!(
            parse(r#"$["odd key"]["a\"]é\u0041"]"#),
            Ok(vec![key("odd key"), Step::Key(r#""a\"]éA""#.to_owned())])
        );
        assert_eq!(parse("$.größe"), Ok(vec![key("größe")]));
    }

    #[test]
    fn faults_name_their_place() {
        for (pattern, at, kind) in [
            ("", 0, RuleErrorKind::NoRoot),
            ("a.b", 0, RuleErrorKind::NoRoot),
            ("$a", 1, RuleErrorKind::ExpectedStep),
            ("$.a b", 3, RuleErrorKind::ExpectedStep),
            ("$.", 2, RuleErrorKind::ExpectedName),
            ("$.a..", 5, RuleErrorKind::ExpectedName),
            ("$...a", 3, RuleErrorKind::ExpectedName),
            ("$.a[", 4, RuleErrorKind::BadBracket),
            ("$.a[x]", 4, RuleErrorKind::BadBracket),
            ("$.a[-1]", 4, RuleErrorKind::BadBracket),
            ("$.a[1", 3, RuleErrorKind::Unclosed),
            ("$.a[1x]", 5, RuleErrorKind::BadBracket),
            ("$[\"a]", 1, RuleErrorKind::Unclosed),
            ("$[\"\\x\"]", 2, RuleErrorKind::BadBracket),
            ("$[99999999999]", 2, RuleErrorKind::BadIndex),
        ] {
            assert_eq!(parse(pattern), Err((at, kind)), "{pattern}");
        }
        assert_eq!(
            parse(&format!("${}", ".a".repeat(65))),
            Err((129, RuleErrorKind::TooLong))
        );
    }

    #[test]
    fn what_names_more_is_more_specific() {
        let order = ["$..*", "$..*[*].id", "$.*.id", "$..a.id", "$.a[0]"];
        let of = |pattern: &str| specificity(&parse(pattern).unwrap());
        assert!(order.is_sorted_by(|a, b| of(a) < of(b)));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in r#"\$?[.\[\]*"\\a0é]{0,20}"#) {
            let _ = parse(&text);
        }
    }
}
