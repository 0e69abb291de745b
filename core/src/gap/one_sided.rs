//! What one answer alone has.

use std::cmp::Ordering;

use super::guide::Guide;
use super::kinds::DiffKind;
use super::renames::OneSided;
use super::scan::Malformed;
use super::side::{Key, order};
use super::tally::Sink;
use super::walk::Walk;
use super::weigh::{Weighed, weigh};

impl<S: Sink, G: Guide> Walk<'_, '_, S, G> {
    /// An entry that one side alone has; whether that side goes on after it.
    pub(super) fn one_entry(
        &mut self,
        is_left: bool,
        key: Key,
        before: &mut Option<Key>,
        depth: usize,
        only: &mut OneSided,
    ) -> Result<bool, Malformed> {
        let side = self.side(is_left);
        // Only sorted keys can be merged.
        if before.is_some_and(|b| order(*side, b, *side, key) == Ordering::Greater) {
            return Err(Malformed);
        }
        *before = Some(key);
        side.at = key.to + 1;
        let name = side.slice(key.from, key.to);
        self.guide.key(name);
        if self.is_ignored() {
            self.side(is_left).skip()?;
        } else {
            let (mark, from) = (self.sink.mark(), self.side(is_left).at);
            self.sink.key(name);
            let found = self.one_sided(is_left, depth)?;
            self.sink.leave();
            only.push(is_left, (from, self.side(is_left).at), mark, &found);
        }
        self.guide.leave();
        self.side(is_left).more()
    }

    /// A value that one side alone has.
    pub(super) fn one_sided(&mut self, is_left: bool, depth: usize) -> Result<Weighed, Malformed> {
        let side = *self.side(is_left);
        let rules = self.context.rules;
        let (found, end) = weigh(side.text, side.at, depth + 1, self.guide, rules, false)?;
        self.side(is_left).at = end;
        self.lose_one(is_left, &found, side.slice(side.at, end));
        Ok(found)
    }

    pub(super) fn lose_one(&mut self, is_left: bool, found: &Weighed, value: &str) {
        let kind = match is_left {
            true => DiffKind::Missing,
            false => DiffKind::Extra,
        };
        let tally = &mut self.tally;
        tally.union = tally.union.saturating_add(found.leaves.count);
        tally.mass += found.leaves.mass;
        tally.structure += found.loss;
        tally.structure_mass += found.loss_mass;
        tally.kinds.add(kind, found.full());
        tally.kinds.add(DiffKind::Cosmetic, found.slight());
        let (l, r) = match is_left {
            true => (Some(value), None),
            false => (None, Some(value)),
        };
        self.sink.lost(found.one_sided(kind), l, r);
    }
}
