//! Near duplicates without comparing all pairs: MinHash (Broder 1997) finds
//! candidates in bands (locality-sensitive hashing), the exact Jaccard similarity decides.

use std::collections::HashMap;

/// Hash functions of a signature.
pub const PERMUTATIONS: usize = 128;

/// A pair as similar as asked for is missed with at most this probability.
const MISSED: f64 = 1e-3;

/// Most rows of a band.
const MAX_ROWS: usize = 16;

/// Kept items of one bucket that a new one is compared with.
const BUCKET: usize = 64;

/// No item.
const NONE: u32 = u32::MAX;

/// What became of every item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Near {
    /// The earlier item that it repeats; `None`: it is kept.
    pub repeats: Vec<Option<usize>>,
    /// Comparisons that were made.
    pub compared: u64,
    /// Items that had more kept neighbours in a bucket than are compared.
    pub crowded: u64,
}

/// Shingles of a sequence: every pair of neighbours, the start and the end being
/// neighbours too. Sorted, each once; none of an empty sequence.
#[must_use]
pub fn shingles(sequence: &[u64]) -> Vec<u64> {
    let Some((first, last)) = sequence.first().zip(sequence.last()) else {
        return Vec::new();
    };
    let pair = |a: u64, b: u64| mix(mix(a).rotate_left(1) ^ b);
    let mut found: Vec<u64> = sequence
        .windows(2)
        .map(|two| pair(two[0], two[1]))
        .collect();
    found.push(pair(1, *first));
    found.push(pair(*last, 2));
    found.sort_unstable();
    found.dedup();
    found
}

/// `|a and b| / |a or b|` of two sorted sets; 1 of two empty ones.
#[must_use]
pub fn jaccard(a: &[u64], b: &[u64]) -> f64 {
    let (mut i, mut j, mut both) = (0, 0, 0usize);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                both += 1;
                i += 1;
                j += 1;
            }
        }
    }
    let all = a.len() + b.len() - both;
    if all == 0 {
        1.0
    } else {
        both as f64 / all as f64
    }
}

/// Bands and rows per band: as many rows as possible while a pair with just this
/// similarity meets in some band with probability .999.
#[must_use]
pub fn bands(similarity: f64) -> (usize, usize) {
    let fits = |rows: &usize| {
        let bands = PERMUTATIONS / rows;
        (1.0 - similarity.powi(*rows as i32)).powi(bands as i32) <= MISSED
    };
    let rows = (1..=MAX_ROWS).rev().find(fits).unwrap_or(1);
    (PERMUTATIONS / rows, rows)
}

/// Goes through the items in order and keeps those that are not as similar as
/// `similarity` (in `(0, 1]`) to one kept before. `sets` are sorted sets; empty
/// ones are always kept. Items of equal `apart` never repeat each other: pass a
/// number of its own for each if all may.
#[must_use]
pub fn near_duplicates(sets: &[Vec<u64>], apart: &[u32], similarity: f64) -> Near {
    let (bands, rows) = bands(similarity);
    // The newest kept item of a bucket, and the one before it, by item and band.
    let mut newest: HashMap<u64, u32> = HashMap::new();
    let mut before: Vec<u32> = Vec::new();
    let mut places: Vec<u32> = Vec::new();
    let mut near = Near::default();
    let mut signature = [0u64; PERMUTATIONS];
    let mut candidates: Vec<u32> = Vec::new();
    for (at, set) in sets.iter().enumerate() {
        if set.is_empty() {
            near.repeats.push(None);
            continue;
        }
        sign(set, &mut signature);
        let buckets: Vec<u64> = signature
            .chunks_exact(rows)
            .enumerate()
            .map(|(band, part)| part.iter().fold(mix(band as u64), |h, x| mix(h ^ x)))
            .collect();
        candidates.clear();
        let mut crowded = false;
        for (band, bucket) in buckets.iter().enumerate() {
            let mut next = newest.get(bucket).copied().unwrap_or(NONE);
            let mut seen = 0;
            while next != NONE {
                if seen == BUCKET {
                    crowded = true;
                    break;
                }
                candidates.push(next);
                next = before[next as usize * bands + band];
                seen += 1;
            }
        }
        near.crowded += u64::from(crowded);
        candidates.sort_unstable();
        candidates.dedup();
        let own = apart.get(at);
        let mut repeated = None;
        for kept in &candidates {
            let other = places[*kept as usize] as usize;
            if own.is_some() && own == apart.get(other) {
                continue;
            }
            near.compared += 1;
            if jaccard(set, &sets[other]) >= similarity {
                repeated = Some(other);
                break;
            }
        }
        near.repeats.push(repeated);
        if repeated.is_none() {
            let kept = places.len() as u32;
            places.push(at as u32);
            for bucket in &buckets {
                before.push(newest.insert(*bucket, kept).unwrap_or(NONE));
            }
        }
    }
    near
}

fn sign(set: &[u64], signature: &mut [u64; PERMUTATIONS]) {
    for (at, least) in signature.iter_mut().enumerate() {
        let salt = mix(at as u64 + 1);
        *least = set.iter().map(|x| mix(x ^ salt)).min().unwrap_or(u64::MAX);
    }
}

/// The finaliser of splitmix64.
const fn mix(x: u64) -> u64 {
    let z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Chance;
    use proptest::prelude::*;

    fn own(n: usize) -> Vec<u32> {
        (0..n as u32).collect()
    }

    #[test]
    fn by_hand() {
        // start-a, a-b, b-end against start-a, a-b, b-c, c-end: 2 of 5.
        let (a, b) = (shingles(&[10, 20]), shingles(&[10, 20, 30]));
        assert_eq!((a.len(), b.len()), (3, 4));
        assert!((jaccard(&a, &b) - 0.4).abs() < 1e-12);
        assert!(shingles(&[]).is_empty() && jaccard(&[], &[]) == 1.0);
        assert_ne!(shingles(&[10, 20]), shingles(&[20, 10]));
        // .9: 8 rows miss 1.2e-4 of such pairs, 9 rows 1.06e-3.
        assert_eq!((bands(0.9), bands(1.0)), ((16, 8), (8, 16)));
        assert_eq!(bands(0.01).1, 1);
    }

    #[test]
    fn the_first_of_each_kind_stays() {
        let sets: Vec<Vec<u64>> = [&[1u64, 2, 3][..], &[7, 8], &[1, 2, 3], &[], &[7, 8], &[]]
            .map(shingles)
            .into();
        let near = near_duplicates(&sets, &own(6), 0.9);
        assert_eq!(near.repeats, [None, None, Some(0), None, Some(1), None]);
        // Of one group: not duplicates of each other.
        let grouped = near_duplicates(&sets, &[0, 1, 0, 2, 3, 4], 0.9);
        assert_eq!(grouped.repeats, [None, None, None, None, Some(1), None]);
    }

    #[test]
    fn not_all_pairs() {
        let mut chance = Chance::new(3);
        let sets: Vec<Vec<u64>> = (0..20_000)
            .map(|_| shingles(&(0..8).map(|_| chance.bits()).collect::<Vec<_>>()))
            .collect();
        let near = near_duplicates(&sets, &own(sets.len()), 0.8);
        assert!(near.repeats.iter().all(Option::is_none));
        assert!(near.compared < 2_000, "{}", near.compared);
        // Twenty thousand copies: each is compared once.
        let copies = vec![sets[0].clone(); 20_000];
        let near = near_duplicates(&copies, &own(copies.len()), 0.8);
        assert_eq!((near.compared, near.crowded), (19_999, 0));
    }

    proptest! {
        #[test]
        fn what_is_dropped_is_similar_and_what_is_kept_is_not(
            sequences in prop::collection::vec(prop::collection::vec(0u64..4, 0..7), 0..40), similarity in 0.3f64..=1.0,
        ) {
            let sets: Vec<Vec<u64>> = sequences.iter().map(|s| shingles(s)).collect();
            let near = near_duplicates(&sets, &own(sets.len()), similarity);
            for (at, repeats) in near.repeats.iter().enumerate() {
                if let Some(other) = repeats {
                    prop_assert!(*other < at && near.repeats[*other].is_none());
                    prop_assert!(jaccard(&sets[at], &sets[*other]) >= similarity);
                }
                // An equal one is always found.
                let equal = (0..at).any(|other| sets[other] == sets[at] && near.repeats[other].is_none());
                prop_assert!(!equal || sets[at].is_empty() || repeats.is_some());
            }
        }
    }
}
