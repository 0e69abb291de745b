//! A bounded sample of the values that differ, by API and path.

use std::collections::HashMap;

use fidelake_core::gap::{
    Comparer, Knowledge, LOSSES_KEPT, PathLoss, RunCall, SlotGap, general_path,
};

use crate::engine::functions::settings::{SAMPLES_PER_PATH, Settings};

/// One differing path of one call, with its values.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) id: i64,
    pub(super) path: String,
    pub(super) kind: &'static str,
    pub(super) cosmetic: Option<&'static str>,
    pub(super) severity: &'static str,
    pub(super) weight: f64,
    pub(super) sim: Option<String>,
    pub(super) real: Option<String>,
}

/// How many samples of each path were taken.
pub(super) struct Samples<'s> {
    settings: &'s Settings,
    /// By environment and API, then by path.
    taken: HashMap<(String, String), HashMap<i64, u32>>,
    losses: Vec<PathLoss>,
}

impl<'s> Samples<'s> {
    pub(super) fn new(settings: &'s Settings) -> Self {
        Self {
            settings,
            taken: HashMap::new(),
            losses: Vec::new(),
        }
    }

    /// The differing paths of a call of which there are not enough samples yet.
    pub(super) fn take(
        &mut self,
        environment: &str,
        calls: &[RunCall<'_>],
        gap: &SlotGap<'_>,
        own_noise: bool,
        known: &dyn Knowledge,
        comparer: &mut Comparer,
    ) -> Vec<Sample> {
        let [Some(sim), Some(real)] = gap.firsts else {
            return Vec::new();
        };
        if gap.paths.is_empty() {
            return Vec::new();
        }
        let place = (environment.to_owned(), gap.api.to_owned());
        let settings = self.settings;
        let taken = self
            .taken
            .entry(place)
            .or_insert_with(|| settings.samples(environment, gap.api));
        let wanted = |taken: &HashMap<i64, u32>, id: i64| {
            taken.get(&id).copied().unwrap_or_default() < SAMPLES_PER_PATH
        };
        if !gap.paths.iter().any(|loss| wanted(taken, loss.id)) {
            return Vec::new();
        }
        let (left, right) = (calls[sim].answer, calls[real].answer);
        let rules = known.rules(gap.api, own_noise);
        let rules = rules.as_deref();
        comparer.losses(rules, left, right, &mut self.losses);
        let diff = comparer.diff_with(rules, left, right, LOSSES_KEPT);
        let mut found: Vec<Sample> = Vec::new();
        for (loss, shown) in self.losses.iter().zip(diff.paths) {
            // Of several elements of one array, the first.
            if wanted(taken, loss.id) && found.iter().all(|sample| sample.id != loss.id) {
                found.push(Sample {
                    id: loss.id,
                    path: general_path(&shown.path),
                    kind: shown.kind.name(),
                    cosmetic: shown.cosmetic.map(|kind| kind.name()),
                    severity: shown.severity().name(),
                    weight: loss.weight,
                    sim: shown.left,
                    real: shown.right,
                });
            }
        }
        for sample in &found {
            *taken.entry(sample.id).or_default() += 1;
        }
        found
    }
}
