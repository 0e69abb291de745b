//! Rows of queries as columns of Rust values, and texts as SQL.

use arrow::array::{
    Array as _, ArrayRef, AsArray as _, BooleanArray, Float64Array, Int64Array, StringArray,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use arrow::record_batch::RecordBatch;

use super::error::EngineError;

/// A batch whose columns are asked for by name, whatever they are stored as.
pub(crate) struct Columns<'b>(pub(crate) &'b RecordBatch);

impl Columns<'_> {
    fn cast(&self, name: &str, to: &DataType) -> Result<ArrayRef, EngineError> {
        let found = self.0.column_by_name(name);
        let found =
            found.ok_or_else(|| EngineError::Run(format!("a query gives no column {name}")))?;
        cast(found, to).map_err(|e| EngineError::Run(e.to_string()))
    }

    pub(crate) fn texts(&self, name: &str) -> Result<StringArray, EngineError> {
        Ok(self.cast(name, &DataType::Utf8)?.as_string::<i32>().clone())
    }

    pub(crate) fn numbers(&self, name: &str) -> Result<Float64Array, EngineError> {
        let column = self.cast(name, &DataType::Float64)?;
        Ok(column.as_primitive::<Float64Type>().clone())
    }

    pub(crate) fn integers(&self, name: &str) -> Result<Int64Array, EngineError> {
        let column = self.cast(name, &DataType::Int64)?;
        Ok(column.as_primitive::<Int64Type>().clone())
    }

    pub(crate) fn flags(&self, name: &str) -> Result<BooleanArray, EngineError> {
        Ok(self.cast(name, &DataType::Boolean)?.as_boolean().clone())
    }
}

pub(crate) fn text(column: &StringArray, row: usize) -> Option<String> {
    column.is_valid(row).then(|| column.value(row).to_owned())
}

pub(crate) fn integer(column: &Int64Array, row: usize) -> Option<i64> {
    column.is_valid(row).then(|| column.value(row))
}

pub(crate) fn number(column: &Float64Array, row: usize) -> Option<f64> {
    column.is_valid(row).then(|| column.value(row))
}

/// The values of a text column, in order.
pub(crate) fn listed(batches: &[RecordBatch], name: &str) -> Result<Vec<String>, EngineError> {
    let mut out = Vec::new();
    for batch in batches {
        let column = Columns(batch).texts(name)?;
        out.extend((0..column.len()).filter_map(|row| text(&column, row)));
    }
    Ok(out)
}

/// A text as SQL reads it, whatever it contains.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
