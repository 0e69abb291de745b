//! Names that patterns keep from run to run.

use std::collections::{BTreeMap, BTreeSet};

/// A pattern of an earlier run: its id and its calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Old {
    /// Its id.
    pub id: String,
    /// Its calls, in any one numbering that both runs share.
    pub members: BTreeSet<u64>,
}

/// Jaccard overlap from which on two patterns are the same one.
const SAME: f64 = 0.5;

/// The ids of today's patterns: that of the earlier pattern with which it shares most calls
/// (Jaccard at least one half, best pairs first), else `fresh[i]`, with a number behind it
/// where that is taken by now.
#[must_use]
pub fn stable_ids(fresh: &[String], members: &[BTreeSet<u64>], old: &[Old]) -> Vec<String> {
    let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
    let mut holders: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (at, pattern) in old.iter().enumerate() {
        for member in &pattern.members {
            holders.entry(*member).or_default().push(at);
        }
    }
    for (at, own) in members.iter().enumerate() {
        let mut shared: BTreeMap<usize, usize> = BTreeMap::new();
        for holder in own.iter().filter_map(|m| holders.get(m)).flatten() {
            *shared.entry(*holder).or_default() += 1;
        }
        for (then, both) in shared {
            let union = own.len() + old[then].members.len() - both;
            let jaccard = both as f64 / union as f64;
            if jaccard >= SAME {
                pairs.push((jaccard, at, then));
            }
        }
    }
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let mut ids: Vec<Option<String>> = vec![None; fresh.len()];
    let mut used = vec![false; old.len()];
    for (_, at, then) in pairs {
        if ids[at].is_none() && !used[then] {
            ids[at] = Some(old[then].id.clone());
            used[then] = true;
        }
    }
    let matched = old.iter().zip(&used).filter(|(_, used)| **used);
    let mut taken: BTreeSet<String> = matched.map(|(pattern, _)| pattern.id.clone()).collect();
    ids.into_iter()
        .zip(fresh)
        .map(|(id, fresh)| {
            let id = id.unwrap_or_else(|| {
                let mut name = fresh.clone();
                let mut number = 2;
                while taken.contains(&name) {
                    name = format!("{fresh}-{number}");
                    number += 1;
                }
                name
            });
            taken.insert(id.clone());
            id
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn old(id: &str, members: &[u64]) -> Old {
        Old {
            id: id.into(),
            members: members.iter().copied().collect(),
        }
    }

    fn ids(fresh: &[&str], members: &[&[u64]], old: &[Old]) -> Vec<String> {
        let fresh: Vec<String> = fresh.iter().map(|s| (*s).to_owned()).collect();
        let members: Vec<BTreeSet<u64>> = members
            .iter()
            .map(|m| m.iter().copied().collect())
            .collect();
        stable_ids(&fresh, &members, old)
    }

    #[test]
    fn most_shared_calls_decide_and_ids_are_unique() {
        let before = [old("a", &[1, 2, 3, 4]), old("b", &[5, 6])];
        // {1,2,3} shares 3 of 4 with a; {5,6,7} 2 of 3 with b; {9} nothing.
        assert_eq!(
            ids(&["x", "y", "a"], &[&[1, 2, 3], &[5, 6, 7], &[9]], &before),
            ["a", "b", "a-2"]
        );
        // A half that is not enough: 1 of 4.
        assert_eq!(ids(&["x"], &[&[1]], &before), ["x"]);
        // The better of two takes the id.
        assert_eq!(
            ids(&["x", "x"], &[&[5, 6, 7], &[5, 6]], &before),
            ["x", "b"]
        );
        assert_eq!(ids(&["x", "x"], &[&[1, 9], &[8]], &[]), ["x", "x-2"]);
    }

    #[test]
    fn the_same_core_keeps_its_id_though_all_its_calls_are_new() {
        assert_eq!(ids(&["a"], &[&[7]], &[old("a", &[1])]), ["a"]);
        assert_eq!(
            ids(&["a", "a"], &[&[7], &[1]], &[old("a", &[1])]),
            ["a-2", "a"]
        );
    }
}
