//! What a lake knows beside its rows: rules, learned noise and classes, and which
//! evidence it has.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use fidelake_core::gap::{CompiledRules, Knowledge, Learned, PathRules, Probe};

use crate::engine::rules::Declared;

/// So many examples are kept of every differing path of an API.
pub(crate) const SAMPLES_PER_PATH: u32 = 5;

/// By environment, then by API.
type ByApi<T> = HashMap<String, HashMap<String, T>>;

/// Number of examples by path id.
pub(crate) type Samples = ByApi<HashMap<i64, u32>>;

/// The knowledge of one lake version. The default knows nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) declared: Declared,
    /// What people say of paths.
    pub(crate) said: PathRules,
    /// The same after what was learned of paths, which it overrides.
    pub(crate) said_and_learned: PathRules,
    /// What was learned of paths alone.
    pub(crate) volatile: PathRules,
    pub(crate) learned: ByApi<Learned>,
    /// The reader of the decision gap, with the term weights in force.
    pub(crate) probe: Arc<Probe>,
    /// The examples that stand in the lake.
    pub(crate) samples: Samples,
    /// Threads that compare the trajectories of one query; 0 is 1.
    pub(crate) threads: usize,
}

impl Settings {
    /// Whether nothing is known that could change a number.
    pub(crate) fn is_empty(&self) -> bool {
        self.learned.is_empty() && self.declared.is_empty() && self.said_and_learned.is_empty()
    }

    /// The examples that stand in the lake.
    pub(crate) fn samples(&self, environment: &str, api: &str) -> HashMap<i64, u32> {
        let known = self.samples.get(environment).and_then(|apis| apis.get(api));
        known.cloned().unwrap_or_default()
    }
}

/// By environment, API, and whether there is noise of one's own.
type Compiled = HashMap<(String, String, bool), Option<Rc<CompiledRules>>>;

/// The knowledge in use, with what was compiled of it.
pub(crate) struct InUse<'s> {
    settings: &'s Settings,
    compiled: RefCell<Compiled>,
}

impl<'s> InUse<'s> {
    pub(crate) fn new(settings: &'s Settings) -> Self {
        Self {
            settings,
            compiled: RefCell::default(),
        }
    }

    /// What is known of one environment.
    pub(crate) fn of<'u>(&'u self, environment: &'u str) -> OfEnvironment<'u> {
        OfEnvironment {
            all: self,
            environment,
            learned: self.settings.learned.get(environment),
        }
    }
}

/// The knowledge of one environment.
pub(crate) struct OfEnvironment<'u> {
    all: &'u InUse<'u>,
    environment: &'u str,
    learned: Option<&'u HashMap<String, Learned>>,
}

impl Knowledge for OfEnvironment<'_> {
    fn learned(&self, api: &str) -> Learned {
        let known = self.learned.and_then(|apis| apis.get(api));
        known.copied().unwrap_or_default()
    }

    fn rules(&self, api: &str, own_noise: bool) -> Option<Rc<CompiledRules>> {
        let rules = match own_noise {
            true => &self.all.settings.said,
            false => &self.all.settings.said_and_learned,
        };
        if rules.is_empty() {
            return None;
        }
        let key = (self.environment.to_owned(), api.to_owned(), own_noise);
        let mut compiled = self.all.compiled.borrow_mut();
        let found = compiled.entry(key).or_insert_with(|| {
            let found = rules.select(self.environment, api);
            (!found.is_empty()).then(|| Rc::new(found))
        });
        found.clone()
    }

    fn mutates(&self, api: &str) -> Option<bool> {
        self.all.settings.declared.mutates(self.environment, api)
    }

    fn reads_back(&self, write: &str, read: &str) -> bool {
        let declared = &self.all.settings.declared;
        declared.reads_back(self.environment, write, read)
    }
}
