//! Fields that kept their value under another name.

use super::guide::Guide;
use super::tally::Sink;
use super::tokens::hash;
use super::walk::Walk;
use super::weigh::Weighed;

/// Entries of one object that one side alone has.
#[derive(Default)]
pub(super) struct OneSided {
    left: Vec<Entry>,
    right: Vec<Entry>,
}

struct Entry {
    from: usize,
    to: usize,
    /// Where the sink stood before it heard of it.
    mark: usize,
    loss: f64,
    loss_mass: f64,
}

impl OneSided {
    pub(super) const fn is_empty(&self) -> bool {
        self.left.is_empty() && self.right.is_empty()
    }

    pub(super) fn push(
        &mut self,
        is_left: bool,
        span: (usize, usize),
        mark: usize,
        found: &Weighed,
    ) {
        let list = match is_left {
            true => &mut self.left,
            false => &mut self.right,
        };
        list.push(Entry {
            from: span.0,
            to: span.1,
            mark,
            loss: found.loss,
            loss_mass: found.loss_mass,
        });
    }
}

impl<S: Sink, G: Guide> Walk<'_, '_, S, G> {
    /// A field that went and one that came in the same object, with equal
    /// values that no other of them has, are one field renamed. Both paths stay
    /// missing and extra, but cost [`Rules::renamed`](super::Rules) only.
    pub(super) fn renames(&mut self, only: &OneSided) {
        if only.left.is_empty() || only.right.is_empty() {
            return;
        }
        let (left, right) = (self.left, self.right);
        let a = tellable(&only.left, left.text);
        let b = tellable(&only.right, right.text);
        let (mut i, mut j) = (0, 0);
        let share = 1.0 - self.context.rules.renamed.clamp(0.0, 1.0);
        while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
            match x.0.cmp(&y.0) {
                std::cmp::Ordering::Less => i += 1,
                std::cmp::Ordering::Greater => j += 1,
                std::cmp::Ordering::Equal => {
                    for entry in [x.1, y.1] {
                        self.tally.structure -= share * entry.loss;
                        self.tally.structure_mass -= share * entry.loss_mass;
                        self.sink.relieve(entry.mark, 1.0 - share);
                    }
                    i += 1;
                    j += 1;
                }
            }
        }
    }
}

/// The entries whose value stands once, by the hash of it. Constants, single
/// digits and what is empty are equal by chance too often to tell.
fn tellable<'e>(entries: &'e [Entry], text: &str) -> Vec<(u64, &'e Entry)> {
    let telling = |value: &str| {
        value.len() > 1 && !matches!(value, "null" | "true" | "false" | "\"\"" | "{}" | "[]")
    };
    let mut found: Vec<_> = entries
        .iter()
        .map(|entry| (&text[entry.from..entry.to], entry))
        .filter(|(value, _)| telling(value))
        .map(|(value, entry)| (hash(value.as_bytes()), entry))
        .collect();
    found.sort_unstable_by_key(|(hash, _)| *hash);
    let mut once = Vec::with_capacity(found.len());
    for run in found.chunk_by(|a, b| a.0 == b.0) {
        if let [single] = run {
            once.push(*single);
        }
    }
    once
}
