//! What a lake knows beside its rows: learned noise, declared tools, and which
//! evidence it has.

use std::collections::HashMap;

use fidelake_core::gap::{Knowledge, Learned};

use crate::engine::rules::Declared;

/// So many examples are kept of every differing path of an API.
pub(crate) const SAMPLES_PER_PATH: u32 = 5;

/// By environment, then by API.
type ByApi<T> = HashMap<String, HashMap<String, T>>;

/// The knowledge of one lake version. The default knows nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) learned: ByApi<Learned>,
    pub(crate) declared: Declared,
    /// Number of examples by path id.
    pub(crate) samples: ByApi<HashMap<i64, u32>>,
}

impl Settings {
    /// Whether nothing is known that could change a number.
    pub(crate) fn is_empty(&self) -> bool {
        self.learned.is_empty() && self.declared.is_empty()
    }

    /// What is known of one environment.
    pub(crate) fn of<'s>(&'s self, environment: &'s str) -> OfEnvironment<'s> {
        OfEnvironment {
            environment,
            learned: self.learned.get(environment),
            declared: &self.declared,
        }
    }

    /// The examples that stand in the lake.
    pub(crate) fn samples(&self, environment: &str, api: &str) -> HashMap<i64, u32> {
        let known = self.samples.get(environment).and_then(|apis| apis.get(api));
        known.cloned().unwrap_or_default()
    }
}

/// The knowledge of one environment.
pub(crate) struct OfEnvironment<'s> {
    environment: &'s str,
    learned: Option<&'s HashMap<String, Learned>>,
    declared: &'s Declared,
}

impl Knowledge for OfEnvironment<'_> {
    fn learned(&self, api: &str) -> Learned {
        let known = self.learned.and_then(|apis| apis.get(api));
        known.copied().unwrap_or_default()
    }

    fn mutates(&self, api: &str) -> Option<bool> {
        self.declared.mutates(self.environment, api)
    }

    fn reads_back(&self, write: &str, read: &str) -> bool {
        self.declared.reads_back(self.environment, write, read)
    }
}
