//! Watches one started program: its stderr, its exit, its end.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Child;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::super::answer::{Answer, Note};
use super::super::workspace::Workspace;
use super::super::{Snapshot, Tool, placing};
use super::{Look, sweep};

/// How much of stderr is kept.
const TAIL: usize = 4096;
/// From SIGTERM to SIGKILL.
const TERM_GRACE: Duration = Duration::from_millis(500);
/// How long the rest of stderr may take after the exit.
const STDERR_GRACE: Duration = Duration::from_millis(200);

/// Keeps a child; ends it with all that it started, at the latest when dropped.
#[derive(Debug)]
pub(in crate::env) struct Keeper {
    child: Child,
    leader: Option<u32>,
    marker: String,
    stderr: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
    ended: bool,
    look: Option<Look>,
    /// Dropped after everything that may write there has ended.
    workspace: Option<Workspace>,
}

impl Keeper {
    pub(super) fn new(
        mut child: Child,
        marker: String,
        workspace: Option<Workspace>,
        look: Option<Look>,
    ) -> Self {
        let stderr = Arc::new(Mutex::new(Vec::new()));
        let reader = child.stderr.take().map(|stream| {
            let tail = Arc::clone(&stderr);
            tokio::spawn(keep_tail(stream, tail))
        });
        Self {
            leader: child.id(),
            child,
            marker,
            stderr,
            reader,
            ended: false,
            look,
            workspace,
        }
    }

    /// The state as a program of the plan sees it, if there is one; else the files.
    pub(in crate::env) async fn state(
        &self,
        patience: Duration,
    ) -> Result<Option<Snapshot>, String> {
        let Some(look) = &self.look else {
            return self.files();
        };
        let mut shown = look.look(&self.marker, patience).await?;
        if let (Some(own), Some(state)) = (&self.workspace, &mut shown.state) {
            *state = placing::named(state, own.folder()).0.into_owned();
        }
        Ok(Some(shown))
    }

    /// What its folder holds, if it has one of its own.
    pub(in crate::env) fn files(&self) -> Result<Option<Snapshot>, String> {
        self.workspace.as_ref().map(Workspace::snapshot).transpose()
    }

    /// Arguments with the path of its folder where `${workspace}` stands.
    pub(in crate::env) fn placed<'a>(&self, arguments: &'a str) -> Cow<'a, str> {
        match &self.workspace {
            Some(own) => placing::placed(arguments, own.folder()),
            None => Cow::Borrowed(arguments),
        }
    }

    /// Writes `${workspace}` where an answer has the path of its folder.
    pub(in crate::env) fn name_folder(&self, answer: &mut Answer) {
        if let Some(own) = &self.workspace {
            placing::name_in(answer, own.folder());
        }
    }

    /// The same in the declarations of tools.
    pub(in crate::env) fn name_folder_in(&self, tools: &mut [Tool]) {
        let Some(own) = &self.workspace else { return };
        for tool in tools {
            if let (Cow::Owned(text), _) = placing::named(&tool.declaration, own.folder()) {
                tool.declaration = text;
            }
        }
    }

    /// The end of stderr, as text.
    pub(in crate::env) fn stderr(&self) -> String {
        let tail = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&tail).trim().to_owned()
    }

    /// How it ended, if it has: waits a moment, for a closed pipe is seen before
    /// the exit. Text for people: status and the end of stderr.
    pub(in crate::env) async fn exit(&mut self, within: Duration) -> Option<String> {
        let status = timeout(within, self.child.wait()).await.ok()?.ok()?;
        self.drain().await;
        let said = self.stderr();
        Some(if said.is_empty() {
            status.to_string()
        } else {
            format!("{status}; stderr ends: {}", Note::end_of(&said))
        })
    }

    /// Waits up to `grace` for it to end by itself (its stdin is closed), then
    /// ends it. Says what was needed.
    pub(in crate::env) async fn end(mut self, grace: Duration) -> Vec<Note> {
        let mut notes = Vec::new();
        let mut status = timeout(grace, self.child.wait()).await.ok();
        if status.is_none() {
            notes.push(Note::new(
                "killed",
                format!("did not end within {} s of closing", grace.as_secs_f64()),
            ));
            self.signal(Signal::SIGTERM);
            status = timeout(TERM_GRACE, self.child.wait()).await.ok();
        }
        if status.is_none() {
            self.signal(Signal::SIGKILL);
            status = Some(self.child.wait().await);
        }
        let left = sweep::kill_marked(&self.marker);
        if left > 0 {
            notes.push(Note::new(
                "left_processes",
                format!("{left} processes were left behind, and killed"),
            ));
        }
        self.ended = true;
        self.drain().await;
        if let Some(Ok(status)) = status
            && !status.success()
        {
            notes.push(Note::new("exit_status", status.to_string()));
        }
        let said = self.stderr();
        if !said.is_empty() {
            notes.push(Note::new("stderr", Note::end_of(&said)));
        }
        notes
    }

    async fn drain(&mut self) {
        if let Some(reader) = &mut self.reader
            && timeout(STDERR_GRACE, reader).await.is_ok()
        {
            self.reader = None;
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            sweep::group(leader, signal);
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.abort();
        }
        if !self.ended {
            // A leader that was waited for has given up its number: its group is
            // found by the mark alone.
            if self.child.id().is_some() {
                self.signal(Signal::SIGKILL);
            }
            sweep::kill_marked(&self.marker);
        }
    }
}

async fn keep_tail(mut stream: impl AsyncRead + Unpin, tail: Arc<Mutex<Vec<u8>>>) {
    let mut block = vec![0; TAIL];
    while let Ok(read) = stream.read(&mut block).await {
        if read == 0 {
            break;
        }
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend_from_slice(&block[..read]);
        let surplus = tail.len().saturating_sub(TAIL);
        tail.drain(..surplus);
    }
}
