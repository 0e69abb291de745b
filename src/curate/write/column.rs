//! A column of a format: its name, its type, and where its value comes from.
//!
//! Every format is a list of columns, declared once. What stands in a cell never
//! decides its type: with inferred types `datasets` fails on a shard that differs
//! from the first.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};

use super::item::Item;
use crate::curate::message::Message;

/// The footer key in which `datasets` looks for a schema in its own words.
pub(super) const FEATURES: &str = "huggingface";

/// Types.
#[derive(Clone, Copy, Debug)]
pub(in crate::curate) enum Kind {
    Text,
    /// JSON: a text where a schema is declared, a value in files of JSON.
    Json,
    Number,
    Whole,
    /// A whole number of 32 bits.
    Small,
    Flag,
    /// A list of numbers.
    Numbers,
    /// Messages of role and content.
    Prompt,
    /// Messages with their calls.
    Chat,
    Struct(&'static [Column]),
}

/// What stands in a cell.
pub(in crate::curate) enum Cell<'a> {
    Null,
    Text(&'a str),
    Made(String),
    Number(f64),
    Whole(i64),
    Flag(bool),
    Numbers(&'a [f64]),
    Messages(&'a [Message]),
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub(in crate::curate) struct Column {
    pub(in crate::curate) name: &'static str,
    pub(in crate::curate) kind: Kind,
    /// Whether null can stand there.
    pub(in crate::curate) null: bool,
    pub(in crate::curate) doc: &'static str,
    pub(in crate::curate) value: for<'a> fn(&'a Item) -> Cell<'a>,
}

/// A column that is never null.
pub(super) const fn column(
    name: &'static str,
    kind: Kind,
    doc: &'static str,
    value: for<'a> fn(&'a Item) -> Cell<'a>,
) -> Column {
    Column {
        name,
        kind,
        null: false,
        doc,
        value,
    }
}

impl Column {
    /// The same column where null can stand.
    pub(super) const fn or_null(self) -> Self {
        Self { null: true, ..self }
    }

    /// The same column under another name.
    pub(super) const fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    fn field(&self) -> Field {
        Field::new(self.name, self.kind.arrow(), self.null)
    }

    /// The type in words, for the data set's card.
    pub(in crate::curate) fn type_name(&self) -> &'static str {
        match self.kind {
            Kind::Text => "text",
            Kind::Json => "JSON",
            Kind::Number => "float64",
            Kind::Whole => "int64",
            Kind::Small => "int32",
            Kind::Flag => "bool",
            Kind::Numbers => "list of float64",
            Kind::Prompt | Kind::Chat => "messages",
            Kind::Struct(_) => "struct",
        }
    }
}

impl<'a> Cell<'a> {
    pub(super) fn text(value: Option<&'a str>) -> Self {
        value.map_or(Self::Null, Self::Text)
    }

    pub(super) fn number(value: Option<f64>) -> Self {
        value.map_or(Self::Null, Self::Number)
    }

    /// A text, borrowed or made.
    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Made(text) => Some(text),
            _ => None,
        }
    }
}

fn text(name: &str) -> Field {
    Field::new(name, DataType::Utf8, true)
}

fn list(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("element", item, true)))
}

/// `{name, arguments}` of a call.
pub(super) fn function_fields() -> Fields {
    vec![text("name"), text("arguments")].into()
}

/// A call as the OpenAI chat form has it.
pub(super) fn call_fields() -> Fields {
    let function = Field::new("function", DataType::Struct(function_fields()), true);
    vec![text("id"), text("type"), function].into()
}

/// A message, with or without its calls.
pub(super) fn message_fields(calls: bool) -> Fields {
    let mut fields = vec![text("role"), text("content")];
    if calls {
        let made = list(DataType::Struct(call_fields()));
        fields.extend([
            text("name"),
            text("tool_call_id"),
            Field::new("tool_calls", made, true),
        ]);
    }
    fields.into()
}

impl Kind {
    fn arrow(self) -> DataType {
        match self {
            Self::Text | Self::Json => DataType::Utf8,
            Self::Number => DataType::Float64,
            Self::Whole => DataType::Int64,
            Self::Small => DataType::Int32,
            Self::Flag => DataType::Boolean,
            Self::Numbers => list(DataType::Float64),
            Self::Prompt => list(DataType::Struct(message_fields(false))),
            Self::Chat => list(DataType::Struct(message_fields(true))),
            Self::Struct(columns) => DataType::Struct(fields(columns)),
        }
    }
}

pub(super) fn fields(columns: &[Column]) -> Fields {
    columns.iter().map(Column::field).collect()
}

/// The one schema of all shards of a format. It carries the footer key as well,
/// because pyarrow looks for it there.
pub(super) fn schema(columns: &[Column]) -> SchemaRef {
    let fields = fields(columns);
    let metadata = [(FEATURES.to_owned(), features(&fields))].into();
    Arc::new(Schema::new(fields).with_metadata(metadata))
}

/// What `datasets` finds in the footer: its own words for the same schema, in
/// the same order. Lists are spelled as every version of it reads them.
pub(super) fn features(fields: &Fields) -> String {
    format!(
        "{{\"info\": {{\"features\": {}}}}}",
        words_of_fields(fields)
    )
}

fn words_of_fields(fields: &Fields) -> String {
    let named = fields.iter();
    let named = named.map(|field| format!("\"{}\": {}", field.name(), words(field.data_type())));
    format!("{{{}}}", named.collect::<Vec<_>>().join(", "))
}

fn words(kind: &DataType) -> String {
    let plain = match kind {
        DataType::Struct(fields) => return words_of_fields(fields),
        DataType::List(item) => return format!("[{}]", words(item.data_type())),
        DataType::Float64 => "float64",
        DataType::Int64 => "int64",
        DataType::Int32 => "int32",
        DataType::Boolean => "bool",
        _ => "string",
    };
    format!("{{\"dtype\": \"{plain}\", \"_type\": \"Value\"}}")
}
