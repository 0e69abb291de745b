//! The core of a pattern: what most of its calls have in common.

use std::collections::BTreeMap;

use super::call::Calls;
use super::feature::Field;

/// Features, each held by at least this share of a pattern's calls, are its core.
const TYPICAL: f64 = 0.8;

/// The most frequent value of every field, and the paths that most calls differ at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Core {
    values: BTreeMap<Field, String>,
    pub(super) paths: Vec<String>,
    /// Tools, the most frequent first.
    pub(super) apis: Vec<String>,
}

impl Core {
    /// Of the calls of some kinds, with how many there are of each.
    pub(super) fn of(all: &Calls, kinds: &BTreeMap<u32, u64>) -> Self {
        let mut counts: BTreeMap<(Field, &str), u64> = BTreeMap::new();
        let total: u64 = kinds.values().sum();
        for (kind, count) in kinds {
            for &feature in &all.kinds[*kind as usize] {
                *counts.entry(all.vocabulary.of(feature)).or_default() += count;
            }
        }
        let mut best: BTreeMap<Field, (u64, &str)> = BTreeMap::new();
        let (mut paths, mut apis) = (Vec::new(), Vec::new());
        for ((field, value), count) in counts {
            match field {
                Field::Path => {
                    if count as f64 >= TYPICAL * total as f64 {
                        paths.push((count, value));
                    }
                    continue;
                }
                Field::Api => apis.push((count, value)),
                _ => {}
            }
            let entry = best.entry(field).or_insert((count, value));
            if count > entry.0 {
                *entry = (count, value);
            }
        }
        let sorted = |mut list: Vec<(u64, &str)>| -> Vec<String> {
            list.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
            list.into_iter()
                .map(|(_, value)| value.to_owned())
                .collect()
        };
        let values = best
            .into_iter()
            .map(|(field, (_, value))| (field, value.to_owned()));
        Self {
            values: values.collect(),
            paths: sorted(paths),
            apis: sorted(apis),
        }
    }

    /// The most frequent value of a field.
    pub(super) fn value(&self, field: Field) -> &str {
        self.values.get(&field).map_or("", String::as_str)
    }

    /// What makes a pattern the pattern it is, for its id: not what stands around its calls.
    pub(super) fn parts(&self) -> Vec<&str> {
        let fields = [
            Field::Environment,
            Field::Api,
            Field::Differs,
            Field::OutcomeSim,
            Field::OutcomeReal,
            Field::Stale,
            Field::ArgumentFaults,
            Field::Kinds,
        ];
        fields.into_iter().map(|field| self.value(field)).collect()
    }

    /// What sim and real have in opposite ways here; `None` if nothing.
    pub(super) fn direction(&self) -> Option<Direction> {
        let own = self.directed();
        let told = [
            Way::Outcomes(own.outcomes.clone()),
            Way::Stale(own.stale.clone()),
            Way::Differs(own.differs.clone()),
            Way::Kinds(own.kinds.clone()),
        ];
        let way = told.into_iter().find(|way| *way != way.mirrored())?;
        Some(Direction {
            mirror: way.mirrored(),
            own: way,
        })
    }

    pub(super) fn directed(&self) -> Directed {
        Directed {
            environment: self.value(Field::Environment).to_owned(),
            api: self.value(Field::Api).to_owned(),
            differs: self.value(Field::Differs).to_owned(),
            outcomes: [
                self.value(Field::OutcomeSim).to_owned(),
                self.value(Field::OutcomeReal).to_owned(),
            ],
            stale: self.value(Field::Stale).to_owned(),
            kinds: words(self.value(Field::Kinds)),
        }
    }
}

/// The features of a call that sim and real have in opposite ways.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Directed {
    pub(super) environment: String,
    pub(super) api: String,
    pub(super) differs: String,
    pub(super) outcomes: [String; 2],
    pub(super) stale: String,
    pub(super) kinds: std::collections::BTreeSet<String>,
}

/// One of the features that have a direction, those that say most first.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Way {
    Outcomes([String; 2]),
    Stale(String),
    Differs(String),
    Kinds(std::collections::BTreeSet<String>),
}

impl Way {
    /// With sim and real changed over.
    fn mirrored(&self) -> Self {
        let swap = |text: &str, a: &str, b: &str| match text {
            _ if text == a => b.to_owned(),
            _ if text == b => a.to_owned(),
            _ => text.to_owned(),
        };
        match self {
            Self::Outcomes([sim, real]) => Self::Outcomes([real.clone(), sim.clone()]),
            Self::Stale(arm) => Self::Stale(swap(arm, "sim", "real")),
            Self::Differs(what) => Self::Differs(match what.as_str() {
                "slower" => "faster".to_owned(),
                "faster" => "slower".to_owned(),
                other => swap(other, "sim_only", "real_only"),
            }),
            Self::Kinds(kinds) => {
                Self::Kinds(kinds.iter().map(|k| swap(k, "missing", "extra")).collect())
            }
        }
    }

    /// Whether calls of these features go this way. Of kinds only what has a direction counts.
    fn has(&self, call: &Directed) -> bool {
        match self {
            Self::Outcomes(outcomes) => *outcomes == call.outcomes,
            Self::Stale(arm) => *arm == call.stale,
            Self::Differs(what) => *what == call.differs,
            Self::Kinds(kinds) => ["missing", "extra"]
                .iter()
                .all(|kind| kinds.contains(*kind) == call.kinds.contains(*kind)),
        }
    }
}

/// The direction of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Direction {
    own: Way,
    mirror: Way,
}

impl Direction {
    /// Whether calls of these features go the pattern's way (true) or the other way round
    /// (false); `None`: neither.
    pub(super) fn of(&self, call: &Directed) -> Option<bool> {
        if self.own.has(call) {
            return Some(true);
        }
        self.mirror.has(call).then_some(false)
    }
}

impl Directed {
    /// Of one kind of calls.
    pub(super) fn of(all: &Calls, kind: u32) -> Self {
        let features = &all.kinds[kind as usize];
        let value = |field| all.vocabulary.value(features, field).to_owned();
        Self {
            environment: value(Field::Environment),
            api: value(Field::Api),
            differs: value(Field::Differs),
            outcomes: [value(Field::OutcomeSim), value(Field::OutcomeReal)],
            stale: value(Field::Stale),
            kinds: words(&value(Field::Kinds)),
        }
    }
}

fn words(kinds: &str) -> std::collections::BTreeSet<String> {
    kinds
        .split('+')
        .filter(|k| !k.is_empty())
        .map(str::to_owned)
        .collect()
}
