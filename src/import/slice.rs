//! Some records of a chunk, read, masked and turned into rows by one thread.

use std::borrow::Cow;
use std::ops::Range;

use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use fidelake_core::json::key::Key;
use fidelake_core::json::{Doc, Flags, push_json_string};
use fidelake_core::mask::{self, Mode};
use fidelake_core::model::{Arm, OutcomeRules};
use unicode_normalization::is_nfc;

use super::frame::{Chunk, KEPT_BYTES, Span};
use super::rows::{Rows, Stamp};
use crate::formats::reject::{Reason, Reject};
use crate::formats::run::{Identity, Run};
use crate::formats::tau2::Header;
use crate::formats::{Context, Format, mcp_wire, read_record};

/// Tables whose rows belong to a run, in the order of [`SliceOut::batches`].
pub(super) const RUN_TABLES: [&str; 5] = ["runs", "messages", "calls", "observations", "verdicts"];

/// What is the same for all records of a source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job<'a> {
    pub(super) format: Format,
    pub(super) environment: Option<&'a str>,
    pub(super) guessed: Option<&'a str>,
    pub(super) arm: Option<Arm>,
    pub(super) header: Option<&'a Header>,
    pub(super) mask: Mode,
    pub(super) rules: &'a OutcomeRules,
    pub(super) import_id: &'a str,
    /// The repeat to store, where the one given is taken.
    pub(super) repeat: Option<i32>,
}

/// A run among the rows of its slice.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) identity: Identity,
    pub(super) arm: Arm,
    pub(super) repeat: i32,
    pub(super) task_id: Option<String>,
    pub(super) group_id: Option<String>,
    pub(super) catalog: Option<Key>,
    /// Records that this run stands for.
    pub(super) records: u64,
    /// Its rows in each of [`RUN_TABLES`].
    pub(super) rows: [Range<usize>; 5],
    /// Place of its record in the chunk.
    pub(super) span: usize,
}

/// A record that was refused.
#[derive(Clone, Debug)]
pub(super) struct Refused {
    pub(super) reject: Reject,
    pub(super) ordinal: u64,
    pub(super) line: u64,
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) text: String,
}

/// What became of a slice.
pub(super) struct SliceOut {
    pub(super) batches: [RecordBatch; 5],
    pub(super) catalogs: RecordBatch,
    pub(super) catalog_rows: std::collections::HashMap<Key, Range<usize>>,
    pub(super) pieces: Vec<Piece>,
    pub(super) refused: Vec<Refused>,
    pub(super) masked: u64,
}

/// Reads the records at `range` of the chunk.
pub(super) fn process(
    job: &Job<'_>,
    chunk: &Chunk,
    range: Range<usize>,
) -> Result<SliceOut, ArrowError> {
    let mut slice = Slice {
        job,
        rows: Rows::new(),
        pieces: Vec::new(),
        refused: Vec::new(),
        masked: 0,
    };
    for at in range {
        slice.record(chunk, at);
    }
    let rows = &mut slice.rows;
    Ok(SliceOut {
        batches: [
            rows.runs.finish()?,
            rows.messages.finish()?,
            rows.calls.finish()?,
            rows.observations.finish()?,
            rows.verdicts.finish()?,
        ],
        catalogs: rows.catalogs.finish()?,
        catalog_rows: std::mem::take(&mut rows.catalog_rows),
        pieces: slice.pieces,
        refused: slice.refused,
        masked: slice.masked,
    })
}

struct Slice<'a> {
    job: &'a Job<'a>,
    rows: Rows,
    pieces: Vec<Piece>,
    refused: Vec<Refused>,
    masked: u64,
}

impl Slice<'_> {
    fn record(&mut self, chunk: &Chunk, at: usize) {
        let span = &chunk.records[at];
        let bytes = &chunk.bytes[span.range.clone()];
        if span.size > span.range.len() as u64 {
            let what = format!(
                "the record has {} bytes; up to {} can be read",
                span.size,
                super::frame::MAX_RECORD_BYTES
            );
            return self.refuse(
                span,
                &String::from_utf8_lossy(bytes),
                Reject::new(Reason::TooLarge, what),
            );
        }
        let (text, odd) = text(bytes);
        if self.job.format == Format::McpWire {
            return self.capture(span, at, &text);
        }
        let doc = match Doc::parse(&text) {
            Ok(doc) => doc,
            Err(error) => {
                let mut reject = Reject::from(error);
                if span.cut {
                    reject.reason = Reason::Truncated;
                    reject
                        .message
                        .push_str("; the source ends inside this record");
                }
                return self.refuse(span, &text, reject);
            }
        };
        let masked = self.mask(&doc);
        let masked_doc = masked.as_deref().and_then(|text| Doc::parse(text).ok());
        let context = context(self.job);
        // Keys come from the record as given, rows from the masked one.
        let mut identity = None;
        if masked_doc.is_some() {
            let names = read_record(self.job.format, &doc, &context, &mut |mut run| {
                self.repeat(&mut run);
                identity = Some(Identity::with_call_keys(&run));
            });
            if let Err(reject) = names {
                return self.refuse(span, &text, reject);
            }
        }
        let mut outcome = Ok(());
        let stored = masked_doc.as_ref().unwrap_or(&doc);
        let result = read_record(self.job.format, stored, &context, &mut |mut run| {
            run.flags |= odd;
            outcome = self.append(run, identity.take(), span, at, 1);
        });
        if let Err(reject) = result.and(outcome) {
            self.refuse(span, &text, reject);
        }
    }

    /// A whole capture of MCP traffic: many calls, few runs.
    fn capture(&mut self, span: &Span, at: usize, text: &str) {
        let context = context(self.job);
        let mut masked_text = String::new();
        let mut any = false;
        if self.job.mask != Mode::Off {
            for line in text.split_inclusive('\n') {
                let masked = Doc::parse(line.trim()).ok().and_then(|doc| self.mask(&doc));
                any |= masked.is_some();
                masked_text.push_str(masked.as_deref().unwrap_or(line.trim_end()));
                masked_text.push('\n');
            }
        }
        let mut identities = std::collections::VecDeque::new();
        let given = any.then(|| {
            mcp_wire::read(text, &context, &mut |mut run, _| {
                self.repeat(&mut run);
                identities.push_back(Identity::with_call_keys(&run));
            })
        });
        let stored = if any { masked_text.as_str() } else { text };
        let mut faults = Vec::new();
        let bad = mcp_wire::read(stored, &context, &mut |run, calls| {
            let identity = identities.pop_front();
            if let Err(reject) = self.append(run, identity, span, at, calls as u64) {
                faults.push(reject);
            }
        });
        for reject in faults {
            self.refuse(span, text, reject);
        }
        // The places are those in the source, not in the masked text.
        for line in given.unwrap_or(bad) {
            let from = line.offset;
            let body = text.get(from..).and_then(|t| t.lines().next());
            let place = Span {
                range: 0..0,
                ordinal: span.ordinal + line.line as u64,
                line: span.line + line.line as u64,
                offset: span.offset + from as u64,
                size: line.bytes as u64,
                cut: false,
            };
            self.refuse(&place, body.unwrap_or_default(), line.reject);
        }
    }

    fn repeat(&self, run: &mut Run<'_>) {
        if let Some(repeat) = self.job.repeat {
            run.repeat = repeat;
        }
    }

    /// The masked text, if anything had to be masked.
    fn mask(&mut self, doc: &Doc<'_>) -> Option<String> {
        let masked = mask::mask_record(doc, self.job.mask)?;
        self.masked += masked.counts.iter().map(|(_, n)| *n as u64).sum::<u64>();
        Some(masked.text)
    }

    fn append(
        &mut self,
        mut run: Run<'_>,
        identity: Option<Identity>,
        span: &Span,
        at: usize,
        records: u64,
    ) -> Result<(), Reject> {
        self.repeat(&mut run);
        let identity = identity.unwrap_or_else(|| Identity::of(&run));
        check_environment(&identity.environment)
            .map_err(|what| Reject::bad("environment", what))?;
        let before = self.lengths();
        let stamp = Stamp {
            import_id: self.job.import_id,
            format: self.job.format.name(),
        };
        let catalog = self
            .rows
            .append(&run, &identity, self.job.rules, stamp, span.ordinal);
        let after = self.lengths();
        self.pieces.push(Piece {
            identity,
            arm: run.arm,
            repeat: run.repeat,
            task_id: run.task_id.map(Cow::into_owned),
            group_id: run.group_id.map(Cow::into_owned),
            catalog,
            records,
            rows: std::array::from_fn(|table| before[table]..after[table]),
            span: at,
        });
        Ok(())
    }

    fn lengths(&self) -> [usize; 5] {
        let rows = &self.rows;
        [
            rows.runs.rows(),
            rows.messages.rows(),
            rows.calls.rows(),
            rows.observations.rows(),
            rows.verdicts.rows(),
        ]
    }

    fn refuse(&mut self, span: &Span, text: &str, reject: Reject) {
        self.refused
            .push(refused(span, text, reject, self.job.mask));
    }
}

fn context<'a>(job: &Job<'a>) -> Context<'a> {
    Context {
        environment: job.environment,
        guessed: job.guessed,
        arm: job.arm,
        tau2: job.header,
        catalog: None,
    }
}

/// A refused record as it is stored: masked, and not more than [`KEPT_BYTES`] of it.
pub(super) fn refused(span: &Span, text: &str, reject: Reject, mode: Mode) -> Refused {
    let masked = match Doc::parse(text) {
        Ok(doc) => mask::mask_record(&doc, mode).map(|m| m.text),
        Err(_) => masked_prose(text, mode),
    };
    Refused {
        reject,
        ordinal: span.ordinal,
        line: span.line,
        offset: span.offset,
        size: span.size,
        text: kept(masked.as_deref().unwrap_or(text)),
    }
}

/// Masks a text that is no JSON by the rules for prose: as a JSON string it is a record.
fn masked_prose(text: &str, mode: Mode) -> Option<String> {
    let mut quoted = String::with_capacity(text.len() + 2);
    push_json_string(text, &mut quoted);
    let masked = mask::mask_record(&Doc::parse(&quoted).ok()?, mode)?;
    let doc = Doc::parse(&masked.text).ok()?;
    doc.root().as_str().map(str::to_owned)
}

fn kept(text: &str) -> String {
    text[..text.floor_char_boundary(KEPT_BYTES)].to_owned()
}

/// The record as text. Bytes that are not UTF-8 become `\xNN`, and a flag.
fn text(bytes: &[u8]) -> (Cow<'_, str>, Flags) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return (Cow::Borrowed(text), Flags::NONE);
    }
    let mut text = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Escaped for JSON, so that the string reads `\xNN`.
            text.push_str(&format!("\\\\x{byte:02x}"));
        }
    }
    (Cow::Owned(text), Flags::INVALID_UTF8)
}

/// Environments become folder names in every table.
pub(crate) fn check_environment(name: &str) -> Result<(), &'static str> {
    if name.trim().is_empty() {
        return Err("is empty");
    }
    if name.len() > 128 {
        return Err("has more than 128 bytes");
    }
    if !is_nfc(name) {
        return Err("is not in Unicode normal form C");
    }
    if name.chars().any(char::is_control) {
        return Err("holds a control character");
    }
    Ok(())
}
