//! Differences that change no meaning: their names and what they cost.

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

#[cfg(test)]
mod tests {
    use super::*;

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
