//! What a rule does at its path.

use std::fmt;

use super::pattern::RuleErrorKind;

/// How the elements of an array find their partners.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum ArrayRule {
    /// By position.
    #[default]
    Ordered,
    /// By value; how often an element stands there does not count.
    Set,
    /// By value, as often as it stands there.
    Multiset,
    /// Objects by the value of this field, duplicates in their order; elements
    /// without it by value.
    KeyBy(String),
}

/// How two different leaves are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ContentClass {
    /// Equal or not, whatever the length.
    Exact,
    /// Numbers by their relative distance, `1 - |a-b| / max(|a|,|b|)`, 0 where
    /// the signs differ; anything else as by default.
    Tolerant,
    /// The same shape is equal (see [`shape`](crate::gap::shape)); anything else as by default.
    Form,
    /// Strings by their words, whatever the length.
    Text,
}

impl ContentClass {
    /// The name stored in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Tolerant => "tolerant",
            Self::Form => "form",
            Self::Text => "text",
        }
    }

    /// Reads the name back.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Exact, Self::Tolerant, Self::Form, Self::Text]
            .into_iter()
            .find(|class| class.name() == name)
    }
}

/// What a rule does. It holds for the value at its path and for everything
/// below, until a rule for a deeper path says otherwise; [`Self::Array`] holds
/// for the array itself only.
#[derive(Clone, Debug, PartialEq)]
pub enum RuleAction {
    /// As if neither answer had it, whatever stands below.
    Ignore,
    /// How an array is compared.
    Array(ArrayRule),
    /// Numbers less than this apart are equal; above 0, finite.
    Precision(f64),
    /// How leaves are compared.
    Class(ContentClass),
    /// Any difference here is cosmetic and costs this much of a path, in `[0,1]`.
    Cosmetic(f64),
}

impl RuleAction {
    /// Reads an action: `ignore`, `ordered`, `set`, `multiset`, `key_by=field`,
    /// `precision=x`, `class=exact|tolerant|form|text`, `cosmetic=w`. White space
    /// around the equals sign and quotes around a field do not count.
    ///
    /// # Errors
    /// [`RuleErrorKind::UnknownAction`] or [`RuleErrorKind::BadValue`].
    pub fn parse(text: &str) -> Result<Self, RuleErrorKind> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (text.trim(), None),
        };
        let bad = |action, wants| RuleErrorKind::BadValue {
            action,
            value: value.unwrap_or_default().to_owned(),
            wants,
        };
        let number = || value.and_then(|value| value.parse::<f64>().ok());
        let action = match (name, value) {
            ("ignore", None) => Self::Ignore,
            ("ordered", None) => Self::Array(ArrayRule::Ordered),
            ("set", None) => Self::Array(ArrayRule::Set),
            ("multiset", None) => Self::Array(ArrayRule::Multiset),
            ("key_by", _) => {
                let field = value.unwrap_or_default();
                let field = field
                    .strip_prefix('"')
                    .and_then(|rest| rest.strip_suffix('"'))
                    .unwrap_or(field);
                Self::Array(ArrayRule::KeyBy(field.to_owned()))
            }
            ("precision", _) => Self::Precision(number().unwrap_or(f64::NAN)),
            ("cosmetic", _) => Self::Cosmetic(number().unwrap_or(f64::NAN)),
            ("class", _) => Self::Class(
                value
                    .and_then(ContentClass::from_name)
                    .ok_or_else(|| bad("class", "one of exact, tolerant, form, text"))?,
            ),
            _ => return Err(RuleErrorKind::UnknownAction(text.to_owned())),
        };
        match action.fault() {
            Some((action, wants)) => Err(bad(action, wants)),
            None => Ok(action),
        }
    }

    /// The action whose value is out of range, and what it takes.
    pub(super) fn fault(&self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Precision(x) if !(x.is_finite() && *x > 0.0) => {
                Some(("precision", "a number above 0"))
            }
            Self::Cosmetic(w) if !(0.0..=1.0).contains(w) => {
                Some(("cosmetic", "a weight between 0 and 1"))
            }
            Self::Array(ArrayRule::KeyBy(field)) if field.is_empty() => {
                Some(("key_by", "the name of a field"))
            }
            _ => None,
        }
    }

    pub(super) fn value(&self) -> String {
        match self {
            Self::Precision(x) | Self::Cosmetic(x) => x.to_string(),
            Self::Array(ArrayRule::KeyBy(field)) => field.clone(),
            _ => String::new(),
        }
    }
}

impl fmt::Display for RuleAction {
    /// As [`RuleAction::parse`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ignore => f.write_str("ignore"),
            Self::Array(ArrayRule::Ordered) => f.write_str("ordered"),
            Self::Array(ArrayRule::Set) => f.write_str("set"),
            Self::Array(ArrayRule::Multiset) => f.write_str("multiset"),
            Self::Array(ArrayRule::KeyBy(field)) => write!(f, "key_by={field}"),
            Self::Precision(x) => write!(f, "precision={x}"),
            Self::Class(class) => write!(f, "class={}", class.name()),
            Self::Cosmetic(w) => write!(f, "cosmetic={w}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_go_both_ways() {
        for text in [
            "ignore",
            "ordered",
            "set",
            "multiset",
            "key_by=id",
            "precision=0.01",
            "class=form",
            "cosmetic=0.1",
        ] {
            assert_eq!(RuleAction::parse(text).unwrap().to_string(), text);
        }
        let keyed = RuleAction::Array(ArrayRule::KeyBy("id".to_owned()));
        assert_eq!(RuleAction::parse(" key_by = \"id\" "), Ok(keyed));
    }

    #[test]
    fn bad_values_say_what_is_wanted() {
        for text in [
            "precision=0",
            "precision=x",
            "cosmetic=2",
            "class=fuzzy",
            "key_by=",
            "key_by",
        ] {
            let error = RuleAction::parse(text).unwrap_err();
            assert!(matches!(error, RuleErrorKind::BadValue { .. }), "{text}");
        }
        let message = RuleAction::parse("cosmetic=2").unwrap_err().to_string();
        assert_eq!(
            message,
            "\"2\" is no value for cosmetic: a weight between 0 and 1"
        );
        let unknown = RuleAction::parse("ignore=1").unwrap_err();
        assert!(matches!(unknown, RuleErrorKind::UnknownAction(_)));
    }
}
