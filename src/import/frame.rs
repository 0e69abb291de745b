//! From a stream of bytes to numbered chunks of whole records.
//!
//! Chunks are cut at record boundaries by size only, never by time, memory or
//! cores: the same source always gives the same chunks, which is what lets an
//! interrupted import go on.

use std::io::{self, Read};
use std::ops::Range;

use fidelake_core::json::{Piece, Splitter};

use crate::formats::Framing;

/// Decoded bytes per chunk. Small where the steps of a write are tested.
pub(super) const CHUNK_BYTES: usize = if cfg!(feature = "failpoints") {
    64 << 10
} else {
    16 << 20
};

/// A longer record is refused (and kept in part), so that memory stays bounded.
pub(super) const MAX_RECORD_BYTES: usize = 256 << 20;

/// So much of a refused record is kept.
pub(super) const KEPT_BYTES: usize = 1 << 20;

/// Some whole records.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub(super) bytes: Vec<u8>,
    pub(super) records: Vec<Span>,
}

/// Where a record stands.
#[derive(Clone, Debug)]
pub(super) struct Span {
    /// In the chunk's bytes.
    pub(super) range: Range<usize>,
    /// Ordinal in the source, from 1.
    pub(super) ordinal: u64,
    /// Line in the decoded source, from 1.
    pub(super) line: u64,
    /// Byte in the decoded source.
    pub(super) offset: u64,
    /// Its size; more than the range holds if it was too large to keep.
    pub(super) size: u64,
    /// The source ended inside it.
    pub(super) cut: bool,
}

/// Cuts a stream into chunks.
pub(super) struct Framer<R> {
    reader: R,
    block: Vec<u8>,
    cutter: Cutter,
    building: Building,
    ended: bool,
}

enum Cutter {
    Lines,
    Split(Splitter),
    Whole,
}

/// The chunk under construction.
struct Building {
    chunk: Chunk,
    /// Where the current record starts in the chunk; its position in the source.
    start: usize,
    start_line: u64,
    start_offset: u64,
    size: u64,
    in_record: bool,
    ordinal: u64,
    line: u64,
    offset: u64,
    full: Vec<Chunk>,
}

impl<R: Read> Framer<R> {
    pub(super) fn new(reader: R, framing: Framing) -> Self {
        let cutter = match framing {
            Framing::Lines => Cutter::Lines,
            Framing::Elements => Cutter::Split(Splitter::new(None)),
            Framing::Under(key) => Cutter::Split(Splitter::new(Some(key))),
            Framing::Single | Framing::Whole => Cutter::Whole,
        };
        let building = Building {
            chunk: Chunk::default(),
            start: 0,
            start_line: 1,
            start_offset: 0,
            size: 0,
            in_record: false,
            ordinal: 0,
            line: 1,
            offset: 0,
            full: Vec::new(),
        };
        Self {
            reader,
            block: vec![0; 1 << 20],
            cutter,
            building,
            ended: false,
        }
    }

    /// The next chunk, or `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Chunk>> {
        loop {
            if !self.building.full.is_empty() {
                return Ok(Some(self.building.full.remove(0)));
            }
            if self.ended {
                return Ok(None);
            }
            let got = match self.reader.read(&mut self.block) {
                Ok(got) => got,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            let mut block = &self.block[..got];
            if self.building.offset == 0 && block.starts_with(b"\xEF\xBB\xBF") {
                self.building.skip(&block[..3]);
                block = &block[3..];
            }
            if got == 0 {
                self.ended = true;
                // The last line needs no newline; an element that is not closed was cut.
                let cut = matches!(self.cutter, Cutter::Split(_));
                self.building.end_record(cut);
                self.building.end_chunk();
                continue;
            }
            match &mut self.cutter {
                Cutter::Whole => self.building.add(block),
                Cutter::Lines => lines(&mut self.building, block),
                Cutter::Split(splitter) => elements(&mut self.building, splitter, block),
            }
        }
    }
}

fn lines(building: &mut Building, block: &[u8]) {
    let mut from = 0;
    for newline in memchr::memchr_iter(b'\n', block) {
        building.add(&block[from..newline]);
        building.end_record(false);
        building.skip(b"\n");
        from = newline + 1;
    }
    building.add(&block[from..]);
}

fn elements(building: &mut Building, splitter: &mut Splitter, block: &[u8]) {
    // The splitter hands out slices of the block; what lies between them was skipped.
    let base = block.as_ptr() as usize;
    let mut seen = 0;
    splitter.feed(block, &mut |piece, bytes| match piece {
        Piece::Element => {
            let from = (bytes.as_ptr() as usize)
                .wrapping_sub(base)
                .min(block.len());
            building.skip(&block[seen.min(from)..from]);
            building.add(bytes);
            seen = from + bytes.len();
        }
        Piece::ElementEnd => building.end_record(false),
        Piece::Beside => {}
    });
    building.skip(&block[seen.min(block.len())..]);
}

impl Building {
    fn add(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if !self.in_record {
            self.in_record = true;
            self.start = self.chunk.bytes.len();
            self.start_line = self.line;
            self.start_offset = self.offset;
            self.size = 0;
        }
        self.size += bytes.len() as u64;
        if self.size <= MAX_RECORD_BYTES as u64 {
            self.chunk.bytes.extend_from_slice(bytes);
        } else {
            // Too large: keep its beginning only.
            self.chunk.bytes.truncate(self.start + KEPT_BYTES);
        }
        self.count(bytes);
    }

    fn skip(&mut self, bytes: &[u8]) {
        self.count(bytes);
    }

    fn count(&mut self, bytes: &[u8]) {
        self.offset += bytes.len() as u64;
        self.line += memchr::memchr_iter(b'\n', bytes).count() as u64;
    }

    fn end_record(&mut self, cut: bool) {
        if !self.in_record {
            return;
        }
        self.in_record = false;
        let range = self.start..self.chunk.bytes.len();
        if self.chunk.bytes[range.clone()].trim_ascii().is_empty() {
            // A blank line is no record.
            self.chunk.bytes.truncate(self.start);
            return;
        }
        self.ordinal += 1;
        self.chunk.records.push(Span {
            range,
            ordinal: self.ordinal,
            line: self.start_line,
            offset: self.start_offset,
            size: self.size,
            cut,
        });
        if self.chunk.bytes.len() >= CHUNK_BYTES {
            self.end_chunk();
        }
    }

    fn end_chunk(&mut self) {
        if !self.chunk.records.is_empty() {
            self.full.push(std::mem::take(&mut self.chunk));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8], framing: Framing) -> Vec<(String, Span)> {
        let mut framer = Framer::new(text, framing);
        let mut found = Vec::new();
        while let Some(chunk) = framer.next().unwrap() {
            for span in chunk.records {
                let text = String::from_utf8_lossy(&chunk.bytes[span.range.clone()]).into_owned();
                found.push((text, span));
            }
        }
        found
    }

    #[test]
    fn lines_know_where_they_stand() {
        let found = all(
            b"\xEF\xBB\xBF{\"a\":1}\n\n  \n{\"b\":2}\r\n{\"c\":3}",
            Framing::Lines,
        );
        let places: Vec<_> = found
            .iter()
            .map(|(t, s)| (t.trim(), s.ordinal, s.line, s.offset))
            .collect();
        assert_eq!(
            places,
            [
                ("{\"a\":1}", 1, 1, 3),
                ("{\"b\":2}", 2, 4, 15),
                ("{\"c\":3}", 3, 5, 24)
            ]
        );
    }

    #[test]
    fn elements_know_where_they_stand_and_a_cut_one_is_marked() {
        let found = all(b"[\n {\"a\":1},\n {\"b\":", Framing::Elements);
        let places: Vec<_> = found
            .iter()
            .map(|(t, s)| (t.as_str(), s.line, s.offset, s.cut))
            .collect();
        assert_eq!(
            places,
            [("{\"a\":1}", 2, 3, false), ("{\"b\":", 3, 13, true)]
        );
    }
}
