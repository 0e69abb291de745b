//! Which paths vary between two answers that should be equal: repeats of one
//! call in one arm. From them the content classes `form` and `tolerant` are
//! learned (docs/measures.md, observation 3).

use std::collections::BTreeMap;

use super::rules::ContentClass;
use super::varied::Varied;
use crate::model::Arm;

/// So many paths are kept per API; later ones are counted as dropped.
pub const MAX_PATHS: usize = 10_000;
/// So many trajectories are told apart per path and arm; more read as so many.
const MAX_TRAJECTORIES: usize = 32;
/// In so many trajectories of each arm a path must vary before a class is learned.
const MIN_TRAJECTORIES: usize = 5;

#[derive(Clone, Debug, Default)]
struct Seen {
    /// Distinct trajectories, sorted, per arm.
    trajectories: [Vec<i64>; 2],
    /// One of the variations was no change of the same shape; of two floats; of order.
    not_shape: bool,
    not_floats: bool,
    not_order: bool,
}

/// What varies in the answers of one API. At most [`MAX_PATHS`] paths, about
/// 10 MB at worst.
#[derive(Clone, Debug, Default)]
pub struct Volatility {
    paths: BTreeMap<String, Seen>,
    dropped: u64,
}

/// A path that varies.
#[derive(Clone, Debug, PartialEq)]
pub struct VolatilePath<'v> {
    /// `$.items[*].id`, a pattern for [`PathRule`](super::PathRule).
    pub path: &'v str,
    /// Trajectories in which it varied between repeats of the simulator; 32 means 32 or more.
    pub sim: usize,
    /// The same in the real world.
    pub real: usize,
    /// Whether all variations were of order alone (a multiset).
    pub order: bool,
    /// `tolerant` if all variations were between floats, `form` if all kept the
    /// shape; `None` unless it varied in at least 5 trajectories of both arms.
    pub suggested: Option<ContentClass>,
}

impl Volatility {
    /// Counts one variation of a trajectory, told by its key.
    pub fn add(&mut self, arm: Arm, trajectory: i64, path: &str, how: Varied) {
        if !self.paths.contains_key(path) {
            if self.paths.len() >= MAX_PATHS {
                self.dropped += 1;
                return;
            }
            self.paths.insert(path.to_owned(), Seen::default());
        }
        if let Some(seen) = self.paths.get_mut(path) {
            seen.not_shape |= !how.same_shape;
            seen.not_floats |= !how.floats;
            seen.not_order |= !how.order;
            seen.remember(arm as usize, trajectory);
        }
    }

    /// Takes what another one counted, of the same API.
    pub fn merge(&mut self, other: &Self) {
        self.dropped += other.dropped;
        for (path, theirs) in &other.paths {
            if !self.paths.contains_key(path) && self.paths.len() >= MAX_PATHS {
                self.dropped += 1;
                continue;
            }
            let seen = self.paths.entry(path.clone()).or_default();
            seen.not_shape |= theirs.not_shape;
            seen.not_floats |= theirs.not_floats;
            seen.not_order |= theirs.not_order;
            for (arm, known) in theirs.trajectories.iter().enumerate() {
                for trajectory in known {
                    seen.remember(arm, *trajectory);
                }
            }
        }
    }

    /// Variations at paths beyond the first [`MAX_PATHS`]; more than 0 means
    /// that the result is not complete.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// What varied, by path.
    pub fn paths(&self) -> impl Iterator<Item = VolatilePath<'_>> {
        self.paths.iter().map(|(path, seen)| {
            let [sim, real] = [0, 1].map(|arm| seen.trajectories[arm].len());
            let suggested = match (sim.min(real) >= MIN_TRAJECTORIES, seen) {
                (
                    true,
                    Seen {
                        not_floats: false, ..
                    },
                ) => Some(ContentClass::Tolerant),
                (
                    true,
                    Seen {
                        not_shape: false, ..
                    },
                ) => Some(ContentClass::Form),
                _ => None,
            };
            VolatilePath {
                path,
                sim,
                real,
                order: !seen.not_order,
                suggested,
            }
        })
    }
}

impl Seen {
    fn remember(&mut self, arm: usize, trajectory: i64) {
        let known = &mut self.trajectories[arm];
        if known.len() < MAX_TRAJECTORIES
            && let Err(place) = known.binary_search(&trajectory)
        {
            known.insert(place, trajectory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_needs_five_trajectories_of_both_arms() {
        let how = Varied {
            same_shape: true,
            floats: false,
            order: false,
        };
        let mut seen = Volatility::default();
        for trajectory in 0..5 {
            for _ in 0..3 {
                seen.add(Arm::Sim, trajectory, "$.id", how);
            }
        }
        assert_eq!(seen.paths().next().unwrap().suggested, None);
        let mut real = Volatility::default();
        for trajectory in 0..100 {
            real.add(Arm::Real, trajectory, "$.id", how);
        }
        seen.merge(&real);
        let found = seen.paths().next().unwrap();
        assert_eq!((found.sim, found.real), (5, 32));
        assert_eq!(found.suggested, Some(ContentClass::Form));
        seen.add(Arm::Real, 7, "$.id", Varied::ELSE);
        assert_eq!(seen.paths().next().unwrap().suggested, None);
    }

    #[test]
    fn memory_is_bounded_and_says_so() {
        let mut seen = Volatility::default();
        for path in 0..MAX_PATHS + 3 {
            seen.add(Arm::Sim, 1, &format!("$.k{path}"), Varied::ELSE);
        }
        assert_eq!((seen.paths().count(), seen.dropped()), (MAX_PATHS, 3));
    }
}
