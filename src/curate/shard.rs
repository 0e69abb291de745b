//! The shards: Parquet files, cut by rows or size, named when their number is known.

use std::fs::File;
use std::path::{Path, PathBuf};

use fidelake_core::json::key::KeyHasher;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use serde::Serialize;

use super::chat::Chat;
use super::columns::{FEATURES, features, schema};
use super::error::{CurateError, CurateResult};
use super::recipe::Recipe;
use super::weigh::Row;
use crate::lake::failpoint;
use crate::lake::rows::Table;

/// Rows are handed to the Parquet writer when their payload has this size.
const BATCH_BYTES: usize = 16 << 20;
const BATCH_ROWS: usize = 4096;

/// A row group ends at this size, as `datasets` writes them.
const ROW_GROUP_BYTES: usize = 100_000_000;

/// Payload columns: long, seldom equal.
const PAYLOADS: [&str; 3] = ["prompt", "messages", "tools"];

/// A shard that is written.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Shard {
    /// Below the folder.
    pub(super) path: String,
    pub(super) rows: u64,
    pub(super) bytes: u64,
    pub(super) blake3: String,
}

/// Writes rows to numbered files.
pub(super) struct ShardWriter {
    folder: PathBuf,
    max_rows: u64,
    max_bytes: u64,
    table: Table,
    payload: usize,
    open: Option<Open>,
    /// Rows of every finished file.
    done: Vec<u64>,
}

struct Open {
    path: PathBuf,
    writer: ArrowWriter<File>,
    rows: u64,
}

impl ShardWriter {
    /// Into the folder `data` of `root`.
    pub(super) fn new(root: &Path, recipe: &Recipe) -> CurateResult<Self> {
        let folder = root.join("data");
        std::fs::create_dir_all(&folder).map_err(|e| CurateError::io(&folder, e))?;
        Ok(Self {
            folder,
            max_rows: recipe.output.rows_per_shard.unwrap_or(u64::MAX),
            max_bytes: recipe.output.max_shard_bytes,
            table: Table::of(schema()),
            payload: 0,
            open: None,
            done: Vec::new(),
        })
    }

    /// Appends a row.
    pub(super) fn push(
        &mut self,
        arm: &str,
        row: &Row,
        chat: &Chat,
        tools: &str,
    ) -> CurateResult<()> {
        let (run, group, a) = (&row.run, &row.group, &row.advantages);
        let fidelity = run.profile.as_ref().map(|p| p.fidelity).unwrap_or_default();
        let [obs, act, rew, trans] = fidelity;
        self.table
            .text(&run.trajectory_id)
            .text(&run.run_id)
            .text(&run.environment)
            .text(arm)
            .int32(Some(run.repeat))
            .text(&run.group)
            .opt_text(run.task_id.as_deref())
            .opt_text(run.policy.as_deref())
            .text(&chat.prompt)
            .text(&chat.messages)
            .text(tools)
            .float64(Some(run.reward))
            .float64(row.reward_corrected)
            .float64(Some(a.advantage))
            .float64(Some(a.advantage_centered))
            .float64(obs)
            .float64(act)
            .float64(rew)
            .float64(trans)
            .float64(row.fidelity_mean)
            .float64(row.fidelity)
            .float64(row.fidelity_se)
            .float64(row.fidelity_low)
            .float64(Some(a.fidelity_weight))
            .float64(Some(a.advantage_fidelity_seed))
            .float64(Some(a.advantage_fidelity))
            .int32(Some(group.size))
            .float64(Some(group.mean))
            .float64(Some(group.std))
            .float64(Some(group.effective_size))
            .boolean(Some(group.degenerate))
            .text(row.source)
            .float64(Some(row.gate_weight))
            .boolean(Some(run.figures.feasible))
            .float64(Some(row.difficulty_factor))
            .float64(run.figures.pass_rate)
            .float64(run.figures.pass_at_k)
            .float64(run.figures.pass_hat_k)
            .text(row.split.as_str())
            .end_row();
        self.payload += chat.prompt.len() + chat.messages.len() + tools.len();
        let open = self.open.as_ref().map_or(0, |open| open.rows);
        let full = open + self.table.rows() as u64 >= self.max_rows;
        if full || self.payload >= BATCH_BYTES || self.table.rows() >= BATCH_ROWS {
            self.flush(full)?;
        }
        Ok(())
    }

    /// Hands the rows to the file; ends the file if it is full.
    fn flush(&mut self, mut full: bool) -> CurateResult<()> {
        let batch = self.table.finish()?;
        self.payload = 0;
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let mut open = match self.open.take() {
            Some(open) => open,
            None => open_file(&self.folder, self.done.len())?,
        };
        let fail = |path: &Path| {
            let path = path.to_owned();
            move |e| CurateError::shard(path, &e)
        };
        open.writer.write(&batch).map_err(fail(&open.path))?;
        open.rows += batch.num_rows() as u64;
        if open.writer.in_progress_size() >= ROW_GROUP_BYTES {
            open.writer.flush().map_err(fail(&open.path))?;
        }
        let size = open.writer.bytes_written() + open.writer.in_progress_size();
        full |= u64::try_from(size).unwrap_or(u64::MAX) >= self.max_bytes;
        if full {
            self.end(open)
        } else {
            self.open = Some(open);
            Ok(())
        }
    }

    fn end(&mut self, open: Open) -> CurateResult<()> {
        let Open { path, writer, rows } = open;
        let file = writer
            .into_inner()
            .map_err(|e| CurateError::shard(&path, &e))?;
        file.sync_all().map_err(|e| CurateError::io(&path, e))?;
        self.done.push(rows);
        failpoint::pass("curate:shard_written");
        Ok(())
    }

    /// Ends the last file and gives every file its name, which says how many there are.
    pub(super) fn finish(mut self) -> CurateResult<Vec<Shard>> {
        self.flush(true)?;
        if let Some(open) = self.open.take() {
            self.end(open)?;
        }
        let count = self.done.len();
        let mut shards = Vec::with_capacity(count);
        for (at, rows) in self.done.iter().enumerate() {
            let name = format!("train-{at:05}-of-{count:05}.parquet");
            let (from, to) = (self.folder.join(unnamed(at)), self.folder.join(&name));
            std::fs::rename(&from, &to).map_err(|e| CurateError::io(&from, e))?;
            let (bytes, blake3) = hash_file(&to)?;
            shards.push(Shard {
                path: format!("data/{name}"),
                rows: *rows,
                bytes,
                blake3,
            });
        }
        failpoint::pass("curate:shards_named");
        Ok(shards)
    }
}

fn unnamed(at: usize) -> String {
    format!("train-{at:05}.parquet.part")
}

fn open_file(folder: &Path, at: usize) -> CurateResult<Open> {
    let path = folder.join(unnamed(at));
    let file = File::create(&path).map_err(|e| CurateError::io(&path, e))?;
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(vec![KeyValue::new(FEATURES.to_owned(), features())]));
    for column in PAYLOADS {
        let column = ColumnPath::from(column);
        // Statistics of payloads would put whole conversations into the footer.
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_statistics_enabled(column, EnabledStatistics::None);
    }
    let writer = ArrowWriter::try_new(file, schema(), Some(properties.build()))
        .map_err(|e| CurateError::shard(&path, &e))?;
    Ok(Open {
        path,
        writer,
        rows: 0,
    })
}

/// Size and BLAKE3 of a file.
pub(super) fn hash_file(path: &Path) -> CurateResult<(u64, String)> {
    let fail = |e| CurateError::io(path, e);
    let mut file = File::open(path).map_err(fail)?;
    let mut hasher = KeyHasher::default();
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        let read = std::io::Read::read(&mut file, &mut buffer).map_err(fail)?;
        if read == 0 {
            return Ok((bytes, hasher.hex()));
        }
        hasher.update(&buffer[..read]);
        bytes += read as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(recipe: &str, rows: usize) -> (tempfile::TempDir, Vec<Shard>) {
        let root = tempfile::tempdir().unwrap();
        let recipe = Recipe::parse(Path::new("r"), recipe).unwrap();
        let mut writer = ShardWriter::new(root.path(), &recipe).unwrap();
        let row = super::super::weigh::Row::sample();
        let chat = Chat {
            prompt: "[]".into(),
            messages: "[]".into(),
        };
        for _ in 0..rows {
            writer.push("sim", &row, &chat, "[]").unwrap();
        }
        let shards = writer.finish().unwrap();
        (root, shards)
    }

    #[test]
    fn files_are_cut_by_rows_and_named_by_their_number() {
        let (root, shards) = write("version = 1\n[output]\nrows_per_shard = 2\n", 5);
        let rows: Vec<u64> = shards.iter().map(|s| s.rows).collect();
        assert_eq!(rows, [2, 2, 1]);
        assert_eq!(shards[2].path, "data/train-00002-of-00003.parquet");
        assert_eq!(
            std::fs::read_dir(root.path().join("data")).unwrap().count(),
            3
        );
        for shard in &shards {
            let (bytes, hash) = hash_file(&root.path().join(&shard.path)).unwrap();
            assert_eq!((bytes, &hash), (shard.bytes, &shard.blake3));
        }
        let (_root, again) = write("version = 1\n[output]\nrows_per_shard = 2\n", 5);
        assert_eq!(again[1].blake3, shards[1].blake3);
    }
}
