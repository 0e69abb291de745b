//! What a lake knows beside its rows: learned noise, and which evidence it has.

use std::collections::HashMap;

use fidelake_core::gap::Learned;

/// So many examples are kept of every differing path of an API.
pub(crate) const SAMPLES_PER_PATH: u32 = 5;

/// By environment, then by API.
type ByApi<T> = HashMap<String, HashMap<String, T>>;

/// The knowledge of one lake version. The default knows nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) learned: ByApi<Learned>,
    /// Number of examples by path id.
    pub(crate) samples: ByApi<HashMap<i64, u32>>,
}

impl Settings {
    /// The noise of an API as learned from other trajectories.
    pub(crate) fn learned(&self, environment: &str, api: &str) -> Learned {
        let known = self.learned.get(environment).and_then(|apis| apis.get(api));
        known.copied().unwrap_or_default()
    }

    /// The examples that stand in the lake.
    pub(crate) fn samples(&self, environment: &str, api: &str) -> HashMap<i64, u32> {
        let known = self.samples.get(environment).and_then(|apis| apis.get(api));
        known.cloned().unwrap_or_default()
    }
}
