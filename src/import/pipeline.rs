//! The import itself: read, turn into rows on all cores, drop what is there
//! already, write.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use arrow::compute::interleave_record_batch;
use arrow::record_batch::RecordBatch;
use fidelake_core::json::key::Key;
use fidelake_core::model::OutcomeRules;
use rayon::prelude::*;

use super::account::{import_id, imports_row, read_rules};
use super::decide::Decider;
use super::frame::{Chunk, Framer};
use super::known::Known;
use super::slice::{Job, RUN_TABLES, Refused, SliceOut, check_environment, process};
use super::{Counts, ImportError, Options, Progress, Report, Source, plan};
use crate::lake::rows::Table;
use crate::lake::{Lake, LakeError, LakeWriter, Started, WriteGuard};

const TABLES: &[&str] = &[
    "catalogs",
    "messages",
    "calls",
    "observations",
    "verdicts",
    "runs",
    "trajectories",
    "rejected",
    "imports",
];

/// A source that is not in the lake yet.
struct Pending {
    source: Source,
    import_id: String,
    /// Further sources of this command with the same bytes.
    copies: u64,
}

/// Imports everything that the options name into the lake at `path`.
///
/// # Errors
/// If a named source cannot be read, or the lake cannot be written. What was
/// begun is finished by the same command.
pub async fn import(
    path: &Path,
    options: &Options,
    wait: std::time::Duration,
    progress: Arc<dyn Progress>,
) -> Result<Report, ImportError> {
    if let Some(name) = &options.environment {
        check_environment(name).map_err(ImportError::Environment)?;
    }
    let spool_in = std::env::temp_dir();
    let found =
        tokio::task::block_in_place(|| plan::plan(&options.paths, options.format, &spool_in))
            .map_err(ImportError::Several)?;
    for skipped in &found.skipped {
        progress.say(&skipped.skipped());
    }
    if found.sources.is_empty() {
        let paths = options
            .paths
            .iter()
            .map(|p| p.display().to_string())
            .collect::<Vec<_>>()
            .join(" ");
        return Err(ImportError::NothingUseful { path: paths });
    }
    let (mut lake, guard) = Lake::open_or_create(path, wait).await?;
    let rules = read_rules(lake.path())?;
    let known = Known::read(&lake.pin(&crate::lake::At::Newest)?).await?;
    let mut report = Report {
        counts: Counts::default(),
        version: None,
        reasons: Vec::new(),
        masked: 0,
    };
    let mut pending = Vec::new();
    for source in found.sources {
        let import_id = import_id(&source, options, &rules);
        if let Some(done) = known.imports.get(&import_id) {
            progress.say(&format!("{}: imported before, nothing to do", source.given));
            report.counts.add(&Counts {
                files: 1,
                records: done.records,
                duplicates: done.records - done.rejected,
                rejected: done.rejected,
                ..Counts::default()
            });
        } else if let Some(first) = pending
            .iter_mut()
            .find(|p: &&mut Pending| p.import_id == import_id)
        {
            progress.say(&format!(
                "{}: the same bytes as {}, counted as duplicates",
                source.given, first.source.given
            ));
            first.copies += 1;
        } else {
            pending.push(Pending {
                source,
                import_id,
                copies: 0,
            });
        }
    }
    if pending.is_empty() {
        // Whatever else is unfinished must still be told.
        return Ok(report);
    }
    run(
        &mut lake,
        guard,
        options,
        pending,
        &rules,
        known,
        &mut report,
        progress.as_ref(),
    )
    .await?;
    Ok(report)
}

#[allow(
    clippy::too_many_arguments,
    reason = "one call, to keep the long function above readable"
)]
async fn run(
    lake: &mut Lake,
    _guard: WriteGuard,
    options: &Options,
    pending: Vec<Pending>,
    rules: &OutcomeRules,
    known: Known,
    report: &mut Report,
    progress: &dyn Progress,
) -> Result<(), ImportError> {
    let ids: Vec<&str> = pending.iter().map(|p| p.import_id.as_str()).collect();
    let id = Key::of_parts(&ids).to_string()[..16].to_owned();
    let (mut writer, started) = lake.write("import", &id, &options.command, TABLES).await?;
    if started == Started::Resumed {
        progress.say("going on with an import that was interrupted");
    }
    let total: u64 = pending.iter().map(|p| p.source.decoded_bytes).sum();
    let mut state = State {
        decider: Decider {
            known,
            on_conflict: options.on_conflict,
            mask: options.mask,
            masked: 0,
        },
        chunk: 0,
        reasons: HashMap::new(),
        imports: Table::new("imports"),
        done: 0,
    };
    let mut all = Counts::default();
    for Pending {
        source,
        import_id,
        copies,
    } in &pending
    {
        let job = Job {
            format: source.format,
            environment: options.environment.as_deref(),
            guessed: source.guessed.as_deref(),
            arm: options.arm,
            header: source.header.as_ref(),
            mask: options.mask,
            rules,
            import_id,
            repeat: None,
        };
        let before = state.decider.masked;
        let mut counts = Counts {
            files: 1,
            ..Counts::default()
        };
        let chunks = read_ahead(source)?;
        while let Ok(chunk) = tokio::task::block_in_place(|| chunks.recv()) {
            let chunk = chunk.map_err(|source_error| ImportError::Io {
                path: source.given.clone(),
                source: source_error,
            })?;
            if progress.stop() {
                return Err(writer.interrupted().into());
            }
            state
                .chunk(&mut writer, &job, source, &chunk, &mut counts)
                .await?;
            state.done += chunk.bytes.len() as u64;
            progress.bytes(state.done.min(total), total);
        }
        let masked = state.decider.masked - before;
        imports_row(
            &mut state.imports,
            source,
            import_id,
            options,
            &id,
            &writer,
            &counts,
            masked,
        );
        all.add(&counts);
        for _ in 0..*copies {
            all.add(&Counts {
                files: 1,
                records: counts.records,
                duplicates: counts.records - counts.rejected,
                rejected: counts.rejected,
                ..Counts::default()
            });
        }
    }
    writer.push(
        "imports",
        state.chunk,
        state.imports.finish().map_err(LakeError::from)?,
    )?;
    if progress.stop() {
        return Err(writer.interrupted().into());
    }
    let version = writer.commit(state.chunk, serde_json::json!(all)).await?;
    report.counts.add(&all);
    report.version = Some(version.version);
    report.masked = state.decider.masked;
    report.reasons = state
        .reasons
        .into_iter()
        .map(|((reason, message), n)| (reason, message, n))
        .collect();
    report
        .reasons
        .sort_by(|a, b| b.2.cmp(&a.2).then_with(|| a.cmp(b)));
    Ok(())
}

/// What goes along from chunk to chunk.
struct State {
    decider: Decider,
    /// Number of the next chunk.
    chunk: i64,
    reasons: HashMap<(String, String), u64>,
    imports: Table,
    done: u64,
}

impl State {
    async fn chunk(
        &mut self,
        writer: &mut LakeWriter<'_>,
        job: &Job<'_>,
        source: &Source,
        chunk: &Chunk,
        counts: &mut Counts,
    ) -> Result<(), ImportError> {
        let mut slices =
            tokio::task::block_in_place(|| slices(job, chunk)).map_err(LakeError::from)?;
        let accepted = self.decider.decide(job, chunk, &mut slices, counts)?;
        let number = self.chunk;
        self.chunk += 1;
        for (table, name) in RUN_TABLES.iter().enumerate() {
            if writer.contains(name, number) {
                continue;
            }
            let batches: Vec<&RecordBatch> = slices.iter().map(|s| &s.batches[table]).collect();
            let places: Vec<(usize, usize)> = accepted
                .order
                .iter()
                .flat_map(|&(slice, piece)| {
                    slices[slice].pieces[piece].rows[table]
                        .clone()
                        .map(move |row| (slice, row))
                })
                .collect();
            push(writer, name, number, &batches, &places)?;
        }
        let batches: Vec<&RecordBatch> = slices.iter().map(|s| &s.catalogs).collect();
        push(writer, "catalogs", number, &batches, &accepted.catalogs)?;
        let mut trajectories = accepted.trajectories;
        writer.push(
            "trajectories",
            number,
            trajectories.finish().map_err(LakeError::from)?,
        )?;
        let mut rows = Table::new("rejected");
        for refused in &accepted.refused {
            self.count_reason(refused);
            let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
            rows.text(job.import_id)
                .text(&source.given)
                .int64(number(refused.ordinal))
                .int64(number(refused.line))
                .int64(number(refused.offset))
                .int64(number(refused.size))
                .text(refused.reject.reason.name())
                .text(&refused.reject.message)
                .text(&refused.text)
                .end_row();
        }
        writer.push("rejected", number, rows.finish().map_err(LakeError::from)?)?;
        writer.end_chunk(number).await?;
        Ok(())
    }

    /// Counts the reasons, for the report; a million different messages are not kept.
    fn count_reason(&mut self, refused: &Refused) {
        const KEPT: usize = 1000;

        let reason = refused.reject.reason.name().to_owned();
        let mut message = refused.reject.message.clone();
        let key = (reason.clone(), message.clone());
        if self.reasons.len() >= KEPT && !self.reasons.contains_key(&key) {
            message = "other messages".to_owned();
        }
        *self.reasons.entry((reason, message)).or_insert(0) += 1;
    }
}

/// Cuts a chunk into slices of about equal size, one per core and more, and reads them.
fn slices(job: &Job<'_>, chunk: &Chunk) -> Result<Vec<SliceOut>, arrow::error::ArrowError> {
    let wanted = (rayon::current_num_threads() * 2).max(1);
    let size = chunk.bytes.len() / wanted + 1;
    let mut ranges = Vec::new();
    let mut from = 0;
    while from < chunk.records.len() {
        let start = chunk.records[from].range.start;
        let mut to = from + 1;
        while to < chunk.records.len() && chunk.records[to].range.end - start <= size {
            to += 1;
        }
        ranges.push(from..to);
        from = to;
    }
    ranges
        .into_par_iter()
        .map(|range| process(job, chunk, range))
        .collect()
}

fn push(
    writer: &mut LakeWriter<'_>,
    table: &str,
    chunk: i64,
    batches: &[&RecordBatch],
    places: &[(usize, usize)],
) -> Result<(), ImportError> {
    if places.is_empty() || writer.contains(table, chunk) {
        return Ok(());
    }
    let batch = interleave_record_batch(batches, places).map_err(LakeError::from)?;
    writer.push(table, chunk, batch)?;
    Ok(())
}

/// Reads and cuts a source on a thread of its own, one chunk ahead.
fn read_ahead(source: &Source) -> Result<Receiver<std::io::Result<Chunk>>, ImportError> {
    let reader: Box<dyn Read + Send> = source.decoded()?;
    let framing = source.framing;
    let (send, receive) = sync_channel(1);
    std::thread::spawn(move || {
        let mut framer = Framer::new(reader, framing);
        loop {
            let next = framer.next().transpose();
            let Some(chunk) = next else { return };
            let failed = chunk.is_err();
            if send.send(chunk).is_err() || failed {
                return;
            }
        }
    });
    Ok(receive)
}
