//! What the logs alone tell of the tables: a query costs milliseconds even where nothing is
//! to be read.

use super::error::{EngineError, EngineResult};
use super::session::Engine;

/// The size of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    /// Bytes of its files.
    pub(super) bytes: u64,
    /// Its rows.
    pub(super) rows: u64,
}

impl Engine {
    /// How much a table of this version holds.
    ///
    /// # Errors
    /// If its log was not loaded.
    pub(super) fn held(&self, name: &str) -> EngineResult<Held> {
        let Some(table) = self.table(name) else {
            return Ok(Held::default());
        };
        let fail = |e: deltalake::DeltaTableError| EngineError::Run(e.to_string());
        let snapshot = table.snapshot().map_err(fail)?;
        let mut held = Held::default();
        for file in snapshot.log_data() {
            held.bytes += u64::try_from(file.size()).unwrap_or_default();
            held.rows += file.num_records().unwrap_or_default() as u64;
        }
        Ok(held)
    }

    /// Whether a table of this version has rows.
    ///
    /// # Errors
    /// As [`Self::held`].
    pub(super) fn holds(&self, name: &str) -> EngineResult<bool> {
        // Also if its files do not say how many.
        Ok(self.held(name)?.bytes > 0)
    }
}
