//! A plan as it is spelled: every key that can be wrong with its place.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use crate::env::Spec;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) version: Spanned<i64>,
    pub(super) name: Spanned<String>,
    pub(super) environment: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) seed: i64,
    #[serde(default)]
    pub(super) rebind: bool,
    pub(super) mask: Option<Spanned<String>>,
    /// Whose budget is spent, instead of the plan's own: rounds of one campaign share theirs.
    pub(super) budget_of: Option<Spanned<String>>,
    pub(super) refused: Option<RefusedWord>,
    pub(super) trajectories: TrajectoriesFile,
    pub(super) environments: BTreeMap<String, Spec>,
    pub(super) sim: Option<ArmFile>,
    pub(super) real: Option<ArmFile>,
    #[serde(default)]
    pub(super) breaker: BreakerFile,
    #[serde(default)]
    pub(super) probe: ProbeFile,
}

/// What becomes of a trajectory with a call that is not permitted on the real arm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RefusedWord {
    /// It is run on neither arm.
    #[default]
    LeaveOut,
    /// Both arms end before that call.
    Cut,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TrajectoriesFile {
    pub(super) file: Option<Spanned<String>>,
    pub(super) r#where: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) take: Take,
    pub(super) limit: Option<Spanned<i64>>,
}

/// Which calls of a trajectory are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Take {
    /// Those that were recorded.
    #[default]
    Calls,
    /// Those said to be right.
    Gold,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ArmFile {
    pub(super) environment: Spanned<Which>,
    pub(super) repeats: Option<Spanned<i64>>,
    pub(super) share: Option<Spanned<f64>>,
    pub(super) concurrency: Option<Spanned<i64>>,
    pub(super) rate: Option<Spanned<f64>>,
    pub(super) burst: Option<Spanned<i64>>,
    pub(super) timeout: Option<Spanned<f64>>,
    pub(super) retries: Option<Spanned<i64>>,
    pub(super) backoff: Option<Spanned<f64>>,
    pub(super) budget: Option<Spanned<i64>>,
    #[serde(default)]
    pub(super) reads: Vec<String>,
    #[serde(default)]
    pub(super) allow: Vec<String>,
    pub(super) repeatable: Option<Vec<String>>,
    #[serde(default)]
    pub(super) reuse: bool,
    #[serde(default)]
    pub(super) snapshots: bool,
}

/// One environment for all trajectories, or one for each environment of theirs.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Which {
    One(String),
    Each(BTreeMap<String, String>),
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BreakerFile {
    pub(super) failures: Option<Spanned<i64>>,
    pub(super) pause: Option<Spanned<f64>>,
    pub(super) give_up: Option<Spanned<i64>>,
    pub(super) longest_wait: Option<Spanned<f64>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProbeFile {
    #[serde(default)]
    pub(super) tools: Vec<String>,
    pub(super) calls: Option<Spanned<i64>>,
}

/// Keys that may change under one name: limits and permissions, not what is run.
pub(super) const CHANGEABLE: &[&str] = &[
    "concurrency",
    "rate",
    "burst",
    "timeout",
    "retries",
    "backoff",
    "budget",
    "reads",
    "allow",
    "repeatable",
    "reuse",
];
