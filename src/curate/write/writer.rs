//! Cuts the rows into shards and writes each in every format at once.
//!
//! Where a shard ends depends on its rows alone, never on a format, on time or
//! on where an earlier command was stopped; within a shard rows are handed over
//! in pieces that are counted from its start. So the bytes are always the same.

use rayon::prelude::*;

use super::format::{Container, Format};
use super::item::{Item, Totals};
use super::journal::{Journal, Shard};
use super::shard::{Done, OpenShard, hash_file, open};
use crate::curate::error::CurateResult;
use crate::lake::failpoint;

/// Rows are handed over when their payload has this size.
const PIECE_BYTES: u64 = 16 << 20;
const PIECE_ROWS: usize = 4096;

/// When a shard ends.
#[derive(Clone, Copy, Debug)]
pub(in crate::curate) struct Limits {
    pub(in crate::curate) rows: u64,
    /// Of payload, before it is encoded.
    pub(in crate::curate) bytes: u64,
}

/// Writes rows, in order.
pub(in crate::curate) struct Writer {
    formats: Vec<Format>,
    limits: Limits,
    journal: Journal,
    open: Option<Open>,
    /// Rows that no file has yet.
    piece: Vec<Item>,
    piece_bytes: u64,
}

struct Open {
    files: Vec<Box<dyn OpenShard>>,
    first: usize,
    rows: u64,
    bytes: u64,
    split: &'static str,
    totals: Totals,
}

impl Writer {
    pub(in crate::curate) fn new(formats: &[Format], limits: Limits, journal: Journal) -> Self {
        Self {
            formats: formats.to_vec(),
            limits,
            journal,
            open: None,
            piece: Vec::new(),
            piece_bytes: 0,
        }
    }

    /// Appends a row, with what was counted when it was made.
    pub(in crate::curate) fn push(&mut self, item: Item, totals: &Totals) -> CurateResult<()> {
        let split = item.row().split.as_str();
        if self.open.as_ref().is_some_and(|open| open.split != split) {
            self.end()?;
        }
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.begin(item.place, split)?,
        };
        let size = item.size();
        open.rows += 1;
        open.bytes += size;
        open.totals.add(totals);
        let full = open.rows >= self.limits.rows || open.bytes >= self.limits.bytes;
        self.open = Some(open);
        self.piece.push(item);
        self.piece_bytes += size;
        if full {
            self.end()?;
        } else if self.piece_bytes >= PIECE_BYTES || self.piece.len() >= PIECE_ROWS {
            self.flush()?;
        }
        Ok(())
    }

    /// Ends the last shard.
    pub(in crate::curate) fn finish(mut self) -> CurateResult<Journal> {
        self.end()?;
        Ok(self.journal)
    }

    fn begin(&self, first: usize, split: &'static str) -> CurateResult<Open> {
        let at = self.journal.shards.len();
        let parquet = |format: &&Format| format.container() == Container::Parquet;
        let beside = self.formats.iter().filter(parquet).count() as u64;
        let files = self.formats.iter();
        let files = files.map(|format| open(*format, self.journal.part(*format, at), beside));
        Ok(Open {
            files: files.collect::<CurateResult<_>>()?,
            first,
            rows: 0,
            bytes: 0,
            split,
            totals: Totals::default(),
        })
    }

    /// Hands the rows to the files.
    fn flush(&mut self) -> CurateResult<()> {
        let items = std::mem::take(&mut self.piece);
        self.piece_bytes = 0;
        match &mut self.open {
            Some(open) if !items.is_empty() => open
                .files
                .par_iter_mut()
                .try_for_each(|file| file.write(&items)),
            _ => Ok(()),
        }
    }

    fn end(&mut self) -> CurateResult<()> {
        self.flush()?;
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let at = self.journal.shards.len();
        let files = open.files.into_par_iter().zip(&self.formats);
        let files: CurateResult<Vec<Done>> = files
            .map(|(file, format)| {
                file.end()?;
                let (bytes, blake3) = hash_file(&self.journal.part(*format, at))?;
                Ok(Done {
                    rows: open.rows,
                    bytes,
                    blake3,
                })
            })
            .collect();
        failpoint::pass("curate:shard_ended");
        self.journal.push(Shard {
            first: open.first,
            rows: usize::try_from(open.rows).unwrap_or(usize::MAX),
            split: open.split.to_owned(),
            totals: open.totals,
            files: files?,
        })?;
        failpoint::pass("curate:shard_written");
        Ok(())
    }
}
