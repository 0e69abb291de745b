//! When to stop.

use tokio::signal::unix::{SignalKind, signal};

/// Ends when the user or a supervisor asks this process to end.
pub(super) async fn asked_to_end() {
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}
