//! Cuts a copy of a stream into lines. The stream itself never waits for this.

/// A longer line is kept in part only, so that memory and records stay bounded.
pub(super) const MAX_LINE: usize = 96 << 20;

/// So much is kept of a line that is too long.
pub(super) const KEPT: usize = 1 << 20;

/// One line of a stream, without its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'b> {
    pub(super) bytes: &'b [u8],
    /// Its size, if not all of it is here.
    pub(super) cut_from: Option<u64>,
    /// The stream ended before the line did.
    pub(super) unterminated: bool,
}

/// The line under construction.
#[derive(Debug, Default)]
pub(super) struct Lines {
    rest: Vec<u8>,
    /// Bytes of the line that were not kept.
    over: u64,
    limit: Option<usize>,
}

impl Lines {
    #[cfg(test)]
    fn with_limit(limit: usize) -> Self {
        Self {
            limit: Some(limit),
            ..Self::default()
        }
    }

    /// Takes a piece of the stream, hands on every line that ends in it.
    pub(super) fn feed(&mut self, piece: &[u8], sink: &mut dyn FnMut(Line<'_>)) {
        let mut from = 0;
        for end in memchr::memchr_iter(b'\n', piece) {
            let part = &piece[from..end];
            if self.rest.is_empty() && self.over == 0 {
                sink(Line {
                    bytes: part,
                    cut_from: None,
                    unterminated: false,
                });
            } else {
                self.keep(part);
                self.hand_on(false, sink);
            }
            from = end + 1;
        }
        self.keep(&piece[from..]);
    }

    /// The stream has ended.
    pub(super) fn end(&mut self, sink: &mut dyn FnMut(Line<'_>)) {
        if !self.rest.is_empty() || self.over > 0 {
            self.hand_on(true, sink);
        }
    }

    fn keep(&mut self, part: &[u8]) {
        let limit = self.limit.unwrap_or(MAX_LINE);
        if self.over == 0 && self.rest.len() + part.len() <= limit {
            self.rest.extend_from_slice(part);
            return;
        }
        let kept = self.rest.len().min(KEPT.min(limit));
        let missing = KEPT.min(limit) - kept;
        self.over += (self.rest.len() - kept) as u64;
        self.rest.truncate(kept);
        let more = missing.min(part.len());
        self.rest.extend_from_slice(&part[..more]);
        self.over += (part.len() - more) as u64;
    }

    fn hand_on(&mut self, unterminated: bool, sink: &mut dyn FnMut(Line<'_>)) {
        sink(Line {
            bytes: &self.rest,
            cut_from: (self.over > 0).then(|| self.rest.len() as u64 + self.over),
            unterminated,
        });
        self.over = 0;
        self.rest.clear();
        // One large answer must not hold its memory for hours.
        self.rest.shrink_to(1 << 20);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(mut cutter: Lines, pieces: &[&[u8]]) -> Vec<(Vec<u8>, Option<u64>, bool)> {
        let mut seen = Vec::new();
        let mut sink =
            |line: Line<'_>| seen.push((line.bytes.to_vec(), line.cut_from, line.unterminated));
        for piece in pieces {
            cutter.feed(piece, &mut sink);
        }
        cutter.end(&mut sink);
        seen
    }

    #[test]
    fn a_line_that_is_too_long_is_kept_in_part_and_the_next_one_whole() {
        let seen = lines(Lines::with_limit(4), &[b"abc", b"def\ngh\n", b"ijklm"]);
        assert_eq!(
            seen,
            [
                (b"abcd".to_vec(), Some(6), false),
                (b"gh".to_vec(), None, false),
                (b"ijkl".to_vec(), Some(5), true),
            ]
        );
    }

    proptest! {
        #[test]
        fn however_it_is_cut_the_lines_are_the_same(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..300),
            cuts in proptest::collection::vec(0usize..300, 0..8),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(bytes.len())).collect();
            cuts.sort_unstable();
            cuts.push(bytes.len());
            let mut from = 0;
            let mut pieces = Vec::new();
            for cut in cuts {
                pieces.push(&bytes[from..cut]);
                from = cut;
            }
            let seen = lines(Lines::default(), &pieces);
            let mut again = Vec::new();
            for (line, _, unterminated) in seen {
                again.extend(line);
                if !unterminated {
                    again.push(b'\n');
                }
            }
            prop_assert_eq!(again, bytes);
        }
    }
}
