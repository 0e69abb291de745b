//! One connection of a client to a server, and the runs that its calls belong to.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::journal::Journal;
use super::lines::Line;
use super::look::{self, Context, Seen};
use super::run_file::RunFile;
use crate::formats::mcp_wire::mark::{self, Begin, Beside, Mark};

/// A run of more bytes goes on as another one: a record must fit into memory.
const PART_BYTES: u64 = 96 << 20;

/// Answers still go to the run of their call up to here.
const FULL_BYTES: u64 = 240 << 20;

/// So much noise on standard output is kept of a session.
const NOISE_BYTES: u64 = 4 << 20;

/// So much is repeated at the beginning of every run of a session.
const CONTEXT_BYTES: usize = 8 << 20;

/// So many files of a session are kept open.
const OPEN_FILES: usize = 64;

/// Where a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Direction {
    ToServer,
    ToClient,
}

impl Direction {
    const fn word(self) -> &'static str {
        match self {
            Self::ToServer => "c2s",
            Self::ToClient => "s2c",
        }
    }

    const fn back(self) -> Self {
        match self {
            Self::ToServer => Self::ToClient,
            Self::ToClient => Self::ToServer,
        }
    }
}

/// What the transport tells of a message.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Told<'a> {
    /// The name that the client gave to the trajectory.
    pub(super) trajectory: Option<&'a str>,
    pub(super) status: Option<u16>,
    /// Requests that this answers, if the message itself does not.
    pub(super) answers: &'a [String],
    pub(super) transport_error: bool,
}

/// A session; both directions write into it.
#[derive(Debug)]
pub(super) struct Session {
    journal: Arc<Journal>,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    id: String,
    transport: &'static str,
    runs: Vec<RunFile>,
    /// Run and part by the name of the trajectory.
    by_name: HashMap<String, (usize, u32)>,
    /// Trajectory of calls that carry no name.
    base: Option<String>,
    /// How many trajectories got no name from anybody.
    unnamed: u32,
    /// Where messages go that belong to no call.
    current: Option<usize>,
    /// Requests by the direction of their answer and by id.
    open: HashMap<(Direction, String), VecDeque<Open>>,
    /// Lines that every run should begin with.
    context: Vec<(Context, String)>,
    /// Ids of the last events of event streams.
    events: VecDeque<Vec<u8>>,
    noise: u64,
    left_out: u64,
    ended: bool,
}

/// A request without an answer.
#[derive(Clone, Copy, Debug)]
struct Open {
    run: usize,
    context: Option<Context>,
    /// Runs from this one on were begun later.
    later: usize,
}

impl Session {
    pub(super) fn new(journal: Arc<Journal>, id: String, transport: &'static str) -> Self {
        let inner = Mutex::new(Inner {
            id,
            transport,
            ..Inner::default()
        });
        Self { journal, inner }
    }

    /// Writes a message into the journal. It has been written when this returns.
    pub(super) fn line(&self, direction: Direction, line: Line<'_>, told: &Told<'_>) {
        let (text, invalid_utf8) = look::text(line.bytes);
        if text.trim().is_empty() && told.answers.is_empty() {
            return;
        }
        let seen = if line.cut_from.is_some() {
            Seen {
                noise: true,
                ..Seen::default()
            }
        } else {
            Seen::of(&text)
        };
        let mut inner = self.lock();
        if inner.ended {
            return;
        }
        if seen.noise && told.answers.is_empty() {
            inner.noise += text.len() as u64;
            if inner.noise > NOISE_BYTES {
                inner.left_out += 1;
                return;
            }
        }
        let beside = Beside {
            invalid_utf8,
            unterminated: line.unterminated,
            cut_from: line.cut_from,
            status: told.status,
            answers: told.answers,
            transport_error: told.transport_error,
            ..Beside::default()
        };
        let wrote = inner.write(&self.journal, direction, &text, &seen, &beside, told);
        drop(inner);
        self.journal.wrote(wrote, seen.calls);
    }

    /// False if an event with this id was there a short time ago.
    pub(super) fn is_new_event(&self, id: &[u8]) -> bool {
        const REMEMBERED: usize = 1024;

        let mut inner = self.lock();
        if inner.events.iter().rev().any(|known| known == id) {
            return false;
        }
        if inner.events.len() == REMEMBERED {
            inner.events.pop_front();
        }
        inner.events.push_back(id.to_vec());
        true
    }

    /// Nothing more will come: `termination` says why.
    pub(super) fn finish(&self, termination: &str) {
        let mut inner = self.lock();
        if std::mem::replace(&mut inner.ended, true) {
            return;
        }
        let wrote = inner.finish(&self.journal, termination);
        drop(inner);
        self.journal.wrote(wrote, 0);
    }

    /// Handles of the files to be brought to the disk.
    pub(super) fn unsynced(&self) -> Vec<File> {
        let mut inner = self.lock();
        inner
            .runs
            .iter_mut()
            .filter_map(RunFile::unsynced)
            .collect()
    }

    pub(super) fn ended(&self) -> bool {
        self.lock().ended
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn write(
        &mut self,
        journal: &Journal,
        direction: Direction,
        text: &str,
        seen: &Seen,
        beside: &Beside<'_>,
        told: &Told<'_>,
    ) -> io::Result<()> {
        let name = seen.trajectory.as_deref().or(told.trajectory);
        if seen.initialize && direction == Direction::ToServer {
            let base = name.map_or_else(|| self.next_name(journal), str::to_owned);
            // The same name again is another run of the same trajectory.
            self.by_name.remove(&base);
            self.base = Some(base);
            self.current = None;
            self.context.clear();
        }
        let mut answered = None;
        for id in seen.answers.iter().chain(told.answers) {
            if let Some(waiting) = self.open.get_mut(&(direction, id.clone())) {
                answered = answered.or(waiting.pop_front());
                if waiting.is_empty() {
                    self.open.remove(&(direction, id.clone()));
                }
            }
        }
        let fits = |open: &Open| self.runs[open.run].bytes + (text.len() as u64) < FULL_BYTES;
        let run = match answered.filter(fits) {
            Some(open) => open.run,
            None => {
                let own = (direction == Direction::ToServer).then_some(name).flatten();
                self.run(journal, own, seen.calls > 0, text.len() as u64)?
            }
        };
        self.current = Some(run);
        let line = mark::spell(&journal.now(), direction.word(), text, beside);
        let context = seen.context.or(answered.and_then(|open| open.context));
        for id in &seen.requests {
            let key = (direction.back(), id.clone());
            self.open.entry(key).or_default().push_back(Open {
                run,
                context: seen.context,
                later: self.runs.len(),
            });
        }
        self.runs[run].calls += seen.calls;
        self.runs[run].own |= context.is_none();
        self.runs[run].append(&line)?;
        if let Some(kind) = context {
            // Runs that began between such a request and its answer hold the request.
            let later = answered.map_or(usize::MAX, |open| open.later);
            for other in self.runs.iter_mut().skip(later) {
                other.append(&line)?;
            }
            self.remember(kind, line, !seen.requests.is_empty());
        }
        Ok(())
    }

    /// The run that a message belongs to; makes it if there is none.
    fn run(
        &mut self,
        journal: &Journal,
        name: Option<&str>,
        call: bool,
        size: u64,
    ) -> io::Result<usize> {
        if name.is_none()
            && !call
            && let Some(current) = self.current
            && self.runs[current].bytes + size < FULL_BYTES
        {
            return Ok(current);
        }
        let name = match (name, &self.base) {
            (Some(name), _) => name.to_owned(),
            (None, Some(base)) => base.clone(),
            (None, None) => {
                let base = self.next_name(journal);
                self.base.insert(base).clone()
            }
        };
        let mut part = 1;
        if let Some(&(run, last)) = self.by_name.get(&name) {
            if self.runs[run].bytes + size < PART_BYTES {
                return Ok(run);
            }
            part = last + 1;
        }
        let trajectory_id = if part > 1 {
            format!("{name}#{part}")
        } else {
            name.clone()
        };
        if self.runs.iter().filter(|run| run.is_open()).count() >= OPEN_FILES {
            self.runs.iter_mut().for_each(RunFile::rest);
        }
        let mut file = RunFile::create(journal.next_file()?)?;
        let begin = Mark::Begin(Begin {
            session: &format!("{}/{}", self.id, self.runs.len()),
            environment: &journal.settings().environment,
            arm: journal.settings().arm,
            trajectory_id: &trajectory_id,
            transport: self.transport,
        });
        let mut head = begin.spell(&journal.now());
        self.context
            .iter()
            .for_each(|(_, line)| head.push_str(line));
        file.append(&head)?;
        self.runs.push(file);
        let run = self.runs.len() - 1;
        self.by_name.insert(name, (run, part));
        Ok(run)
    }

    fn next_name(&mut self, journal: &Journal) -> String {
        if let Some(name) = journal.next_name() {
            return name;
        }
        self.unnamed += 1;
        let environment = &journal.settings().environment;
        match self.unnamed {
            1 => format!("{environment}/{}", self.id),
            n => format!("{environment}/{}-{n}", self.id),
        }
    }

    fn remember(&mut self, kind: Context, line: String, request: bool) {
        if kind == Context::Tools && request {
            self.context.retain(|(kind, _)| *kind == Context::Opening);
        }
        let so_far: usize = self.context.iter().map(|(_, line)| line.len()).sum();
        if so_far + line.len() <= CONTEXT_BYTES {
            self.context.push((kind, line));
        }
    }

    fn finish(&mut self, journal: &Journal, termination: &str) -> io::Result<()> {
        let ts = journal.now();
        if let (Some(current), true) = (self.current, self.left_out > 0) {
            let beside = Beside {
                left_out: Some(self.left_out),
                ..Beside::default()
            };
            let line = mark::spell(&ts, Direction::ToClient.word(), "", &beside);
            self.runs[current].own = true;
            self.runs[current].append(&line)?;
        }
        let end = Mark::End(termination).spell(&ts);
        let called = self.runs.iter().filter(|run| run.calls > 0).count();
        let mut kept = 0;
        let mut outcome = Ok(());
        for mut run in std::mem::take(&mut self.runs) {
            // A client that names every call leaves a run with the opening only.
            let done = if run.calls == 0 && !run.own && called > 0 {
                run.remove()
            } else {
                kept += 1;
                run.append(&end).and_then(|()| run.finish())
            };
            outcome = outcome.and(done);
        }
        self.open.clear();
        self.context.clear();
        journal.finished(kept);
        outcome
    }
}
