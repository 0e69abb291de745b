//! Whether a cluster is more than the arms' own noise (docs/patterns.md, "Noise").

use std::collections::{BTreeMap, BTreeSet};

use fidelake_core::patterns::{excess_p, holm, sign_p};

use super::call::Calls;
use super::core_of::{Core, Directed};

/// Trajectories without which a test says nothing.
pub(super) const MIN_TRAJECTORIES: usize = 5;

/// Chance of any false alarm in a run of `mine`.
pub(super) const ALPHA: f64 = 0.05;

/// How it was tested, and what came out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tested {
    pub(super) test: &'static str,
    /// Adjusted for all patterns of the run.
    pub(super) p: Option<f64>,
}

impl Tested {
    pub(super) fn confirmed(&self) -> bool {
        self.p.is_some_and(|p| p <= ALPHA)
    }

    /// Tested, and no more than noise.
    pub(super) fn refuted(&self) -> bool {
        self.p.is_some_and(|p| p > ALPHA)
    }
}

/// Tests clusters, each given as its calls (places in `all.calls`) and its core.
pub(super) fn test(all: &Calls, clusters: &[(Vec<usize>, Core)]) -> Vec<Tested> {
    // In how many trajectories each directed kind stands.
    let mut directed: BTreeMap<Directed, BTreeSet<u32>> = BTreeMap::new();
    let of_kind: Vec<Directed> = (0..all.kinds.len())
        .map(|kind| Directed::of(all, u32::try_from(kind).unwrap_or(u32::MAX)))
        .collect();
    for call in &all.calls {
        let kind = &of_kind[call.kind as usize];
        if let Some(places) = directed.get_mut(kind) {
            places.insert(call.trajectory);
        } else {
            directed.insert(kind.clone(), BTreeSet::from([call.trajectory]));
        }
    }
    let raw: Vec<(&'static str, Option<f64>)> = clusters
        .iter()
        .map(|(members, core)| one(all, members, core, &directed))
        .collect();
    let tested: Vec<usize> = (0..raw.len()).filter(|&at| raw[at].1.is_some()).collect();
    let adjusted = holm(
        &tested
            .iter()
            .filter_map(|&at| raw[at].1)
            .collect::<Vec<_>>(),
    );
    let mut out: Vec<Tested> = raw
        .iter()
        .map(|(test, _)| Tested { test, p: None })
        .collect();
    for (at, p) in tested.into_iter().zip(adjusted) {
        out[at].p = Some(p);
    }
    out
}

fn one(
    all: &Calls,
    members: &[usize],
    core: &Core,
    directed: &BTreeMap<Directed, BTreeSet<u32>>,
) -> (&'static str, Option<f64>) {
    let mut excess: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for &at in members {
        let call = &all.calls[at];
        if let Some(value) = call.excess {
            let entry = excess.entry(call.trajectory).or_default();
            entry.0 += value;
            entry.1 += 1.0;
        }
    }
    if excess.len() >= MIN_TRAJECTORIES {
        let means: Vec<f64> = excess.values().map(|(sum, n)| sum / n).collect();
        return ("excess", excess_p(&means));
    }
    let (own, mirror) = (core.directed(), core.mirrored());
    let here: BTreeSet<u32> = members.iter().map(|&at| all.calls[at].trajectory).collect();
    if own == mirror || here.len() < MIN_TRAJECTORIES {
        return ("none", None);
    }
    // A trajectory with both says nothing of which is more frequent.
    let there = directed.get(&mirror).cloned().unwrap_or_default();
    let only_here = here.difference(&there).count() as u64;
    let only_there = there.difference(&here).count() as u64;
    ("mirror", Some(sign_p(only_here, only_there)))
}
