//! What a lake knows beside its rows, read for a profile run.

use std::sync::Arc;

use arrow::array::{Array as _, AsArray as _};
use arrow::datatypes::Int64Type;
use arrow::record_batch::RecordBatch;

use super::error::EngineResult;
use super::functions::Settings;
use super::session::Engine;
use crate::lake::LakeError;

/// Reads it. The examples of trajectories that are computed again do not count.
pub(super) async fn read(engine: &Engine, pending: &RecordBatch) -> EngineResult<Arc<Settings>> {
    let mut settings = Settings::default();
    engine.name_rows("pending_range", &pending.schema(), vec![pending.clone()])?;
    let sql = "SELECT e.environment, e.api, e.path_id, count(*) AS examples FROM evidence_now AS e
               LEFT ANTI JOIN pending_range AS p
                 ON p.environment = e.environment AND p.trajectory_id = e.trajectory_id
               GROUP BY e.environment, e.api, e.path_id";
    for batch in engine.query(sql).await?.1 {
        let text = |column: usize| -> EngineResult<_> {
            let texts =
                arrow::compute::cast(batch.column(column), &arrow::datatypes::DataType::Utf8);
            Ok(texts.map_err(LakeError::from)?.as_string::<i32>().clone())
        };
        let (environments, apis) = (text(0)?, text(1)?);
        let number = |column: usize| batch.column(column).as_primitive::<Int64Type>();
        for row in 0..batch.num_rows() {
            let api = if apis.is_valid(row) {
                apis.value(row)
            } else {
                ""
            };
            let of_api = settings
                .samples
                .entry(environments.value(row).to_owned())
                .or_default()
                .entry(api.to_owned())
                .or_default();
            let examples = u32::try_from(number(3).value(row)).unwrap_or(u32::MAX);
            of_api.insert(number(2).value(row), examples);
        }
    }
    Ok(Arc::new(settings))
}
