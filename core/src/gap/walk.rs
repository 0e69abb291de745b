//! Two canonical texts, walked side by side without building a tree.

use std::cmp::Ordering;

use super::answer::{DiffKind, Kinds, Rules};
use super::leaf;
use super::scan::{
    Leaves, MAX_DEPTH, Malformed, container_end, measure, scalar_end, string_end, value_end,
};
use super::side::{Key, Side, order, same_elements};
use super::tokens::Bags;

/// Who listens to a walk. The plain comparison listens to nothing, so paths
/// cost it nothing; the explaining one keeps them.
pub(super) trait Sink {
    /// Steps into the value under a key (canonical, quotes included).
    fn key(&mut self, _key: &str) {}
    /// Steps into an element.
    fn index(&mut self, _index: u32) {}
    /// Steps out again.
    fn leave(&mut self) {}
    /// Something is lost here.
    fn lost(&mut self, _kind: DiffKind, _weight: f64, _left: Option<&str>, _right: Option<&str>) {}
    /// A point to go back to.
    fn mark(&self) -> usize {
        0
    }
    /// Forgets everything since `mark`, and stands at the root again.
    fn rewind(&mut self, _mark: usize) {}
    /// Everything lost since `mark` is one difference of order.
    fn reorder(&mut self, _mark: usize, _weight: f64, _left: &str, _right: &str) {}
}

/// The sink that does not listen.
pub(super) struct Quiet;
impl Sink for Quiet {}

/// The sums of a walk. Losses are in paths; the `mass` ones in bytes of leaves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) shared: u32,
    pub(super) union: u32,
    pub(super) structure: f64,
    pub(super) value: f64,
    pub(super) mass: u64,
    pub(super) structure_mass: f64,
    pub(super) value_mass: f64,
    pub(super) kinds: Kinds,
}

impl Tally {
    pub(super) fn share(&mut self, mass: usize) {
        self.shared = self.shared.saturating_add(1);
        self.union = self.union.saturating_add(1);
        self.mass += mass as u64;
    }

    pub(super) fn share_all(&mut self, leaves: Leaves) {
        self.shared = self.shared.saturating_add(leaves.count);
        self.union = self.union.saturating_add(leaves.count);
        self.mass += leaves.mass;
    }

    pub(super) fn lose(&mut self, kind: DiffKind, loss: f64, mass: usize) {
        self.value += loss;
        self.value_mass += loss * mass as f64;
        self.kinds.add(kind, 1);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

fn class(byte: u8) -> Class {
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
pub(super) struct Walk<'t, 'w, S> {
    pub(super) left: Side<'t>,
    pub(super) right: Side<'t>,
    pub(super) tally: Tally,
    pub(super) rules: &'w Rules,
    pub(super) bags: &'w mut Bags,
    pub(super) sink: &'w mut S,
}

impl<S: Sink> Walk<'_, '_, S> {
    /// Compares the values that start here, `depth` containers deep.
    /// Recursion is bounded by [`MAX_DEPTH`].
    pub(super) fn value(&mut self, depth: usize) -> Result<(), Malformed> {
        let (a, b) = (self.left.peek()?, self.right.peek()?);
        if depth < MAX_DEPTH {
            match (a, b) {
                (b'{', b'{') => return self.object(depth),
                (b'[', b'[') => return self.array(depth),
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
        if right.get(j..j + len) == Some(&left[i..end])
            && !matches!(a, b'0'..=b'9' | b'-' if right.get(j + len).is_some_and(|c| !matches!(c, b',' | b'}' | b']')))
        {
            self.tally.share(len);
            (self.left.at, self.right.at) = (end, j + len);
            return Ok(());
        }
        let other = value_end(right, j)?;
        let mass = len.max(other - j);
        let (l, r) = (self.left.slice(i, end), self.right.slice(j, other));
        let (loss, kind) = match a {
            b'"' => leaf::strings(l, r, self.rules, self.bags),
            _ => (1.0, DiffKind::Value),
        };
        self.tally.share(mass);
        self.tally.lose(kind, loss, mass);
        self.sink.lost(kind, loss, Some(l), Some(r));
        (self.left.at, self.right.at) = (end, other);
        Ok(())
    }

    /// Two types at one path. Two leaves: a shared path that loses everything.
    /// A container against anything else: as many paths as the larger side has,
    /// counted once, none of them shared.
    fn mismatch(&mut self, depth: usize) -> Result<(), Malformed> {
        let (i, j) = (self.left.at, self.right.at);
        let is_leaf = |side: &Side<'_>| match side.bytes()[side.at] {
            b'{' | b'[' => {
                depth >= MAX_DEPTH || matches!(side.bytes().get(side.at + 1), Some(b'}' | b']'))
            }
            _ => true,
        };
        let leaves = is_leaf(&self.left) && is_leaf(&self.right);
        let (a, end) = measure(self.left.bytes(), i, depth)?;
        let (b, other) = measure(self.right.bytes(), j, depth)?;
        let (count, mass) = (a.count.max(b.count), a.mass.max(b.mass));
        let tally = &mut self.tally;
        if leaves {
            tally.share(mass as usize);
            tally.lose(DiffKind::Type, 1.0, mass as usize);
        } else {
            tally.union = tally.union.saturating_add(count);
            tally.mass += mass;
            tally.structure += f64::from(count);
            tally.structure_mass += mass as f64;
            tally.kinds.add(DiffKind::Type, 1);
        }
        let (l, r) = (self.left.slice(i, end), self.right.slice(j, other));
        let weight = if leaves { 1.0 } else { f64::from(count) };
        self.sink.lost(DiffKind::Type, weight, Some(l), Some(r));
        (self.left.at, self.right.at) = (end, other);
        Ok(())
    }

    fn object(&mut self, depth: usize) -> Result<(), Malformed> {
        let (mut l, mut r) = (self.left.open()?, self.right.open()?);
        if !l && !r {
            self.tally.share(2);
        }
        let (mut left_before, mut right_before) = (None, None);
        while l || r {
            if l && r {
                let key = self.left.key()?;
                let name = &self.left.bytes()[key.from..=key.to];
                let at = self.right.at;
                if self.right.bytes()[at..].starts_with(name) {
                    let other = Key {
                        from: at,
                        to: at + name.len() - 1,
                        escaped: key.escaped,
                    };
                    // Only sorted keys can be merged.
                    let falls = |side: Side<'_>, before: Option<Key>, key: Key| {
                        before.is_some_and(|b| order(side, b, side, key) == Ordering::Greater)
                    };
                    if falls(self.left, left_before, key) || falls(self.right, right_before, other)
                    {
                        return Err(Malformed);
                    }
                    self.sink.key(self.left.slice(key.from, key.to));
                    (self.left.at, self.right.at) = (key.to + 1, other.to + 1);
                    self.value(depth + 1)?;
                    self.sink.leave();
                    (left_before, right_before) = (Some(key), Some(other));
                    (l, r) = (self.left.more()?, self.right.more()?);
                    continue;
                }
                let other = self.right.key()?;
                if order(self.left, key, self.right, other) == Ordering::Less {
                    l = self.one_sided(true, Some(key), &mut left_before, depth)?;
                } else {
                    r = self.one_sided(false, Some(other), &mut right_before, depth)?;
                }
            } else if l {
                let key = self.left.key()?;
                l = self.one_sided(true, Some(key), &mut left_before, depth)?;
            } else {
                let key = self.right.key()?;
                r = self.one_sided(false, Some(key), &mut right_before, depth)?;
            }
        }
        Ok(())
    }

    fn array(&mut self, depth: usize) -> Result<(), Malformed> {
        let (i, j) = (self.left.at, self.right.at);
        let (mut l, mut r) = (self.left.open()?, self.right.open()?);
        if !l && !r {
            self.tally.share(2);
            return Ok(());
        }
        let before = self.tally;
        let mark = self.sink.mark();
        let mut index = 0;
        while l || r {
            self.sink.index(index);
            index += 1;
            if l && r {
                self.value(depth + 1)?;
                (l, r) = (self.left.more()?, self.right.more()?);
            } else if l {
                l = self.one_sided(true, None, &mut None, depth)?;
            } else {
                r = self.one_sided(false, None, &mut None, depth)?;
            }
            self.sink.leave();
        }
        let differing = self.tally.kinds.total() - before.kinds.total();
        let (l, r) = (
            self.left.slice(i, self.left.at),
            self.right.slice(j, self.right.at),
        );
        if differing > 0 && l.len() == r.len() && same_elements(l, r)? {
            let weight = self.tally.structure - before.structure + self.tally.value - before.value;
            self.tally.kinds = before.kinds;
            self.tally.kinds.add(DiffKind::Order, differing);
            self.sink.reorder(mark, weight, l, r);
        }
        Ok(())
    }

    /// A value that one side alone has, under a key or as an element; whether
    /// that side goes on after it.
    fn one_sided(
        &mut self,
        is_left: bool,
        key: Option<Key>,
        before: &mut Option<Key>,
        depth: usize,
    ) -> Result<bool, Malformed> {
        let side = if is_left {
            &mut self.left
        } else {
            &mut self.right
        };
        if let Some(key) = key {
            // Only sorted keys can be merged.
            if before.is_some_and(|b| order(*side, b, *side, key) == Ordering::Greater) {
                return Err(Malformed);
            }
            *before = Some(key);
            side.at = key.to + 1;
        }
        let from = side.at;
        let (leaves, end) = measure(side.bytes(), from, depth + 1)?;
        side.at = end;
        let value = side.slice(from, end);
        let more = side.more()?;
        let key = key.map(|key| side.slice(key.from, key.to));

        let null = self.rules.cosmetic.null_absent;
        let full = leaves.count - leaves.nulls;
        let weight = f64::from(full) + null * f64::from(leaves.nulls);
        let nulls_mass = 4.0 * f64::from(leaves.nulls);
        let tally = &mut self.tally;
        tally.union = tally.union.saturating_add(leaves.count);
        tally.mass += leaves.mass;
        tally.structure += weight;
        tally.structure_mass += leaves.mass as f64 - (1.0 - null) * nulls_mass;
        let kind = if is_left {
            DiffKind::Missing
        } else {
            DiffKind::Extra
        };
        tally.kinds.add(kind, full);
        tally.kinds.add(DiffKind::Cosmetic, leaves.nulls);

        let kind = if full == 0 { DiffKind::Cosmetic } else { kind };
        if let Some(key) = key {
            self.sink.key(key);
        }
        let (l, r) = if is_left {
            (Some(value), None)
        } else {
            (None, Some(value))
        };
        self.sink.lost(kind, weight, l, r);
        if key.is_some() {
            self.sink.leave();
        }
        Ok(more)
    }
}
