//! Why a record was not imported.

use fidelake_core::json::ParseError;

/// The reasons stored in table `rejected`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    NotJson,
    Truncated,
    TooLarge,
    NotThisFormat,
    MissingField,
    BadField,
    KeyConflict,
}

impl Reason {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::NotJson => "not_json",
            Self::Truncated => "truncated",
            Self::TooLarge => "too_large",
            Self::NotThisFormat => "not_this_format",
            Self::MissingField => "missing_field",
            Self::BadField => "bad_field",
            Self::KeyConflict => "key_conflict",
        }
    }
}

/// A refusal, with words for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reject {
    pub(crate) reason: Reason,
    pub(crate) message: String,
}

impl Reject {
    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
        }
    }

    pub(crate) fn missing(field: &str) -> Self {
        Self::new(
            Reason::MissingField,
            format!("the required key {field:?} is missing"),
        )
    }

    pub(crate) fn bad(field: &str, what: &str) -> Self {
        Self::new(Reason::BadField, format!("the key {field:?} {what}"))
    }
}

impl From<ParseError> for Reject {
    fn from(error: ParseError) -> Self {
        let reason = if error.is_truncation() {
            Reason::Truncated
        } else {
            Reason::NotJson
        };
        Self::new(reason, format!("not valid JSON: {error} of the record"))
    }
}
