//! Kinds of difference: what they are called, what they cost, how much they matter.

pub use super::cosmetic_kinds::{CosmeticKind, CosmeticWeights};

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
}
