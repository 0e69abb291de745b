//! Kinds of difference: what they are called, what they cost, how much they matter.

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

    /// How much such a difference matters to an agent that reads the answer,
    /// the left one being what it was trained on: a field that is gone breaks
    /// more than one that came, another type breaks whatever parses it.
    #[must_use]
    pub const fn severity(self) -> Severity {
        match self {
            Self::Extra | Self::Order | Self::Cosmetic => Severity::Info,
            Self::Missing | Self::Value => Severity::Warn,
            Self::Type => Severity::Error,
        }
    }
}

/// How much a difference matters; the greater the worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// An added field, another order, a cosmetic difference.
    Info,
    /// A field that is gone, another value.
    Warn,
    /// Another type.
    Error,
}

impl Severity {
    /// The name stored in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// Differences that change no meaning. Each weight is a share of one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CosmeticKind {
    /// Keys in another order: 0. The canonical form does not hold it, so it is never reported.
    KeyOrder,
    /// One number in two spellings (`1`, `1.0`, `1e0`): 0. Not seen in canonical text.
    NumberSpelling,
    /// `null` on one side, nothing on the other.
    NullAbsent,
    /// Texts equal but for the case of letters.
    LetterCase,
    /// Texts equal but for the amount of white space between words or around them.
    WhiteSpace,
    /// Texts equal but for a version inside a URL.
    UrlVersion,
    /// The same value in another form (Python's `repr`, JSON, bare text).
    Form,
    /// A string that holds JSON against the value itself, or against another
    /// string that holds an equal one.
    NestedJson,
    /// `NaN` or an infinity against `null`, which is what strict writers make of them.
    NanNull,
    /// An integer beyond 2^53 against what a float makes of it.
    BigInteger,
    /// Long texts with the same words in another order or with other punctuation: 0.
    Wording,
    /// A difference that a rule of the path calls cosmetic, at the weight of the rule.
    Rule,
}

impl CosmeticKind {
    /// All of them, in a fixed order.
    pub const ALL: [Self; 12] = [
        Self::KeyOrder,
        Self::NumberSpelling,
        Self::NullAbsent,
        Self::LetterCase,
        Self::WhiteSpace,
        Self::UrlVersion,
        Self::Form,
        Self::NestedJson,
        Self::NanNull,
        Self::BigInteger,
        Self::Wording,
        Self::Rule,
    ];

    /// The name stored in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::KeyOrder => "key_order",
            Self::NumberSpelling => "number_spelling",
            Self::NullAbsent => "null_absent",
            Self::LetterCase => "letter_case",
            Self::WhiteSpace => "white_space",
            Self::UrlVersion => "url_version",
            Self::Form => "form",
            Self::NestedJson => "nested_json",
            Self::NanNull => "nan_null",
            Self::BigInteger => "big_integer",
            Self::Wording => "wording",
            Self::Rule => "rule",
        }
    }
}

/// What a difference that changes no meaning costs, as a share of one path, in `[0,1]`.
///
/// Only those that are not always 0 (see [`CosmeticKind`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CosmeticWeights {
    /// [`CosmeticKind::NullAbsent`], 0.1.
    pub null_absent: f64,
    /// [`CosmeticKind::LetterCase`], 0.1.
    pub letter_case: f64,
    /// [`CosmeticKind::WhiteSpace`], 0.05.
    pub white_space: f64,
    /// [`CosmeticKind::UrlVersion`], 0.01 (`/2.12/` against `/2.14/`, `/v1/` against `/v2/`):
    /// an error text is often the only path of its answer, and the version of a
    /// link in it must not read as a gap.
    pub url_version: f64,
    /// [`CosmeticKind::Form`], 0.05. Where the whole answers differ so, every
    /// path that they share loses this much.
    pub form: f64,
    /// [`CosmeticKind::NestedJson`], 0.05; every path that a string and the
    /// value itself share loses this much.
    pub nested_json: f64,
    /// [`CosmeticKind::NanNull`], 0.1.
    pub nan_null: f64,
    /// [`CosmeticKind::BigInteger`], 0.2: as an identifier it is another one.
    pub big_integer: f64,
}

impl Default for CosmeticWeights {
    fn default() -> Self {
        Self {
            null_absent: 0.1,
            letter_case: 0.1,
            white_space: 0.05,
            url_version: 0.01,
            form: 0.05,
            nested_json: 0.05,
            nan_null: 0.1,
            big_integer: 0.2,
        }
    }
}

impl CosmeticWeights {
    /// The weight of a kind, held in `[0,1]`; 0 for those that never cost
    /// anything and for [`CosmeticKind::Rule`], whose rule says it.
    #[must_use]
    pub const fn of(&self, kind: CosmeticKind) -> f64 {
        let weight = match kind {
            CosmeticKind::NullAbsent => self.null_absent,
            CosmeticKind::LetterCase => self.letter_case,
            CosmeticKind::WhiteSpace => self.white_space,
            CosmeticKind::UrlVersion => self.url_version,
            CosmeticKind::Form => self.form,
            CosmeticKind::NestedJson => self.nested_json,
            CosmeticKind::NanNull => self.nan_null,
            CosmeticKind::BigInteger => self.big_integer,
            CosmeticKind::KeyOrder
            | CosmeticKind::NumberSpelling
            | CosmeticKind::Wording
            | CosmeticKind::Rule => 0.0,
        };
        weight.clamp(0.0, 1.0)
    }
}

/// How answers are compared, whatever the API. Rules per path are
/// [`PathRules`](super::PathRules).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// The weights of cosmetic differences.
    pub cosmetic: CosmeticWeights,
    /// What each of the two paths of a renamed field costs, in `[0,1]`, 0.4: an
    /// agent still reads the value, so a new name is less than another value.
    pub renamed: f64,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            cosmetic: CosmeticWeights::default(),
            renamed: 0.4,
        }
    }
}

/// What is lost at one place, in paths, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Loss {
    pub(super) weight: f64,
    pub(super) kind: DiffKind,
    /// Set if and only if `kind` is cosmetic.
    pub(super) cosmetic: Option<CosmeticKind>,
}

impl Loss {
    pub(super) const fn of(kind: DiffKind, weight: f64) -> Self {
        Self {
            weight,
            kind,
            cosmetic: None,
        }
    }

    pub(super) const fn cosmetic(kind: CosmeticKind, weight: f64) -> Self {
        Self {
            weight,
            kind: DiffKind::Cosmetic,
            cosmetic: Some(kind),
        }
    }

    /// What changes no meaning, at its documented weight.
    pub(super) const fn slight(kind: CosmeticKind, rules: &Rules) -> Self {
        Self::cosmetic(kind, rules.cosmetic.of(kind))
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

    /// The worst of what was found; `None` if nothing differs.
    #[must_use]
    pub fn severity(&self) -> Option<Severity> {
        let found = [
            (self.type_, Severity::Error),
            (self.missing + self.value, Severity::Warn),
            (self.extra + self.order + self.cosmetic, Severity::Info),
        ];
        found.into_iter().find(|(n, _)| *n > 0).map(|(_, s)| s)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severities_by_hand() {
        assert_eq!(DiffKind::Extra.severity(), Severity::Info);
        assert_eq!(DiffKind::Type.severity().name(), "error");
        assert!(Severity::Info < Severity::Warn && Severity::Warn < Severity::Error);
        let mut kinds = Kinds::default();
        assert_eq!(kinds.severity(), None);
        kinds.add(DiffKind::Order, 2);
        assert_eq!(kinds.severity(), Some(Severity::Info));
        kinds.add(DiffKind::Missing, 1);
        assert_eq!(kinds.severity(), Some(Severity::Warn));
    }

    #[test]
    fn names_are_distinct_and_weights_small() {
        let names: std::collections::BTreeSet<_> =
            CosmeticKind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names.len(), CosmeticKind::ALL.len());
        let weights = CosmeticWeights::default();
        assert!(
            CosmeticKind::ALL
                .iter()
                .all(|&kind| weights.of(kind) <= 0.2)
        );
    }
}
