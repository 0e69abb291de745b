//! Which places take a rare failure, and how many of them may.

use std::collections::BTreeMap;

use fidelake_core::stats::{Chance, share_above};

/// An API of an environment.
pub(super) type Api = (String, String);

/// What bounds the choice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// A failure is rare below this share of its API's real calls.
    pub below: f64,
    /// It must have been seen so often.
    pub at_least: u64,
    /// The level of the exact tests, over all of them together.
    pub alpha: f64,
    /// Splices at most.
    pub most: usize,
    /// Seed of the order in which places are tried.
    pub seed: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            below: 0.05,
            at_least: 2,
            alpha: 0.05,
            most: usize::MAX,
            seed: 0,
        }
    }
}

/// A rare failure: how often it was seen, of how many, and what came behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Real calls of the API.
    pub(super) real_calls: u64,
    /// Those of them that failed so.
    pub(super) real: u64,
    /// How often anything followed on it, the end of the run included.
    pub(super) followed: u64,
    /// How often the same API followed and went well.
    pub(super) retried: u64,
    /// Simulated calls of the API.
    pub(super) sim_calls: u64,
    /// Those of them that failed so.
    pub(super) sim: u64,
    /// How often the simulated ones were followed by anything.
    pub(super) sim_followed: u64,
    /// How often by the same API, well.
    pub(super) sim_retried: u64,
}

/// A place that could take it: which run, and the calls that its copy would add.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Its place in the list that is chosen from.
    pub(super) at: usize,
    /// Calls of the API in the copy of the run, without the splice.
    pub(super) calls: u64,
    /// Failures of the kind among them.
    pub(super) own: u64,
}

/// What was chosen for one kind of failure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice {
    /// Places of the list, in the order in which they were taken.
    pub taken: Vec<usize>,
    /// Places that the tests refused.
    pub refused: usize,
    /// One-sided p that the set has more of the failure than the real world, afterwards.
    pub p_share: f64,
    /// The same for a repeated call that goes well behind it.
    pub p_after: f64,
}

/// Tries the places in an order from the seed, and keeps those after which neither test tells
/// the set from the real world at `level`: rejection, one by one.
pub(super) fn choose(
    counts: Counts,
    places: &[Place],
    limits: Limits,
    level: f64,
    seed: u64,
) -> Choice {
    let mut order: Vec<usize> = (0..places.len()).collect();
    let mut chance = Chance::new(seed);
    for end in (1..order.len()).rev() {
        order.swap(end, chance.below(end + 1));
    }
    let mut now = counts;
    let mut choice = Choice::default();
    for place in order.into_iter().filter_map(|at| places.get(at)) {
        if choice.taken.len() >= limits.most {
            break;
        }
        let next = Counts {
            sim_calls: now.sim_calls + place.calls + 1,
            sim: now.sim + place.own + 1,
            sim_followed: now.sim_followed + place.own + 1,
            sim_retried: now.sim_retried + 1,
            ..now
        };
        if share(next) < level || after(next) < level {
            choice.refused += 1;
            continue;
        }
        now = next;
        choice.taken.push(place.at);
    }
    choice.p_share = share(now);
    choice.p_after = after(now);
    choice
}

fn number(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// How likely so much of the failure is, if its share is that of the real world.
fn share(counts: Counts) -> f64 {
    share_above(
        (number(counts.sim), number(counts.sim_calls)),
        (number(counts.real), number(counts.real_calls)),
    )
}

/// How likely so many good repetitions behind it are.
fn after(counts: Counts) -> f64 {
    share_above(
        (number(counts.sim_retried), number(counts.sim_followed)),
        (number(counts.retried), number(counts.followed)),
    )
}

/// The level of each test, so that all together keep `alpha` (Bonferroni: the set is tested
/// after each step, and Holm's later thresholds would move).
pub(super) fn level(alpha: f64, kinds: usize) -> f64 {
    alpha / (2 * kinds.max(1)) as f64
}

/// Counts per API of a run, for [`Place`].
pub(super) type RunCounts = BTreeMap<(Api, String), u64>;

#[cfg(test)]
mod tests {
    use super::*;

    fn places(n: usize) -> Vec<Place> {
        (0..n)
            .map(|at| Place {
                at,
                calls: 1,
                own: 0,
            })
            .collect()
    }

    /// Twice in ten thousand, always retried; a simulator of a thousand calls without it.
    const RARE: Counts = Counts {
        real_calls: 10_000,
        real: 2,
        followed: 2,
        retried: 2,
        sim_calls: 1000,
        sim: 0,
        sim_followed: 0,
        sim_retried: 0,
    };

    #[test]
    fn no_more_than_the_test_lets_through() {
        let limits = Limits::default();
        let choice = choose(RARE, &places(500), limits, level(0.05, 1), 7);
        // By hand: 2 of 1,004 against 2 of 10,000 has p about .042, 3 of 1,006 about .010.
        assert_eq!(choice.taken.len(), 2, "{choice:?}");
        assert_eq!(choice.taken.len() + choice.refused, 500);
        assert!(choice.p_share >= 0.025 && choice.p_after >= 0.025);
        let again = choose(RARE, &places(500), limits, level(0.05, 1), 7);
        assert_eq!(choice, again);
    }

    #[test]
    fn a_failure_that_is_seldom_retried_is_not_always_retried() {
        let counts = Counts {
            real_calls: 1000,
            real: 40,
            followed: 40,
            retried: 4,
            ..RARE
        };
        let choice = choose(counts, &places(500), Limits::default(), 0.025, 7);
        // One good repetition of one is no wonder at a share of a tenth; two of two are.
        assert_eq!(choice.taken.len(), 1, "{choice:?}");
    }

    #[test]
    fn nothing_is_added_where_the_simulator_has_enough_of_it() {
        let counts = Counts {
            sim: 50,
            sim_followed: 50,
            sim_retried: 50,
            ..RARE
        };
        let choice = choose(counts, &places(20), Limits::default(), 0.025, 7);
        assert!(choice.taken.is_empty());
        let few = Limits {
            most: 1,
            ..Limits::default()
        };
        assert_eq!(choose(RARE, &places(20), few, 0.025, 7).taken.len(), 1);
    }
}
