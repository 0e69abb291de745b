//! One perturbation of a list: as it is spelled, and checked.

use std::collections::BTreeSet;
use std::time::Duration;

use fidelake_core::perturb::{ActsOn, Perturbation};
use serde::Deserialize;

use super::error::PerturbError;

/// One perturbation as a plan spells it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Which one: a name of `fidelake perturb --list`.
    pub name: String,
    /// From 0 (nothing) to 1; what it means is said there.
    pub intensity: Option<f64>,
    /// Only these tools.
    pub tools: Option<BTreeSet<String>>,
    /// Only the first so many calls of a trajectory.
    pub first: Option<usize>,
    /// A call that was struck so often in a row goes through; 0: never.
    pub times: Option<u32>,
    /// Share of the struck calls that take effect all the same.
    pub takes_effect: Option<f64>,
    /// Seconds that the answer asks to wait.
    pub retry_after_s: Option<f64>,
    /// For so many calls.
    pub calls: Option<u64>,
    /// Milliseconds.
    pub ms: Option<f64>,
    /// Spread of the delays: standard deviation of their logarithm.
    pub sigma: Option<f64>,
    /// Whether the delay is waited for, or only said.
    pub sleep: Option<bool>,
    /// Share of a cut answer that is left.
    pub keep: Option<f64>,
    /// Elements of one page.
    pub page: Option<usize>,
    /// Whether every struck call takes effect twice, instead of its repeat being refused.
    pub doubled: Option<bool>,
}

/// One perturbation, checked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Setting {
    pub(super) kind: Perturbation,
    pub(super) intensity: f64,
    pub(super) tools: Option<BTreeSet<String>>,
    pub(super) first: usize,
    pub(super) times: u32,
    pub(super) takes_effect: f64,
    pub(super) retry_after: Option<Duration>,
    pub(super) calls: Option<u64>,
    pub(super) time: Option<Duration>,
    pub(super) sigma: f64,
    pub(super) sleep: bool,
    pub(super) keep: f64,
    pub(super) page: usize,
    pub(super) doubled: bool,
}

/// Reads see a write after so many calls, where nothing is said.
const LATE_CALLS: u64 = 3;
/// Median delay.
const DELAY: Duration = Duration::from_millis(200);
/// The slowest of a hundred calls takes six times as long as the median one.
const SIGMA: f64 = 0.8;
const PAGE: usize = 10;

/// The keys that a perturbation knows, beside `name` and `intensity`.
fn known(kind: Perturbation) -> &'static [&'static str] {
    use Perturbation as P;
    match kind {
        P::ObsTypos | P::ObsParaphrase => &[],
        P::TransitionTimeout => &["tools", "first", "times", "takes_effect", "ms"],
        P::TransitionServerError => &["tools", "first", "times", "takes_effect"],
        P::TransitionRateLimit => &["tools", "first", "times", "retry_after_s"],
        P::TransitionAuth | P::TransitionMalformed => &["tools", "first", "times"],
        P::TransitionSchemaDrift => &["tools", "first"],
        P::Latency => &["tools", "first", "ms", "sigma", "sleep"],
        P::EventualConsistency | P::StaleCache => &["tools", "calls", "ms"],
        P::LostIdempotency => &["tools", "doubled"],
        P::TruncatedOutput => &["tools", "first", "keep"],
        P::Pagination => &["tools", "page"],
        _ => &["tools"],
    }
}

impl Setting {
    /// With everything but the intensity left as it is by default.
    pub(super) fn plain(kind: Perturbation, intensity: f64) -> Result<Self, PerturbError> {
        Self::of(&Item {
            name: kind.as_str().to_owned(),
            intensity: Some(intensity),
            ..Item::default()
        })
    }

    /// Checks what a plan says.
    pub(super) fn of(item: &Item) -> Result<Self, PerturbError> {
        let kind = Perturbation::parse(&item.name)
            .ok_or_else(|| PerturbError::Unknown(item.name.clone()))?;
        let name = kind.as_str();
        let given = [
            ("tools", item.tools.is_some()),
            ("first", item.first.is_some()),
            ("times", item.times.is_some()),
            ("takes_effect", item.takes_effect.is_some()),
            ("retry_after_s", item.retry_after_s.is_some()),
            ("calls", item.calls.is_some()),
            ("ms", item.ms.is_some()),
            ("sigma", item.sigma.is_some()),
            ("sleep", item.sleep.is_some()),
            ("keep", item.keep.is_some()),
            ("page", item.page.is_some()),
            ("doubled", item.doubled.is_some()),
        ];
        let known = known(kind);
        if let Some((key, _)) = given.iter().find(|(key, is)| *is && !known.contains(key)) {
            let all = ["name", "intensity"].iter().chain(known);
            let all: Vec<&str> = all.copied().collect();
            let known = all.join(", ");
            return Err(PerturbError::Key { name, key, known });
        }
        let intensity = item.intensity.unwrap_or(kind.default_intensity());
        if !(0.0..=1.0).contains(&intensity) {
            let given = intensity.to_string();
            return Err(PerturbError::Intensity { name, given });
        }
        let value = |key, why| PerturbError::Value { name, key, why };
        let share = |key, given: Option<f64>, default: f64| {
            let share = given.unwrap_or(default);
            let fits = (0.0..=1.0).contains(&share);
            fits.then_some(share)
                .ok_or_else(|| value(key, "write a number from 0 to 1"))
        };
        let time = |key, seconds: Option<f64>| {
            seconds
                .map(Duration::try_from_secs_f64)
                .transpose()
                .map_err(|_| value(key, "write a number from 0 on"))
        };
        let sigma = item.sigma.unwrap_or(SIGMA);
        if !(0.0..=10.0).contains(&sigma) {
            return Err(value("sigma", "write a number from 0 to 10"));
        }
        let page = item.page.unwrap_or(PAGE);
        if page == 0 {
            return Err(value("page", "write a whole number from 1 on"));
        }
        if item.calls.is_some() && item.ms.is_some() {
            return Err(value("calls", "give `calls` or `ms`, one of the two"));
        }
        let late = kind == Perturbation::EventualConsistency && item.ms.is_none();
        let delayed = kind == Perturbation::Latency;
        Ok(Self {
            kind,
            intensity,
            tools: item.tools.clone(),
            first: item.first.unwrap_or(usize::MAX),
            times: item.times.unwrap_or(1),
            takes_effect: share("takes_effect", item.takes_effect, 0.0)?,
            retry_after: time("retry_after_s", item.retry_after_s)?,
            calls: item.calls.or(late.then_some(LATE_CALLS)),
            time: time("ms", item.ms.map(|ms| ms / 1e3))?.or(delayed.then_some(DELAY)),
            sigma,
            sleep: item.sleep.unwrap_or(true),
            keep: share("keep", item.keep, 0.5)?,
            page,
            doubled: item.doubled.unwrap_or(false),
        })
    }

    /// Whether it is the same perturbation of a tool that the other one means, too.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let apart = match (&self.tools, &other.tools) {
            (Some(ours), Some(theirs)) => ours.is_disjoint(theirs),
            _ => false,
        };
        self.kind == other.kind && !apart
    }

    /// Whether it makes calls that nobody asked for.
    pub(super) fn makes_calls(&self) -> bool {
        self.kind == Perturbation::EventualConsistency || self.doubled
    }

    /// Whether a tool is meant.
    pub(super) fn means(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.contains(tool))
    }

    pub(super) fn acts_on(&self) -> ActsOn {
        self.kind.acts_on()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(toml: &str) -> String {
        let item: Item = toml::from_str(toml).unwrap();
        Setting::of(&item).unwrap_err().to_string()
    }

    #[test]
    fn mistakes_say_what_would_be_right() {
        for (toml, said) in [
            ("name = \"x\"", "--list"),
            ("name = \"latency\"\nintensity = 1.5", "from 0 to 1"),
            ("name = \"latency\"\nintensity = nan", "from 0 to 1"),
            (
                "name = \"latency\"\npage = 3",
                "it knows name, intensity, tools, first, ms, sigma, sleep",
            ),
            ("name = \"pagination\"\npage = 0", "from 1 on"),
            ("name = \"latency\"\nms = -1.0", "from 0 on"),
            (
                "name = \"stale_cache\"\nms = 1.0\ncalls = 2",
                "one of the two",
            ),
            ("name = \"truncated_output\"\nkeep = 2.0", "from 0 to 1"),
        ] {
            assert!(wrong(toml).contains(said), "{toml}: {}", wrong(toml));
        }
    }

    #[test]
    fn every_perturbation_has_a_default_that_is_right() {
        for &kind in Perturbation::ALL {
            let item = Item {
                name: kind.as_str().to_owned(),
                ..Item::default()
            };
            let setting = Setting::of(&item).unwrap();
            assert!(setting.intensity > 0.0, "{kind:?}");
        }
    }
}
