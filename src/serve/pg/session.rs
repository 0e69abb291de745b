//! Which state of the lake a connection reads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use datafusion_postgres::pgwire::error::PgWireResult;
use tokio::sync::Mutex;

use super::error::{code, of_engine, refused};
use super::shelf::Shelf;
use crate::engine::Engine;
use crate::lake::At;

/// The setting that names the lake version.
pub(super) const LAKE_VERSION: &str = "fidelake.lake_version";

/// A connection's view of the lake: the newest version when it first asked, until it asks for another.
pub(super) struct Session {
    shelf: Arc<Shelf>,
    pinned: Mutex<Option<Arc<Engine>>>,
    /// What is read at first.
    first: OnceLock<At>,
    moved: AtomicBool,
}

impl Session {
    pub(super) fn new(shelf: Arc<Shelf>) -> Self {
        Self {
            shelf,
            pinned: Mutex::new(None),
            first: OnceLock::new(),
            moved: AtomicBool::new(false),
        }
    }

    /// What this connection reads.
    pub(super) async fn engine(&self) -> PgWireResult<Arc<Engine>> {
        let mut pinned = self.pinned.lock().await;
        if let Some(engine) = &*pinned {
            return Ok(Arc::clone(engine));
        }
        let at = self.first.get().unwrap_or(&At::Newest);
        let engine = self.shelf.open(at).await;
        let engine = engine.map_err(|error| of_engine(&error))?;
        *pinned = Some(Arc::clone(&engine));
        Ok(engine)
    }

    /// Reads this state at first, which is opened by the first question.
    pub(super) fn begin_at(&self, text: &str) -> PgWireResult<()> {
        let _ = self.first.set(at(text)?);
        Ok(())
    }

    /// Reads another state from now on: `newest`, a lake version, or a time.
    pub(super) async fn pin(&self, text: &str) -> PgWireResult<()> {
        let at = at(text)?;
        let engine = self.shelf.open(&at).await;
        *self.pinned.lock().await = Some(engine.map_err(|error| of_engine(&error))?);
        self.moved.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Whether statements that were prepared may be of another state than the one that is read.
    pub(super) fn has_moved(&self) -> bool {
        self.moved.load(Ordering::Relaxed)
    }
}

fn at(text: &str) -> PgWireResult<At> {
    match (text.to_lowercase().as_str(), text.parse()) {
        ("newest" | "default" | "", _) => Ok(At::Newest),
        (_, Ok(version)) => Ok(At::Version(version)),
        _ => At::parse_time(text).ok_or_else(|| {
            let why = format!(
                "{LAKE_VERSION} = '{text}': write 'newest', a lake version such as 12, or a time such as 2026-07-31"
            );
            refused(code::WRONG_VALUE, why)
        }),
    }
}
