//! What is compared.

use crate::json::{Structured, StructuredRule};

/// How the text of an answer was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Form {
    /// Just text: no value was found in it.
    #[default]
    Text,
    /// JSON; the text handed over is its canonical form.
    Json,
    /// Python's `repr`; the text handed over is the canonical JSON of the same value.
    PythonRepr,
}

impl Form {
    /// From the name stored in tables (`json`, `python_repr`); anything else is text.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        match name {
            "json" => Self::Json,
            "python_repr" => Self::PythonRepr,
            _ => Self::Text,
        }
    }
}

impl From<StructuredRule> for Form {
    fn from(rule: StructuredRule) -> Self {
        match rule {
            StructuredRule::Json => Self::Json,
            StructuredRule::PythonRepr => Self::PythonRepr,
        }
    }
}

/// One answer of one arm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer<'a> {
    /// Canonical JSON of the value, or the plain text.
    pub text: &'a str,
    /// The text as it was given, if `text` is another; empty: not known. Where one of two answers was cut, what
    /// was given is compared: a canonical form has its keys in another order.
    pub raw: &'a str,
    /// How the value was found.
    pub form: Form,
    /// The environment or the recorder cut the text.
    pub truncated: bool,
}

impl<'a> Answer<'a> {
    /// An answer that is only text.
    #[must_use]
    pub const fn plain(text: &'a str) -> Self {
        Self {
            text,
            raw: "",
            form: Form::Text,
            truncated: false,
        }
    }

    /// An answer in canonical JSON.
    #[must_use]
    pub const fn json(canonical: &'a str) -> Self {
        Self {
            text: canonical,
            raw: "",
            form: Form::Json,
            truncated: false,
        }
    }

    /// The value found in `raw`, or `raw` itself where none was.
    #[must_use]
    pub fn of(raw: &'a str, structured: Option<&'a Structured>) -> Self {
        match structured {
            Some(found) => Self {
                text: &found.canonical,
                raw,
                form: found.rule.into(),
                truncated: false,
            },
            None => Self::plain(raw),
        }
    }

    /// The same answer, marked as cut.
    #[must_use]
    pub const fn cut(mut self) -> Self {
        self.truncated = true;
        self
    }
}
