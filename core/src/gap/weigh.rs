//! What a subtree weighs and hashes to, by the rules of its paths.

use super::guide::Guide;
use super::kinds::{CosmeticKind, DiffKind, Loss, Rules};
use super::rules::{ContentClass, Pairing};
use super::scan::{Leaves, MAX_DEPTH, Malformed, measure, value_end};
use super::shape;
use super::side::Side;
use super::tokens::{hash, then};
use crate::json::canonical_number;

/// A subtree, as seen when it has no partner.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weighed {
    /// Paths, and bytes of their leaves.
    pub(super) leaves: Leaves,
    /// What all of it costs, in paths and in bytes.
    pub(super) loss: f64,
    pub(super) loss_mass: f64,
    /// Paths of `leaves` that cost little only, and whether a rule says so.
    slight: u32,
    by_rule: bool,
    /// One leaf: a scalar, or a container with nothing in it.
    pub(super) is_leaf: bool,
    /// Equal values have equal hashes. Only where it was asked for.
    pub(super) hash: u64,
}

impl Weighed {
    fn of(leaves: Leaves, is_leaf: bool, rules: &Rules) -> Self {
        let null = rules.cosmetic.of(CosmeticKind::NullAbsent);
        let nulls = f64::from(leaves.nulls);
        Self {
            loss: f64::from(leaves.count - leaves.nulls) + null * nulls,
            loss_mass: leaves.mass as f64 - (1.0 - null) * 4.0 * nulls,
            slight: leaves.nulls,
            leaves,
            is_leaf,
            ..Self::default()
        }
    }

    fn add(&mut self, other: &Self) {
        self.leaves.count = self.leaves.count.saturating_add(other.leaves.count);
        self.leaves.nulls = self.leaves.nulls.saturating_add(other.leaves.nulls);
        self.leaves.mass += other.leaves.mass;
        self.loss += other.loss;
        self.loss_mass += other.loss_mass;
        self.slight = self.slight.saturating_add(other.slight);
        self.by_rule |= other.by_rule;
    }

    /// Paths that are lost for real.
    pub(super) fn full(&self) -> u32 {
        self.leaves.count.saturating_sub(self.slight)
    }

    pub(super) fn slight(&self) -> u32 {
        self.slight
    }

    /// The difference of having it on one side alone.
    pub(super) fn one_sided(&self, kind: DiffKind) -> Loss {
        match (self.full(), self.by_rule) {
            (0, true) => Loss::cosmetic(CosmeticKind::Rule, self.loss),
            (0, false) => Loss::cosmetic(CosmeticKind::NullAbsent, self.loss),
            _ => Loss::of(kind, self.loss),
        }
    }
}

/// Weighs the value at `at`, which lies `depth` containers deep and is not
/// ignored; where it ends. Hashes it too if `hashed`: what is ignored does not
/// count, nor does the order of sets and multisets, nor what `form` calls equal.
pub(super) fn weigh<G: Guide>(
    text: &str,
    at: usize,
    depth: usize,
    guide: &mut G,
    rules: &Rules,
    hashed: bool,
) -> Result<(Weighed, usize), Malformed> {
    let bytes = text.as_bytes();
    let opens = matches!(bytes.get(at), Some(b'{' | b'['));
    if guide.is_free() {
        let (leaves, end) = measure(bytes, at, depth)?;
        let is_leaf = !opens || depth >= MAX_DEPTH || end == at + 2;
        let mut found = Weighed::of(leaves, is_leaf, rules);
        if hashed {
            found.hash = scalar_hash(&text[at..end]);
        }
        return Ok((found, end));
    }
    if !opens || depth >= MAX_DEPTH {
        return leaf(text, at, guide, rules, hashed);
    }
    let pairing = guide.effect().map_or(Pairing::Ordered, |e| e.array.clone());
    let object = bytes[at] == b'{';
    let mut side = Side { text, at };
    let mut more = side.open()?;
    let mut total = Weighed::default();
    let mut parts: Vec<Weighed> = vec![];
    let mut state = u64::from(object);
    let mut index = 0u32;
    let mut name: &[u8] = b"";
    while more {
        if object {
            let key = side.key()?;
            guide.key(side.slice(key.from, key.to));
            name = &bytes[key.from..key.to];
            side.at = key.to + 1;
        } else {
            guide.index((pairing == Pairing::Ordered).then_some(index));
            index = index.saturating_add(1);
        }
        if guide.effect().is_some_and(|effect| effect.ignore) {
            side.at = value_end(bytes, side.at)?;
        } else {
            let (part, end) = weigh(
                text,
                side.at,
                depth + 1,
                guide,
                rules,
                hashed || pairing == Pairing::Set,
            )?;
            side.at = end;
            if object || pairing == Pairing::Ordered {
                if hashed {
                    state = then(then(state, hash(name)), part.hash);
                }
                total.add(&part);
            } else {
                parts.push(part);
            }
        }
        guide.leave();
        more = side.more()?;
    }
    if !object && pairing != Pairing::Ordered {
        parts.sort_unstable_by_key(|part| part.hash);
        if pairing == Pairing::Set {
            parts.dedup_by_key(|part| part.hash);
        }
        for part in &parts {
            state = then(state, part.hash);
            total.add(part);
        }
    }
    if total.leaves.count == 0 {
        total = single(2, guide, rules, false);
    }
    total.hash = state;
    Ok((total, side.at))
}

fn leaf<G: Guide>(
    text: &str,
    at: usize,
    guide: &G,
    rules: &Rules,
    hashed: bool,
) -> Result<(Weighed, usize), Malformed> {
    let end = value_end(text.as_bytes(), at)?;
    let raw = &text[at..end];
    let mut found = single(raw.len() as u64, guide, rules, raw == "null");
    if hashed {
        let form = guide
            .effect()
            .is_some_and(|effect| effect.class == Some(ContentClass::Form));
        found.hash = match form {
            true => then(1, hash(shape::of_leaf(raw).as_bytes())),
            false => scalar_hash(raw),
        };
    }
    Ok((found, end))
}

/// One leaf of so many bytes, at the place where the guide stands.
fn single<G: Guide>(mass: u64, guide: &G, rules: &Rules, null: bool) -> Weighed {
    let leaves = Leaves {
        count: 1,
        nulls: u32::from(null),
        mass,
    };
    let mut found = Weighed::of(leaves, true, rules);
    if let Some(weight) = guide.effect().and_then(|effect| effect.cosmetic) {
        found.loss = weight;
        found.loss_mass = weight * mass as f64;
        found.slight = 1;
        found.by_rule = true;
    }
    found
}

/// Numbers by their value, everything else by its canonical text.
pub(super) fn scalar_hash(raw: &str) -> u64 {
    match raw.as_bytes().first() {
        Some(b'-' | b'0'..=b'9') => hash(canonical_number(raw).as_bytes()),
        _ => hash(raw.as_bytes()),
    }
}
