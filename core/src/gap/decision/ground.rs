//! Whether the arguments of a call can be found in what the agent saw.

use std::collections::HashMap;

use memchr::memmem::Finder;

use super::bag::each_word;
use crate::json::{Doc, Kind, Node, canonical_number};

/// One arm of a trajectory as its agent lived it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Episode<'e> {
    /// What the agent was told.
    pub task: &'e str,
    /// What came back, by turn.
    pub seen: &'e [Seen<'e>],
}

/// An observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen<'e> {
    /// Turn of its call; the agent has it from the next turn on.
    pub turn: i32,
    /// What came back.
    pub text: &'e str,
}

/// So many leaves of a call are looked for; who sends more sends data.
const MAX_LEAVES: usize = 1000;

/// How a leaf of the arguments is written: the forms that count as it.
#[derive(Clone, Debug)]
struct Leaf {
    forms: Vec<String>,
    words: Vec<u64>,
}

/// The leaves of a call's arguments that an agent has to find. Booleans, nulls and
/// empty strings stand in no text.
#[derive(Clone, Debug, Default)]
pub(super) struct Leaves(Vec<Leaf>);

impl Leaves {
    /// Of arguments as JSON; anything else has none.
    pub(super) fn read(arguments: &str) -> Self {
        let Ok(doc) = Doc::parse(arguments) else {
            return Self::default();
        };
        let mut leaves = Vec::new();
        // No recursion: arguments may be nested at any depth.
        let mut left = vec![doc.root()];
        while let Some(node) = left.pop()
            && leaves.len() < MAX_LEAVES
        {
            match node.kind() {
                Kind::Object => left.extend(node.entries().map(|(_, value)| value)),
                Kind::Array => left.extend(node.elements()),
                _ => leaves.extend(leaf(node)),
            }
        }
        Self(leaves)
    }

    /// Mean over the leaves of: 1 if the literal stands in what was seen before
    /// `turn`, else the share of its words that do; 1 without leaves.
    pub(super) fn ground(&self, text: &Text<'_>, turn: Option<i32>) -> f64 {
        if self.0.is_empty() {
            return 1.0;
        }
        let found: f64 = self.0.iter().map(|leaf| text.holds(leaf, turn)).sum();
        found / self.0.len() as f64
    }

    /// Of the leaves that only an answer of sim can have given (not the task): how
    /// many there are, and how many of them no answer of real gives before the call.
    pub(super) fn flow(
        &self,
        sim: &Text<'_>,
        real: &Text<'_>,
        turns: [Option<i32>; 2],
    ) -> [u32; 2] {
        let mut counts = [0, 0];
        for leaf in &self.0 {
            let given = !sim.told(leaf) && sim.answered(leaf, turns[0]);
            counts[0] += u32::from(given);
            counts[1] += u32::from(given && !real.answered(leaf, turns[1]) && !real.told(leaf));
        }
        counts
    }
}

fn leaf(node: Node<'_>) -> Option<Leaf> {
    let mut forms = match node.kind() {
        Kind::String => vec![node.as_str()?.to_owned()],
        Kind::Number => vec![
            node.raw().to_owned(),
            canonical_number(node.raw()).into_owned(),
        ],
        _ => return None,
    };
    forms.dedup();
    let mut words = Vec::new();
    each_word(&forms[0], |word, _| words.push(word));
    (!forms[0].is_empty()).then_some(Leaf { forms, words })
}

/// What an agent saw in one arm, indexed by its words.
#[derive(Clone, Debug)]
pub(super) struct Text<'e> {
    episode: Episode<'e>,
    /// The turn after which a word was seen first; `i32::MIN` for the task.
    words: HashMap<u64, i32>,
}

impl<'e> Text<'e> {
    pub(super) fn read(episode: Episode<'e>) -> Self {
        let mut words = HashMap::new();
        let task = (i32::MIN, episode.task);
        let seen = episode.seen.iter().map(|seen| (seen.turn, seen.text));
        for (turn, text) in std::iter::once(task).chain(seen) {
            each_word(text, |word, _| {
                let first = words.entry(word).or_insert(turn);
                *first = turn.min(*first);
            });
        }
        Self { episode, words }
    }

    fn holds(&self, leaf: &Leaf, before: Option<i32>) -> f64 {
        if self.told(leaf) || self.answered(leaf, before) {
            return 1.0;
        }
        if leaf.words.is_empty() {
            return 0.0;
        }
        let known = |word: &&u64| {
            let first = self.words.get(*word);
            first
                .is_some_and(|&turn| turn == i32::MIN || before.is_some_and(|before| turn < before))
        };
        leaf.words.iter().filter(known).count() as f64 / leaf.words.len() as f64
    }

    fn told(&self, leaf: &Leaf) -> bool {
        leaf.forms
            .iter()
            .any(|form| stands(form, self.episode.task))
    }

    /// Before a turn; `None`: before anything was answered.
    fn answered(&self, leaf: &Leaf, before: Option<i32>) -> bool {
        let Some(before) = before else { return false };
        leaf.forms.iter().any(|form| {
            let seen = self.episode.seen.iter();
            seen.filter(|seen| seen.turn < before)
                .any(|seen| stands(form, seen.text))
        })
    }
}

/// Whether a literal stands in a text by itself: `5` does not stand in `15`, nor
/// `art` in `start`.
fn stands(literal: &str, text: &str) -> bool {
    let (bytes, needle) = (text.as_bytes(), literal.as_bytes());
    let joined = |a: u8, b: u8| {
        (a.is_ascii_digit() && b.is_ascii_digit())
            || (a.is_ascii_alphabetic() && b.is_ascii_alphabetic())
    };
    Finder::new(needle).find_iter(bytes).any(|at| {
        let end = at + needle.len();
        let before = at.checked_sub(1).map(|before| bytes[before]);
        let left = before.zip(needle.first().copied());
        let right = needle.last().copied().zip(bytes.get(end).copied());
        !left.is_some_and(|(a, b)| joined(a, b)) && !right.is_some_and(|(a, b)| joined(a, b))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_by_hand() {
        assert!(stands("Europe", "focus on Europe."));
        assert!(stands("50", "about 50ms"));
        assert!(!stands("5", "15 or 51"));
        assert!(stands("5", "15 or 5"));
        assert!(!stands("art", "start"));
        assert!(stands("日本", "東京日本語"));
    }

    #[test]
    fn ground_by_hand() {
        let seen = [Seen {
            turn: 0,
            text: r#"{"id":"A1","name":"big blue house"}"#,
        }];
        let text = Text::read(Episode {
            task: "rooms for 2 in Rome, floor 3",
            seen: &seen,
        });
        let ground = |arguments: &str, turn| Leaves::read(arguments).ground(&text, turn);
        assert_eq!(ground("{}", Some(0)), 1.0);
        assert_eq!(ground("not json", None), 1.0);
        assert_eq!(
            ground(r#"{"city":"Rome","nights":2.0,"ok":true,"x":null}"#, None),
            1.0
        );
        // Words of "red house": none before the answer, one of two after it.
        assert_eq!(ground(r#"{"what":"red house"}"#, Some(0)), 0.0);
        assert_eq!(ground(r#"{"what":"red house"}"#, Some(1)), 0.5);
        assert_eq!(ground(r#"{"of":["A1",{"in":"Rome"}]}"#, Some(0)), 0.5);
        assert_eq!(ground(r#"{"of":["A1",{"in":"Rome"}]}"#, Some(1)), 1.0);
    }
}
