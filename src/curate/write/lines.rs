//! Rows as JSON: files of lines, plain or compressed, for readers that take a
//! line as it is.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use fidelake_core::json::push_json_string;

use super::column::{Cell, Column, Kind};
use super::item::Item;
use super::shard::{OpenShard, create};
use crate::curate::error::{CurateError, CurateResult};
use crate::curate::json::separate;
use crate::curate::message::json_of;

/// What `zstd` does by default.
const LEVEL: i32 = 3;

enum Out {
    Plain(BufWriter<File>),
    Zstd(zstd::Encoder<'static, BufWriter<File>>),
}

/// A file of lines.
pub(super) struct Lines {
    path: PathBuf,
    columns: &'static [Column],
    out: Out,
    line: String,
}

impl Lines {
    pub(super) fn open(
        path: PathBuf,
        columns: &'static [Column],
        compressed: bool,
    ) -> CurateResult<Self> {
        let file = BufWriter::new(create(&path)?);
        let out = if compressed {
            let encoder = zstd::Encoder::new(file, LEVEL).map_err(|e| CurateError::io(&path, e))?;
            Out::Zstd(encoder)
        } else {
            Out::Plain(file)
        };
        Ok(Self {
            path,
            columns,
            out,
            line: String::new(),
        })
    }
}

impl OpenShard for Lines {
    fn write(&mut self, items: &[Item]) -> CurateResult<()> {
        for item in items {
            self.line.clear();
            push_object(self.columns, item, &mut self.line);
            self.line.push('\n');
            let bytes = self.line.as_bytes();
            match &mut self.out {
                Out::Plain(file) => file.write_all(bytes),
                Out::Zstd(encoder) => encoder.write_all(bytes),
            }
            .map_err(|e| CurateError::io(&self.path, e))?;
        }
        Ok(())
    }

    fn end(self: Box<Self>) -> CurateResult<()> {
        let Self { path, out, .. } = *self;
        let end = || -> std::io::Result<()> {
            let buffered = match out {
                Out::Plain(file) => file,
                Out::Zstd(encoder) => encoder.finish()?,
            };
            buffered
                .into_inner()
                .map_err(|e| e.into_error())?
                .sync_all()
        };
        end().map_err(|e| CurateError::io(path, e))
    }
}

/// The row as a JSON object.
pub(super) fn push_object(columns: &[Column], item: &Item, out: &mut String) {
    out.push('{');
    let mut first = true;
    for column in columns {
        separate(out, &mut first);
        push_json_string(column.name, out);
        out.push(':');
        push_value(column, item, out);
    }
    out.push('}');
}

/// A cell as JSON.
pub(super) fn push_value(column: &Column, item: &Item, out: &mut String) {
    if let Kind::Struct(inner) = column.kind {
        return push_object(inner, item, out);
    }
    match (column.value)(item) {
        Cell::Null => out.push_str("null"),
        Cell::Number(x) => push_number(x, out),
        Cell::Whole(x) => out.push_str(&x.to_string()),
        Cell::Flag(x) => out.push_str(if x { "true" } else { "false" }),
        Cell::Numbers(numbers) => {
            out.push('[');
            let mut first = true;
            for x in numbers {
                separate(out, &mut first);
                push_number(*x, out);
            }
            out.push(']');
        }
        Cell::Messages(messages) => out.push_str(&json_of(messages)),
        text => {
            let text = text.as_text().unwrap_or_default();
            match column.kind {
                Kind::Json => out.push_str(text),
                _ => push_json_string(text, out),
            }
        }
    }
}

/// The shortest text that reads back as the same number.
pub(super) fn push_number(x: f64, out: &mut String) {
    match serde_json::Number::from_f64(x) {
        Some(number) => out.push_str(&number.to_string()),
        None => out.push_str("null"),
    }
}
