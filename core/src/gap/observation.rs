//! How different two answers are (docs/measures.md, "Observation").
//!
//! `gap = 1 - sum over shared paths of v s / sum over the union of paths of v`,
//! with v = 1 (`gap`) or the bytes of the leaf (`gap_mass`). Only meaningful for
//! two runs of equal outcome; a difference of outcome is a transition gap.
//!
//! What the definition leaves open, decided here:
//! * Paths are those of the leaves of the flattened value, array elements by
//!   position. An empty container is a leaf, unless the other side holds a
//!   container of the same kind there: then only the elements count.
//! * Two leaves of different types at one path: one shared path, wholly lost
//!   (part of `value`). A container against anything else: as many paths as the
//!   larger side has, counted once, not shared (part of `structure`).
//! * `null` against absent costs a cosmetic weight per null leaf, also in arrays.
//! * Duplicate keys pair in their order.
//! * The mass of a shared leaf is that of the longer spelling.
//! * Below `MAX_DEPTH` (64) containers a subtree is one leaf, equal or not.
//! * A bare text against a value: the text is a string at `$`.
//! * Different [`Form`]s (Python text, JSON, bare text): every shared path keeps
//!   `1 - form` of its similarity, so equal values in two forms have gap
//!   `form`, and a gap g becomes `g + form (1 - g)`.
//! * Cut texts: where both are values they are compared whole. Otherwise the
//!   first tokens are compared, as many as the shorter (cut) text has before its
//!   last one, which may be broken. `confidence` is the length of the shorter
//!   over the longer, halved if both were cut; 1 where nothing was cut.

use super::answer::Answer;
use super::comparer::Comparer;
use super::kinds::Kinds;
use super::tally::Tally;

/// The distance of two answers. All numbers but the counts are in `[0,1]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObsGap {
    /// Per field: every path weighs the same. `structure + value`.
    pub gap: f64,
    /// Per mass: a path weighs the bytes of its leaf. `structure_mass + value_mass`.
    pub gap_mass: f64,
    /// The part of `gap` from paths that only one answer has.
    pub structure: f64,
    /// The part of `gap` from paths that both have.
    pub value: f64,
    /// The part of `gap_mass` from paths that only one answer has.
    pub structure_mass: f64,
    /// The part of `gap_mass` from paths that both have.
    pub value_mass: f64,
    /// Number of paths that both answers have.
    pub shared: u32,
    /// Number of paths that either answer has; at least 1.
    pub union: u32,
    /// Same canonical value in the same form. Then every gap is 0.
    pub equal: bool,
    /// One of the texts was cut.
    pub truncated: bool,
    /// How much of the longer answer was seen on both sides; 1 unless `truncated`.
    pub confidence: f64,
    /// Differing paths by kind.
    pub kinds: Kinds,
}

pub(super) fn finish(tally: &Tally, equal: bool, left: Answer<'_>, right: Answer<'_>) -> ObsGap {
    let union = f64::from(tally.union.max(1));
    let mass = (tally.mass as f64).max(1.0);
    let unit = |part: f64| part.clamp(0.0, 1.0);
    let truncated = left.truncated || right.truncated;
    let confidence = if truncated {
        let (a, b) = (left.text.len() as f64, right.text.len() as f64);
        let seen = if a.max(b) > 0.0 {
            a.min(b) / a.max(b)
        } else {
            1.0
        };
        if left.truncated && right.truncated {
            seen / 2.0
        } else {
            seen
        }
    } else {
        1.0
    };
    ObsGap {
        gap: unit((tally.structure + tally.value) / union),
        gap_mass: unit((tally.structure_mass + tally.value_mass) / mass),
        structure: unit(tally.structure / union),
        value: unit(tally.value / union),
        structure_mass: unit(tally.structure_mass / mass),
        value_mass: unit(tally.value_mass / mass),
        shared: tally.shared,
        union: tally.union.max(1),
        equal,
        truncated,
        confidence,
        kinds: tally.kinds,
    }
}

/// [`Comparer::observe`] with the default rules, for single pairs.
#[must_use]
pub fn observation(left: Answer<'_>, right: Answer<'_>) -> ObsGap {
    Comparer::default().observe(left, right)
}
