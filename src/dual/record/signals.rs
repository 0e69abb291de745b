//! Signals to the recorder are meant for the command that it stands before.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// What a client, a shell or a supervisor may send.
const PASSED: [(SignalKind, Signal); 6] = [
    (SignalKind::hangup(), Signal::SIGHUP),
    (SignalKind::interrupt(), Signal::SIGINT),
    (SignalKind::quit(), Signal::SIGQUIT),
    (SignalKind::terminate(), Signal::SIGTERM),
    (SignalKind::user_defined1(), Signal::SIGUSR1),
    (SignalKind::user_defined2(), Signal::SIGUSR2),
];

/// Signals as they come.
#[derive(Debug)]
pub(super) struct Signals {
    coming: mpsc::UnboundedReceiver<Signal>,
}

impl Signals {
    /// From now on signals do not end this process. Those that are ignored already
    /// (`nohup`) stay ignored, here and in the command.
    pub(super) fn for_command() -> std::io::Result<Self> {
        Self::listen(ignored())
    }

    /// The same without a command: a shell starts what runs in the background with
    /// Ctrl-C ignored, but whoever sends it to a proxy means it.
    pub(super) fn for_server() -> std::io::Result<Self> {
        Self::listen(ignored() & !(1 << (SignalKind::interrupt().as_raw_value() - 1)))
    }

    fn listen(ignored: u64) -> std::io::Result<Self> {
        let (send, coming) = mpsc::unbounded_channel();
        for (kind, name) in PASSED {
            if ignored & (1 << (kind.as_raw_value() - 1)) != 0 {
                continue;
            }
            let mut stream = signal(kind)?;
            let send = send.clone();
            tokio::spawn(async move {
                while stream.recv().await.is_some() && send.send(name).is_ok() {}
            });
        }
        Ok(Self { coming })
    }

    pub(super) async fn next(&mut self) -> Signal {
        match self.coming.recv().await {
            Some(signal) => signal,
            // All of them are ignored.
            None => std::future::pending().await,
        }
    }
}

/// Sends a signal on, unless the terminal has sent it to the command as well.
pub(super) fn pass(child: Option<u32>, signal: Signal) {
    let from_keyboard = matches!(signal, Signal::SIGINT | Signal::SIGQUIT);
    if from_keyboard && in_foreground() {
        return;
    }
    if let Some(pid) = child.and_then(|pid| i32::try_from(pid).ok()) {
        // It may have ended in this moment.
        let _ = kill(Pid::from_raw(pid), signal);
    }
}

/// Ctrl-C goes to every process of the foreground group, the command included.
fn in_foreground() -> bool {
    // pid (name) state parent group session terminal foreground-group
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
    let fields: Vec<&str> = after.split_whitespace().collect();
    matches!((fields.get(2), fields.get(5)), (Some(group), Some(front)) if group == front)
}

/// Signals that this process was started to ignore, as bits.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or_default()
}
