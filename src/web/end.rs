//! When to stop.

use tokio::signal::unix::{SignalKind, signal};

/// Ends when the user or a supervisor asks this process to end: Ctrl-C or SIGTERM.
pub(crate) async fn asked_to_end() {
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        let _ = tokio::signal::ctrl_c().await;
        return;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}
