//! Rows of a table, appended value by value in the order of its schema.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanBuilder, Float64Builder, Int32Builder, Int64Builder, ListBuilder,
    StringBuilder, StructBuilder, TimestampMicrosecondBuilder,
};
use arrow::datatypes::{DataType, Field, Fields, SchemaRef};
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;

use super::schema;

enum Column {
    Text(StringBuilder),
    Int32(Int32Builder),
    Int64(Int64Builder),
    Float64(Float64Builder),
    Boolean(BooleanBuilder),
    Time(TimestampMicrosecondBuilder),
    Texts(ListBuilder<StringBuilder>),
    Places(ListBuilder<StructBuilder>),
}

/// A table under construction. A value of the wrong type is a fault of this
/// program; it is remembered and reported when the rows are finished.
pub(crate) struct Table {
    schema: SchemaRef,
    columns: Vec<Column>,
    /// Column that gets the next value.
    next: usize,
    rows: usize,
    fault: Option<String>,
}

impl Table {
    /// Rows of a table of the lake.
    pub(crate) fn new(name: &str) -> Self {
        let schema = schema::table(name).map_or_else(
            || Arc::new(arrow::datatypes::Schema::empty()),
            |t| t.arrow(),
        );
        Self::of(schema)
    }

    /// Rows of any flat schema.
    pub(crate) fn of(schema: SchemaRef) -> Self {
        let columns = schema.fields().iter().map(|field| column(field)).collect();
        Self {
            schema,
            columns,
            next: 0,
            rows: 0,
            fault: None,
        }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    fn column(&mut self) -> Option<&mut Column> {
        let at = self.next;
        self.next += 1;
        self.columns.get_mut(at)
    }

    fn wrong(&mut self) {
        let field = self
            .schema
            .fields()
            .get(self.next - 1)
            .map(|f| f.name().clone());
        self.fault
            .get_or_insert_with(|| format!("a wrong value for column {field:?}"));
    }

    pub(crate) fn text(&mut self, value: &str) -> &mut Self {
        self.opt_text(Some(value))
    }

    pub(crate) fn opt_text(&mut self, value: Option<&str>) -> &mut Self {
        match self.column() {
            Some(Column::Text(builder)) => builder.append_option(value),
            _ => self.wrong(),
        }
        self
    }

    pub(crate) fn int32(&mut self, value: Option<i32>) -> &mut Self {
        match self.column() {
            Some(Column::Int32(builder)) => builder.append_option(value),
            _ => self.wrong(),
        }
        self
    }

    pub(crate) fn int64(&mut self, value: i64) -> &mut Self {
        match self.column() {
            Some(Column::Int64(builder)) => builder.append_value(value),
            _ => self.wrong(),
        }
        self
    }

    pub(crate) fn float64(&mut self, value: Option<f64>) -> &mut Self {
        match self.column() {
            Some(Column::Float64(builder)) => builder.append_option(value),
            _ => self.wrong(),
        }
        self
    }

    pub(crate) fn boolean(&mut self, value: Option<bool>) -> &mut Self {
        match self.column() {
            Some(Column::Boolean(builder)) => builder.append_option(value),
            _ => self.wrong(),
        }
        self
    }

    /// Microseconds since 1970 UTC.
    pub(crate) fn time(&mut self, value: Option<i64>) -> &mut Self {
        match self.column() {
            Some(Column::Time(builder)) => builder.append_option(value),
            _ => self.wrong(),
        }
        self
    }

    pub(crate) fn texts<'a>(&mut self, values: impl Iterator<Item = &'a str>) -> &mut Self {
        match self.column() {
            Some(Column::Texts(builder)) => {
                for value in values {
                    builder.values().append_value(value);
                }
                builder.append(true);
            }
            _ => self.wrong(),
        }
        self
    }

    /// (turn, index) pairs; an empty list is null.
    pub(crate) fn places(&mut self, values: &[(i32, i32)]) -> &mut Self {
        match self.column() {
            Some(Column::Places(builder)) => {
                for (turn, index) in values {
                    let place = builder.values();
                    for (field, value) in [turn, index].into_iter().enumerate() {
                        if let Some(builder) = place.field_builder::<Int32Builder>(field) {
                            builder.append_value(*value);
                        }
                    }
                    place.append(true);
                }
                builder.append(!values.is_empty());
            }
            _ => self.wrong(),
        }
        self
    }

    pub(crate) fn end_row(&mut self) {
        if self.next != self.columns.len() {
            let (got, wanted) = (self.next, self.columns.len());
            self.fault
                .get_or_insert_with(|| format!("a row of {got} values for {wanted} columns"));
        }
        self.next = 0;
        self.rows += 1;
    }

    pub(crate) fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        if let Some(fault) = self.fault.take() {
            return Err(ArrowError::SchemaError(fault));
        }
        self.rows = 0;
        let arrays = self.columns.iter_mut().map(finish).collect();
        RecordBatch::try_new(Arc::clone(&self.schema), arrays)
    }
}

fn column(field: &Field) -> Column {
    match field.data_type() {
        DataType::Int32 => Column::Int32(Int32Builder::new()),
        DataType::Int64 => Column::Int64(Int64Builder::new()),
        DataType::Float64 => Column::Float64(Float64Builder::new()),
        DataType::Boolean => Column::Boolean(BooleanBuilder::new()),
        DataType::Timestamp(_, _) => {
            Column::Time(TimestampMicrosecondBuilder::new().with_timezone("UTC"))
        }
        DataType::List(item) => match item.data_type() {
            DataType::Struct(fields) => Column::Places(places(item, fields)),
            _ => Column::Texts(ListBuilder::new(StringBuilder::new()).with_field(Arc::clone(item))),
        },
        _ => Column::Text(StringBuilder::new()),
    }
}

fn places(item: &Arc<Field>, fields: &Fields) -> ListBuilder<StructBuilder> {
    ListBuilder::new(StructBuilder::from_fields(fields.clone(), 0)).with_field(Arc::clone(item))
}

fn finish(column: &mut Column) -> ArrayRef {
    match column {
        Column::Text(b) => Arc::new(b.finish()),
        Column::Int32(b) => Arc::new(b.finish()),
        Column::Int64(b) => Arc::new(b.finish()),
        Column::Float64(b) => Arc::new(b.finish()),
        Column::Boolean(b) => Arc::new(b.finish()),
        Column::Time(b) => Arc::new(b.finish()),
        Column::Texts(b) => Arc::new(b.finish()),
        Column::Places(b) => Arc::new(b.finish()),
    }
}
