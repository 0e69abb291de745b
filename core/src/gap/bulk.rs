//! Equal containers in one go.

use super::guide::Guide;
use super::scan::{Malformed, measure};
use super::tally::Sink;
use super::tokens::common_prefix;
use super::walk::Walk;

/// Deeper containers are not looked at as a whole, as each level may read its
/// start anew.
const BULK_DEPTH: usize = 8;

impl<S: Sink, G: Guide> Walk<'_, '_, S, G> {
    /// Passes two containers that are the same byte by byte; whether they are.
    /// Only one of them is read, and neither beyond the first difference.
    pub(super) fn same_container(&mut self, depth: usize) -> bool {
        if depth > BULK_DEPTH || (G::ACTIVE && !self.guide.is_free()) {
            return false;
        }
        let (i, j) = (self.left.at, self.right.at);
        if self.same.0 <= i || self.same.1 != i.wrapping_sub(j) {
            let same = common_prefix(&self.left.bytes()[i..], &self.right.bytes()[j..]);
            self.same = (i + same, i.wrapping_sub(j));
        }
        let alike = &self.left.bytes()[..self.same.0];
        match measure(alike, i, depth) {
            Ok((leaves, end)) => {
                self.tally.share_all(leaves);
                (self.left.at, self.right.at) = (end, end - i + j);
                true
            }
            Err(Malformed) => false,
        }
    }
}
