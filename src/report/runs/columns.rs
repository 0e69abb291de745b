//! Columns of a batch as texts: JSON spells numbers and booleans as they do.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array as _, AsArray as _, Int32Array, ListArray, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int32Type};
use arrow::error::ArrowError;

/// The rows of a batch.
pub(super) struct Columns {
    texts: HashMap<String, StringArray>,
    lists: HashMap<String, ListArray>,
}

impl Columns {
    pub(super) fn of(batch: &RecordBatch) -> Result<Self, ArrowError> {
        let mut columns = Self {
            texts: HashMap::new(),
            lists: HashMap::new(),
        };
        for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
            let name = field.name().clone();
            if let DataType::List(_) = column.data_type() {
                columns.lists.insert(name, column.as_list().clone());
            } else {
                let column = cast(column, &DataType::Utf8)?;
                columns.texts.insert(name, column.as_string().clone());
            }
        }
        Ok(columns)
    }

    pub(super) fn row(self: &Arc<Self>, row: usize) -> Row {
        Row {
            columns: Arc::clone(self),
            row,
        }
    }
}

/// One row.
#[derive(Clone)]
pub(super) struct Row {
    columns: Arc<Columns>,
    row: usize,
}

impl Row {
    /// A value that is not null. A column that is not there has none.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let column = self.columns.texts.get(name)?;
        column.is_valid(self.row).then(|| column.value(self.row))
    }

    /// Places of calls, as (turn, index).
    pub(super) fn places(&self, name: &str) -> Vec<(i32, i32)> {
        let list = self.columns.lists.get(name);
        let Some(list) = list.filter(|list| list.is_valid(self.row)) else {
            return Vec::new();
        };
        let places = list.value(self.row);
        let Some(places) = places.as_struct_opt() else {
            return Vec::new();
        };
        let numbers = |name: &str| -> Option<Int32Array> {
            let column = places.column_by_name(name)?;
            Some(column.as_primitive_opt::<Int32Type>()?.clone())
        };
        match (numbers("turn"), numbers("index")) {
            (Some(turns), Some(indexes)) => (0..places.len())
                .map(|at| (turns.value(at), indexes.value(at)))
                .collect(),
            _ => Vec::new(),
        }
    }
}
