//! WebDataset: a tar file in which each row is one `.json` file, named by its
//! number.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use super::column::Column;
use super::item::Item;
use super::lines::push_object;
use super::shard::{OpenShard, create};
use crate::curate::error::{CurateError, CurateResult};

/// A tar file.
pub(super) struct Tar {
    path: PathBuf,
    columns: &'static [Column],
    out: tar::Builder<BufWriter<File>>,
}

impl Tar {
    pub(super) fn open(path: PathBuf, columns: &'static [Column]) -> CurateResult<Self> {
        let out = tar::Builder::new(BufWriter::new(create(&path)?));
        Ok(Self { path, columns, out })
    }
}

impl OpenShard for Tar {
    fn write(&mut self, items: &[Item]) -> CurateResult<()> {
        let mut object = String::new();
        for item in items {
            object.clear();
            push_object(self.columns, item, &mut object);
            // Time and owner stay 0: the same rows give the same bytes.
            let mut header = tar::Header::new_ustar();
            header.set_size(object.len() as u64);
            header.set_mode(0o644);
            let name = format!("{}-{:09}.json", item.row().split.as_str(), item.number);
            self.out
                .append_data(&mut header, name, object.as_bytes())
                .map_err(|e| CurateError::io(&self.path, e))?;
        }
        Ok(())
    }

    fn end(self: Box<Self>) -> CurateResult<()> {
        let Self { path, out, .. } = *self;
        let end = || -> std::io::Result<()> {
            let buffered = out.into_inner()?;
            buffered
                .into_inner()
                .map_err(|e| e.into_error())?
                .sync_all()
        };
        end().map_err(|e| CurateError::io(path, e))
    }
}
