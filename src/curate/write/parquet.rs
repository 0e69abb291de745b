//! Parquet, as `datasets` writes it.

use std::fs::File;
use std::path::PathBuf;

use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use super::arrow::batch;
use super::column::{Column, FEATURES, Kind, features, fields, schema};
use super::item::Item;
use super::shard::{OpenShard, create};
use crate::curate::error::{CurateError, CurateResult};

/// A row group ends at this size, as `datasets` writes them.
const ROW_GROUP_BYTES: u64 = 100_000_000;

/// All row groups that are open at a time stay below this.
const OPEN_BYTES: u64 = 400_000_000;

/// A Parquet file.
pub(super) struct Parquet {
    path: PathBuf,
    columns: &'static [Column],
    writer: ArrowWriter<File>,
    /// Payload of the open row group, and where it ends.
    bytes: u64,
    row_group: u64,
}

impl Parquet {
    /// `beside`: how many Parquet files are written at the same time.
    pub(super) fn open(
        path: PathBuf,
        columns: &'static [Column],
        beside: u64,
    ) -> CurateResult<Self> {
        let file = create(&path)?;
        let footer = KeyValue::new(FEATURES.to_owned(), features(&fields(columns)));
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(vec![footer]));
        for column in columns {
            if matches!(column.kind, Kind::Json) {
                let column = ColumnPath::from(column.name);
                // Statistics of payloads would put whole conversations into the footer.
                properties = properties
                    .set_column_dictionary_enabled(column.clone(), false)
                    .set_column_statistics_enabled(column, EnabledStatistics::None);
            }
            if matches!(column.kind, Kind::Prompt | Kind::Chat) {
                for leaf in ["content", "tool_calls.list.element.function.arguments"] {
                    let parts = [column.name, "list", "element"].into_iter();
                    let parts = parts.chain(leaf.split('.')).map(str::to_owned);
                    let leaf = ColumnPath::new(parts.collect());
                    properties = properties
                        .set_column_dictionary_enabled(leaf.clone(), false)
                        .set_column_statistics_enabled(leaf, EnabledStatistics::None);
                }
            }
        }
        let writer = ArrowWriter::try_new(file, schema(columns), Some(properties.build()))
            .map_err(|e| CurateError::shard(&path, &e))?;
        Ok(Self {
            path,
            columns,
            writer,
            bytes: 0,
            row_group: ROW_GROUP_BYTES.min(OPEN_BYTES / beside.max(1)),
        })
    }
}

impl OpenShard for Parquet {
    fn write(&mut self, items: &[Item]) -> CurateResult<()> {
        let fail = |e| CurateError::shard(&self.path, &e);
        self.writer
            .write(&batch(self.columns, items)?)
            .map_err(fail)?;
        self.bytes += items.iter().map(Item::size).sum::<u64>();
        if self.bytes >= self.row_group {
            self.bytes = 0;
            self.writer.flush().map_err(fail)?;
        }
        Ok(())
    }

    fn end(self: Box<Self>) -> CurateResult<()> {
        let file = self
            .writer
            .into_inner()
            .map_err(|e| CurateError::shard(&self.path, &e))?;
        file.sync_all().map_err(|e| CurateError::io(&self.path, e))
    }
}
