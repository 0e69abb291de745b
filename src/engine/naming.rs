//! What stands under which name in a session.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;
use datafusion::datasource::empty::EmptyTable;

use super::error::{EngineError, EngineResult};
use super::session::Engine;
use crate::lake::{Added, LakeError};

impl Engine {
    /// Names a query, so that others can read from it, instead of what had the name before.
    ///
    /// # Errors
    /// If the query cannot be planned.
    pub async fn view(&self, name: &str, sql: &str) -> EngineResult<()> {
        let frame = self.plan(sql).await?;
        self.replace(name, frame.into_view())
    }

    /// Puts another provider in the place of a table.
    pub(super) fn replace(&self, name: &str, provider: Arc<dyn TableProvider>) -> EngineResult<()> {
        let fail = |e: datafusion::error::DataFusionError| EngineError::running(&e);
        self.context().deregister_table(name).map_err(fail)?;
        let registered = self.context().register_table(name, provider);
        registered.map(|_| ()).map_err(fail)
    }

    /// Gives a table a second name.
    pub(super) async fn also(&self, table: &str, name: &str) -> EngineResult<()> {
        let found = self.context().table_provider(table).await;
        self.replace(name, found.map_err(|e| EngineError::running(&e))?)
    }

    /// Leaves only these files of a table.
    pub(super) async fn only_files(&self, table: &str, files: Option<Added>) -> EngineResult<()> {
        let Some(Added {
            table: delta,
            files,
        }) = files
        else {
            let all = self.context().table_provider(table).await;
            let schema = all.map_err(|e| EngineError::running(&e))?.schema();
            return self.replace(table, Arc::new(EmptyTable::new(schema)));
        };
        // Paths on the disk, asked for as URLs: the names of environments hold `%20` there.
        let urls = files.iter().map(|file| file.replace('%', "%25"));
        let provider = delta.table_provider().with_file_paths(urls).await;
        let provider = provider.map_err(|e| LakeError::Delta {
            table: table.to_owned(),
            message: e.to_string(),
        })?;
        self.replace(table, provider)
    }

    /// Names rows that are at hand, instead of what had the name before.
    ///
    /// # Errors
    /// If the rows do not have the schema.
    pub(crate) fn name_rows(
        &self,
        name: &str,
        schema: &SchemaRef,
        batches: Vec<RecordBatch>,
    ) -> EngineResult<()> {
        let rows = MemTable::try_new(Arc::clone(schema), vec![batches])
            .map_err(|e| EngineError::running(&e))?;
        self.replace(name, Arc::new(rows))
    }
}
