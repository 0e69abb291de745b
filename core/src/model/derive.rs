//! How a call ended, from everything that is known about its answer.

use std::borrow::Cow;

use regex::Regex;

use super::fields;
use super::outcome::Outcome;
use super::text_rules::{self, RuleError, TextRule};
use crate::json::key::Key;
use crate::json::{Kind, Node};

/// What is known about one answer. All of it as given; nothing is trusted alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence<'a> {
    /// The environment, for rules of the user's own.
    pub environment: &'a str,
    /// The protocol's error flag.
    pub is_error: Option<bool>,
    /// The HTTP status.
    pub status: Option<i64>,
    /// The code of a JSON-RPC error.
    pub rpc_code: Option<i64>,
    /// A typed error field: our words or a framework's.
    pub error_type: Option<&'a str>,
    /// The text of the answer.
    pub text: &'a str,
    /// The value of the answer. If absent, a value is looked for in `text`.
    pub structured: Option<Node<'a>>,
}

/// An outcome, and the name of the rule that says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derived {
    /// How the call ended.
    pub outcome: Outcome,
    /// `error_type`, `status:429`, `rpc:-32602`, `field:error`,
    /// `text:tool_not_found`, `flag`, or `none` where nothing says error.
    pub rule: Cow<'static, str>,
}

impl Derived {
    pub(super) const fn new(outcome: Outcome, rule: &'static str) -> Self {
        Self {
            outcome,
            rule: Cow::Borrowed(rule),
        }
    }
}

/// The rules in force: the user's own text rules, then the built-in ones.
#[derive(Clone, Debug, Default)]
pub struct OutcomeRules {
    own: Vec<(TextRule, Regex)>,
}

impl OutcomeRules {
    /// The built-in rules with some of the user's own before them.
    ///
    /// # Errors
    /// [`RuleError`] for the first pattern that is no regular expression or not anchored.
    pub fn new(extra: Vec<TextRule>) -> Result<Self, RuleError> {
        let own = extra
            .into_iter()
            .map(|rule| {
                let regex = rule.compile()?;
                Ok((rule, regex))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { own })
    }

    /// A hash of all rules, 32 hex digits: equal rules derive equal outcomes.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let own = self.own.iter().map(|(rule, _)| {
            let environment = rule.environment.as_deref().unwrap_or("*");
            let TextRule {
                name,
                pattern,
                outcome,
                ..
            } = rule;
            format!("{name}\t{environment}\t{pattern}\t{outcome}")
        });
        let lines: Vec<String> = own.chain(text_rules::built_in()).collect();
        let parts: Vec<&str> = lines.iter().map(String::as_str).collect();
        Key::of_parts(&parts).to_string()
    }

    /// Derives the outcome. In this order: a typed error field, an HTTP status
    /// from 400 on, a JSON-RPC code, the user's text rules, error fields of the
    /// value, built-in text rules, the flag. A status below 400 or a flag that
    /// says "no error" stops none of them: both are known to lie.
    ///
    /// ```
    /// use fidelake_core::model::{Evidence, Outcome, OutcomeRules};
    /// let rules = OutcomeRules::default();
    /// let text = "Error: Tool 'think' not found.";
    /// let derived = rules.derive(&Evidence { text, ..Default::default() });
    /// assert_eq!(derived.outcome, Outcome::UnknownTool);
    /// assert_eq!(derived.rule, "text:tool_not_found");
    /// ```
    #[must_use]
    pub fn derive(&self, e: &Evidence<'_>) -> Derived {
        if let Some(derived) = of_error_type(e) {
            return derived;
        }
        if let Some((status, outcome)) = e
            .status
            .and_then(|s| Outcome::of_status(s).map(|outcome| (s, outcome)))
        {
            return Derived {
                outcome,
                rule: Cow::Owned(format!("status:{status}")),
            };
        }
        if let Some(code) = e.rpc_code {
            return self
                .own(e)
                .unwrap_or_else(|| text_rules::of_rpc(code, e.text));
        }
        if let Some(derived) = self.own(e) {
            return derived;
        }
        let flagged = e.is_error == Some(true);
        let of_value = e.structured.and_then(|node| fields::of_value(node, 0));
        let told = of_value.or_else(|| {
            // A text that spells the value again has nothing to add.
            let repeats = e
                .structured
                .is_some_and(|n| matches!(n.kind(), Kind::Object | Kind::Array))
                && e.text.trim_start().starts_with(['{', '[']);
            if repeats {
                return None;
            }
            fields::of_text(e.text, 0)
        });
        match told {
            Some(derived) if !(flagged && derived.outcome == Outcome::Ok) => derived,
            _ if flagged => text_rules::reason(text_rules::head(e.text))
                .unwrap_or(const { Derived::new(Outcome::ToolError, "flag") }),
            _ => Derived::new(Outcome::Ok, "none"),
        }
    }

    fn own(&self, e: &Evidence<'_>) -> Option<Derived> {
        if self.own.is_empty() {
            return None;
        }
        let text = text_rules::head(e.text);
        self.own
            .iter()
            .filter(|(rule, _)| {
                rule.environment
                    .as_deref()
                    .is_none_or(|environment| environment == e.environment)
            })
            .find(|(_, regex)| regex.is_match(text))
            .map(|(rule, _)| text_rules::text_rule(&rule.name, rule.outcome))
    }
}

fn of_error_type(e: &Evidence<'_>) -> Option<Derived> {
    let word = e.error_type?.trim();
    if matches!(word, "" | "none" | "None" | "null") {
        return None;
    }
    let known = Outcome::of_error_type(word).or_else(|| Outcome::of_status(word.parse().ok()?));
    match known {
        Some(Outcome::ToolError) | None => Some(
            text_rules::beginning(e.text)
                .or_else(|| text_rules::reason(text_rules::head(e.text)))
                .filter(|derived| derived.outcome != Outcome::ToolError)
                .unwrap_or(const { Derived::new(Outcome::ToolError, "error_type") }),
        ),
        Some(outcome) => Some(Derived::new(outcome, "error_type")),
    }
}

#[cfg(test)]
mod tests;
