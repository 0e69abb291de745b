//! Two canonical texts, walked side by side without building a tree.

use std::cmp::Ordering;

use super::guide::Guide;
use super::kinds::DiffKind;
use super::leaf::{self, Context};
use super::renames::OneSided;
use super::rules::Pairing;
use super::scan::{MAX_DEPTH, Malformed, container_end, scalar_end, string_end, value_end};
use super::side::{Key, Side, goes_on, order, same_elements};
use super::tally::{Sink, Tally};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

pub(super) fn class(byte: u8) -> Class {
    match byte {
        b'{' => Class::Object,
        b'[' => Class::Array,
        b'"' => Class::String,
        b'n' => Class::Null,
        b't' | b'f' => Class::Bool,
        _ => Class::Number,
    }
}

/// A comparison under way.
pub(super) struct Walk<'t, 'w, S, G> {
    pub(super) left: Side<'t>,
    pub(super) right: Side<'t>,
    pub(super) tally: Tally,
    pub(super) context: Context<'w>,
    pub(super) sink: &'w mut S,
    pub(super) guide: &'w mut G,
    /// Up to where the left text is the same as the right one, and how far
    /// apart the two stand then. All zero if nothing is known.
    pub(super) same: (usize, usize),
}

impl<'t, S: Sink, G: Guide> Walk<'t, '_, S, G> {
    /// Compares the values that start here, `depth` containers deep, and that
    /// are not ignored. Recursion is bounded by [`MAX_DEPTH`].
    pub(super) fn value(&mut self, depth: usize) -> Result<(), Malformed> {
        let (a, b) = (self.left.peek()?, self.right.peek()?);
        if depth < MAX_DEPTH {
            if depth > 0 && matches!(a, b'{' | b'[') && a == b && self.same_container(depth) {
                return Ok(());
            }
            match (a, b) {
                (b'{', b'{') => return self.object(depth),
                (b'[', b'[') => {
                    if G::ACTIVE
                        && let Some(effect) = self.guide.effect()
                        && effect.array != Pairing::Ordered
                    {
                        let pairing = effect.array.clone();
                        return self.unordered(depth, &pairing);
                    }
                    return self.array(depth);
                }
                _ => {}
            }
        }
        let (i, j) = (self.left.at, self.right.at);
        let (left, right) = (self.left.bytes(), self.right.bytes());
        if class(a) != class(b) {
            return self.mismatch(depth);
        }
        let end = match a {
            b'"' => string_end(left, i)?.0,
            b'{' | b'[' => container_end(left, i)?,
            _ => scalar_end(left, i)?,
        };
        let len = end - i;
        if goes_on(right, j, &left[i..end])
            && !matches!(a, b'0'..=b'9' | b'-' if right.get(j + len).is_some_and(|c| !matches!(c, b',' | b'}' | b']')))
        {
            self.tally.share(len);
            (self.left.at, self.right.at) = (end, j + len);
            return Ok(());
        }
        let other = value_end(right, j)?;
        let mass = len.max(other - j);
        let (l, r) = (self.left.slice(i, end), self.right.slice(j, other));
        self.tally.share(mass);
        if let Some(loss) = leaf::compare(l, r, self.guide.effect(), &mut self.context) {
            self.tally.lose(loss, mass);
            self.sink.lost(loss, Some(l), Some(r));
        }
        (self.left.at, self.right.at) = (end, other);
        Ok(())
    }

    /// Whether a rule takes what stands here out of both answers.
    pub(super) fn is_ignored(&self) -> bool {
        G::ACTIVE && self.guide.effect().is_some_and(|effect| effect.ignore)
    }

    fn object(&mut self, depth: usize) -> Result<(), Malformed> {
        let (mut l, mut r) = (self.left.open()?, self.right.open()?);
        // Whether anything is left to compare, ignored entries apart.
        let mut any = !G::ACTIVE && (l || r);
        let mut only = OneSided::default();
        let (mut left_before, mut right_before) = (None, None);
        // Both came by the same key, so that one order tells of both.
        let mut paired = false;
        while l || r {
            if l && r {
                let key = self.left.key()?;
                let name = &self.left.bytes()[key.from..=key.to];
                let at = self.right.at;
                if goes_on(self.right.bytes(), at, name) {
                    let other = Key {
                        from: at,
                        to: at + name.len() - 1,
                        escaped: key.escaped,
                    };
                    // Only sorted keys can be merged.
                    let falls = |side: Side<'_>, before: Option<Key>, key: Key| {
                        before.is_some_and(|b| order(side, b, side, key) == Ordering::Greater)
                    };
                    if falls(self.left, left_before, key)
                        || (!paired && falls(self.right, right_before, other))
                    {
                        return Err(Malformed);
                    }
                    paired = true;
                    let name = self.left.slice(key.from, key.to);
                    self.guide.key(name);
                    (self.left.at, self.right.at) = (key.to + 1, other.to + 1);
                    if self.is_ignored() {
                        self.left.skip()?;
                        self.right.skip()?;
                    } else {
                        any = true;
                        self.sink.key(name);
                        self.value(depth + 1)?;
                        self.sink.leave();
                    }
                    self.guide.leave();
                    (left_before, right_before) = (Some(key), Some(other));
                    (l, r) = (self.left.more()?, self.right.more()?);
                    continue;
                }
                paired = false;
                let other = self.right.key()?;
                if order(self.left, key, self.right, other) == Ordering::Less {
                    l = self.one_entry(true, key, &mut left_before, depth, &mut only)?;
                } else {
                    r = self.one_entry(false, other, &mut right_before, depth, &mut only)?;
                }
            } else if l {
                let key = self.left.key()?;
                l = self.one_entry(true, key, &mut left_before, depth, &mut only)?;
            } else {
                let key = self.right.key()?;
                r = self.one_entry(false, key, &mut right_before, depth, &mut only)?;
            }
        }
        if !any && only.is_empty() {
            self.tally.share(2);
        }
        self.renames(&only);
        Ok(())
    }

    fn array(&mut self, depth: usize) -> Result<(), Malformed> {
        let (i, j) = (self.left.at, self.right.at);
        let (mut l, mut r) = (self.left.open()?, self.right.open()?);
        let before = self.tally;
        let mark = self.sink.mark();
        let mut any = !G::ACTIVE && (l || r);
        let mut index = 0;
        while l || r {
            self.guide.index(Some(index));
            let ignored = self.is_ignored();
            any |= !ignored;
            if ignored {
                (l, r) = (self.pass(true, l)?, self.pass(false, r)?);
            } else {
                self.sink.index(index);
                if l && r {
                    self.value(depth + 1)?;
                    (l, r) = (self.left.more()?, self.right.more()?);
                } else {
                    let is_left = l;
                    self.one_sided(is_left, depth)?;
                    (l, r) = match is_left {
                        true => (self.left.more()?, false),
                        false => (false, self.right.more()?),
                    };
                }
                self.sink.leave();
            }
            self.guide.leave();
            index += 1;
        }
        if !any {
            self.tally.share(2);
        }
        let differing = self.tally.kinds.total() - before.kinds.total();
        let (l, r) = (
            self.left.slice(i, self.left.at),
            self.right.slice(j, self.right.at),
        );
        if differing > 0 && index > 1 && l.len() == r.len() && same_elements(l, r)? {
            let weight = self.tally.structure - before.structure + self.tally.value - before.value;
            self.tally.kinds = before.kinds;
            self.tally.kinds.add(DiffKind::Order, differing);
            self.sink.reorder(mark, weight, l, r);
        }
        Ok(())
    }

    /// Past an ignored element, if this side still has one; whether it goes on.
    fn pass(&mut self, is_left: bool, has: bool) -> Result<bool, Malformed> {
        if !has {
            return Ok(false);
        }
        let side = self.side(is_left);
        side.skip()?;
        side.more()
    }

    pub(super) fn side(&mut self, is_left: bool) -> &mut Side<'t> {
        match is_left {
            true => &mut self.left,
            false => &mut self.right,
        }
    }
}
