//! The files of a curation, as the manifest names them.

use serde::{Deserialize, Serialize};

use super::error::CurateResult;
use super::place::Workshop;
use super::write::{Container, Done, Format, Journal, Totals, hash_file, mds_index};

/// A shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ShardFile {
    /// Below the folder.
    pub(super) path: String,
    pub(super) format: String,
    pub(super) split: String,
    pub(super) rows: u64,
    pub(super) bytes: u64,
    pub(super) blake3: String,
}

/// A file that is no shard: a card, an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Beside {
    pub(super) path: String,
    pub(super) bytes: u64,
    pub(super) blake3: String,
}

/// All files that came of the rows.
pub(super) struct Files {
    pub(super) shards: Vec<ShardFile>,
    pub(super) beside: Vec<Beside>,
    pub(super) totals: Totals,
}

impl Files {
    /// Names the shards of a journal and writes what their readers want beside them.
    pub(super) fn of(shop: &Workshop, journal: Journal) -> CurateResult<Self> {
        let mut files = Self {
            shards: Vec::new(),
            beside: Vec::new(),
            totals: Totals::default(),
        };
        for shard in &journal.shards {
            files.totals.add(&shard.totals);
        }
        for (at, (format, names, shards)) in journal.name()?.into_iter().enumerate() {
            let done = names.into_iter().zip(&shards).filter_map(|(path, shard)| {
                let Done {
                    rows,
                    bytes,
                    blake3,
                } = shard.files.get(at)?.clone();
                Some(ShardFile {
                    path,
                    format: format.name().into(),
                    split: shard.split.clone(),
                    rows,
                    bytes,
                    blake3,
                })
            });
            let done: Vec<ShardFile> = done.collect();
            if format.container() == Container::Mds {
                files.write_indexes(shop, format, &done)?;
            }
            files.shards.extend(done);
        }
        Ok(files)
    }

    /// An index per part of the data set, in the folder of its shards.
    fn write_indexes(
        &mut self,
        shop: &Workshop,
        format: Format,
        shards: &[ShardFile],
    ) -> CurateResult<()> {
        for shards in shards.chunk_by(|a, b| a.split == b.split) {
            let folder = shards.first().and_then(|s| s.path.rsplit_once('/'));
            let folder = folder.map_or("", |(folder, _)| folder);
            let index = mds_index(format.columns(), shards.iter().map(|s| (s.bytes, s.rows)));
            self.write(shop, format!("{folder}/index.json"), &index)?;
        }
        Ok(())
    }

    /// Writes a file beside the shards.
    pub(super) fn write(&mut self, shop: &Workshop, path: String, text: &str) -> CurateResult<()> {
        shop.write(&path, text)?;
        let (bytes, blake3) = hash_file(&shop.path().join(&path))?;
        self.beside.push(Beside {
            path,
            bytes,
            blake3,
        });
        Ok(())
    }
}
