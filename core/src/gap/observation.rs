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

use super::answer::{Answer, DiffKind, Form, Kinds, Rules};
use super::leaf;
use super::scan::{Leaves, Malformed, measure};
use super::side::Side;
use super::tokens::{self, Bags};
use super::walk::{Quiet, Sink, Tally, Walk};
use crate::json::{Doc, canonical};

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

/// Compares answers, keeping its buffers from pair to pair.
///
/// ```
/// use fidelake_core::gap::{Answer, Comparer};
/// let mut comparer = Comparer::default();
/// let gap = comparer.observe(Answer::json(r#"{"a":1,"b":2}"#), Answer::json(r#"{"a":1,"c":2}"#));
/// assert_eq!((gap.shared, gap.union), (1, 3));
/// assert!((gap.gap - 2.0 / 3.0).abs() < 1e-12);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Comparer {
    rules: Rules,
    bags: Bags,
}

impl Comparer {
    /// A comparer with these rules.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            bags: Bags::default(),
        }
    }

    /// The distance of two answers; symmetric but for `missing` and `extra`.
    #[must_use]
    pub fn observe(&mut self, left: Answer<'_>, right: Answer<'_>) -> ObsGap {
        self.observe_into(left, right, &mut Quiet)
    }

    pub(super) fn observe_into<S: Sink>(
        &mut self,
        left: Answer<'_>,
        right: Answer<'_>,
        sink: &mut S,
    ) -> ObsGap {
        let equal = left.form == right.form && left.text == right.text;
        let mut tally = self.tally(left, right, sink);
        if left.form != right.form {
            let weight = self.rules.cosmetic.form;
            let kept = f64::from(tally.union) - tally.structure - tally.value;
            let kept_mass = tally.mass as f64 - tally.structure_mass - tally.value_mass;
            if kept > 0.0 {
                tally.value += weight * kept;
                tally.value_mass += weight * kept_mass;
                tally.kinds.add(DiffKind::Cosmetic, 1);
                sink.lost(DiffKind::Cosmetic, weight * kept, None, None);
            }
        }
        finish(&tally, equal, left, right)
    }

    fn tally<S: Sink>(&mut self, left: Answer<'_>, right: Answer<'_>, sink: &mut S) -> Tally {
        match (left.form, right.form) {
            (Form::Text, Form::Text) => self.texts(left, right, sink),
            (Form::Text, _) | (_, Form::Text) => self.mixed(left, right, sink),
            _ => self.values(left, right, sink),
        }
    }

    /// Two values. What is not canonical is made so first; what is no JSON at all is text.
    fn values<S: Sink>(&mut self, left: Answer<'_>, right: Answer<'_>, sink: &mut S) -> Tally {
        if left.text == right.text
            && let Ok((leaves, end)) = measure(left.text.as_bytes(), 0, 0)
            && end == left.text.len()
        {
            let mut tally = Tally::default();
            tally.share_all(leaves);
            return tally;
        }
        let mark = sink.mark();
        if let Ok(tally) = self.walk(left.text, right.text, sink) {
            return tally;
        }
        let form = |text: &str| Doc::parse(text).ok().map(|doc| canonical(doc.root()).0);
        let (a, b) = (form(left.text), form(right.text));
        if let (Some(a), Some(b)) = (&a, &b) {
            sink.rewind(mark);
            if let Ok(tally) = self.walk(a, b, sink) {
                return tally;
            }
        }
        sink.rewind(mark);
        let plain = |text| Answer::plain(text);
        match (&a, &b) {
            (Some(a), None) => self.mixed(Answer::json(a), plain(right.text), sink),
            (None, Some(b)) => self.mixed(plain(left.text), Answer::json(b), sink),
            _ => self.texts(plain(left.text), plain(right.text), sink),
        }
    }

    fn walk<S: Sink>(&mut self, left: &str, right: &str, sink: &mut S) -> Result<Tally, Malformed> {
        let mut walk = Walk {
            left: Side::new(left),
            right: Side::new(right),
            tally: Tally::default(),
            rules: &self.rules,
            bags: &mut self.bags,
            sink,
        };
        walk.value(0)?;
        let whole = walk.left.done() && walk.right.done();
        whole.then_some(walk.tally).ok_or(Malformed)
    }

    /// Two bare texts: one path, `$`.
    fn texts<S: Sink>(&mut self, left: Answer<'_>, right: Answer<'_>, sink: &mut S) -> Tally {
        let (a, b) = (left.text, right.text);
        let (loss, kind) = if left.truncated || right.truncated {
            self.prefixes(a, b, left.truncated, right.truncated)
        } else {
            leaf::texts(a, b, &self.rules, &mut self.bags)
        };
        one_path(a, b, loss, kind, sink)
    }

    /// The common prefix, in tokens.
    fn prefixes(&mut self, a: &str, b: &str, a_cut: bool, b_cut: bool) -> (f64, DiffKind) {
        let known = |text: &str, cut: bool| match cut {
            true => tokens::count(text).saturating_sub(1),
            false => usize::MAX,
        };
        let limit = known(a, a_cut).min(known(b, b_cut));
        if limit == 0 {
            return (0.0, DiffKind::Value);
        }
        let loss = 1.0 - tokens::similarity(a, b, limit, &mut self.bags);
        (loss, DiffKind::Value)
    }

    /// A bare text against a value.
    fn mixed<S: Sink>(&mut self, left: Answer<'_>, right: Answer<'_>, sink: &mut S) -> Tally {
        if left.truncated || right.truncated {
            return self.texts(left, right, sink);
        }
        let is_string = |a: Answer<'_>| a.form == Form::Text || a.text.starts_with('"');
        if is_string(left) && is_string(right) {
            let text = |a: Answer<'_>| match a.form {
                Form::Text => a.text.to_owned(),
                _ => leaf::decode(a.text).into_owned(),
            };
            let (a, b) = (text(left), text(right));
            let (loss, kind) = leaf::texts(&a, &b, &self.rules, &mut self.bags);
            return one_path(&a, &b, loss, kind, sink);
        }
        let leaves = |a: Answer<'_>| match a.form {
            Form::Text => one_leaf(a.text),
            _ => measure(a.text.as_bytes(), 0, 0).map_or(one_leaf(a.text), |(found, _)| found),
        };
        let (a, b) = (leaves(left), leaves(right));
        let mut tally = Tally::default();
        let container = |a: Answer<'_>| {
            a.form != Form::Text && a.text.starts_with(['{', '[']) && a.text.len() > 2
        };
        let mass = a.mass.max(b.mass);
        let weight = if container(left) || container(right) {
            let count = a.count.max(b.count);
            tally.union = count;
            tally.mass = mass;
            tally.structure = f64::from(count);
            tally.structure_mass = mass as f64;
            tally.kinds.add(DiffKind::Type, 1);
            tally.structure
        } else {
            tally.share(mass as usize);
            tally.lose(DiffKind::Type, 1.0, mass as usize);
            1.0
        };
        sink.lost(DiffKind::Type, weight, Some(left.text), Some(right.text));
        tally
    }
}

fn one_leaf(text: &str) -> Leaves {
    Leaves {
        count: 1,
        nulls: 0,
        mass: text.len().max(1) as u64,
    }
}

fn one_path<S: Sink>(a: &str, b: &str, loss: f64, kind: DiffKind, sink: &mut S) -> Tally {
    let mut tally = Tally::default();
    let mass = a.len().max(b.len()).max(1);
    tally.share(mass);
    if loss > 0.0 || kind == DiffKind::Cosmetic {
        tally.lose(kind, loss, mass);
        sink.lost(kind, loss, Some(a), Some(b));
    }
    tally
}

fn finish(tally: &Tally, equal: bool, left: Answer<'_>, right: Answer<'_>) -> ObsGap {
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
