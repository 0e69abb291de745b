//! What was counted since a state began.

use serde::{Deserialize, Serialize};

/// Observations by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// In the charts.
    pub accepted: u64,
    /// Known already.
    pub duplicates: u64,
    /// Too old to say something of now.
    pub late: u64,
    /// Not understood.
    pub rejected: u64,
    /// Real calls that the accepted ones took.
    pub calls: f64,
}

impl Totals {
    pub(super) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub(super) fn to_text(self) -> String {
        serde_json::to_string(&self).unwrap_or_default()
    }

    /// Adds other counts.
    pub fn merge(&mut self, other: &Self) {
        self.accepted += other.accepted;
        self.duplicates += other.duplicates;
        self.late += other.late;
        self.rejected += other.rejected;
        self.calls += other.calls;
    }
}
