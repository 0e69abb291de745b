//! Diversity by coverage: greedy choice of what adds the most that is new.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Something that is chosen as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    /// Rows that it brings; at least 1.
    pub rows: usize,
    /// What it holds, each once: small numbers without gaps.
    pub features: Vec<u32>,
}

struct Offer {
    gain: f64,
    at: usize,
}

impl PartialEq for Offer {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Offer {}
impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Offer {
    /// The larger gain first; of equals the earlier unit.
    fn cmp(&self, other: &Self) -> Ordering {
        self.gain
            .total_cmp(&other.gain)
            .then(other.at.cmp(&self.at))
    }
}

/// Chooses units up to `rows` rows: each time the one with the largest gain per
/// row, a feature that was covered n times gaining `1 / (n + 1)`. The gains only
/// fall (the sum is submodular), so they are computed again only at the top of a
/// heap (Minoux 1978), and the choice is within 1 - 1/e of the best for units of
/// one row (Nemhauser, Wolsey and Fisher 1978). Units that no longer fit are passed
/// over. Returns places in the order of choice.
#[must_use]
pub fn cover(units: &[Unit], rows: usize) -> Vec<usize> {
    let features = units.iter().flat_map(|unit| &unit.features).max();
    let mut covered = vec![0u32; features.map_or(0, |most| *most as usize + 1)];
    let gain = |unit: &Unit, covered: &[u32]| -> f64 {
        let new = unit.features.iter();
        let new: f64 = new
            .map(|f| 1.0 / (f64::from(covered[*f as usize]) + 1.0))
            .sum();
        new / unit.rows.max(1) as f64
    };
    let mut heap: BinaryHeap<Offer> = units
        .iter()
        .enumerate()
        .map(|(at, unit)| Offer {
            gain: gain(unit, &covered),
            at,
        })
        .collect();
    let (mut chosen, mut left) = (Vec::new(), rows);
    while let Some(top) = heap.pop() {
        let unit = &units[top.at];
        let size = unit.rows.max(1);
        if size > left {
            continue;
        }
        let now = Offer {
            gain: gain(unit, &covered),
            at: top.at,
        };
        if heap.peek().is_some_and(|next| *next > now) {
            heap.push(now);
            continue;
        }
        unit.features.iter().for_each(|f| covered[*f as usize] += 1);
        left -= size;
        chosen.push(top.at);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn unit(rows: usize, features: &[u32]) -> Unit {
        Unit {
            rows,
            features: features.to_vec(),
        }
    }

    #[test]
    fn what_is_new_comes_first() {
        let units = [
            unit(1, &[0, 1]),
            unit(1, &[0, 1]),
            unit(1, &[2]),
            unit(1, &[]),
        ];
        // 2, then 1 (new) against 1 (two halves): the earlier one; 2 again, nothing last.
        assert_eq!(cover(&units, 9), [0, 1, 2, 3]);
        let units = [
            unit(1, &[0, 1]),
            unit(1, &[0]),
            unit(1, &[2]),
            unit(3, &[3, 4, 5, 6]),
        ];
        assert_eq!(cover(&units, 3), [0, 2, 1]);
        // Three rows with four features: 4/3 a row.
        assert_eq!(cover(&units, 5), [0, 3, 2]);
    }

    /// The same choice, every gain computed every time.
    fn plain(units: &[Unit], rows: usize) -> Vec<usize> {
        let (mut chosen, mut left) = (Vec::new(), rows);
        loop {
            let gain = |at: usize| -> f64 {
                let seen = |f: &u32| {
                    chosen
                        .iter()
                        .filter(|c: &&usize| units[**c].features.contains(f))
                        .count()
                };
                let sum: f64 = units[at]
                    .features
                    .iter()
                    .map(|f| 1.0 / (seen(f) as f64 + 1.0))
                    .sum();
                sum / units[at].rows as f64
            };
            let free =
                (0..units.len()).filter(|at| !chosen.contains(at) && units[*at].rows <= left);
            let Some(best) = free.max_by(|a, b| gain(*a).total_cmp(&gain(*b)).then(b.cmp(a)))
            else {
                return chosen;
            };
            left -= units[best].rows;
            chosen.push(best);
        }
    }

    proptest! {
        #[test]
        fn lazy_is_plain(units in prop::collection::vec((1usize..3, prop::collection::btree_set(0u32..8, 0..5)), 0..14), rows in 0usize..20) {
            let units: Vec<Unit> = units.into_iter().map(|(rows, f)| Unit { rows, features: f.into_iter().collect() }).collect();
            let chosen = cover(&units, rows);
            prop_assert!(chosen.iter().map(|at| units[*at].rows).sum::<usize>() <= rows);
            prop_assert_eq!(chosen, plain(&units, rows));
        }
    }
}
