//! Ending what a program started, also what left its process group.
//!
//! A server may start workers in sessions of their own, and they may outlive
//! it. Every program gets a variable with a mark that its children inherit, and
//! whoever carries the mark is found by it, as build servers do.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

/// The variable that carries the mark.
pub(super) const VARIABLE: &str = "FIDELAKE_SESSION";

/// Processes may start others while they are being looked for.
const ROUNDS: usize = 5;

/// A mark that nobody else has.
pub(super) fn marker() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = since.map_or(0, |since| since.as_nanos());
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{count}-{nanos}", std::process::id())
}

/// Sends a signal to the group that `leader` leads. That it is gone is no fault.
pub(super) fn group(leader: u32, signal: Signal) {
    if let Ok(leader) = i32::try_from(leader) {
        let _ = killpg(Pid::from_raw(leader), signal);
    }
}

/// Kills everything that carries the mark; how many were found.
pub(super) fn kill_marked(marker: &str) -> usize {
    let mut killed = 0;
    for _ in 0..ROUNDS {
        let found = marked(marker);
        if found.is_empty() {
            break;
        }
        killed += found.len();
        for process in found {
            let _ = kill(process, Signal::SIGKILL);
        }
    }
    killed
}

/// Who carries the mark. A process that has ended and was not waited for shows
/// no variables and is not found. Empty where there is no `/proc`.
fn marked(marker: &str) -> Vec<Pid> {
    let wanted = format!("{VARIABLE}={marker}\0");
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let processes = entries.flatten().filter_map(|entry| {
        let number: i32 = entry.file_name().to_str()?.parse().ok()?;
        let variables = std::fs::read(entry.path().join("environ")).ok()?;
        memchr::memmem::find(&variables, wanted.as_bytes())?;
        Some(Pid::from_raw(number))
    });
    processes.collect()
}
