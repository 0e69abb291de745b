//! Which runs of a chunk are new, which are there already, which contradict.

use fidelake_core::json::key::Key;
use fidelake_core::mask;

use super::frame::Chunk;
use super::known::{Known, MAX_ENVIRONMENTS, short};
use super::slice::{Job, Piece, Refused, SliceOut, process, refused};
use super::{Counts, ImportError, OnConflict};
use crate::formats::reject::{Reason, Reject};
use crate::lake::LakeError;
use crate::lake::rows::Table;

/// Decides run by run, in the order of the records.
pub(super) struct Decider {
    pub(super) known: Known,
    pub(super) on_conflict: OnConflict,
    pub(super) mask: mask::Mode,
    /// Values that were masked so far.
    pub(super) masked: u64,
}

impl Decider {
    /// Goes through the runs of a chunk in their order: which are new?
    pub(super) fn decide(
        &mut self,
        job: &Job<'_>,
        chunk: &Chunk,
        slices: &mut Vec<SliceOut>,
        counts: &mut Counts,
    ) -> Result<Accepted, ImportError> {
        let mut accepted = Accepted {
            order: Vec::new(),
            catalogs: Vec::new(),
            trajectories: Table::new("trajectories"),
            refused: Vec::new(),
        };
        let parsed = slices.len();
        for slice in 0..parsed {
            self.masked += slices[slice].masked;
            for refused in std::mem::take(&mut slices[slice].refused) {
                counts.records += 1;
                counts.rejected += 1;
                accepted.refused.push(refused);
            }
            for piece in 0..slices[slice].pieces.len() {
                let (mut at, mut found) = ((slice, piece), slices[slice].pieces[piece].clone());
                counts.records += found.records;
                match self.verdict(&found) {
                    Verdict::New => {}
                    Verdict::Duplicate => {
                        counts.duplicates += found.records;
                        continue;
                    }
                    Verdict::Repeat(repeat) => {
                        // Its rows carry the repeat: make them again.
                        let span = found.span;
                        // One record may hold several runs.
                        let nth = slices[slice].pieces[..piece]
                            .iter()
                            .filter(|other| other.span == span)
                            .count();
                        let again = Job {
                            repeat: Some(repeat),
                            ..*job
                        };
                        let out =
                            process(&again, chunk, span..span + 1).map_err(LakeError::from)?;
                        let Some(same) = out.pieces.get(nth) else {
                            continue;
                        };
                        found = same.clone();
                        slices.push(out);
                        at = (slices.len() - 1, nth);
                    }
                    Verdict::Refuse(reject) => {
                        counts.rejected += found.records;
                        accepted.refused.push(self.refuse(chunk, &found, reject));
                        continue;
                    }
                }
                self.accept(job, slices, at, &found, counts, &mut accepted);
            }
        }
        accepted.order.sort_by_key(|&(slice, piece)| {
            (
                slices[slice].pieces[piece].identity.trajectory_key,
                slices[slice].pieces[piece].span,
            )
        });
        accepted.refused.sort_by_key(|refused| refused.ordinal);
        Ok(accepted)
    }

    fn verdict(&self, piece: &Piece) -> Verdict {
        let identity = &piece.identity;
        let environments = &self.known.environments;
        if !environments.contains(&identity.environment) && environments.len() >= MAX_ENVIRONMENTS {
            let what = format!(
                "would be environment number {} of the lake",
                MAX_ENVIRONMENTS + 1
            );
            return Verdict::Refuse(Reject::bad("environment", &what));
        }
        let content = short(identity.content_hash);
        match self.known.runs.get(&identity.run_id.bits()) {
            None => return Verdict::New,
            Some(known) if *known == content => return Verdict::Duplicate,
            Some(_) => {}
        }
        if self.on_conflict == OnConflict::Reject {
            let what = format!(
                "run {} of {} ({}, repeat {}) is in the lake with another content; --on-conflict next-repeat stores it as one more repeat",
                identity.trajectory_id,
                identity.environment,
                piece.arm.as_str(),
                piece.repeat
            );
            return Verdict::Refuse(Reject::new(Reason::KeyConflict, what));
        }
        let mut repeat = piece.repeat;
        loop {
            repeat += 1;
            let text = repeat.to_string();
            let parts = [
                &*identity.environment,
                &identity.trajectory_id,
                piece.arm.as_str(),
                &text,
            ];
            match self.known.runs.get(&Key::of_parts(&parts).bits()) {
                None => return Verdict::Repeat(repeat),
                Some(known) if *known == content => return Verdict::Duplicate,
                Some(_) => {}
            }
        }
    }

    fn accept(
        &mut self,
        job: &Job<'_>,
        slices: &[SliceOut],
        at: (usize, usize),
        piece: &Piece,
        counts: &mut Counts,
        accepted: &mut Accepted,
    ) {
        let identity = &piece.identity;
        self.known
            .runs
            .insert(identity.run_id.bits(), short(identity.content_hash));
        if !self.known.environments.contains(&identity.environment) {
            self.known.environments.insert(identity.environment.clone());
        }
        counts.imported += piece.records;
        counts.runs += 1;
        let rows = |table: usize| piece.rows[table].len() as u64;
        counts.messages += rows(1);
        counts.calls += rows(2);
        counts.observations += rows(3);
        counts.verdicts += rows(4);
        accepted.order.push(at);
        if self.known.trajectories.insert(identity.trajectory_key) {
            counts.trajectories += 1;
            accepted
                .trajectories
                .text(&identity.environment)
                .text(&identity.trajectory_id)
                .int64(identity.trajectory_key)
                .opt_text(piece.task_id.as_deref())
                .opt_text(piece.group_id.as_deref())
                .text(job.import_id)
                .end_row();
        }
        if let Some(catalog) = piece.catalog
            && self.known.catalogs.insert(catalog.bits())
            && let Some(rows) = slices[at.0].catalog_rows.get(&catalog)
        {
            accepted
                .catalogs
                .extend(rows.clone().map(|row| (at.0, row)));
        }
    }

    fn refuse(&self, chunk: &Chunk, piece: &Piece, reject: Reject) -> Refused {
        let span = &chunk.records[piece.span];
        let text = String::from_utf8_lossy(&chunk.bytes[span.range.clone()]);
        refused(span, &text, reject, self.mask)
    }
}

enum Verdict {
    New,
    Duplicate,
    Repeat(i32),
    Refuse(Reject),
}

/// What a chunk brings.
pub(super) struct Accepted {
    /// (slice, piece) of the new runs, sorted by trajectory key.
    pub(super) order: Vec<(usize, usize)>,
    /// (slice, row) of the new catalogs.
    pub(super) catalogs: Vec<(usize, usize)>,
    pub(super) trajectories: Table,
    pub(super) refused: Vec<Refused>,
}
