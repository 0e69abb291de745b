//! What is compared, and by which rules.

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
            form: Form::Text,
            truncated: false,
        }
    }

    /// An answer in canonical JSON.
    #[must_use]
    pub const fn json(canonical: &'a str) -> Self {
        Self {
            text: canonical,
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

/// What a difference that changes no meaning costs, as a share of one path, in `[0,1]`.
///
/// The order of keys and the spelling of numbers cost nothing: the canonical
/// form does not hold them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CosmeticWeights {
    /// `null` on one side, nothing on the other.
    pub null_absent: f64,
    /// Texts equal but for the case of letters.
    pub letter_case: f64,
    /// Texts equal but for the amount of white space between words or around them.
    pub white_space: f64,
    /// Texts equal but for a version inside a URL (`/2.12/` against `/2.14/`, `/v1/` against `/v2/`).
    pub url_version: f64,
    /// The same value written in another form (Python's `repr`, JSON, bare text).
    /// Where the whole answers differ so, every path that they share loses this much.
    pub form: f64,
}

impl Default for CosmeticWeights {
    fn default() -> Self {
        Self {
            null_absent: 0.1,
            letter_case: 0.1,
            white_space: 0.05,
            url_version: 0.05,
            form: 0.05,
        }
    }
}

/// How answers are compared. Rules per path (ignore, set, multiset, key-by,
/// precision) and learned content classes will stand here too.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rules {
    /// The weights of cosmetic differences.
    pub cosmetic: CosmeticWeights,
}

/// What kind of difference stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DiffKind {
    /// Only the left answer has it.
    Missing,
    /// Only the right answer has it.
    Extra,
    /// Both have it, as values of different types.
    Type,
    /// Both have it, with different values.
    Value,
    /// An array with the same elements in another order.
    Order,
    /// A difference that changes no meaning.
    Cosmetic,
}

impl DiffKind {
    /// The name stored in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Extra => "extra",
            Self::Type => "type",
            Self::Value => "value",
            Self::Order => "order",
            Self::Cosmetic => "cosmetic",
        }
    }
}

/// How many paths differ, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds {
    /// Only in the left answer.
    pub missing: u32,
    /// Only in the right answer.
    pub extra: u32,
    /// Another type at the same path; a container against something else counts once.
    pub type_: u32,
    /// Another value at the same path.
    pub value: u32,
    /// Paths inside arrays that hold the same elements in another order.
    pub order: u32,
    /// Cosmetic differences.
    pub cosmetic: u32,
}

impl Kinds {
    /// All of them together.
    #[must_use]
    pub const fn total(&self) -> u32 {
        self.missing + self.extra + self.type_ + self.value + self.order + self.cosmetic
    }

    pub(super) fn add(&mut self, kind: DiffKind, paths: u32) {
        let count = match kind {
            DiffKind::Missing => &mut self.missing,
            DiffKind::Extra => &mut self.extra,
            DiffKind::Type => &mut self.type_,
            DiffKind::Value => &mut self.value,
            DiffKind::Order => &mut self.order,
            DiffKind::Cosmetic => &mut self.cosmetic,
        };
        *count = count.saturating_add(paths);
    }
}
