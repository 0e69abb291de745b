//! Recorded calls in memory, found by call and by likeness.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use fidelake_core::gap::{Answer as Value, Comparer};
use fidelake_core::json::key::Key;
use fidelake_core::json::{Doc, canonical};

use super::super::{Answer, Tool};

/// An answer as it was recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Stored {
    pub(super) content: Option<String>,
    pub(super) structured: Option<String>,
    pub(super) is_error: Option<bool>,
    pub(super) status: Option<i64>,
    pub(super) rpc_code: Option<i64>,
    pub(super) error_type: Option<String>,
    pub(super) truncated: Option<bool>,
    pub(super) state_hash: Option<String>,
    /// The value that it spells, and the rule that found it; else its text.
    pub(super) value: (String, String),
}

impl Stored {
    pub(super) fn answer(&self) -> Answer {
        Answer {
            content: self.content.clone(),
            structured: self.structured.clone(),
            is_error: self.is_error,
            status: self.status,
            rpc_code: self.rpc_code,
            error_type: self.error_type.clone(),
            truncated: self.truncated,
            state_hash: self.state_hash.clone(),
            ..Answer::default()
        }
    }
}

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
    pub(super) answer: Arc<Stored>,
}

/// How an answer was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Found {
    /// The same call after the same state-changing calls.
    Place,
    /// The same call.
    Call,
    /// A call with arguments at this distance.
    Near(f64),
}

/// All recorded calls of an environment.
#[derive(Debug, Default)]
pub(super) struct Index {
    pub(super) version: i64,
    pub(super) tools: Vec<Tool>,
    /// Whether a tool changes something, for tools of which it is known.
    pub(super) changing: BTreeMap<String, bool>,
    pub(super) recorded: Vec<Recorded>,
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

    /// The best answer for a call; `without` leaves out a trajectory. The first in
    /// the order of recording wins among equals.
    pub(super) fn find(
        &self,
        name: &str,
        key: Key,
        arguments: &str,
        history: Key,
        threshold: f64,
        without: Option<&str>,
    ) -> Option<(Found, usize)> {
        let kept =
            |at: &&usize| without.is_none_or(|without| &*self.recorded[**at].trajectory != without);
        let same = self
            .by_key
            .get(&key.bits())
            .map(Vec::as_slice)
            .unwrap_or_default();
        let mut first = None;
        for at in same.iter().filter(kept) {
            if self.recorded[*at].history == history {
                return Some((Found::Place, *at));
            }
            first.get_or_insert(*at);
        }
        if let Some(at) = first {
            return Some((Found::Call, at));
        }
        let form = canonical(Doc::parse(arguments).ok()?.root()).0;
        let mut comparer = Comparer::default();
        let mut measured: HashMap<&str, f64> = HashMap::new();
        let mut best: Option<(f64, bool, usize)> = None;
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
            let better = best.is_none_or(|(least, was_other, _)| {
                distance < least || (distance <= least && was_other && !other)
            });
            if distance <= threshold && better {
                best = Some((distance, other, *at));
            }
        }
        best.map(|(distance, _, at)| (Found::Near(distance), at))
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
            answer: Arc::default(),
        }
    }

    #[test]
    fn the_same_place_comes_before_the_same_call_and_that_before_a_near_one() {
        let mut index = Index::default();
        let later = Index::after(Index::start(), key("{}"));
        index.add(recorded("t0", r#"{"id":"a","day":1}"#, Index::start()));
        index.add(recorded("t1", r#"{"id":"a","day":1}"#, later));
        let find = |arguments: &str, history, threshold, without| {
            index.find(
                "get",
                key(arguments),
                arguments,
                history,
                threshold,
                without,
            )
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
}
