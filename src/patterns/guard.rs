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
    let of_kind: Vec<Directed> = (0..all.kinds.len())
        .map(|kind| Directed::of(all, u32::try_from(kind).unwrap_or(u32::MAX)))
        .collect();
    // The calls of each tool, for those that go the other way round than a pattern.
    let mut of_tool: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (at, call) in all.calls.iter().enumerate() {
        let kind = &of_kind[call.kind as usize];
        let tool = (kind.environment.as_str(), kind.api.as_str());
        of_tool.entry(tool).or_default().push(at);
    }
    let raw: Vec<(&'static str, Option<f64>)> = clusters
        .iter()
        .map(|(members, core)| one(all, members, core, &of_kind, &of_tool))
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
    of_kind: &[Directed],
    of_tool: &BTreeMap<(&str, &str), Vec<usize>>,
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
    let all_here: BTreeSet<u32> = members.iter().map(|&at| all.calls[at].trajectory).collect();
    let Some(direction) = core
        .direction()
        .filter(|_| all_here.len() >= MIN_TRAJECTORIES)
    else {
        return ("none", None);
    };
    let way = |at: usize| direction.of(&of_kind[all.calls[at].kind as usize]);
    // A cluster may hold both directions: calls that go the other way do not speak for it.
    let trajectories = |calls: &mut dyn Iterator<Item = usize>, wanted: bool| -> BTreeSet<u32> {
        calls
            .filter(|&at| way(at) == Some(wanted))
            .map(|at| all.calls[at].trajectory)
            .collect()
    };
    let here = trajectories(&mut members.iter().copied(), true);
    let tools: BTreeSet<(&str, &str)> = members
        .iter()
        .map(|&at| &of_kind[all.calls[at].kind as usize])
        .map(|kind| (kind.environment.as_str(), kind.api.as_str()))
        .collect();
    let mut calls = tools
        .iter()
        .filter_map(|tool| of_tool.get(tool))
        .flatten()
        .copied();
    let there = trajectories(&mut calls, false);
    // A trajectory with both says nothing of which is more frequent.
    let only_here = here.difference(&there).count() as u64;
    let only_there = there.difference(&here).count() as u64;
    let p = sign_p(only_here, only_there);
    // Where both directions are in it, the pattern's is the one that was found more frequent.
    let chosen = members.iter().any(|&at| way(at) == Some(false));
    let p = if chosen { (2.0 * p).min(1.0) } else { p };
    ("mirror", Some(p))
}
