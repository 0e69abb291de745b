//! Strings that hold JSON: the value inside is what is compared.

use super::guide::Free;
use super::kinds::{CosmeticKind, Loss};
use super::leaf::Context;
use super::side::Side;
use super::tally::{Quiet, Tally};
use super::walk::Walk;
use crate::json::{Doc, Kind, Structured, StructuredRule, structured_doc};

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
    opened(text)?.held(MAX_LEVELS)
}

/// A text that was read as a value.
struct Opened<'t> {
    doc: Doc<'t>,
    rule: StructuredRule,
}

fn opened(text: &str) -> Option<Opened<'_>> {
    if !text.trim_start().starts_with(['{', '[', '(', '"', '\'']) {
        return None;
    }
    let (doc, rule) = structured_doc(text)?;
    Some(Opened { doc, rule })
}

impl Opened<'_> {
    fn held(&self, levels: u8) -> Option<Held> {
        let root = self.doc.root();
        match root.kind() {
            Kind::Object | Kind::Array => Some(Held {
                canonical: Structured::of(root, self.rule).canonical,
                rule: self.rule,
            }),
            _ if levels > 1 => opened(root.as_str()?)?.held(levels - 1),
            _ => None,
        }
    }
}

/// The loss of two texts that hold the same value, up to what is cosmetic in
/// it; `None` if they do not.
pub(super) fn texts(left: &str, right: &str, context: &mut Context<'_>) -> Option<Loss> {
    if context.level >= MAX_LEVELS {
        return None;
    }
    // Most are broken on one side at least: both are read before either is written anew.
    let (a, b) = (opened(left)?, opened(right)?);
    let (a, b) = (a.held(MAX_LEVELS)?, b.held(MAX_LEVELS)?);
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
