//! Strings that hold JSON: the value inside is what is compared.

use super::guide::Free;
use super::kinds::{CosmeticKind, Loss};
use super::leaf::{self, Context};
use super::side::Side;
use super::tally::{Quiet, Tally};
use super::walk::Walk;
use crate::json::{StructuredRule, structured};

/// So many strings inside strings are opened, on either way. Each is read once
/// per level, so the time stays linear.
pub(super) const MAX_LEVELS: u8 = 4;

/// A container found in a text.
pub(super) struct Held {
    /// Canonical JSON.
    pub(super) canonical: String,
    rule: StructuredRule,
}

/// The object or array that a text holds, through strings in strings.
pub(super) fn held(text: &str) -> Option<Held> {
    let mut inner = None;
    for _ in 0..MAX_LEVELS {
        let text = inner.as_deref().unwrap_or(text);
        if !text.trim_start().starts_with(['{', '[', '(', '"', '\'']) {
            return None;
        }
        let found = structured(text)?;
        if found.canonical.starts_with(['{', '[']) {
            return Some(Held {
                canonical: found.canonical,
                rule: found.rule,
            });
        }
        inner = Some(leaf::decode(&found.canonical).into_owned());
    }
    None
}

/// The loss of two texts that hold the same value, up to what is cosmetic in
/// it; `None` if they do not.
pub(super) fn texts(left: &str, right: &str, context: &mut Context<'_>) -> Option<Loss> {
    let opens = |text: &str| text.trim_start().starts_with(['{', '[', '(', '"', '\'']);
    if context.level >= MAX_LEVELS || !opens(left) || !opens(right) {
        return None;
    }
    let (a, b) = (held(left)?, held(right)?);
    let kind = if a.rule == b.rule {
        CosmeticKind::NestedJson
    } else {
        CosmeticKind::Form
    };
    let weight = context.rules.cosmetic.of(kind);
    if a.canonical == b.canonical {
        return Some(Loss::cosmetic(kind, weight));
    }
    let mut walk = Walk {
        left: Side::new(&a.canonical),
        right: Side::new(&b.canonical),
        tally: Tally::default(),
        context: context.inside(),
        sink: &mut Quiet,
        guide: &mut Free,
        same: (0, 0),
    };
    walk.value(0).ok()?;
    let tally = walk.tally;
    if tally.kinds.total() > tally.kinds.cosmetic {
        return None;
    }
    let gap = (tally.structure + tally.value) / f64::from(tally.union.max(1));
    let sum = weight + (1.0 - weight) * gap;
    Some(Loss::cosmetic(kind, sum.clamp(0.0, 1.0)))
}
