//! The journal of one recorder: its sessions, names and files.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fidelake_core::mask::Mode;
use fidelake_core::model::Arm;

use super::clock::Clock;
use super::error::RecordError;
use super::place::{self, Own};
use super::run_file::OPEN;
use super::session::Session;
use crate::import::check_environment;

/// What was written reaches the disk after so long at the latest.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// How recordings are called.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Environment of all of them.
    pub environment: String,
    /// Arm of all of them.
    pub arm: Arm,
    /// Names of the first trajectories, in order; later ones get names of their own.
    pub trajectories: Vec<String>,
    /// What is masked when they are folded.
    pub mask: Mode,
}

/// What was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Files of runs.
    pub runs: u64,
    /// Calls in them.
    pub calls: u64,
    /// Messages that went through and could not be written.
    pub lost: u64,
}

/// A line for people.
pub type Say = Box<dyn Fn(&str) + Send + Sync>;

/// The journal of one recorder.
pub struct Journal {
    lake: PathBuf,
    id: String,
    folder: PathBuf,
    settings: Settings,
    clock: Clock,
    say: Say,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    lock: Option<std::fs::File>,
    names: usize,
    files: u64,
    sessions: u64,
    /// Sessions that have not ended, as far as was looked.
    live: Vec<Arc<Session>>,
    totals: Totals,
    failing: bool,
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl Journal {
    /// Begins a journal in the lake at `lake`, which need not exist yet.
    ///
    /// # Errors
    /// If the environment cannot be a name, or the folder cannot be written.
    pub fn open(lake: &Path, settings: Settings, say: Say) -> Result<Arc<Self>, RecordError> {
        check_environment(&settings.environment).map_err(RecordError::Environment)?;
        let own = Own::make(&place::journal(lake)?)?;
        let journal = Arc::new(Self {
            lake: std::path::absolute(lake).map_err(RecordError::io(lake))?,
            id: own.id,
            folder: own.folder,
            settings,
            clock: Clock::start(),
            say,
            state: Mutex::new(State {
                lock: Some(own.lock),
                ..State::default()
            }),
        });
        let weak = Arc::downgrade(&journal);
        std::thread::spawn(move || {
            // A killed program loses nothing that it wrote; a machine that stops would.
            loop {
                std::thread::sleep(SYNC_EVERY);
                let Some(journal) = weak.upgrade() else {
                    return;
                };
                journal.sync();
            }
        });
        Ok(journal)
    }

    /// The lake that it stands in.
    #[must_use]
    pub fn lake(&self) -> &Path {
        &self.lake
    }

    /// What was recorded so far.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.state().totals
    }

    /// Ends every session that is left and gives the folder free for folding.
    pub fn close(&self, termination: &str) {
        let live = std::mem::take(&mut self.state().live);
        for session in live {
            session.finish(termination);
        }
        let mut state = self.state();
        if state.files == 0 && state.lock.is_some() {
            // Nothing was said: nothing stays behind.
            let _ = std::fs::remove_file(self.folder.join("lock"));
            let _ = std::fs::remove_dir(&self.folder);
        }
        state.lock = None;
    }

    pub(super) fn session(self: &Arc<Self>, transport: &'static str) -> Arc<Session> {
        let mut state = self.state();
        state.sessions += 1;
        let id = match state.sessions {
            1 => self.id.clone(),
            n => format!("{}-s{n}", self.id),
        };
        let session = Arc::new(Session::new(Arc::clone(self), id, transport));
        state.live.push(Arc::clone(&session));
        session
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(super) fn now(&self) -> String {
        self.clock.now()
    }

    pub(super) fn say(&self, line: &str) {
        (self.say)(line);
    }

    /// The next name that the user gave.
    pub(super) fn next_name(&self) -> Option<String> {
        let mut state = self.state();
        let name = self.settings.trajectories.get(state.names).cloned();
        state.names += 1;
        name
    }

    /// A path for one more run.
    pub(super) fn next_file(&self) -> io::Result<PathBuf> {
        let mut state = self.state();
        if state.lock.is_none() {
            return Err(io::Error::other("the journal is closed"));
        }
        state.files += 1;
        let name = format!("{:06}.{}.{OPEN}", state.files, self.settings.mask.name());
        Ok(self.folder.join(name))
    }

    /// What became of a message. Whoever talks is never disturbed by it.
    pub(super) fn wrote(&self, result: io::Result<()>, calls: u64) {
        let mut state = self.state();
        match result {
            Ok(()) => {
                state.totals.calls += calls;
                state.failing = false;
            }
            Err(error) => {
                state.totals.lost += 1;
                if !std::mem::replace(&mut state.failing, true) {
                    drop(state);
                    let folder = self.folder.display();
                    self.say(&format!(
                        "the journal {folder} cannot be written ({error}): messages go through, but are not recorded"
                    ));
                }
            }
        }
    }

    pub(super) fn finished(&self, runs: u64) {
        self.state().totals.runs += runs;
    }

    fn sync(&self) {
        // A session takes this lock while it holds its own, so never the other way round.
        let all = self.state().live.clone();
        let (live, ended): (Vec<_>, Vec<_>) = all.into_iter().partition(|s| !s.ended());
        for file in live.iter().flat_map(|session| session.unsynced()) {
            let _ = file.sync_data();
        }
        let gone = |session: &Arc<Session>| ended.iter().any(|other| Arc::ptr_eq(other, session));
        self.state().live.retain(|session| !gone(session));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
