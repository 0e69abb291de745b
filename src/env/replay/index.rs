//! Recorded calls in memory, found by call and by likeness.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use fidelake_core::gap::{Answer as Value, Comparer};
use fidelake_core::json::key::Key;
use fidelake_core::json::{Doc, canonical};
use fidelake_core::mend::Leaf;

use super::super::Tool;
use super::mend::Mends;
use super::stored::Stored;
use super::world::World;

/// A recorded call.
#[derive(Clone, Debug)]
pub(super) struct Recorded {
    pub(super) trajectory: Arc<str>,
    pub(super) name: Arc<str>,
    pub(super) key: Key,
    /// Arguments in canonical form.
    pub(super) arguments: Arc<str>,
    /// Hash of the state-changing calls before it.
    pub(super) history: Key,
    /// Hash of those among them that name what this call names.
    pub(super) related: Key,
    /// Which of two answers to one question holds: the greater.
    pub(super) rank: Rank,
    pub(super) answer: Arc<Stored>,
}

/// What makes an answer better than another to the same call in the same state. The
/// others are superseded: they stay in the lake and answer nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    /// Of the real arm.
    pub(super) real: bool,
    /// No passing error, such as a limit of calls.
    pub(super) lasting: bool,
    /// Made by a dual run or a recorder, not read from a file.
    pub(super) live: bool,
    /// When its run began, in microseconds; the newest holds.
    pub(super) began: i64,
}

/// How an answer was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Found {
    /// The same call after the same state-changing calls.
    Place,
    /// The same call on the real arm, after the same of those state-changing calls
    /// that name what it names.
    Related,
    /// The same call.
    Call,
    /// A call with arguments at this distance.
    Near(f64),
}

/// Hash of those state-changing calls that name something which the call names too:
/// the same value under the same key.
pub(super) fn related<'w>(writes: impl Iterator<Item = (Key, &'w [Leaf])>, asked: &[Leaf]) -> Key {
    let shares = |names: &[Leaf]| {
        let same = |leaf: &Leaf| {
            asked
                .iter()
                .any(|one| one.json == leaf.json && one.key() == leaf.key())
        };
        names.iter().any(same)
    };
    writes
        .filter(|(_, names)| shares(names))
        .fold(Index::start(), |before, (key, _)| Index::after(before, key))
}

/// All recorded calls of an environment.
#[derive(Debug, Default)]
pub(super) struct Index {
    pub(super) version: i64,
    pub(super) tools: Vec<Tool>,
    /// Whether a catalog was recorded; else the tools are what was called.
    pub(super) has_catalog: bool,
    /// Whether a tool changes something, for tools of which it is known.
    pub(super) changing: BTreeMap<String, bool>,
    pub(super) recorded: Vec<Recorded>,
    /// What real answers teach of others.
    pub(super) mends: Mends,
    /// How the real arm behaves beside what it answers.
    pub(super) world: World,
    by_key: HashMap<u128, Vec<usize>>,
    by_tool: HashMap<Arc<str>, Vec<usize>>,
}

impl Index {
    pub(super) fn of(version: i64, changing: BTreeMap<String, bool>) -> Self {
        Self {
            version,
            changing,
            ..Self::default()
        }
    }

    /// The history of a fresh state.
    pub(super) fn start() -> Key {
        Key::of(b"fresh")
    }

    /// The history after one more state-changing call.
    pub(super) fn after(history: Key, key: Key) -> Key {
        Key::of_parts(&[&history.to_string(), &key.to_string()])
    }

    /// Whether a tool changes something, as far as is known; else it may.
    pub(super) fn changes(&self, tool: &str) -> bool {
        self.changing.get(tool).copied().unwrap_or(true)
    }

    pub(super) fn add(&mut self, recorded: Recorded) {
        let at = self.recorded.len();
        self.by_key.entry(recorded.key.bits()).or_default().push(at);
        self.by_tool
            .entry(Arc::clone(&recorded.name))
            .or_default()
            .push(at);
        self.recorded.push(recorded);
    }

    /// Answers that another one supersedes: of the same call in the same state.
    pub(super) fn superseded(&self) -> usize {
        let mut places: HashMap<(u128, u128), usize> = HashMap::new();
        for recorded in &self.recorded {
            let place = (recorded.key.bits(), recorded.history.bits());
            *places.entry(place).or_default() += 1;
        }
        places.values().map(|count| count - 1).sum()
    }

    /// The best recorded answer for the very call among those that are `kept`. Of
    /// equals the first in the order of recording wins. `related` asks for real
    /// answers before those of the other arm.
    pub(super) fn exact(
        &self,
        key: Key,
        history: Key,
        related: Option<Key>,
        kept: impl Fn(&Recorded) -> bool,
    ) -> Option<(Found, usize)> {
        let mut best: Option<((u8, Rank), Found, usize)> = None;
        for at in self.by_key.get(&key.bits()).into_iter().flatten() {
            let recorded = &self.recorded[*at];
            if !kept(recorded) {
                continue;
            }
            let real = recorded.rank.real;
            let (found, place) = if recorded.history == history {
                (Found::Place, if real { 3 } else { 1 })
            } else if real && related == Some(recorded.related) {
                (Found::Related, 2)
            } else {
                (Found::Call, 0)
            };
            // Without mending, the state comes before the arm.
            let place = if related.is_none() {
                place.min(1)
            } else {
                place
            };
            let order = (place, recorded.rank);
            if best.is_none_or(|(before, _, _)| order > before) {
                best = Some((order, found, *at));
            }
        }
        best.map(|(_, found, at)| (found, at))
    }

    /// The answer of the most similar call of the tool, within the threshold; `without`
    /// leaves out a trajectory. Looks at every recorded call of the tool.
    pub(super) fn near(
        &self,
        name: &str,
        arguments: &str,
        history: Key,
        threshold: f64,
        without: Option<&str>,
    ) -> Option<(Found, usize)> {
        let kept =
            |at: &&usize| without.is_none_or(|without| &*self.recorded[**at].trajectory != without);
        let form = canonical(Doc::parse(arguments).ok()?.root()).0;
        let mut comparer = Comparer::default();
        let mut measured: HashMap<&str, f64> = HashMap::new();
        let mut best: Option<(f64, bool, Rank, usize)> = None;
        for at in self
            .by_tool
            .get(name)
            .map(Vec::as_slice)
            .unwrap_or_default()
            .iter()
            .filter(kept)
        {
            let recorded = &self.recorded[*at];
            let distance = *measured.entry(&*recorded.arguments).or_insert_with(|| {
                comparer
                    .observe(Value::json(&form), Value::json(&recorded.arguments))
                    .gap
            });
            // After the same history rather than after another, at one distance.
            let other = recorded.history != history;
            let better = best.is_none_or(|(least, was_other, rank, _)| {
                distance < least
                    || (distance <= least && (!other, recorded.rank) > (!was_other, rank))
            });
            if distance <= threshold && better {
                best = Some((distance, other, recorded.rank, *at));
            }
        }
        best.map(|(distance, _, _, at)| (Found::Near(distance), at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fidelake_core::json::key::call_key;

    fn key(arguments: &str) -> Key {
        let doc = Doc::parse(arguments).unwrap();
        call_key("get", Some(doc.root()), arguments)
    }

    fn recorded(trajectory: &str, arguments: &str, history: Key) -> Recorded {
        Recorded {
            trajectory: trajectory.into(),
            name: "get".into(),
            key: key(arguments),
            arguments: canonical(Doc::parse(arguments).unwrap().root()).0.into(),
            history,
            related: history,
            rank: Rank::default(),
            answer: Arc::default(),
        }
    }

    #[test]
    fn the_same_place_comes_before_the_same_call_and_that_before_a_near_one() {
        let mut index = Index::default();
        let later = Index::after(Index::start(), key("{}"));
        index.add(recorded("t0", r#"{"id":"a","day":1}"#, Index::start()));
        index.add(recorded("t1", r#"{"id":"a","day":1}"#, later));
        let find = |arguments: &str, history, threshold, without: Option<&str>| {
            index
                .exact(key(arguments), history, None, |one: &Recorded| {
                    without.is_none_or(|without| *without != *one.trajectory)
                })
                .or_else(|| index.near("get", arguments, history, threshold, without))
        };
        let asked = r#"{"day": 1, "id": "a"}"#;
        assert_eq!(find(asked, later, 0.0, None), Some((Found::Place, 1)));
        assert_eq!(find(asked, later, 0.0, Some("t1")), Some((Found::Call, 0)));
        assert_eq!(find(asked, later, 0.0, Some("t2")).unwrap().0, Found::Place);
        let near = find(r#"{"id":"a","day":2}"#, later, 0.6, None);
        assert!(
            matches!(near, Some((Found::Near(d), 1)) if d > 0.0 && d < 0.6),
            "{near:?}"
        );
        assert_eq!(find(r#"{"id":"a","day":2}"#, later, 0.0, None), None);
    }

    #[test]
    fn the_newest_real_answer_holds_and_what_passes_comes_last() {
        let mut index = Index::default();
        let ranks = [
            (true, false, 9),
            (true, true, 5),
            (true, true, 7),
            (false, true, 8),
        ];
        for (at, (lasting, real, began)) in ranks.into_iter().enumerate() {
            let mut one = recorded(&format!("t{at}"), "{}", Index::start());
            one.rank = Rank {
                lasting,
                real,
                live: true,
                began,
            };
            index.add(one);
        }
        let found = |without: &str| {
            let kept = |one: &Recorded| &*one.trajectory != without;
            index.exact(key("{}"), Index::start(), None, kept)
        };
        assert_eq!(found(""), Some((Found::Place, 2)));
        assert_eq!(found("t2"), Some((Found::Place, 1)));
        assert_eq!(index.superseded(), 3);
        // A real answer from another state: only if the writes between do not concern it.
        let later = Index::after(Index::start(), key("{}"));
        let mut sim = recorded("t9", "{}", later);
        sim.related = later;
        index.add(sim);
        assert_eq!(
            index.exact(key("{}"), later, None, |_: &Recorded| true),
            Some((Found::Place, 4))
        );
        assert_eq!(
            index.exact(key("{}"), later, Some(Index::start()), |_: &Recorded| true),
            Some((Found::Related, 2))
        );
        assert_eq!(
            index.exact(key("{}"), later, Some(later), |_: &Recorded| true),
            Some((Found::Place, 4))
        );
    }
}
