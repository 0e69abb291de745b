//! Rows of queries, as a stream of batches with columns of known types.

use arrow::array::{Array as _, AsArray as _, Float64Array, Int32Array, Int64Array, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int32Type, Int64Type};
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::prelude::SessionContext;
use futures::StreamExt as _;

use super::error::{CurateError, CurateResult};
use crate::engine::Engine;
pub(super) use crate::engine::columns::quoted;

/// Runs a query and hands out its batches as they come.
pub(super) async fn stream(engine: &Engine, sql: &str) -> CurateResult<Batches> {
    let frame = engine.plan(sql).await?;
    let stream = frame.execute_stream().await;
    Ok(Batches(stream.map_err(|e| CurateError::run(&e))?))
}

/// As [`stream`], in a session of our own.
pub(super) async fn stream_in(context: &SessionContext, sql: &str) -> CurateResult<Batches> {
    let frame = context.sql(sql).await.map_err(|e| CurateError::run(&e))?;
    let stream = frame.execute_stream().await;
    Ok(Batches(stream.map_err(|e| CurateError::run(&e))?))
}

/// Batches of a query.
pub(super) struct Batches(SendableRecordBatchStream);

impl Batches {
    /// The next batch with rows.
    pub(super) async fn next(&mut self) -> CurateResult<Option<RecordBatch>> {
        while let Some(batch) = self.0.next().await {
            let batch = batch.map_err(|e| CurateError::run(&e))?;
            if batch.num_rows() > 0 {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }
}

fn column(
    batch: &RecordBatch,
    name: &str,
    kind: &DataType,
) -> CurateResult<arrow::array::ArrayRef> {
    let column = batch
        .column_by_name(name)
        .ok_or_else(|| ArrowError::SchemaError(format!("no column {name}")))?;
    Ok(cast(column, kind)?)
}

/// A column of texts.
pub(super) fn texts(batch: &RecordBatch, name: &str) -> CurateResult<StringArray> {
    Ok(column(batch, name, &DataType::Utf8)?.as_string().clone())
}

/// A column of numbers.
pub(super) fn floats(batch: &RecordBatch, name: &str) -> CurateResult<Float64Array> {
    Ok(column(batch, name, &DataType::Float64)?
        .as_primitive::<Float64Type>()
        .clone())
}

/// A column of whole numbers.
pub(super) fn ints(batch: &RecordBatch, name: &str) -> CurateResult<Int32Array> {
    Ok(column(batch, name, &DataType::Int32)?
        .as_primitive::<Int32Type>()
        .clone())
}

/// A column of long whole numbers.
pub(super) fn longs(batch: &RecordBatch, name: &str) -> CurateResult<Int64Array> {
    Ok(column(batch, name, &DataType::Int64)?
        .as_primitive::<Int64Type>()
        .clone())
}

/// A value that may be null.
pub(super) fn text(array: &StringArray, row: usize) -> Option<String> {
    array.is_valid(row).then(|| array.value(row).to_owned())
}

/// A value that may be null; what is no number counts as null.
pub(super) fn float(array: &Float64Array, row: usize) -> Option<f64> {
    (array.is_valid(row) && !array.value(row).is_nan()).then(|| array.value(row))
}

/// One number of a query of one row, 0 if there is none.
pub(super) async fn count(engine: &Engine, sql: &str) -> CurateResult<u64> {
    let mut batches = stream(engine, sql).await?;
    let Some(batch) = batches.next().await? else {
        return Ok(0);
    };
    let name = batch.schema().field(0).name().clone();
    let column = longs(&batch, &name)?;
    Ok(u64::try_from(column.value(0)).unwrap_or_default())
}
