//! Named text rules: which beginnings say that a call failed, and what the
//! rest of such a text says about why.
//!
//! Two tables, because they carry different risks. A *beginning* decides that
//! an answer is an error at all, so it is anchored: a page that merely talks
//! about errors never matches. A *reason* is asked only about texts already
//! known to be errors, so it may look for words anywhere in the first lines.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use super::derive::Derived;
use super::outcome::Outcome;
use super::text_tables::{BEGINNINGS, REASONS, Then};

/// How much of a text is looked at, in bytes. Errors say what they are at once.
const HEAD: usize = 2048;
/// How much of an error's text is searched for its reason.
const REASON: usize = 700;

/// A user's own rule for one environment, or for all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextRule {
    /// Stands behind `text:` in the rule column.
    pub name: String,
    /// Only there; everywhere if `None`.
    pub environment: Option<String>,
    /// A regular expression that starts with `^` (flags may stand before it).
    pub pattern: String,
    /// What a match means. [`Outcome::Ok`] is allowed: it silences a built-in rule.
    pub outcome: Outcome,
}

/// Why a rule cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// The pattern could match in the middle of a text.
    #[error("text rule `{name}`: the pattern must start with `^`")]
    Unanchored {
        /// The rule's name.
        name: String,
    },
    /// No regular expression.
    #[error("text rule `{name}`: {message}")]
    Pattern {
        /// The rule's name.
        name: String,
        /// What the regex engine says.
        message: String,
    },
}

impl TextRule {
    pub(super) fn compile(&self) -> Result<Regex, RuleError> {
        let bad = |error: regex::Error| RuleError::Pattern {
            name: self.name.clone(),
            message: error.to_string(),
        };
        Regex::new(&self.pattern).map_err(bad)?;
        let unflagged = match self.pattern.strip_prefix("(?") {
            Some(rest) => rest.split_once(')').map_or("", |(flags, after)| {
                let only_flags = flags.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
                if only_flags { after } else { "" }
            }),
            None => self.pattern.as_str(),
        };
        if !unflagged.starts_with('^') && !unflagged.starts_with("\\A") {
            return Err(RuleError::Unanchored {
                name: self.name.clone(),
            });
        }
        // `^a|b` starts with `^` and is anchored only on one side of the bar.
        Regex::new(&format!(r"\A(?:{})", self.pattern)).map_err(bad)
    }
}

static BEGINNINGS_SET: LazyLock<RegexSet> = LazyLock::new(|| {
    let patterns = BEGINNINGS.iter().map(|(_, p, _)| format!(r"\A\s*(?:{p})"));
    RegexSet::new(patterns).unwrap_or_else(|_| RegexSet::empty())
});
static BEGINNINGS_EACH: LazyLock<Vec<Option<Regex>>> = LazyLock::new(|| {
    BEGINNINGS
        .iter()
        .map(|(_, p, _)| Regex::new(&format!(r"\A\s*(?:{p})")).ok())
        .collect()
});
static REASONS_SET: LazyLock<RegexSet> = LazyLock::new(|| {
    let patterns = REASONS.iter().map(|(_, p, _)| format!("(?i){p}"));
    RegexSet::new(patterns).unwrap_or_else(|_| RegexSet::empty())
});
/// A page whose title or first heading names an HTTP error.
static ERROR_PAGE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)<(?:title|h1|h2)[^>]{0,80}>\s*(?:error:?\s*)?(?:http\s*)?(?:([45]\d\d)\s*(?:[:\-|<]|\(|error\b|$)|(?:([45]\d\d)\s+)?(bad request|unauthori[sz]ed|forbidden|access denied|(?:page )?not found|request time-?out|too many requests|internal server error|server error|bad gateway|service (?:temporarily )?unavailable|gateway time-?out)\b)",
    )
    .ok()
});

/// The first [`HEAD`] bytes of a text, cut at a character.
pub(super) fn head(text: &str) -> &str {
    cut(text, HEAD)
}

fn cut(text: &str, len: usize) -> &str {
    if text.len() <= len {
        return text;
    }
    let mut end = len;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Why an error text says the call failed; `None` if it does not tell.
pub(super) fn reason(text: &str) -> Option<Derived> {
    let at = REASONS_SET
        .matches(cut(text.trim_start(), REASON))
        .iter()
        .next()?;
    let (name, _, outcome) = REASONS[at];
    Some(text_rule(name, outcome))
}

/// What a text that may be an answer like any other says by its beginning.
pub(super) fn beginning(whole: &str) -> Option<Derived> {
    let text = head(whole);
    if text.trim_start().starts_with('<') {
        return error_page(text);
    }
    let at = BEGINNINGS_SET.matches(text).iter().next()?;
    let (name, _, then) = BEGINNINGS[at];
    let found = BEGINNINGS_EACH[at].as_ref()?.captures(text)?;
    let rest = &text[found.get(0)?.end()..];
    let number = || found.get(1)?.as_str().parse::<i64>().ok();
    Some(match then {
        Then::Is(outcome) => text_rule(name, outcome),
        // The beginning itself may name the reason (`TimeoutError: ...`).
        Then::LastLine => {
            reason(last_line(whole)).unwrap_or_else(|| text_rule(name, Outcome::ToolError))
        }
        Then::Ask => beginning_of_rest(rest)
            .or_else(|| reason(rest))
            .or_else(|| reason(text))
            .unwrap_or_else(|| text_rule(name, Outcome::ToolError)),
        Then::Rpc => of_rpc(number()?, rest),
        Then::Status => text_rule(name, Outcome::of_status(number()?)?),
    })
}

/// What a traceback ends with: the exception and its message.
fn last_line(text: &str) -> &str {
    text.trim_end().rsplit('\n').next().unwrap_or_default()
}

/// `Error: MCP error -32602: ...`: one more exact beginning behind a general one.
fn beginning_of_rest(rest: &str) -> Option<Derived> {
    let at = BEGINNINGS_SET.matches(rest).iter().next()?;
    let (name, _, then) = BEGINNINGS[at];
    match then {
        Then::Is(outcome) => Some(text_rule(name, outcome)),
        Then::Status | Then::Rpc => {
            let found = BEGINNINGS_EACH[at].as_ref()?.captures(rest)?;
            let number: i64 = found.get(1)?.as_str().parse().ok()?;
            if matches!(then, Then::Rpc) {
                return Some(of_rpc(number, &rest[found.get(0)?.end()..]));
            }
            Some(text_rule(name, Outcome::of_status(number)?))
        }
        Then::Ask | Then::LastLine => None,
    }
}

/// A JSON-RPC code with its message. `-32602` covers unknown tools and
/// resources in MCP; every other code but the general ones is exact.
pub(super) fn of_rpc(code: i64, message: &str) -> Derived {
    let outcome = Outcome::of_rpc(code);
    let told = reason(message);
    let refined = match outcome {
        Outcome::InvalidArguments => told.filter(|d| {
            matches!(
                d.outcome,
                Outcome::UnknownTool | Outcome::NotFound | Outcome::SchemaDrift
            )
        }),
        Outcome::ServerError | Outcome::ToolError | Outcome::Transport => told,
        _ => None,
    };
    refined.unwrap_or_else(|| Derived {
        outcome,
        rule: Cow::Owned(format!("rpc:{code}")),
    })
}

fn error_page(text: &str) -> Option<Derived> {
    let found = ERROR_PAGE.as_ref()?.captures(text)?;
    let status = found.get(1).or_else(|| found.get(2));
    let outcome = match status.and_then(|s| s.as_str().parse().ok()) {
        Some(status) => Outcome::of_status(status)?,
        None => reason(found.get(3)?.as_str())?.outcome,
    };
    Some(text_rule("error_page", outcome))
}

pub(super) fn text_rule(name: &str, outcome: Outcome) -> Derived {
    Derived {
        outcome,
        rule: Cow::Owned(format!("text:{name}")),
    }
}

/// The built-in tables as text, for the fingerprint.
pub(super) fn built_in() -> impl Iterator<Item = String> {
    let beginnings = BEGINNINGS.iter().map(|(name, pattern, then)| {
        let then = match then {
            Then::Is(outcome) => outcome.as_str(),
            Then::Ask => "ask",
            Then::LastLine => "last_line",
            Then::Rpc => "rpc",
            Then::Status => "status",
        };
        format!("{name}\t{pattern}\t{then}")
    });
    let reasons = REASONS
        .iter()
        .map(|(name, pattern, outcome)| format!("{name}\t{pattern}\t{outcome}"));
    beginnings.chain(reasons)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_pattern_compiles() {
        for (name, pattern, _) in BEGINNINGS {
            assert!(Regex::new(pattern).is_ok(), "{name}");
        }
        for (name, pattern, _) in REASONS {
            assert!(Regex::new(&format!("(?i){pattern}")).is_ok(), "{name}");
        }
        assert_eq!(BEGINNINGS_SET.len(), BEGINNINGS.len());
        assert_eq!(REASONS_SET.len(), REASONS.len());
        assert!(BEGINNINGS_EACH.iter().all(Option::is_some) && ERROR_PAGE.is_some());
    }

    #[test]
    fn a_rule_must_be_anchored_and_a_regex() {
        let rule = |pattern: &str| TextRule {
            name: "mine".into(),
            environment: None,
            pattern: pattern.into(),
            outcome: Outcome::Conflict,
        };
        for good in ["^x", r"\Ax", "(?i)^x", "(?s-u)^x", "^a|b"] {
            assert!(rule(good).compile().is_ok(), "{good}");
        }
        for loose in ["x", "(?:x)", "(?i)x", "(^x)", ""] {
            let error = rule(loose).compile().unwrap_err();
            assert!(matches!(error, RuleError::Unanchored { .. }), "{loose}");
        }
        assert!(matches!(
            rule("^(").compile().unwrap_err(),
            RuleError::Pattern { .. }
        ));
        assert!(!rule("^a|b").compile().unwrap().is_match("xb"));
    }
}
