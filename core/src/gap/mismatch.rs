//! Two types at one path.

use super::guide::Guide;
use super::kinds::{CosmeticKind, DiffKind, Loss};
use super::leaf;
use super::nested::{self, MAX_LEVELS};
use super::scan::{MAX_DEPTH, Malformed, value_end};
use super::side::Side;
use super::tally::{Sink, Tally};
use super::walk::{Class, Walk, class};
use super::weigh::weigh;

impl<S: Sink, G: Guide> Walk<'_, '_, S, G> {
    /// Two leaves: a shared path that loses everything, unless the one is `NaN`
    /// and the other `null`. A string that holds a container against one of that
    /// kind: the value inside, at a small price. A container against anything
    /// else: as many paths as the larger side has, counted once, none of them shared.
    pub(super) fn mismatch(&mut self, depth: usize) -> Result<(), Malformed> {
        let (left, right) = (self.left, self.right);
        let weight = self.guide.effect().and_then(|effect| effect.cosmetic);
        if weight.is_none() && self.nested(depth)? {
            return Ok(());
        }
        let rules = self.context.rules;
        let (a, end) = weigh(left.text, left.at, depth, self.guide, rules, false)?;
        let (b, other) = weigh(right.text, right.at, depth, self.guide, rules, false)?;
        let (l, r) = (left.slice(left.at, end), right.slice(right.at, other));
        let count = a.leaves.count.max(b.leaves.count);
        let mass = a.leaves.mass.max(b.leaves.mass);
        let loss = |paths: f64| match weight {
            Some(weight) => Loss::cosmetic(CosmeticKind::Rule, weight * paths),
            None if is_nan_null(l, r) => Loss::slight(CosmeticKind::NanNull, rules),
            None => Loss::of(DiffKind::Type, paths),
        };
        let tally = &mut self.tally;
        let found = if a.is_leaf && b.is_leaf {
            let found = loss(1.0);
            tally.share(mass as usize);
            tally.lose(found, mass as usize);
            found
        } else {
            let found = loss(f64::from(count));
            tally.union = tally.union.saturating_add(count);
            tally.mass += mass;
            tally.structure += found.weight;
            tally.structure_mass += mass as f64 * weight.unwrap_or(1.0);
            tally.kinds.add(found.kind, 1);
            found
        };
        self.sink.lost(found, Some(l), Some(r));
        (self.left.at, self.right.at) = (end, other);
        Ok(())
    }

    /// A string against the container that it holds; whether it was that.
    fn nested(&mut self, depth: usize) -> Result<bool, Malformed> {
        let (left, right) = (self.left, self.right);
        let (a, b) = (class(left.peek()?), class(right.peek()?));
        let is_container = |class| matches!(class, Class::Object | Class::Array);
        let string_left = a == Class::String && is_container(b);
        if depth >= MAX_DEPTH
            || self.context.level >= MAX_LEVELS
            || !(string_left || (b == Class::String && is_container(a)))
        {
            return Ok(false);
        }
        let (string, value) = if string_left {
            (left, right)
        } else {
            (right, left)
        };
        let string_end = value_end(string.bytes(), string.at)?;
        let value_end = value_end(value.bytes(), value.at)?;
        let text = string.slice(string.at, string_end);
        let shown = value.slice(value.at, value_end);
        let Some(held) = nested::held(&leaf::decode(text)) else {
            return Ok(false);
        };
        if held.canonical.as_bytes().first() != shown.as_bytes().first() {
            return Ok(false);
        }
        let (l, r) = match string_left {
            true => (held.canonical.as_str(), shown),
            false => (shown, held.canonical.as_str()),
        };
        let mut inner = Walk {
            left: Side::new(l),
            right: Side::new(r),
            tally: Tally::default(),
            context: self.context.inside(),
            sink: &mut *self.sink,
            guide: &mut *self.guide,
            same: (0, 0),
        };
        inner.value(depth)?;
        let mut tally = inner.tally;
        let (kept, kept_mass) = tally.kept();
        let weight = self.context.rules.cosmetic.of(CosmeticKind::NestedJson);
        let loss = Loss::cosmetic(CosmeticKind::NestedJson, weight * kept.max(0.0));
        tally.value += loss.weight;
        tally.value_mass += weight * kept_mass.max(0.0);
        tally.kinds.add(DiffKind::Cosmetic, 1);
        self.tally.take(&tally);
        let (end, other) = match string_left {
            true => (string_end, value_end),
            false => (value_end, string_end),
        };
        let (l, r) = (left.slice(left.at, end), right.slice(right.at, other));
        self.sink.lost(loss, Some(l), Some(r));
        (self.left.at, self.right.at) = (end, other);
        Ok(true)
    }
}

/// What strict writers do to `NaN` and the infinities.
fn is_nan_null(left: &str, right: &str) -> bool {
    let odd = |text: &str| matches!(text, "NaN" | "Infinity" | "-Infinity");
    (left == "null" && odd(right)) || (right == "null" && odd(left))
}
