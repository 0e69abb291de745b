//! Arrays whose elements find their partners by value or by a field.
//!
//! Never all pairs: elements are sorted by hash, so `n log n`.

use super::guide::Guide;
use super::rules::Pairing;
use super::scan::{Malformed, value_end};
use super::side::Side;
use super::tally::Sink;
use super::tokens::then;
use super::walk::Walk;
use super::weigh::{Weighed, scalar_hash, weigh};

struct Element {
    /// What its partner has too.
    pair: u64,
    at: u32,
    from: usize,
    to: usize,
    weighed: Weighed,
}

/// Positions in the lists of elements.
#[derive(Clone, Copy)]
enum Found {
    Both(usize, usize),
    Left(usize),
    Right(usize),
}

impl<S: Sink, G: Guide> Walk<'_, '_, S, G> {
    /// Two arrays by the rule of their path. Their elements have no position,
    /// so rules reach them by `[*]` only.
    pub(super) fn unordered(&mut self, depth: usize, pairing: &Pairing) -> Result<(), Malformed> {
        let left = self.elements(true, depth, pairing)?;
        let right = self.elements(false, depth, pairing)?;
        if left.is_empty() && right.is_empty() {
            self.tally.share(2);
        }
        let ends = (self.left.at, self.right.at);
        for found in paired(&left, &right) {
            let (is_left, element) = match found {
                Found::Both(i, j) => {
                    let (a, b) = (&left[i], &right[j]);
                    if matches!(pairing, Pairing::KeyBy(_)) {
                        (self.left.at, self.right.at) = (a.from, b.from);
                        self.sink.index(a.at);
                        self.guide.index(None);
                        self.value(depth + 1)?;
                        self.guide.leave();
                        self.sink.leave();
                    } else {
                        let mut leaves = a.weighed.leaves;
                        leaves.mass = leaves.mass.max(b.weighed.leaves.mass);
                        self.tally.share_all(leaves);
                    }
                    continue;
                }
                Found::Left(i) => (true, &left[i]),
                Found::Right(j) => (false, &right[j]),
            };
            let value = self.side(is_left).slice(element.from, element.to);
            self.sink.index(element.at);
            self.lose_one(is_left, &element.weighed, value);
            self.sink.leave();
        }
        (self.left.at, self.right.at) = ends;
        Ok(())
    }

    /// The elements of one side, sorted by what pairs them; of a set each once.
    fn elements(
        &mut self,
        is_left: bool,
        depth: usize,
        pairing: &Pairing,
    ) -> Result<Vec<Element>, Malformed> {
        let mut side = *self.side(is_left);
        let mut found = vec![];
        let mut more = side.open()?;
        self.guide.index(None);
        let ignored = self.guide.effect().is_some_and(|effect| effect.ignore);
        let mut at = 0u32;
        while more {
            let from = side.at;
            if ignored {
                side.skip()?;
            } else {
                let rules = self.context.rules;
                let (weighed, to) = weigh(side.text, from, depth + 1, self.guide, rules, true)?;
                side.at = to;
                let field = match pairing {
                    Pairing::KeyBy(key) => field(side.text, from, key)?,
                    _ => None,
                };
                // A field never pairs with a whole element.
                let pair = field.map_or(then(0, weighed.hash), |hash| then(1, hash));
                found.push(Element {
                    pair,
                    at,
                    from,
                    to,
                    weighed,
                });
            }
            at = at.saturating_add(1);
            more = side.more()?;
        }
        self.guide.leave();
        *self.side(is_left) = side;
        // Stable: duplicates stay in their order.
        found.sort_by_key(|element| element.pair);
        if *pairing == Pairing::Set {
            found.dedup_by_key(|element| element.pair);
        }
        Ok(found)
    }
}

/// Merges two sorted lists; what comes out goes by position on the left, then
/// what only the right has.
fn paired(left: &[Element], right: &[Element]) -> Vec<Found> {
    let (mut i, mut j) = (0, 0);
    let mut out = Vec::with_capacity(left.len().max(right.len()));
    loop {
        match (left.get(i), right.get(j)) {
            (Some(a), Some(b)) if a.pair == b.pair => {
                out.push(Found::Both(i, j));
                i += 1;
                j += 1;
            }
            (Some(a), b) if b.is_none_or(|b| a.pair < b.pair) => {
                out.push(Found::Left(i));
                i += 1;
            }
            (_, Some(_)) => {
                out.push(Found::Right(j));
                j += 1;
            }
            _ => break,
        }
    }
    out.sort_by_key(|found| match *found {
        Found::Both(i, _) | Found::Left(i) => (false, left[i].at),
        Found::Right(j) => (true, right[j].at),
    });
    out
}

/// The hash of the value under a key of the object at `from`, if it is one and has it.
fn field(text: &str, from: usize, name: &str) -> Result<Option<u64>, Malformed> {
    let mut side = Side { text, at: from };
    if side.peek()? != b'{' {
        return Ok(None);
    }
    let mut more = side.open()?;
    while more {
        let key = side.key()?;
        side.at = key.to + 1;
        let end = value_end(side.bytes(), side.at)?;
        if side.slice(key.from, key.to) == name {
            return Ok(Some(scalar_hash(side.slice(side.at, end))));
        }
        side.at = end;
        more = side.more()?;
    }
    Ok(None)
}
