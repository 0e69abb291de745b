//! MCP over the pipes of a program: our reader and writer under rmcp.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

use super::super::child::{Line, Lines, text};
use super::tap::Tap;

/// Lines in, lines out.
#[derive(Debug)]
pub(super) struct StdioTransport {
    stdin: Arc<Mutex<Option<ChildStdin>>>,
    lines: Lines<ChildStdout>,
    tap: Tap,
    /// How long a server may think about `server/discover`.
    probe: Duration,
    /// The question of discovery, and until when it may be answered.
    discovery: Option<(u64, Instant)>,
    /// Heard and not yet handed on.
    heard: std::collections::VecDeque<ServerJsonRpcMessage>,
}

impl StdioTransport {
    pub(super) fn new(
        stdin: ChildStdin,
        lines: Lines<ChildStdout>,
        tap: Tap,
        probe: Duration,
    ) -> Self {
        Self {
            stdin: Arc::new(Mutex::new(Some(stdin))),
            lines,
            tap,
            probe,
            discovery: None,
            heard: std::collections::VecDeque::new(),
        }
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let stdin = Arc::clone(&self.stdin);
        let tap = self.tap.clone();
        let outgoing = tap.outgoing(&item);
        if let (ClientJsonRpcMessage::Request(request), Ok((_, Some(id)))) = (&item, &outgoing)
            && request.request.method() == "server/discover"
        {
            self.discovery = Some((*id, Instant::now() + self.probe));
        }
        async move {
            let (mut line, id) = outgoing.map_err(std::io::Error::other)?;
            line.push('\n');
            let mut stdin = stdin.lock().await;
            let Some(pipe) = stdin.as_mut() else {
                id.inspect(|id| tap.not_sent(*id));
                return Err(std::io::ErrorKind::NotConnected.into());
            };
            let sent = pipe.write_all(line.as_bytes()).await;
            if sent.is_err() {
                // A reader that is gone read nothing of it, or its exit says the rest.
                *stdin = None;
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if let Some(message) = self.heard.pop_front() {
                return Some(message);
            }
            if self.tap.is_flooded() {
                self.tap
                    .note("flood", "too much that is no answer: the server was left");
                return None;
            }
            let line = match self.discovery {
                Some((id, until)) => tokio::select! {
                    line = self.lines.next() => line,
                    () = sleep_until(until) => {
                        self.discovery = None;
                        self.heard.extend(self.tap.no_discovery(id));
                        continue;
                    }
                },
                None => self.lines.next().await,
            };
            match line {
                Line::Whole(line) if line.is_empty() => {}
                Line::Whole(line) => self.heard.extend(self.tap.hear(&text(line))),
                Line::TooLong { head, bytes } => {
                    self.heard.extend(self.tap.too_long(&text(head), bytes));
                }
                Line::End => return None,
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        // The end of its stdin tells a server to end. A writer that is stuck holds the lock.
        if let Ok(mut stdin) = self.stdin.try_lock() {
            *stdin = None;
        }
        Ok(())
    }
}
