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
use fidelake_core::mask;
use fidelake_core::model::{OutcomeRules, TextRule};
use rayon::prelude::*;
use serde::Deserialize;

use super::frame::{Chunk, Framer};
use super::known::{Known, MAX_ENVIRONMENTS, short};
use super::slice::{
    Job, Piece, RUN_TABLES, Refused, SliceOut, check_environment, process, refused,
};
use super::{Counts, ImportError, OnConflict, Options, Progress, Report, Source, plan};
use crate::formats::reject::{Reason, Reject};
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
        known,
        on_conflict: options.on_conflict,
        mask: options.mask,
        chunk: 0,
        reasons: HashMap::new(),
        imports: Table::new("imports"),
        done: 0,
        masked: 0,
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
        let before = state.masked;
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
        let masked = state.masked - before;
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
    report.masked = state.masked;
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
    known: Known,
    on_conflict: OnConflict,
    mask: mask::Mode,
    /// Number of the next chunk.
    chunk: i64,
    reasons: HashMap<(String, String), u64>,
    imports: Table,
    done: u64,
    masked: u64,
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
        let accepted = self.decide(job, chunk, &mut slices, counts)?;
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
            *self
                .reasons
                .entry((
                    refused.reject.reason.name().to_owned(),
                    refused.reject.message.clone(),
                ))
                .or_insert(0) += 1;
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

    /// Goes through the runs of a chunk in their order: which are new?
    fn decide(
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
                        let again = Job {
                            repeat: Some(repeat),
                            ..*job
                        };
                        let out =
                            process(&again, chunk, span..span + 1).map_err(LakeError::from)?;
                        let Some(first) = out.pieces.first() else {
                            continue;
                        };
                        found = first.clone();
                        slices.push(out);
                        at = (slices.len() - 1, 0);
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
struct Accepted {
    /// (slice, piece) of the new runs, sorted by trajectory key.
    order: Vec<(usize, usize)>,
    /// (slice, row) of the new catalogs.
    catalogs: Vec<(usize, usize)>,
    trajectories: Table,
    refused: Vec<Refused>,
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

/// The same source, read in the same way, has the same id.
fn import_id(source: &Source, options: &Options, rules: &OutcomeRules) -> String {
    let version = source.format.parser_version().to_string();
    let parts = [
        &*source.hash.to_string(),
        source.format.name(),
        options
            .environment
            .as_deref()
            .or(source.guessed.as_deref())
            .unwrap_or_default(),
        options.arm.map_or("", |arm| arm.as_str()),
        &*mask_name(options.mask),
        &*version,
        &*rules.fingerprint(),
        options.on_conflict.name(),
    ];
    Key::of_parts(&parts).to_string()
}

fn mask_name(mode: mask::Mode) -> String {
    format!("{} {}", mode.name(), mask::RULES_VERSION)
}

#[allow(
    clippy::too_many_arguments,
    reason = "a row of a table has many columns"
)]
fn imports_row(
    table: &mut Table,
    source: &Source,
    import_id: &str,
    options: &Options,
    operation: &str,
    writer: &LakeWriter<'_>,
    counts: &Counts,
    masked: u64,
) {
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    table
        .text(import_id)
        .int32(Some(writer.attempt()))
        .text(operation)
        .text(&source.given)
        .text(source.format.name())
        .int32(Some(source.format.parser_version()))
        .opt_text(options.environment.as_deref())
        .opt_text(options.arm.map(|arm| arm.as_str()))
        .text(&mask_name(options.mask))
        .int64(number(masked))
        .int64(number(source.source_bytes))
        .int64(number(source.decoded_bytes));
    for count in [
        counts.records,
        counts.imported,
        counts.trajectories,
        counts.runs,
        counts.messages,
        counts.calls,
        counts.observations,
        counts.verdicts,
        counts.duplicates,
        counts.rejected,
    ] {
        table.int64(number(count));
    }
    table
        .time(Some(chrono::Utc::now().timestamp_micros()))
        .end_row();
}

/// The user's own outcome rules, `_fidelake/outcomes.toml` in the lake.
fn read_rules(lake: &Path) -> Result<OutcomeRules, ImportError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        rule: Vec<Rule>,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Rule {
        name: String,
        environment: Option<String>,
        pattern: String,
        outcome: String,
    }
    let path = lake.join("_fidelake").join("outcomes.toml");
    let fail = |what: String| ImportError::Rules {
        path: path.display().to_string(),
        what,
    };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(OutcomeRules::default()),
        Err(e) => return Err(fail(e.to_string())),
    };
    let file: File = toml::from_str(&text).map_err(|e| fail(e.to_string()))?;
    let rules = file.rule.into_iter().map(|rule| {
        let outcome = fidelake_core::model::Outcome::parse(&rule.outcome).ok_or_else(|| {
            fail(format!(
                "rule {:?}: no outcome is called {:?}",
                rule.name, rule.outcome
            ))
        })?;
        Ok(TextRule {
            name: rule.name,
            environment: rule.environment,
            pattern: rule.pattern,
            outcome,
        })
    });
    let rules = rules.collect::<Result<Vec<_>, ImportError>>()?;
    OutcomeRules::new(rules).map_err(|e| fail(e.to_string()))
}
