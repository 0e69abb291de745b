//! Features of calls: what they are called, how much they count in a distance, and how a
//! rule asks for them.

use std::collections::HashMap;

use crate::engine::columns::quoted;

/// What a feature is about: a column of view `pattern_features`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Field {
    Environment,
    Api,
    Differs,
    OutcomeSim,
    OutcomeReal,
    Stale,
    ArgumentFaults,
    Kinds,
    Path,
    Latency,
    ArgumentNames,
    ApiBefore,
    ApiAfter,
    Position,
}

impl Field {
    /// Those with one value per call, in the order in which they are read.
    pub(super) const SINGLE: [Self; 13] = [
        Self::Environment,
        Self::Api,
        Self::Differs,
        Self::OutcomeSim,
        Self::OutcomeReal,
        Self::Stale,
        Self::ArgumentFaults,
        Self::Kinds,
        Self::Latency,
        Self::ArgumentNames,
        Self::ApiBefore,
        Self::ApiAfter,
        Self::Position,
    ];

    pub(super) const fn column(self) -> &'static str {
        match self {
            Self::Environment => "environment",
            Self::Api => "api",
            Self::Differs => "differs",
            Self::OutcomeSim => "outcome_sim",
            Self::OutcomeReal => "outcome_real",
            Self::Stale => "stale",
            Self::ArgumentFaults => "argument_faults",
            Self::Kinds => "kinds",
            Self::Path => "paths",
            Self::Latency => "latency",
            Self::ArgumentNames => "argument_names",
            Self::ApiBefore => "api_before",
            Self::ApiAfter => "api_after",
            Self::Position => "position",
        }
    }

    /// Distance of two calls that differ in this field alone (docs/patterns.md). What stands
    /// around a call counts little: it describes a pattern, it does not make one.
    pub(super) const fn weight(self) -> f64 {
        match self {
            Self::Api | Self::Environment => 2.0,
            Self::OutcomeReal | Self::ArgumentFaults | Self::Stale => 1.5,
            Self::OutcomeSim | Self::Differs | Self::Path => 1.0,
            Self::Kinds => 0.7,
            Self::Latency => 0.3,
            Self::ArgumentNames => 0.15,
            Self::ApiBefore | Self::ApiAfter => 0.12,
            Self::Position => 0.08,
        }
    }

    /// Whether it says how the arms differ, and not what was called and what stands around it.
    pub(super) const fn tells_difference(self) -> bool {
        matches!(
            self,
            Self::Differs
                | Self::OutcomeSim
                | Self::OutcomeReal
                | Self::Stale
                | Self::Kinds
                | Self::Path
                | Self::Latency
        )
    }

    /// Which of two fields a rule asks where both tell the same: the lower one.
    pub(super) const fn preference(self) -> u32 {
        match self {
            Self::Api => 0,
            Self::Differs => 1,
            Self::OutcomeReal => 2,
            Self::Stale => 3,
            Self::ArgumentFaults => 4,
            Self::OutcomeSim => 5,
            Self::Kinds => 6,
            Self::Path => 7,
            Self::Latency => 8,
            Self::ArgumentNames => 9,
            Self::ApiBefore | Self::ApiAfter => 10,
            Self::Position => 11,
            Self::Environment => 12,
        }
    }
}

/// All features that were met, by number.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    features: Vec<(Field, String)>,
    numbers: HashMap<(Field, String), u32>,
}

impl Vocabulary {
    pub(super) fn number(&mut self, field: Field, value: &str) -> u32 {
        if let Some(&number) = self.numbers.get(&(field, value.to_owned())) {
            return number;
        }
        let number = u32::try_from(self.features.len()).unwrap_or(u32::MAX);
        self.features.push((field, value.to_owned()));
        self.numbers.insert((field, value.to_owned()), number);
        number
    }

    pub(super) fn of(&self, number: u32) -> (Field, &str) {
        let (field, value) = &self.features[number as usize];
        (*field, value)
    }

    /// The value of a field in a list of features; empty where there is none.
    pub(super) fn value<'v>(&'v self, features: &[u32], field: Field) -> &'v str {
        let found = features
            .iter()
            .map(|&f| self.of(f))
            .find(|(f, _)| *f == field);
        found.map_or("", |(_, value)| value)
    }

    /// The condition of a rule that asks for a feature.
    pub(super) fn condition(&self, number: u32, holds: bool) -> String {
        let (field, value) = self.of(number);
        let value = quoted(value);
        match (field, holds) {
            (Field::Path, true) => format!("array_has(paths, {value})"),
            (Field::Path, false) => format!("NOT coalesce(array_has(paths, {value}), false)"),
            (field, true) => format!("{} = {value}", field.column()),
            (field, false) => format!("{} <> {value}", field.column()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_have_one_number_and_quote_their_values() {
        let mut vocabulary = Vocabulary::default();
        let api = vocabulary.number(Field::Api, "it's");
        let path = vocabulary.number(Field::Path, "value $.a");
        assert_eq!(vocabulary.number(Field::Api, "it's"), api);
        assert_ne!(vocabulary.number(Field::ApiBefore, "it's"), api);
        assert_eq!(vocabulary.condition(api, true), "api = 'it''s'");
        assert_eq!(vocabulary.condition(api, false), "api <> 'it''s'");
        assert_eq!(
            vocabulary.condition(path, true),
            "array_has(paths, 'value $.a')"
        );
        assert_eq!(vocabulary.value(&[path, api], Field::Api), "it's");
        assert_eq!(vocabulary.value(&[path], Field::Stale), "");
    }
}
