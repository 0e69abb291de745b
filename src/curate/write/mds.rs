//! MosaicML streaming shards: a count, an offset per sample, the header, the
//! samples; and `index.json` beside them. Layout: `MDSWriter` of the package
//! `mosaicml-streaming`, version 2 of its format.

use std::fs::File;
use std::io::{BufWriter, Read as _, Seek as _, Write as _};
use std::path::PathBuf;

use super::column::{Cell, Column, Kind};
use super::item::Item;
use super::lines::push_value;
use super::shard::{OpenShard, create};
use crate::curate::error::{CurateError, CurateResult};

/// A shard under construction. The samples wait in a file of their own, because
/// their number and sizes stand before them.
pub(super) struct Mds {
    path: PathBuf,
    body_path: PathBuf,
    columns: Vec<&'static Column>,
    body: BufWriter<File>,
    sizes: Vec<u64>,
}

/// How a column is stored, and its size if that is fixed. Where null can stand
/// only JSON has a word for it.
fn encoding(column: &Column) -> (&'static str, Option<u32>) {
    match column.kind {
        Kind::Text if !column.null => ("str", None),
        Kind::Number if !column.null => ("float64", Some(8)),
        Kind::Whole if !column.null => ("int", Some(8)),
        _ => ("json", None),
    }
}

/// The columns in the order of the format: by name.
fn sorted(columns: &'static [Column]) -> Vec<&'static Column> {
    let mut sorted: Vec<&Column> = columns.iter().collect();
    sorted.sort_by_key(|column| column.name);
    sorted
}

/// What the header and the index say of the columns.
fn header(columns: &[&Column]) -> serde_json::Map<String, serde_json::Value> {
    let encodings = columns.iter().map(|c| encoding(c));
    let (words, sizes): (Vec<_>, Vec<_>) = encodings.unzip();
    let names: Vec<&str> = columns.iter().map(|c| c.name).collect();
    let header = serde_json::json!({
        "column_encodings": words,
        "column_names": names,
        "column_sizes": sizes,
        "compression": null,
        "format": "mds",
        "hashes": [],
        "size_limit": null,
        "version": 2,
    });
    match header {
        serde_json::Value::Object(map) => map,
        _ => serde_json::Map::new(),
    }
}

/// `index.json` of one part of the data set.
/// `shards`: bytes and rows of each.
pub(in crate::curate) fn index(
    columns: &'static [Column],
    shards: impl Iterator<Item = (u64, u64)>,
) -> String {
    let header = header(&sorted(columns));
    let shards = shards.enumerate().map(|(at, (bytes, rows))| {
        let mut entry = header.clone();
        let raw = serde_json::json!({"basename": basename(at), "bytes": bytes, "hashes": {}});
        entry.insert("raw_data".into(), raw);
        entry.insert("samples".into(), rows.into());
        entry.insert("zip_data".into(), serde_json::Value::Null);
        entry
    });
    let shards: Vec<_> = shards.collect();
    serde_json::json!({"shards": shards, "version": 2}).to_string()
}

/// Name of a shard in its folder.
pub(super) fn basename(at: usize) -> String {
    format!("shard.{at:05}.mds")
}

impl Mds {
    pub(super) fn open(path: PathBuf, columns: &'static [Column]) -> CurateResult<Self> {
        let body_path = path.with_extension("body");
        let body = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&body_path)
            .map_err(|e| CurateError::io(&body_path, e))?;
        Ok(Self {
            path,
            body_path,
            columns: sorted(columns),
            body: BufWriter::new(body),
            sizes: Vec::new(),
        })
    }

    /// Sizes of the columns of no fixed size, then all values.
    fn sample(&self, item: &Item) -> CurateResult<Vec<u8>> {
        let (mut sizes, mut values) = (Vec::new(), Vec::new());
        let mut json = String::new();
        for column in &self.columns {
            let start = values.len();
            match ((column.value)(item), encoding(column).0) {
                (Cell::Number(x), "float64") => values.extend(x.to_le_bytes()),
                (Cell::Whole(x), "int") => values.extend(x.to_le_bytes()),
                (cell, "str") => values.extend(cell.as_text().unwrap_or_default().bytes()),
                _ => {
                    json.clear();
                    push_value(column, item, &mut json);
                    values.extend(json.bytes());
                }
            }
            if encoding(column).1.is_none() {
                let size = u32::try_from(values.len() - start).map_err(|_| self.too_large())?;
                sizes.extend(size.to_le_bytes());
            }
        }
        sizes.extend(values);
        Ok(sizes)
    }

    fn too_large(&self) -> CurateError {
        CurateError::Shard {
            path: self.path.clone(),
            message:
                "an MDS shard holds at most 4 GiB: choose a smaller max_shard_bytes in [output]"
                    .into(),
        }
    }

    /// The head of the file: count, offsets, header.
    fn head(&self) -> CurateResult<Vec<u8>> {
        let header = serde_json::Value::Object(header(&self.columns)).to_string();
        let count = self.sizes.len();
        let mut at = (4 + 4 * (count + 1) + header.len()) as u64;
        let mut head = Vec::new();
        let offset = |at: u64| u32::try_from(at).map_err(|_| self.too_large());
        head.extend(offset(count as u64)?.to_le_bytes());
        head.extend(offset(at)?.to_le_bytes());
        for size in &self.sizes {
            at += size;
            head.extend(offset(at)?.to_le_bytes());
        }
        head.extend(header.bytes());
        Ok(head)
    }
}

impl OpenShard for Mds {
    fn write(&mut self, items: &[Item]) -> CurateResult<()> {
        for item in items {
            let sample = self.sample(item)?;
            self.body
                .write_all(&sample)
                .map_err(|e| CurateError::io(&self.body_path, e))?;
            self.sizes.push(sample.len() as u64);
        }
        Ok(())
    }

    fn end(mut self: Box<Self>) -> CurateResult<()> {
        let head = self.head()?;
        let mut file = create(&self.path)?;
        let mut end = || -> std::io::Result<()> {
            self.body.flush()?;
            let body = self.body.get_mut();
            body.rewind()?;
            file.write_all(&head)?;
            std::io::copy(&mut body.take(u64::MAX), &mut file)?;
            file.sync_all()
        };
        end().map_err(|e| CurateError::io(&self.path, e))?;
        std::fs::remove_file(&self.body_path).map_err(|e| CurateError::io(&self.body_path, e))
    }
}
