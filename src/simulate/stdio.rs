//! Over the pipes of the process: one process, one episode.

use std::io::{BufRead as _, Read as _, Write as _};

use tokio::sync::mpsc;

use super::episode::Episode;
use super::error::ServeError;
use super::rpc::{INVALID, Message, PARAMS, error};
use super::simulator::Simulator;
use crate::web::asked_to_end;

/// A longer line is refused and skipped.
const LONGEST: u64 = 16 << 20;

/// A line of the client.
enum Line {
    Whole(Vec<u8>),
    TooLong,
    Broken(std::io::Error),
}

/// Answers until standard input ends, or the process is asked to.
///
/// # Errors
/// If the episode cannot begin, or a pipe breaks.
pub async fn stdio(simulator: &Simulator, name: &str) -> Result<(), ServeError> {
    let fail = |source| ServeError::Io {
        what: "standard input or output".into(),
        source,
    };
    let mut episode = simulator.episode(name, None).await?;
    let (send, mut lines) = mpsc::channel(64);
    // Reading standard input cannot be given up: its thread ends with the process.
    std::thread::spawn(move || read(&send));
    let end = asked_to_end();
    tokio::pin!(end);
    loop {
        let line = tokio::select! {
            line = lines.recv() => line,
            () = &mut end => return Ok(()),
        };
        let reply = match line {
            None => return Ok(()),
            Some(Line::Broken(error)) => return Err(fail(error)),
            Some(Line::TooLong) => {
                let why = format!("a message may have {LONGEST} bytes; this one was skipped");
                Some(error(None, INVALID, &why, None))
            }
            Some(Line::Whole(line)) => answer(simulator, &mut episode, &line).await,
        };
        if let Some(mut reply) = reply {
            if reply.contains('\n') {
                // A recorded answer may be spread over lines; a message may not.
                reply = crate::env::one_line(&reply);
            }
            reply.push('\n');
            let mut output = std::io::stdout().lock();
            let written = output.write_all(reply.as_bytes());
            match written.and_then(|()| output.flush()) {
                // Whoever listened has gone.
                Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
                done => done.map_err(fail)?,
            }
        }
    }
}

/// Sends every line until the input ends or nobody listens.
fn read(send: &mpsc::Sender<Line>) {
    let mut input = std::io::stdin().lock();
    loop {
        let mut line = Vec::new();
        let read = (&mut input).take(LONGEST).read_until(b'\n', &mut line);
        let next = match read {
            Ok(0) => return,
            Ok(length) if length as u64 == LONGEST && line.last() != Some(&b'\n') => {
                match input.skip_until(b'\n') {
                    Ok(_) => Line::TooLong,
                    Err(error) => Line::Broken(error),
                }
            }
            Ok(_) => Line::Whole(line),
            Err(error) => Line::Broken(error),
        };
        if send.blocking_send(next).is_err() {
            return;
        }
    }
}

async fn answer(simulator: &Simulator, episode: &mut Episode, line: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(line);
    if text.trim().is_empty() {
        return None;
    }
    let message = match Message::parse(text.trim()) {
        Ok(message) => message,
        Err(refusal) => return Some(refusal.json()),
    };
    if !message.is_request() {
        return None;
    }
    // Before the answer, so that a call and a list in one episode are one after the other.
    Some(match message.plain(simulator.name(), simulator.version()) {
        Some(reply) => reply,
        None => with_state(simulator, episode, &message).await,
    })
}

/// `tools/list` and `tools/call`.
pub(super) async fn with_state(
    simulator: &Simulator,
    episode: &mut Episode,
    message: &Message,
) -> String {
    let Some(call) = &message.call else {
        return message.listed(&episode.tools);
    };
    match episode.call(simulator, &call.name, &call.arguments).await {
        Some(reply) => message.called(&reply),
        None => message.error(PARAMS, &format!("Unknown tool: {}", call.name)),
    }
}
