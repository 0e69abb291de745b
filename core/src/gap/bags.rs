//! What two bags of words have in common.

use std::hash::{BuildHasher as _, RandomState};

use super::tokens::{each_token, hash};

/// Room for the words of a text, kept between calls: a table with open addressing.
///
/// Where a word stands in it depends on a number drawn when the process starts, so that no text
/// can be written whose words all stand in one place; what is counted does not depend on it.
#[derive(Clone, Debug)]
pub(super) struct Bags {
    slots: Vec<Slot>,
    /// Slots of another round are empty.
    round: u32,
    /// Taken slots of this round.
    taken: usize,
    spread: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    word: u64,
    count: u32,
    round: u32,
}

/// What was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Met {
    /// Tokens of each text.
    sizes: [usize; 2],
    /// Tokens in both: `sum min(count)`.
    pub(super) both: usize,
    /// Tokens beyond the limit.
    pub(super) beyond: usize,
}

impl Met {
    /// `sum max(count)`.
    pub(super) const fn union(&self) -> usize {
        self.sizes[0] + self.sizes[1] - self.both
    }
}

/// Slots of a new table.
const SLOTS: usize = 1 << 10;

/// A larger one is not kept: small texts would be spread over all of it.
const KEPT_SLOTS: usize = 1 << 15;

impl Default for Bags {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            round: 0,
            taken: 0,
            spread: RandomState::new().hash_one(0u8) | 1,
        }
    }
}

impl Bags {
    /// Counts the tokens that two texts share, of at most the first `limit` of each.
    pub(super) fn meet(&mut self, left: &str, right: &str, limit: usize) -> Met {
        self.meet_limited([left, right], [limit; 2])
    }

    /// The same, each text with a limit of its own.
    pub(super) fn meet_limited(&mut self, [left, right]: [&str; 2], limits: [usize; 2]) -> Met {
        self.begin();
        let (mut sizes, mut beyond, mut both) = ([0; 2], 0, 0);
        each_token(left, |token| {
            if sizes[0] < limits[0] {
                sizes[0] += 1;
                self.add(hash(token.as_bytes()));
            } else {
                beyond += 1;
            }
            true
        });
        each_token(right, |token| {
            if sizes[1] < limits[1] {
                sizes[1] += 1;
                both += usize::from(self.take(hash(token.as_bytes())));
            } else {
                beyond += 1;
            }
            true
        });
        Met {
            sizes,
            both,
            beyond,
        }
    }

    fn begin(&mut self) {
        let grown = self.slots.len() > KEPT_SLOTS;
        if self.slots.is_empty() || grown || self.round == u32::MAX {
            self.slots = vec![Slot::default(); SLOTS];
            self.round = 0;
        }
        self.round += 1;
        self.taken = 0;
    }

    /// The slot of a word, or the free one where it belongs.
    fn place(&self, word: u64) -> usize {
        let mask = self.slots.len() - 1;
        let wide = u128::from(word) * u128::from(self.spread);
        let mut at = ((wide >> 64) as u64 ^ wide as u64) as usize & mask;
        while self.slots[at].round == self.round && self.slots[at].word != word {
            at = (at + 1) & mask;
        }
        at
    }

    fn add(&mut self, word: u64) {
        let (at, round) = (self.place(word), self.round);
        if self.slots[at].round == round {
            self.slots[at].count += 1;
            return;
        }
        self.slots[at] = Slot {
            word,
            count: 1,
            round,
        };
        self.taken += 1;
        // At most half full, so that runs of taken slots stay short.
        if 2 * self.taken > self.slots.len() {
            self.grow();
        }
    }

    /// Takes one of these words out, if there is one left.
    fn take(&mut self, word: u64) -> bool {
        let (at, round) = (self.place(word), self.round);
        let slot = &mut self.slots[at];
        let left = slot.round == round && slot.count > 0;
        slot.count -= u32::from(left);
        left
    }

    fn grow(&mut self) {
        let room = vec![Slot::default(); 2 * self.slots.len()];
        let before = std::mem::replace(&mut self.slots, room);
        for slot in before.into_iter().filter(|slot| slot.round == self.round) {
            let at = self.place(slot.word);
            self.slots[at] = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shared_words_by_hand() {
        let mut bags = Bags::default();
        let met = bags.meet("a b b c", "b a b b d", usize::MAX);
        assert_eq!((met.both, met.union(), met.beyond), (3, 6, 0));
        // What one text left behind is not there for the next.
        assert_eq!(bags.meet("x", "a b", usize::MAX).both, 0);
        let met = bags.meet_limited(["a b c d", "c a"], [2, 1]);
        assert_eq!((met.both, met.union(), met.beyond), (0, 3, 3));
    }

    #[test]
    fn rounds_wrap() {
        let mut bags = Bags::default();
        bags.meet("a", "b", 9);
        bags.round = u32::MAX;
        assert_eq!(bags.meet("c", "a b c", 9).both, 1);
    }

    proptest! {
        #[test]
        fn counts_are_those_of_sorted_lists(
            a in proptest::collection::vec(0u16..3000, 0..4000),
            b in proptest::collection::vec(0u16..3000, 0..4000),
        ) {
            let text = |words: &[u16]| words.iter().map(|w| format!("w{w} ")).collect::<String>();
            let mut counts = std::collections::HashMap::new();
            for word in &a {
                *counts.entry(word).or_insert(0usize) += 1;
            }
            let both = b.iter().filter(|word| match counts.get_mut(word) {
                Some(left) if *left > 0 => { *left -= 1; true }
                _ => false,
            }).count();
            let met = Bags::default().meet(&text(&a), &text(&b), usize::MAX);
            prop_assert_eq!((met.both, met.union()), (both, a.len() + b.len() - both));
        }
    }
}
