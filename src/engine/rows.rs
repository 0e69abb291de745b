//! The rows of a query as they come, for results that need not fit into memory.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use datafusion::dataframe::DataFrame;
use datafusion::execution::SendableRecordBatchStream;
use futures::StreamExt as _;

use super::error::{EngineError, EngineResult};
use super::session::Engine;

/// A running query.
pub struct Rows {
    schema: SchemaRef,
    stream: SendableRecordBatchStream,
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rows")
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}

impl Rows {
    /// The columns.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The next rows; `None` after the last.
    ///
    /// # Errors
    /// If the query fails while it runs.
    pub async fn next(&mut self) -> EngineResult<Option<RecordBatch>> {
        self.stream
            .next()
            .await
            .transpose()
            .map_err(|e| EngineError::running(&e))
    }
}

impl Engine {
    /// Starts one read-only query.
    ///
    /// # Errors
    /// As [`Engine::plan`], and if it cannot be started.
    pub async fn stream(&self, sql: &str) -> EngineResult<Rows> {
        started(self.plan(sql).await?).await
    }

    /// Starts one of our own queries with parameters ($name).
    ///
    /// # Errors
    /// As [`Engine::stream`].
    pub(crate) async fn stream_with(
        &self,
        sql: &str,
        parameters: &[(&str, ScalarValue)],
    ) -> EngineResult<Rows> {
        started(self.plan_with(sql, parameters).await?).await
    }

    /// Starts one of our own queries with parameters ($name), of whose rows `skip` are passed
    /// over and at most `most` come.
    ///
    /// # Errors
    /// As [`Engine::stream`].
    pub(crate) async fn stream_part(
        &self,
        sql: &str,
        parameters: &[(&str, ScalarValue)],
        skip: usize,
        most: usize,
    ) -> EngineResult<Rows> {
        let frame = self.plan_with(sql, parameters).await?;
        let frame = frame.limit(skip, Some(most));
        started(frame.map_err(|e| EngineError::running(&e))?).await
    }

    /// How many rows one of our own queries has.
    ///
    /// # Errors
    /// As [`Engine::stream`].
    pub(crate) async fn count_with(
        &self,
        sql: &str,
        parameters: &[(&str, ScalarValue)],
    ) -> EngineResult<usize> {
        let frame = self.plan_with(sql, parameters).await?;
        frame.count().await.map_err(|e| EngineError::running(&e))
    }
}

async fn started(frame: DataFrame) -> EngineResult<Rows> {
    let stream = frame
        .execute_stream()
        .await
        .map_err(|e| EngineError::running(&e))?;
    Ok(Rows {
        schema: stream.schema(),
        stream,
    })
}
