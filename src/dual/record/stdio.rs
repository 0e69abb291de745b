//! Between a client and a server on their standard streams.
//!
//! Plain threads and blocking reads: nothing stands between two system calls but
//! the journal. Standard error is not even piped: the command inherits ours.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::process::Command;
use tokio::sync::oneshot;

use super::error::RecordError;
use super::journal::Journal;
use super::lines::Lines;
use super::session::{Direction, Session, Told};
use super::signals::{Signals, pass};

/// After the command has ended, its children may still write for so long.
const GRACE: Duration = Duration::from_secs(2);

/// Runs a command between our standard input and output; gives the exit code to
/// end with: its own, or 128 and the number of the signal that ended it.
///
/// # Errors
/// If it does not start.
pub async fn stdio(journal: &Arc<Journal>, command: &[OsString]) -> Result<u8, RecordError> {
    let name = command.first().cloned().unwrap_or_default();
    let start = |source| RecordError::Start {
        command: name.display().to_string(),
        source,
    };
    let (from_client, to_client) = (ours(io::stdin())?, ours(io::stdout())?);
    let (child_reads, to_server) = io::pipe().map_err(start)?;
    let (from_server, child_writes) = io::pipe().map_err(start)?;
    let mut signals = Signals::for_command().map_err(start)?;
    let mut child = {
        // Our copies of the child's ends close with the builder.
        let mut builder = Command::new(&name);
        builder
            .args(command.iter().skip(1))
            .stdin(Stdio::from(child_reads))
            .stdout(Stdio::from(child_writes));
        builder.spawn().map_err(start)?
    };
    let session = journal.session("stdio");
    let up = Arc::clone(&session);
    std::thread::spawn(move || {
        pump(from_client, to_server, &up, Direction::ToServer);
        let _ = nix::unistd::dup2_stdin(nothing());
    });
    let (drained, mut all) = oneshot::channel();
    let down = Arc::clone(&session);
    std::thread::spawn(move || {
        pump(from_server, to_client, &down, Direction::ToClient);
        let _ = nix::unistd::dup2_stdout(nothing());
        let _ = drained.send(());
    });
    let status = loop {
        tokio::select! {
            status = child.wait() => break status.map_err(start)?,
            signal = signals.next() => pass(child.id(), signal),
        }
    };
    let _ = tokio::time::timeout(GRACE, &mut all).await;
    session.finish(&termination(status));
    Ok(code(status))
}

/// A handle of our own for a standard stream, without any buffer.
fn ours(stream: impl AsFd) -> Result<File, RecordError> {
    let io = |source| RecordError::Io {
        what: "the standard streams".into(),
        source,
    };
    Ok(File::from(stream.as_fd().try_clone_to_owned().map_err(io)?))
}

/// What stands in the place of a closed stream: the other side sees its end, and
/// no file that is opened later gets its number.
fn nothing() -> impl AsFd {
    enum Nothing {
        Null(File),
        Own(io::Stderr),
    }
    impl AsFd for Nothing {
        fn as_fd(&self) -> BorrowedFd<'_> {
            match self {
                Self::Null(file) => file.as_fd(),
                Self::Own(stderr) => stderr.as_fd(),
            }
        }
    }
    match File::options().read(true).write(true).open("/dev/null") {
        Ok(file) => Nothing::Null(file),
        Err(_) => Nothing::Own(io::stderr()),
    }
}

/// Passes bytes on until one side closes. Both ends are closed when it returns.
fn pump(mut from: impl Read, mut to: impl Write, session: &Session, direction: Direction) {
    let told = Told::default();
    let mut lines = Lines::default();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let got = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(got) => got,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        let piece = &buffer[..got];
        // First the journal: whoever has seen the end of a line finds it there.
        lines.feed(piece, &mut |line| session.line(direction, line, &told));
        if to.write_all(piece).is_err() {
            break;
        }
    }
    lines.end(&mut |line| session.line(direction, line, &told));
}

fn termination(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("server exited with {code}"),
        (None, Some(signal)) => format!("server was ended by signal {signal}"),
        (None, None) => "server ended".to_owned(),
    }
}

fn code(status: ExitStatus) -> u8 {
    let code = match (status.code(), status.signal()) {
        (Some(code), _) => code,
        (None, Some(signal)) => 128 + signal,
        (None, None) => 1,
    };
    u8::try_from(code & 0xff).unwrap_or(1)
}
