//! `fidelake schema`

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, StringArray};
use clap::Args;

use super::printer::Printer;
use super::{Status, UsageError};
use crate::lake::schema::{TableSchema, table, tables};
use crate::report::OutputFormat;

/// Describe the tables, or the columns of one.
#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// The table
    table: Option<String>,
}

pub(crate) fn run(args: &SchemaArgs, printer: &Printer) -> anyhow::Result<Status> {
    let Some(name) = &args.table else {
        let batch = all()?;
        printer.batch(&batch)?;
        return Ok(Status::Done);
    };
    let Some(table) = table(name) else {
        let names: Vec<_> = tables().iter().map(|t| t.name).collect();
        anyhow::bail!(UsageError(format!(
            "there is no table {name:?}; the tables are {}",
            names.join(", ")
        )));
    };
    if printer.format() == OutputFormat::Table {
        printer.data(&format!("{}: {}", table.name, table.doc))?;
        printer.data(&format!("key: {}", table.key.join(", ")))?;
        if !table.partition.is_empty() {
            printer.data(&format!("partitioned by: {}", table.partition.join(", ")))?;
        }
        if let Some(sort) = &table.sort {
            printer.data(&format!("files sorted by: {sort}"))?;
        }
    }
    let batch = columns(table)?;
    printer.batch(&batch)?;
    Ok(Status::Done)
}

fn texts<'a>(values: impl Iterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn all() -> anyhow::Result<RecordBatch> {
    let keys: Vec<String> = tables().iter().map(|t| t.key.join(", ")).collect();
    Ok(RecordBatch::try_from_iter([
        ("table", texts(tables().iter().map(|t| t.name))),
        ("key", texts(keys.iter().map(String::as_str))),
        ("holds", texts(tables().iter().map(|t| t.doc.as_str()))),
    ])?)
}

fn columns(table: &TableSchema) -> anyhow::Result<RecordBatch> {
    let columns = &table.columns;
    Ok(RecordBatch::try_from_iter([
        ("column", texts(columns.iter().map(|c| c.name.as_str()))),
        ("type", texts(columns.iter().map(|c| c.data_type.as_str()))),
        (
            "null",
            Arc::new(BooleanArray::from_iter(
                columns.iter().map(|c| Some(c.nullable)),
            )) as ArrayRef,
        ),
        ("unit", texts(columns.iter().map(|c| c.unit.as_str()))),
        ("meaning", texts(columns.iter().map(|c| c.doc.as_str()))),
    ])?)
}
