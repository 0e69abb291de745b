//! The second pass: conversations are read, made and written side by side.
//!
//! One task reads the payloads in order; a thread makes rows of them on all
//! cores and writes them. At most two blocks wait between the two, so memory
//! does not grow with the data.

use std::sync::Arc;

use fidelake_core::gap::{Gate, fidelity_low};
use fidelake_core::mask::Mode;
use rayon::prelude::*;
use tokio::sync::mpsc;

use super::calls::call_weights;
use super::chat::conversation;
use super::error::{CurateError, CurateResult};
use super::fidelity::{Judged, KAPPA};
use super::payload::{Payloads, Raw};
use super::privacy::{mask_chat, mask_json};
use super::split::Split;
use super::weigh::Row;
use super::write::{Item, Journal, Totals, Writer};
use crate::import::Progress;

/// A block of raw rows.
const BLOCK_BYTES: usize = 8 << 20;
const BLOCK_ROWS: usize = 1024;

enum Message {
    Rows(Vec<Raw>),
    End,
}

/// What every row is made with.
pub(super) struct Maker {
    rows: Arc<Vec<Row>>,
    arm: &'static str,
    mask: Mode,
    gate: Gate,
    /// The first row of every part of the data set.
    starts: [usize; 3],
}

impl Maker {
    pub(super) fn new(rows: Arc<Vec<Row>>, arm: &'static str, mask: Mode, gate: Gate) -> Self {
        let start = |split| rows.iter().position(|row| row.split == split).unwrap_or(0);
        let starts = [Split::Train, Split::Validation, Split::Test].map(start);
        Self {
            rows,
            arm,
            mask,
            gate,
            starts,
        }
    }

    fn make(&self, raw: Raw) -> (Item, Totals) {
        let row = &self.rows[raw.place];
        let mut totals = Totals::default();
        let mut chat = conversation(&raw.parts, &mut totals.chats);
        mask_chat(&mut chat, self.mask, &mut totals.masked);
        let gold = raw.gold.map(|gold| {
            let gold = super::json::text_of(&gold, &mut totals.chats.sanitised);
            mask_json(&gold, self.mask, &mut totals.masked).unwrap_or(gold)
        });
        let weight = row.advantages.fidelity_weight;
        let item = Item {
            call_weights: call_weights(&chat, &raw.gaps, weight),
            original_weight: self.original_weight(row),
            rows: Arc::clone(&self.rows),
            place: raw.place,
            number: (raw.place - self.starts[row.split as usize]) as u64,
            arm: self.arm,
            chat,
            tools: raw.tools,
            gold,
        };
        (item, totals)
    }

    /// The weight that the gate gives what the row was before its repair.
    fn original_weight(&self, row: &Row) -> f64 {
        let before: Option<Judged> = row.run.repair.as_ref().and_then(|r| r.before);
        let input = before.and_then(|before| match self.gate {
            Gate::Seed => before.mean,
            _ => Some(fidelity_low(before.f, before.se, KAPPA)),
        });
        input.map_or(row.advantages.fidelity_weight, |x| self.gate.weight(x))
    }
}

/// Writes all rows that no finished shard has; returns the journal of all.
pub(super) async fn write(
    mut payloads: Payloads,
    maker: Maker,
    writer: Writer,
    first: usize,
    progress: &dyn Progress,
) -> CurateResult<Journal> {
    let total = maker.rows.len();
    let (send, receive) = mpsc::channel(2);
    let worker = tokio::task::spawn_blocking(move || work(receive, &maker, writer));
    let read = read(&mut payloads, first, total, send, progress).await;
    let written = worker
        .await
        .unwrap_or_else(|error| Err(CurateError::Run(error.to_string())));
    match (read, written) {
        // The reader stops without an error when the writer is gone.
        (Ok(()), written) => written,
        (Err(error), _) => Err(error),
    }
}

async fn read(
    payloads: &mut Payloads,
    first: usize,
    total: usize,
    send: mpsc::Sender<Message>,
    progress: &dyn Progress,
) -> CurateResult<()> {
    let (mut block, mut bytes) = (Vec::new(), 0);
    progress.items(first as u64, total as u64);
    for place in first..total {
        let raw = payloads.take(place).await?;
        bytes += raw.size();
        block.push(raw);
        if bytes >= BLOCK_BYTES || block.len() >= BLOCK_ROWS || place + 1 == total {
            if progress.stop() {
                return Err(CurateError::Interrupted);
            }
            bytes = 0;
            if send
                .send(Message::Rows(std::mem::take(&mut block)))
                .await
                .is_err()
            {
                return Ok(());
            }
            progress.items(place as u64 + 1, total as u64);
        }
    }
    // Fails only if the writer is gone, and then it says why.
    let _ = send.send(Message::End).await;
    Ok(())
}

fn work(
    mut receive: mpsc::Receiver<Message>,
    maker: &Maker,
    mut writer: Writer,
) -> CurateResult<Journal> {
    while let Some(message) = receive.blocking_recv() {
        let Message::Rows(block) = message else {
            return writer.finish();
        };
        let made: Vec<(Item, Totals)> = block.into_par_iter().map(|raw| maker.make(raw)).collect();
        for (item, totals) in made {
            writer.push(item, &totals)?;
        }
    }
    Err(CurateError::Interrupted)
}
