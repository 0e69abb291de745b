//! A write: many appends, one lake version.
//!
//! The input is cut into numbered chunks. A table's commit names the last chunk
//! it contains (its watermark), so the same command, started again after a
//! crash, reads the input again and drops exactly the rows that are in.

use std::collections::BTreeMap;

use arrow::record_batch::RecordBatch;
use deltalake::DeltaTable;
use tokio::task::JoinHandle;

use super::catalog::{Intent, LakeVersion, now};
use super::error::{LakeError, LakeResult};
use super::schema::{self, SCHEMA_VERSION};
use super::{Lake, delta, failpoint};

/// Buffered rows of one table are committed from this size on. Small where the
/// steps of a write are tested, so that little data makes many commits.
const COMMIT_BYTES: usize = if cfg!(feature = "failpoints") {
    1 << 10
} else {
    64 << 20
};

/// Whether a write is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// The first time.
    Fresh,
    /// The same command was interrupted before and goes on.
    Resumed,
}

/// An unfinished write. Dropping it without [`LakeWriter::commit`] leaves the
/// lake as it was, with an intent that the same command picks up again.
#[derive(Debug)]
pub struct LakeWriter<'l> {
    lake: &'l mut Lake,
    intent: Intent,
    base: LakeVersion,
    app: String,
    tables: BTreeMap<&'static str, TableWriter>,
}

#[derive(Debug)]
struct TableWriter {
    name: &'static str,
    state: State,
    /// Last chunk that the table contains.
    watermark: i64,
    buffer: Vec<RecordBatch>,
    bytes: usize,
}

#[derive(Debug)]
enum State {
    Idle(DeltaTable),
    Committing(JoinHandle<LakeResult<DeltaTable>>),
    /// A commit failed; the error was handed out.
    Broken,
}

impl Lake {
    /// Begins the write `id`, or goes on with it.
    ///
    /// # Errors
    /// If another write is unfinished, or a table cannot be read.
    pub async fn write(
        &mut self,
        operation: &str,
        id: &str,
        command: &str,
        names: &[&'static str],
    ) -> LakeResult<(LakeWriter<'_>, Started)> {
        let base = self.newest()?;
        let unfinished = self.refuse_unfinished(Some(id))?;
        // Before anything is noted: every table must be whole at its pinned version.
        let newest: Vec<_> = names.iter().map(|&name| (name, None)).collect();
        let loaded = delta::load_all(&self.path, &newest).await?;
        for (&name, table) in names.iter().zip(&loaded) {
            if let Some(&at) = base.tables.get(name)
                && at != delta::version(table)
            {
                delta::load(&self.path, name, Some(at)).await?;
            }
        }
        let (intent, started) = match unfinished {
            Some(intent) => (intent, Started::Resumed),
            None => (
                self.catalog.begin(operation, id, command, base.version)?,
                Started::Fresh,
            ),
        };
        failpoint::pass("write:begun");
        let app = format!("{operation}/{id}/{}", intent.attempt);
        let mut tables = BTreeMap::new();
        for (&name, table) in names.iter().zip(loaded) {
            let watermark = delta::watermark(name, &table, &app).await?.unwrap_or(-1);
            let state = State::Idle(table);
            tables.insert(
                name,
                TableWriter {
                    name,
                    state,
                    watermark,
                    buffer: vec![],
                    bytes: 0,
                },
            );
        }
        Ok((
            LakeWriter {
                lake: self,
                intent,
                base,
                app,
                tables,
            },
            started,
        ))
    }
}

impl LakeWriter<'_> {
    /// The lake version that this write builds on.
    #[must_use]
    pub fn base(&self) -> &LakeVersion {
        &self.base
    }

    /// Which attempt this is, from 1.
    #[must_use]
    pub fn attempt(&self) -> i32 {
        self.intent.attempt
    }

    /// Whether the table already contains this chunk, so that its rows need not be made.
    #[must_use]
    pub fn contains(&self, table: &str, chunk: i64) -> bool {
        self.tables.get(table).is_some_and(|t| chunk <= t.watermark)
    }

    /// Adds rows of `chunk` to a table, unless it contains that chunk already.
    ///
    /// # Errors
    /// If the columns are not those of the table: a fault of this program.
    pub fn push(&mut self, table: &str, chunk: i64, batch: RecordBatch) -> LakeResult<()> {
        let Some(writer) = self.tables.get_mut(table) else {
            let why = format!("table {table} is not part of this write");
            return Err(arrow::error::ArrowError::InvalidArgumentError(why).into());
        };
        if chunk <= writer.watermark || batch.num_rows() == 0 {
            return Ok(());
        }
        let wanted = schema::table(table).map(schema::TableSchema::arrow);
        if wanted.as_deref() != Some(batch.schema().as_ref()) {
            let why = format!("table {table}: {:?}", batch.schema());
            return Err(arrow::error::ArrowError::SchemaError(why).into());
        }
        writer.bytes += batch.get_array_memory_size();
        writer.buffer.push(batch);
        Ok(())
    }

    /// All rows of `chunk` were pushed: tables with much in their buffer commit.
    ///
    /// # Errors
    /// If an earlier commit failed.
    pub async fn end_chunk(&mut self, chunk: i64) -> LakeResult<()> {
        for writer in self.tables.values_mut() {
            if writer.bytes >= COMMIT_BYTES {
                writer.flush(&self.app, chunk).await?;
            }
        }
        Ok(())
    }

    /// Commits what is buffered, then the lake version.
    ///
    /// # Errors
    /// If a commit fails; the same command goes on from there.
    pub async fn commit(
        mut self,
        last_chunk: i64,
        counts: serde_json::Value,
    ) -> LakeResult<LakeVersion> {
        for writer in self.tables.values_mut() {
            writer.flush(&self.app, last_chunk).await?;
        }
        let mut tables = self.base.tables.clone();
        for (name, writer) in &mut self.tables {
            let table = writer.settle().await?;
            tables.insert((*name).to_owned(), delta::version(table));
        }
        failpoint::pass("write:tables_committed");
        let version = LakeVersion {
            version: self.base.version + 1,
            schema_version: SCHEMA_VERSION,
            operation: self.intent.operation.clone(),
            id: self.intent.id.clone(),
            command: self.intent.command.clone(),
            tables,
            counts,
            time: now(),
            readable: true,
        };
        self.lake.catalog.commit(&version)?;
        failpoint::pass("write:version_committed");
        Ok(version)
    }

    /// The error that tells a stopped user how to go on.
    #[must_use]
    pub fn interrupted(&self) -> LakeError {
        LakeError::Interrupted(self.intent.id.clone())
    }
}

impl TableWriter {
    /// Hands the buffer to a commit in the background; waits for the one before.
    async fn flush(&mut self, app: &str, chunk: i64) -> LakeResult<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.settle().await?;
        let State::Idle(table) = std::mem::replace(&mut self.state, State::Broken) else {
            return Ok(());
        };
        let (name, app) = (self.name, app.to_owned());
        let batches = std::mem::take(&mut self.buffer);
        self.bytes = 0;
        self.state = State::Committing(tokio::spawn(async move {
            failpoint::pass(&format!("commit:before:{name}"));
            let table = delta::append(name, table, batches, &app, chunk).await?;
            failpoint::pass(&format!("commit:after:{name}"));
            Ok(table)
        }));
        Ok(())
    }

    /// Waits for a commit in the background.
    async fn settle(&mut self) -> LakeResult<&DeltaTable> {
        if let State::Committing(handle) = &mut self.state {
            let done = handle.await;
            self.state = State::Broken;
            let table = done.map_err(|e| LakeError::Delta {
                table: self.name.to_owned(),
                message: format!("its commit was cut short: {e}"),
            })??;
            self.state = State::Idle(table);
        }
        match &self.state {
            State::Idle(table) => Ok(table),
            _ => Err(LakeError::Delta {
                table: self.name.to_owned(),
                message: "an earlier commit failed".to_owned(),
            }),
        }
    }
}
