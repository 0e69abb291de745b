//! Answers from the lake: what was recorded for a call, or for one like it.
//!
//! In this order: the same call after the same state-changing calls; the same
//! call; the most similar call of that tool, if its arguments are near enough;
//! else what the description says of misses. Of several answers to one call in one
//! state the newest of the real arm holds. Every answer says where it came from
//! and how far its arguments were. A replay has no state: what was recorded after
//! another history may be wrong here, which is what the origin is for.
//!
//! A description may ask for more: that what only the simulator answered is mended by
//! what real answers teach (`mend`), that templates answer what nobody did
//! (`templates`), and that time, passing failures and late writes are as on the real
//! arm (`calibrated`).

mod check;
mod index;
mod load;
mod mend;
mod regions;
mod session;
mod stored;
mod world;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use tokio::sync::OnceCell;

use super::{EnvError, EnvResult, Environment, Session, Start};
pub use check::{CheckRow, check};
use index::Index;
pub use mend::Learned;
pub use regions::{RegionRow, regions};
use session::ReplaySession;
pub use world::Behaviour;

/// Arguments this near are taken for the same question where nothing else is said.
pub const THRESHOLD: f64 = 0.25;

/// Which recordings answer, and how.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// Environment in the lake.
    pub environment: String,
    /// A further condition over `runs`.
    pub r#where: Option<String>,
    /// Lake version to read; else the newest when the first session opens.
    pub version: Option<i64>,
    /// Largest distance of arguments, [0,1], at which another call answers.
    pub threshold: Option<f64>,
    /// What becomes of a call without an answer.
    #[serde(default)]
    pub miss: Miss,
    /// For `pass_through_and_record`: the environment of the plan that is asked.
    pub through: Option<String>,
    /// Tools that change nothing. Others count as changing unless the recorded
    /// state hashes show that they do not.
    #[serde(default)]
    pub reads: BTreeSet<String>,
    /// Folder of another lake to read, from the plan's folder; else the one at hand.
    pub lake: Option<PathBuf>,
    /// Whether what only the simulator answered is mended by what real answers teach.
    #[serde(default)]
    pub mend: bool,
    /// Whether templates answer what has no recorded answer, before similar calls do.
    #[serde(default)]
    pub templates: bool,
    /// Whether time, passing failures and late writes are as measured on the real arm.
    #[serde(default)]
    pub calibrated: bool,
    /// Share of the calibrated latency that is waited for, [0,1]; all of it is said.
    #[serde(default)]
    pub speed: f64,
    /// Seed of all chance.
    #[serde(default)]
    pub seed: u64,
}

/// What a replay has read.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Loaded {
    /// The lake version.
    pub version: i64,
    /// Recorded calls with an answer.
    pub recorded: usize,
    /// Of these, answers that a newer or more real one supersedes.
    pub superseded: usize,
    /// Tools on offer.
    pub tools: usize,
    /// Whether a catalog was recorded; else the tools are what was called.
    pub has_catalog: bool,
    /// Names of the tools of which it is not known whether they change something.
    pub unknown_effect: Vec<String>,
    /// What real answers teach.
    pub learned: Learned,
    /// How the real arm behaves, by tool; empty unless it is calibrated.
    pub behaviour: Vec<Behaviour>,
}

/// What becomes of a call without an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Miss {
    /// It is unknown: no observation at all.
    #[default]
    Unknown,
    /// An error, as the agent would see it.
    Error,
    /// A live environment is asked; its answer is recorded and found the next time.
    PassThroughAndRecord,
}

/// A replay that can be opened.
#[derive(Debug)]
pub struct ReplayEnvironment {
    replay: Replay,
    lake: PathBuf,
    index: OnceCell<Arc<Index>>,
}

impl Replay {
    /// A replay of a lake by itself, outside of any plan.
    ///
    /// # Errors
    /// If the description cannot be used.
    pub fn of(&self, lake: &Path) -> EnvResult<ReplayEnvironment> {
        self.build(&super::Context {
            name: &self.environment,
            folder: Path::new("."),
            lake: Some(lake),
        })
    }

    /// Checks the description.
    pub(super) fn build(&self, context: &super::Context<'_>) -> EnvResult<ReplayEnvironment> {
        let wrong = |why: &str| EnvError::Description {
            name: context.name.to_owned(),
            why: why.to_owned(),
        };
        let other = self.lake.as_ref().map(|lake| context.folder.join(lake));
        let Some(lake) = other.or_else(|| context.lake.map(Path::to_owned)) else {
            return Err(wrong(
                "a replay answers from a lake: give one with --lake DIR",
            ));
        };
        if self.threshold.is_some_and(|t| !(0.0..=1.0).contains(&t)) {
            return Err(wrong("threshold: write a number from 0.0 to 1.0"));
        }
        if !(0.0..=1.0).contains(&self.speed) {
            return Err(wrong("speed: write a number from 0.0 (no waiting) to 1.0"));
        }
        let passes = self.miss == Miss::PassThroughAndRecord;
        if passes != self.through.is_some() {
            return Err(wrong(
                "miss = \"pass_through_and_record\" and through = \"...\" (an environment of the plan) belong together",
            ));
        }
        Ok(ReplayEnvironment {
            replay: self.clone(),
            lake,
            index: OnceCell::new(),
        })
    }
}

#[async_trait]
impl Environment for ReplayEnvironment {
    fn kind(&self) -> &'static str {
        "replay"
    }

    /// A given state is what the recording began with; it is not used.
    async fn open(&self, _start: &Start) -> EnvResult<Box<dyn Session>> {
        let index = Arc::clone(self.index().await?);
        Ok(Box::new(ReplaySession::new(index, &self.replay)))
    }
}

impl ReplayEnvironment {
    /// Reads the lake, once.
    async fn index(&self) -> EnvResult<&Arc<Index>> {
        let index = self.index.get_or_try_init(|| async {
            // A lake stays on its thread.
            let (lake, replay) = (self.lake.clone(), self.replay.clone());
            let runtime = tokio::runtime::Handle::current();
            let loading =
                tokio::task::spawn_blocking(move || runtime.block_on(load::load(&lake, &replay)));
            let loaded = loading.await.unwrap_or_else(|error| Err(error.to_string()));
            loaded.map(Arc::new).map_err(|why| EnvError::Start {
                what: format!("replay of {}", self.replay.environment),
                why,
            })
        });
        index.await
    }

    /// Reads the lake if that was not done, and says what there is.
    ///
    /// # Errors
    /// If it cannot be read, or has no recorded answers of the environment.
    pub async fn loaded(&self) -> EnvResult<Loaded> {
        let index = self.index().await?;
        let unknown = |name: &&str| !index.changing.contains_key(*name);
        let names = index.tools.iter().map(|tool| &*tool.name);
        Ok(Loaded {
            version: index.version,
            recorded: index.recorded.len(),
            superseded: index.superseded(),
            tools: index.tools.len(),
            has_catalog: index.has_catalog,
            unknown_effect: names.filter(unknown).map(str::to_owned).collect(),
            learned: index.mends.learned(),
            behaviour: index.world.behaviours(),
        })
    }
}
