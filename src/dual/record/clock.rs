//! Times that never run backwards: the wall clock once, then a steady one.

use std::time::Instant;

use chrono::{DateTime, SecondsFormat, Utc};

#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    wall: DateTime<Utc>,
    since: Instant,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self {
            wall: Utc::now(),
            since: Instant::now(),
        }
    }

    /// Now, UTC, ISO 8601 with microseconds.
    pub(super) fn now(&self) -> String {
        let passed = chrono::Duration::from_std(self.since.elapsed()).unwrap_or_default();
        (self.wall + passed).to_rfc3339_opts(SecondsFormat::Micros, true)
    }
}
