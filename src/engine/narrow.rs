//! A session over the trajectories that got runs since an earlier lake version.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;

use super::error::EngineResult;
use super::session::Engine;
use crate::lake::{At, Lake, LakeVersion, Pinned};

/// The tables that queries over ranges of trajectories read.
const READ: [&str; 4] = ["calls", "observations", "runs", "verdicts"];

/// From this share of the trajectories on, looking at all of them is no slower.
const MANY: f64 = 0.5;

/// A session that holds all rows of the trajectories that got runs since `then`, and
/// how many trajectories a scan of its tables meets. `None` if these are not known,
/// or too many.
pub(super) async fn narrow(
    lake: &Lake,
    engine: &Engine,
    then: &LakeVersion,
) -> EngineResult<Option<(Engine, u64)>> {
    let pinned = lake.pin(&At::Version(engine.version().version))?;
    let Some(files) = pinned.added_since("runs", then).await? else {
        return Ok(None);
    };
    let narrow = engine.fork(&Arc::default()).await?;
    let all = engine.count("SELECT count(*) FROM trajectories").await?;
    narrow.only_files(&pinned, "runs", files).await?;
    let sql = "SELECT DISTINCT trajectory_key FROM runs ORDER BY trajectory_key";
    let (schema, keys) = narrow.query(sql).await?;
    let changed: usize = keys.iter().map(RecordBatch::num_rows).sum();
    if changed as f64 > MANY * all as f64 {
        return Ok(None);
    }
    let here = narrow.count("SELECT count(*) FROM runs").await?;
    for session in [engine, &narrow] {
        session.name_rows("changed", &schema, keys.clone())?;
    }
    let everywhere = "SELECT count(*) FROM runs LEFT SEMI JOIN changed ON changed.trajectory_key = runs.trajectory_key";
    if engine.count(everywhere).await? == here {
        // All their runs came since: so did everything else of them.
        if let Some(met) = only_new(&pinned, &narrow, then, changed as u64).await? {
            return Ok(Some((narrow, met)));
        }
    }
    for table in READ.iter().chain(&["profiles"]) {
        let sql = format!(
            "SELECT t.* FROM {table} AS t LEFT SEMI JOIN changed ON changed.trajectory_key = t.trajectory_key"
        );
        let rows = engine.plan(&sql).await?.into_view();
        narrow.replace(table, Arc::new(Apart(rows)))?;
    }
    Ok(Some((narrow, all)))
}

/// Leaves only files added since `then`; `None` if they are not known.
async fn only_new(
    pinned: &Pinned<'_>,
    narrow: &Engine,
    then: &LakeVersion,
    met: u64,
) -> EngineResult<Option<u64>> {
    for table in READ.iter().filter(|table| **table != "runs") {
        let Some(files) = pinned.added_since(table, then).await? else {
            return Ok(None);
        };
        narrow.only_files(pinned, table, files).await?;
    }
    narrow.only_files(pinned, "profiles", Vec::new()).await?;
    Ok(Some(met))
}

/// A view that is planned for itself. DataFusion writes other views into the query that
/// reads them, and then gives common expressions of both the same name.
#[derive(Debug)]
struct Apart(Arc<dyn TableProvider>);

#[async_trait]
impl TableProvider for Apart {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    fn table_type(&self) -> TableType {
        self.0.table_type()
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        self.0.supports_filters_pushdown(filters)
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.0.scan(state, projection, filters, limit).await
    }
}
