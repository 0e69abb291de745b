//! Which call of one arm answers which call of the other.
//!
//! Calls at the same (turn, index) with the same name are partners. What is
//! left over between two such anchors is aligned in order: first by
//! `call_key`, then, between those, by name. The rest stays one-sided. Pairs
//! never cross.
//!
//! Each step is a longest common subsequence (Hunt and Szymanski 1977: the
//! longest increasing run of matching places), O(p log p) in time and O(p) in
//! memory for p matching places. Beyond [`MATCH_LIMIT`] places only equal
//! occurrences are matched (first with first, second with second), so p never
//! exceeds the number of calls by much: no input needs a table of n x m.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::ops::Range;

/// Up to this many matching places the common subsequence is the longest one.
pub const MATCH_LIMIT: usize = 1 << 18;

/// What the alignment sees of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallRef<'a> {
    /// Ordinal of the message that makes the call.
    pub turn: i32,
    /// Place among the calls of that message.
    pub index: i32,
    /// Name of the tool.
    pub name: &'a str,
    /// The bits of its `call_key`.
    pub key: u128,
}

/// Positions in the two slices; one of them is absent in a one-sided row.
pub type CallPair = (Option<usize>, Option<usize>);

/// Aligns the calls of two arms, each in the order of its run. Every call
/// stands in exactly one pair; positions grow on both sides. Where both sides
/// have left-overs at one place, those of `left` come first.
#[must_use]
pub fn align(left: &[CallRef<'_>], right: &[CallRef<'_>]) -> Vec<CallPair> {
    let mut out = Vec::with_capacity(left.len().max(right.len()));
    let whole = (0..left.len(), 0..right.len());
    for_gaps(whole, &by_position(left, right), &mut out, |gap, out| {
        let keys = common(&gap, |i| left[i].key, |j| right[j].key);
        for_gaps(gap, &keys, out, |gap, out| {
            let names = common(&gap, |i| left[i].name, |j| right[j].name);
            for_gaps(gap, &names, out, |(l, r), out| {
                out.extend(l.map(|i| (Some(i), None)));
                out.extend(r.map(|j| (None, Some(j))));
            });
        });
    });
    out
}

type Gap = (Range<usize>, Range<usize>);

/// Hands every stretch between two anchors to `inner`, and writes the anchors.
fn for_gaps(
    (l, r): Gap,
    anchors: &[(usize, usize)],
    out: &mut Vec<CallPair>,
    mut inner: impl FnMut(Gap, &mut Vec<CallPair>),
) {
    let (mut i, mut j) = (l.start, r.start);
    for &(a, b) in anchors {
        inner((i..a, j..b), out);
        out.push((Some(a), Some(b)));
        (i, j) = (a + 1, b + 1);
    }
    inner((i..l.end, j..r.end), out);
}

fn by_position(left: &[CallRef<'_>], right: &[CallRef<'_>]) -> Vec<(usize, usize)> {
    // A place should hold one call; where it holds more, they pair in order.
    let mut places: HashMap<(i32, i32), VecDeque<usize>> = HashMap::with_capacity(right.len());
    for (j, call) in right.iter().enumerate() {
        places
            .entry((call.turn, call.index))
            .or_default()
            .push_back(j);
    }
    let pairs = left.iter().enumerate().filter_map(|(i, call)| {
        let j = places.get_mut(&(call.turn, call.index))?.pop_front()?;
        (right[j].name == call.name).then_some((i, j))
    });
    increasing(&pairs.collect::<Vec<_>>())
}

/// A common subsequence of two stretches.
fn common<K: Eq + Hash>(
    (l, r): &Gap,
    left: impl Fn(usize) -> K,
    right: impl Fn(usize) -> K,
) -> Vec<(usize, usize)> {
    if l.is_empty() || r.is_empty() {
        return vec![];
    }
    let mut places: HashMap<K, Vec<usize>> = HashMap::new();
    for j in r.clone() {
        places.entry(right(j)).or_default().push(j);
    }
    let found = |i: usize| places.get(&left(i)).map_or(&[][..], Vec::as_slice);
    let total: usize = l.clone().map(|i| found(i).len()).sum();
    let mut pairs = vec![];
    if total <= MATCH_LIMIT {
        for i in l.clone() {
            // Falling, so that no two of one call can follow each other.
            pairs.extend(found(i).iter().rev().map(|&j| (i, j)));
        }
    } else {
        let mut seen: HashMap<K, usize> = HashMap::new();
        for i in l.clone() {
            let nth = seen.entry(left(i)).or_insert(0);
            pairs.extend(found(i).get(*nth).map(|&j| (i, j)));
            *nth += 1;
        }
    }
    increasing(&pairs)
}

/// The longest subsequence that grows strictly on the right. `pairs` must not
/// fall on the left.
fn increasing(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // The pair that ends the best run of each length, and each pair's predecessor.
    let mut ends: Vec<usize> = vec![];
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, &(_, j)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|&end| pairs[end].1 < j);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        if length == ends.len() {
            ends.push(at);
        } else {
            ends[length] = at;
        }
    }
    let mut run = vec![];
    let mut at = ends.last().copied();
    while let Some(pair) = at {
        run.push(pairs[pair]);
        at = before[pair];
    }
    run.reverse();
    run
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A key names the tool too.
    fn key(word: &str) -> u128 {
        word.bytes()
            .fold(0, |key, byte| key << 8 | u128::from(byte))
    }

    /// One call a turn: "a1" is tool `a` with arguments 1.
    fn calls(text: &'static str) -> Vec<CallRef<'static>> {
        text.split_whitespace()
            .enumerate()
            .map(|(turn, word)| CallRef {
                turn: turn as i32,
                index: 0,
                name: &word[..1],
                key: key(word),
            })
            .collect()
    }

    fn aligned(left: &'static str, right: &'static str) -> String {
        let show = |at: Option<usize>| at.map_or("-".to_owned(), |at| at.to_string());
        align(&calls(left), &calls(right))
            .iter()
            .map(|&(l, r)| format!("{}{}", show(l), show(r)))
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn by_hand() {
        assert_eq!(aligned("a1 b1 c1", "a1 b2 c1"), "00 11 22");
        // A call more on the right: positions disagree by name, keys agree.
        assert_eq!(aligned("a1 b1 c1", "a1 x1 b1 c1"), "00 -1 12 23");
        // Neither position nor key, but the name.
        assert_eq!(aligned("a1 b1", "x1 a2 b2"), "-0 01 12");
        // Keys before names: b3 finds b3, not the nearer b2.
        assert_eq!(aligned("x1 b3", "b2 y1 b3"), "0- -0 -1 12");
        assert_eq!(aligned("", "a1"), "-0");
        assert_eq!(aligned("a1", ""), "0-");
        // What would cross stays one-sided.
        assert_eq!(aligned("a1 b1", "b1 a1"), "0- 10 -1");
    }

    #[test]
    fn parallel_calls_pair_by_index() {
        let call = |index, name, key| CallRef {
            turn: 0,
            index,
            name,
            key,
        };
        let left = [call(0, "a", 1), call(1, "a", 2)];
        let right = [call(0, "a", 2), call(1, "b", 3)];
        assert_eq!(
            align(&left, &right),
            [(Some(0), Some(0)), (Some(1), None), (None, Some(1))]
        );
    }

    #[test]
    fn ten_thousand_equal_calls_are_quick() {
        let run = |shift: i32| -> Vec<CallRef<'static>> {
            (0..10_000)
                .map(|turn| CallRef {
                    turn: turn + shift,
                    index: 0,
                    name: "a",
                    key: 1,
                })
                .collect()
        };
        let (left, right) = (run(0), run(1_000_000));
        let start = std::time::Instant::now();
        assert_eq!(align(&left, &right).len(), 10_000);
        assert!(start.elapsed().as_secs() < 5);
    }

    fn run() -> impl Strategy<Value = Vec<CallRef<'static>>> {
        let word = prop::sample::select(vec!["a1", "a2", "b1", "b2", "c1"]);
        prop::collection::vec((0i32..12, 0i32..2, word), 0..15).prop_map(|calls| {
            let call = |(turn, index, word): (i32, i32, &'static str)| CallRef {
                turn,
                index,
                name: &word[..1],
                key: key(word),
            };
            let mut calls: Vec<_> = calls.into_iter().map(call).collect();
            calls.sort_by_key(|c| (c.turn, c.index));
            calls
        })
    }

    proptest! {
        #[test]
        fn every_call_once_in_order(left in run(), right in run()) {
            let pairs = align(&left, &right);
            let l: Vec<_> = pairs.iter().filter_map(|p| p.0).collect();
            let r: Vec<_> = pairs.iter().filter_map(|p| p.1).collect();
            prop_assert_eq!(l, (0..left.len()).collect::<Vec<_>>());
            prop_assert_eq!(r, (0..right.len()).collect::<Vec<_>>());
            for (l, r) in pairs.iter().filter_map(|&(l, r)| Some((l?, r?))) {
                prop_assert_eq!(left[l].name, right[r].name);
            }
            prop_assert!(align(&left, &left).iter().all(|&(l, r)| l == r));
        }
    }
}
