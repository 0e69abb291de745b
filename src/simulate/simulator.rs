//! What all episodes share.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::episode::Episode;
use super::error::ServeError;
use super::tools;
use super::unanswered::Unanswered;
use crate::env::replay::{Loaded, Replay};
use crate::env::{EnvResult, Environment, Start};
use crate::randomize::Randomization;

/// What is served, and how.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The recordings, and what becomes of calls without one.
    pub replay: Replay,
    /// Perturbations around it.
    pub randomization: Option<Randomization>,
    /// Where questions without a recorded answer are written; `None`: nowhere.
    pub unanswered: Option<PathBuf>,
}

/// A simulator that can be asked.
#[derive(Debug)]
pub struct Simulator {
    environment: Arc<dyn Environment>,
    name: String,
    seed: u64,
    loaded: Loaded,
    without_schema: Vec<String>,
    unanswered: Option<Unanswered>,
    pub(super) counts: Counts,
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) episodes: AtomicU64,
    pub(super) calls: AtomicU64,
    pub(super) unanswered: AtomicU64,
}

/// What was done in the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Episodes begun.
    pub episodes: u64,
    /// Calls answered.
    pub calls: u64,
    /// Calls without a recorded answer.
    pub unanswered: u64,
    /// Questions written down that were not known.
    pub written: u64,
    /// Questions that could not be written down.
    pub lost: u64,
}

impl Simulator {
    /// Reads the lake.
    ///
    /// # Errors
    /// If the lake cannot be read or has no answers of the environment, the
    /// randomization cannot be applied, or the file of questions not written.
    pub async fn open(lake: &Path, settings: Settings) -> Result<Self, ServeError> {
        let replay = settings.replay.of(lake)?;
        let loaded = replay.loaded().await?;
        let name = settings.replay.environment.clone();
        let mut environment: Arc<dyn Environment> = Arc::new(replay);
        if let Some(randomization) = &settings.randomization {
            environment = randomization.around(environment, settings.replay.seed)?;
        }
        let mut session = environment.open(&Start::Fresh).await?;
        let (_, without_schema) = tools::list(&session.tools().await?);
        session.close().await;
        let unanswered = settings.unanswered.as_deref();
        let unanswered = unanswered.map(|path| Unanswered::open(path, &name));
        Ok(Self {
            environment,
            seed: settings.replay.seed,
            loaded,
            without_schema,
            unanswered: unanswered.transpose()?,
            name,
            counts: Counts::default(),
        })
    }

    /// What was read.
    #[must_use]
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// Names of the tools whose parameters nobody recorded: they take anything.
    #[must_use]
    pub fn without_schema(&self) -> &[String] {
        &self.without_schema
    }

    /// Where questions without a recorded answer are written.
    #[must_use]
    pub fn unanswered_path(&self) -> Option<&Path> {
        self.unanswered.as_ref().map(Unanswered::path)
    }

    /// What was done so far.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let (written, lost) = match &self.unanswered {
            Some(unanswered) => unanswered.counts(),
            None => (0, 0),
        };
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Totals {
            episodes: of(&self.counts.episodes),
            calls: of(&self.counts.calls),
            unanswered: of(&self.counts.unanswered),
            written,
            lost,
        }
    }

    pub(super) fn unanswered(&self) -> Option<&Unanswered> {
        self.unanswered.as_ref()
    }

    /// The environment's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The lake version that answers.
    pub(super) fn version(&self) -> i64 {
        self.loaded.version
    }

    /// A fresh episode. Its chance hangs on its name and its seed, and on nothing else.
    pub(super) async fn episode(&self, name: &str, seed: Option<u64>) -> EnvResult<Episode> {
        let mut session = self.environment.open(&Start::Fresh).await?;
        let chance = format!("{name} seed {}", seed.unwrap_or(self.seed));
        session.place(crate::env::Place {
            trajectory: &chance,
            repeat: 0,
            position: 0,
        });
        let offered = session.tools().await?;
        self.counts.episodes.fetch_add(1, Ordering::Relaxed);
        Ok(Episode::new(name, chance, session, &offered))
    }
}
