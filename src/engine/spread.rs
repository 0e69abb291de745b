//! A row per element of a list, a column per field of its elements.
//!
//! SQL says the same with `unnest` and `call['field']`. With some eighty fields, planning
//! that takes longer than comparing a thousand calls; here the columns are taken as they are.

use std::sync::Arc;

use arrow::array::{Array as _, AsArray as _, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;

use super::error::{EngineError, EngineResult};
use crate::lake::LakeError;

/// The rows with the list column `list` spread out: for each element its fields, behind the
/// other columns of its row. Rows without elements are left out.
///
/// # Errors
/// If there is no such list of structs.
pub(super) fn spread(
    (schema, rows): (SchemaRef, Vec<RecordBatch>),
    list: &str,
) -> EngineResult<(SchemaRef, Vec<RecordBatch>)> {
    let rows: Vec<RecordBatch> = rows
        .iter()
        .map(|batch| spread_batch(batch, list))
        .collect::<EngineResult<_>>()?;
    let schema = match rows.first() {
        Some(batch) => batch.schema(),
        None => spread_batch(&RecordBatch::new_empty(schema), list)?.schema(),
    };
    Ok((schema, rows))
}

fn spread_batch(batch: &RecordBatch, name: &str) -> EngineResult<RecordBatch> {
    let wrong = || EngineError::Run(format!("queries/profile: {name} is no list of structs"));
    let list = batch
        .column_by_name(name)
        .and_then(|column| column.as_list_opt::<i32>())
        .ok_or_else(wrong)?;
    let offsets = list.offsets();
    let (from, to) = match (offsets.first(), offsets.last()) {
        (Some(&from), Some(&to)) if list.null_count() == 0 => (from as usize, to as usize),
        _ => return Err(wrong()),
    };
    let elements = list.values().slice(from, to - from);
    let elements = elements.as_struct_opt().ok_or_else(wrong)?;
    let row = |row: usize| u32::try_from(row).unwrap_or(u32::MAX);
    let of_row: UInt32Array = offsets
        .lengths()
        .enumerate()
        .flat_map(|(at, length)| std::iter::repeat_n(row(at), length))
        .collect();
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    let schema = batch.schema();
    for (field, column) in schema.fields().iter().zip(batch.columns()) {
        if field.name() != name {
            fields.push(Arc::clone(field));
            columns.push(take(column, &of_row, None).map_err(LakeError::from)?);
        }
    }
    for (field, column) in elements.fields().iter().zip(elements.columns()) {
        // A field may be null where its element is.
        fields.push(Arc::new(Field::new(
            field.name(),
            field.data_type().clone(),
            true,
        )));
        columns.push(Arc::clone(column));
    }
    let schema = Arc::new(Schema::new(fields));
    Ok(RecordBatch::try_new(schema, columns).map_err(LakeError::from)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int32Array, ListArray, StringArray, StructArray};
    use arrow::buffer::OffsetBuffer;
    use arrow::datatypes::{DataType, Fields};

    fn rows() -> RecordBatch {
        let fields = Fields::from(vec![Field::new("n", DataType::Int32, true)]);
        let numbers = Arc::new(Int32Array::from(vec![1, 2, 3]));
        let elements = StructArray::new(fields, vec![numbers], None);
        let item = Arc::new(Field::new_list_field(elements.data_type().clone(), true));
        let ends = OffsetBuffer::from_lengths([2, 0, 1]);
        let list = ListArray::new(item, ends, Arc::new(elements), None);
        let names = StringArray::from(vec!["a", "b", "c"]);
        RecordBatch::try_from_iter([
            ("name", Arc::new(names) as Arc<dyn arrow::array::Array>),
            ("calls", Arc::new(list)),
        ])
        .unwrap()
    }

    #[test]
    fn a_row_per_element() {
        let rows = rows();
        // A slice of a batch begins amid the values of its list.
        let batches = vec![rows.slice(0, 1), rows.slice(1, 2)];
        let (schema, found) = spread((rows.schema(), batches), "calls").unwrap();
        let found = arrow::compute::concat_batches(&schema, &found).unwrap();
        let names: Vec<_> = found
            .column(0)
            .as_string::<i32>()
            .iter()
            .flatten()
            .collect();
        assert_eq!(names, ["a", "a", "c"]);
        let numbers = found
            .column(1)
            .as_primitive::<arrow::datatypes::Int32Type>();
        assert_eq!(numbers.values(), &[1, 2, 3]);
        assert_eq!(schema.field(1).name(), "n");
    }

    #[test]
    fn no_rows_have_columns_too() {
        let (schema, found) = spread((rows().schema(), Vec::new()), "calls").unwrap();
        assert_eq!((schema.fields().len(), found.len()), (2, 0));
        assert!(spread((rows().schema(), Vec::new()), "other").is_err());
    }
}
