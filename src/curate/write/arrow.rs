//! Rows as Arrow columns of declared types.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanBuilder, Float64Builder, Int32Builder, Int64Builder, ListArray, ListBuilder,
    StringArray, StringBuilder, StructArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field};
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;

use super::column::{
    Cell, Column, Kind, call_fields, fields, function_fields, message_fields, schema,
};
use super::item::Item;
use crate::curate::message::{Message, ToolCall};

/// The rows in the one schema of the format.
pub(super) fn batch(columns: &[Column], items: &[Item]) -> Result<RecordBatch, ArrowError> {
    let arrays: Result<Vec<ArrayRef>, ArrowError> =
        columns.iter().map(|column| array(column, items)).collect();
    RecordBatch::try_new(schema(columns), arrays?)
}

fn array(column: &Column, items: &[Item]) -> Result<ArrayRef, ArrowError> {
    let cells = items.iter().map(column.value);
    Ok(match column.kind {
        Kind::Text | Kind::Json => {
            let mut builder = StringBuilder::new();
            cells.for_each(|cell| builder.append_option(cell.as_text()));
            Arc::new(builder.finish())
        }
        Kind::Number => {
            let mut builder = Float64Builder::new();
            for cell in cells {
                builder.append_option(match cell {
                    Cell::Number(x) => Some(x),
                    _ => None,
                });
            }
            Arc::new(builder.finish())
        }
        Kind::Whole => {
            let mut builder = Int64Builder::new();
            for cell in cells {
                builder.append_option(match cell {
                    Cell::Whole(x) => Some(x),
                    _ => None,
                });
            }
            Arc::new(builder.finish())
        }
        Kind::Small => {
            let mut builder = Int32Builder::new();
            for cell in cells {
                builder.append_option(match cell {
                    Cell::Whole(x) => i32::try_from(x).ok(),
                    _ => None,
                });
            }
            Arc::new(builder.finish())
        }
        Kind::Flag => {
            let mut builder = BooleanBuilder::new();
            for cell in cells {
                builder.append_option(match cell {
                    Cell::Flag(x) => Some(x),
                    _ => None,
                });
            }
            Arc::new(builder.finish())
        }
        Kind::Numbers => {
            let element = Field::new("element", DataType::Float64, true);
            let mut builder = ListBuilder::new(Float64Builder::new()).with_field(element);
            for cell in cells {
                if let Cell::Numbers(numbers) = cell {
                    builder.values().append_slice(numbers);
                }
                builder.append(true);
            }
            Arc::new(builder.finish())
        }
        Kind::Prompt => chats(cells, false)?,
        Kind::Chat => chats(cells, true)?,
        Kind::Struct(inner) => {
            let arrays: Result<Vec<ArrayRef>, ArrowError> =
                inner.iter().map(|column| array(column, items)).collect();
            Arc::new(StructArray::try_new(fields(inner), arrays?, None)?)
        }
    })
}

fn texts<'a>(values: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    Arc::new(values.collect::<StringArray>())
}

fn list_of(
    values: StructArray,
    lengths: Vec<usize>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    let kind = DataType::Struct(values.fields().clone());
    let element = Arc::new(Field::new("element", kind, true));
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(Arc::new(ListArray::try_new(
        element,
        offsets,
        Arc::new(values),
        nulls,
    )?))
}

fn chats<'a>(cells: impl Iterator<Item = Cell<'a>>, calls: bool) -> Result<ArrayRef, ArrowError> {
    let lists: Vec<&[Message]> = cells
        .map(|cell| match cell {
            Cell::Messages(messages) => messages,
            _ => &[],
        })
        .collect();
    let all: Vec<&Message> = lists.iter().copied().flatten().collect();
    let contents: Vec<_> = all.iter().map(|m| m.text()).collect();
    let mut arrays = vec![
        texts(all.iter().map(|m| Some(m.role.as_str()))),
        texts(contents.iter().map(|c| c.as_deref())),
    ];
    if calls {
        arrays.extend([
            texts(all.iter().map(|m| m.name.as_deref())),
            texts(all.iter().map(|m| m.answers.as_deref())),
            calls_of(&all)?,
        ]);
    }
    let messages = StructArray::try_new(message_fields(calls), arrays, None)?;
    list_of(messages, lists.iter().map(|l| l.len()).collect(), None)
}

/// The calls of every message; null where it makes none.
fn calls_of(messages: &[&Message]) -> Result<ArrayRef, ArrowError> {
    let all: Vec<&ToolCall> = messages.iter().flat_map(|m| &m.calls).collect();
    let function = StructArray::try_new(
        function_fields(),
        vec![
            texts(all.iter().map(|c| Some(c.name.as_str()))),
            texts(all.iter().map(|c| Some(c.arguments.as_str()))),
        ],
        None,
    )?;
    let calls = StructArray::try_new(
        call_fields(),
        vec![
            texts(all.iter().map(|c| Some(c.id.as_str()))),
            texts(all.iter().map(|_| Some("function"))),
            Arc::new(function),
        ],
        None,
    )?;
    let lengths = messages.iter().map(|m| m.calls.len()).collect();
    let nulls = messages.iter().map(|m| !m.calls.is_empty());
    list_of(calls, lengths, Some(nulls.collect()))
}
