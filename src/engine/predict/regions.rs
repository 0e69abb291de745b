//! What to expect of one call in a region, shrunk where little is known.
//!
//! A region is environment x API x outcome in sim. Per call, each part (a raw gap
//! or a reliability) takes the mean of its region, as if [`PSEUDO`] more calls had
//! been seen there that look like the mean of its API, and those of the API as if
//! [`PSEUDO`] more had been seen like the mean of its environment:
//!
//! ```text
//! m(API)    = (sum over the API    + 5 m(environment)) / (n + 5)
//! m(region) = (sum over the region + 5 m(API))         / (n + 5)
//! ```

use std::collections::BTreeMap;

/// Raw gap and reliability of obs, act, outcome, state, idempotency, read-after-write
/// and latency.
pub(super) const PARTS: [&str; 14] = [
    "obs_raw",
    "obs_reliability",
    "act_raw",
    "act_reliability",
    "outcome_raw",
    "outcome_reliability",
    "state_raw",
    "state_reliability",
    "idempotency_raw",
    "idempotency_reliability",
    "read_after_write_raw",
    "read_after_write_reliability",
    "latency_raw",
    "latency_reliability",
];

/// Parts of the tasks that are left out together.
pub(super) const FOLDS: i64 = 10;

/// Calls that the coarser mean counts for.
const PSEUDO: f64 = 5.0;

/// Sums over calls. A part that no call has stays `None`: unknown, not 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sums {
    pub(super) calls: f64,
    pub(super) parts: [Option<f64>; PARTS.len()],
}

impl Sums {
    fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        for (own, other) in self.parts.iter_mut().zip(other.parts) {
            *own = match (*own, other) {
                (None, other) => other,
                (own, None) => own,
                (Some(a), Some(b)) => Some(a + b),
            };
        }
    }

    /// Means per call, towards a coarser mean.
    fn shrunk(&self, coarser: Option<&Means>) -> Means {
        let mut means = Means::default();
        for (at, mean) in means.iter_mut().enumerate() {
            let own = self.parts[at];
            let towards = coarser.and_then(|means| means[at]);
            *mean = match (own, towards) {
                (None, towards) => towards,
                (Some(sum), None) => Some(sum / self.calls),
                (Some(sum), Some(mean)) => Some((sum + PSEUDO * mean) / (self.calls + PSEUDO)),
            };
        }
        means
    }
}

/// A mean per call of each part.
pub(super) type Means = [Option<f64>; PARTS.len()];

/// Environment, API, outcome. An empty API or outcome stands for all of them.
pub(super) type Region = (String, String, String);

/// All sums, by fold.
#[derive(Debug, Default)]
pub(super) struct Regions {
    sums: BTreeMap<Region, BTreeMap<i64, Sums>>,
}

impl Regions {
    /// The calls of a region in a fold.
    pub(super) fn add(&mut self, (environment, api, outcome): Region, fold: i64, sums: &Sums) {
        let none = String::new;
        for region in [
            (environment.clone(), none(), none()),
            (environment.clone(), api.clone(), none()),
            (environment, api, outcome),
        ] {
            let folds = self.sums.entry(region).or_default();
            folds.entry(fold).or_default().add(sums);
        }
    }

    /// Means of every region that has a call outside `without`; of all calls for
    /// `None`. Coarser regions come before finer ones.
    pub(super) fn means(&self, without: Option<i64>) -> BTreeMap<Region, Means> {
        let mut found: BTreeMap<Region, Means> = BTreeMap::new();
        for (region, folds) in &self.sums {
            let mut sums = Sums::default();
            for (_, part) in folds.iter().filter(|(fold, _)| Some(**fold) != without) {
                sums.add(part);
            }
            if sums.calls == 0.0 {
                continue;
            }
            let (environment, api, outcome) = region;
            let none = String::new;
            let coarser = match (api.is_empty(), outcome.is_empty()) {
                (true, _) => None,
                (false, true) => found.get(&(environment.clone(), none(), none())),
                (false, false) => found.get(&(environment.clone(), api.clone(), none())),
            };
            let means = sums.shrunk(coarser);
            found.insert(region.clone(), means);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(calls: f64, obs: f64) -> Sums {
        let mut sums = Sums {
            calls,
            ..Sums::default()
        };
        sums.parts[0] = Some(obs);
        sums.parts[1] = Some(calls);
        sums
    }

    fn region(api: &str, outcome: &str) -> Region {
        ("e".to_owned(), api.to_owned(), outcome.to_owned())
    }

    #[test]
    fn shrinkage_by_hand() {
        let mut regions = Regions::default();
        regions.add(region("a", "ok"), 0, &sums(3.0, 3.0));
        regions.add(region("a", "error"), 1, &sums(2.0, 0.0));
        regions.add(region("b", "ok"), 1, &sums(5.0, 1.0));
        let all = regions.means(None);
        // The environment: 4 of 10; API a: (3 + 5 x .4) / 10; a, ok: (3 + 5 x .5) / 8.
        assert_eq!(all[&region("", "")][0], Some(0.4));
        assert_eq!(all[&region("a", "")][0], Some(0.5));
        assert_eq!(all[&region("a", "ok")][0], Some(5.5 / 8.0));
        assert_eq!(all[&region("a", "ok")][1], Some(1.0));
        // What no call has is unknown.
        assert_eq!(all[&region("a", "ok")][2], None);
        // Without the first fold a, ok was never seen, and a never differed.
        let rest = regions.means(Some(0));
        assert!(!rest.contains_key(&region("a", "ok")));
        let a = rest[&region("a", "")][0].unwrap();
        assert!((a - 5.0 * (1.0 / 7.0) / 7.0).abs() < 1e-15, "{a}");
    }
}
