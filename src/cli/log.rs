//! `fidelake log`

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use clap::Args;

use super::printer::Printer;
use super::{Global, Status};
use crate::lake::Lake;

/// List the lake's versions, oldest first, and writes that did not end.
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Only the newest so many
    #[arg(long, short = 'n', value_name = "N")]
    last: Option<usize>,
}

pub(crate) async fn run(
    args: &LogArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let lake = Lake::open(&global.lake)?;
    let versions = lake.versions()?;
    let skip = args
        .last
        .map_or(0, |last| versions.len().saturating_sub(last));
    let versions = &versions[skip..];
    let text = |pick: &dyn Fn(&crate::lake::LakeVersion) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(versions.iter().map(pick)))
    };
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "version",
            Arc::new(Int64Array::from_iter_values(
                versions.iter().map(|v| v.version),
            )),
        ),
        ("time", text(&|v| v.time.clone())),
        ("operation", text(&|v| v.operation.clone())),
        ("id", text(&|v| v.id.clone())),
        ("command", text(&|v| v.command.clone())),
        ("counts", text(&|v| v.counts.to_string())),
        (
            "readable",
            Arc::new(BooleanArray::from_iter(
                versions.iter().map(|v| Some(v.readable)),
            )),
        ),
    ];
    let batch = RecordBatch::try_from_iter(columns)?;
    printer.batch(&batch)?;
    for intent in lake.intents()? {
        printer.say(&format!(
            "unfinished since {}: {} {} ({}). Run that command again to finish it, or undo it with `fidelake repair --drop {}`",
            intent.started, intent.operation, intent.id, intent.command, intent.id
        ));
    }
    Ok(Status::Done)
}

/// An object of numbers as one row.
pub(super) fn one_row(json: &serde_json::Value) -> anyhow::Result<(SchemaRef, RecordBatch)> {
    let entries: Vec<_> = json.as_object().into_iter().flatten().collect();
    let fields: Vec<Field> = entries
        .iter()
        .map(|(name, _)| Field::new(name.as_str(), DataType::Int64, false))
        .collect();
    let columns = entries
        .iter()
        .map(|(_, value)| {
            Arc::new(Int64Array::from(vec![value.as_i64().unwrap_or_default()])) as ArrayRef
        })
        .collect();
    let schema = Arc::new(Schema::new(fields));
    Ok((Arc::clone(&schema), RecordBatch::try_new(schema, columns)?))
}
