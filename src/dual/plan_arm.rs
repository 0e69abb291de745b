//! How a plan runs one arm: which environment, how often, within which limits.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fidelake_core::model::Arm;

use super::error::DualResult;
use super::plan_file::{ArmFile, Which};
use super::shared::through;
use super::wrong::Wrong;
use crate::env::Spec;

/// How one arm is run.
#[derive(Clone, Debug)]
pub(super) struct ArmPlan {
    pub(super) which: Which,
    pub(super) repeats: i32,
    /// Share of the trajectories that are run more than once.
    pub(super) share: f64,
    pub(super) concurrency: usize,
    /// Calls per second.
    pub(super) rate: Option<f64>,
    pub(super) burst: u32,
    pub(super) timeout: Duration,
    pub(super) retries: u32,
    pub(super) backoff: Duration,
    pub(super) budget: Option<i64>,
    pub(super) reads: BTreeSet<String>,
    pub(super) allow: BTreeSet<String>,
    pub(super) repeatable: BTreeSet<String>,
    pub(super) reuse: bool,
    pub(super) snapshots: bool,
}

impl ArmPlan {
    /// Name of the environment in the plan for trajectories of `environment`.
    pub(super) fn environment(&self, environment: &str) -> Option<&str> {
        match &self.which {
            Which::One(name) => Some(name),
            Which::Each(names) => names.get(environment).map(String::as_str),
        }
    }

    pub(super) fn names(&self) -> Vec<&str> {
        match &self.which {
            Which::One(name) => vec![name],
            Which::Each(names) => names.values().map(String::as_str).collect(),
        }
    }

    /// Whether the plan itself permits a tool.
    pub(super) fn permits(&self, tool: &str) -> bool {
        self.reads.contains(tool) || has(&self.allow, tool)
    }

    /// Whether a call that changes something may be made again in a fresh state.
    pub(super) fn repeats(&self, tool: &str) -> bool {
        has(&self.repeatable, tool)
    }
}

fn has(set: &BTreeSet<String>, tool: &str) -> bool {
    set.contains(tool) || set.contains("*")
}

/// Checks the part of a plan that describes an arm.
pub(super) fn arm_plan(
    wrong: &Wrong<'_>,
    arm: Arm,
    part: ArmFile,
    environments: &BTreeMap<String, Spec>,
) -> DualResult<ArmPlan> {
    let names: Vec<&String> = match part.environment.get_ref() {
        Which::One(name) => vec![name],
        Which::Each(names) => names.values().collect(),
    };
    for name in &names {
        if !environments.contains_key(*name) {
            let known: Vec<&str> = environments.keys().map(String::as_str).collect();
            let message = format!(
                "environment {name:?} has no [environments.{name}]; there are: {}",
                known.join(", ")
            );
            return Err(wrong.at(&part.environment, &message));
        }
    }
    // Behind a replay that passes calls through stands a live environment, too.
    let mut live = arm == Arm::Real;
    for name in &names {
        let Some(behind) = environments.get(*name).and_then(through) else {
            continue;
        };
        if environments
            .get(behind)
            .is_none_or(|spec| matches!(spec, Spec::Replay(_)))
        {
            let message =
                format!("through = {behind:?}: name another [environments.*] that is no replay");
            return Err(wrong.at(&part.environment, &message));
        }
        live = true;
    }
    if live && part.budget.is_none() {
        let message = format!(
            "[{}] needs `budget`: the number of calls that this plan may ever make there",
            arm.as_str()
        );
        return Err(wrong.at(&part.environment, &message));
    }
    let budget = match &part.budget {
        None => None,
        Some(given) if *given.get_ref() >= 0 => Some(*given.get_ref()),
        Some(given) => return Err(wrong.at(given, "budget: write a whole number from 0 on")),
    };
    let share = match &part.share {
        None => 1.0,
        Some(given) if (0.0..=1.0).contains(given.get_ref()) => *given.get_ref(),
        Some(given) => return Err(wrong.at(given, "share: write a number from 0.0 to 1.0")),
    };
    let rate = match &part.rate {
        None => None,
        Some(given) if given.get_ref().is_finite() && *given.get_ref() > 0.0 => {
            Some(*given.get_ref())
        }
        Some(given) => return Err(wrong.at(given, "rate: write calls per second, above 0")),
    };
    let repeats = match &part.repeats {
        None => 1,
        Some(given) => match i32::try_from(*given.get_ref()) {
            Ok(number @ 1..=100) => number,
            _ => return Err(wrong.at(given, "repeats: write a whole number from 1 to 100")),
        },
    };
    let retries = match &part.retries {
        None => 2,
        Some(given) => match u32::try_from(*given.get_ref()) {
            Ok(number @ 0..=20) => number,
            _ => return Err(wrong.at(given, "retries: write a whole number from 0 to 20")),
        },
    };
    if part.reads.iter().any(|tool| tool.contains('*')) {
        let message = format!(
            "[{}] reads: write the names of tools; only `allow` and `repeatable` know \"*\"",
            arm.as_str()
        );
        return Err(wrong.at(&part.environment, &message));
    }
    // A simulator harms nobody.
    let any = || vec!["*".to_owned()];
    let repeatable = part
        .repeatable
        .unwrap_or_else(|| if live { Vec::new() } else { any() });
    Ok(ArmPlan {
        repeats,
        share,
        concurrency: wrong.whole_number::<u32>("concurrency", part.concurrency.as_ref(), 1)?
            as usize,
        rate,
        burst: wrong.whole_number("burst", part.burst.as_ref(), 1)?,
        timeout: wrong.seconds("timeout", part.timeout.as_ref(), 30.0)?,
        retries,
        backoff: wrong.seconds("backoff", part.backoff.as_ref(), 0.5)?,
        budget,
        reads: part.reads.into_iter().collect(),
        allow: if live { part.allow } else { any() }.into_iter().collect(),
        repeatable: repeatable.into_iter().collect(),
        reuse: part.reuse,
        snapshots: part.snapshots,
        which: part.environment.into_inner(),
    })
}
