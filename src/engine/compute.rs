//! One range of trajectories: from runs to gaps and profiles, by the SQL in `queries/profile/`.

use std::sync::Arc;

use arrow::array::AsArray as _;
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;

use super::error::{EngineError, EngineResult};
use super::functions::{Settings, catalog_fields, decision_fields};
use super::range::name_range;
use super::session::Engine;
use super::spread::spread;
use crate::lake::{LakeError, schema};

const DECISIONS: &str = include_str!("../../queries/profile/decisions.sql");
const COMPARED: &str = include_str!("../../queries/profile/compared.sql");
const CALL_GAPS: &str = include_str!("../../queries/profile/call_gaps.sql");
const EVIDENCE: &str = include_str!("../../queries/profile/evidence.sql");
const SURFACES: &str = include_str!("../../queries/profile/surfaces.sql");
const PROFILES: &str = include_str!("../../queries/profile/profiles.sql");

/// The examples of the calls, in lists.
const EXAMPLES: &str = "SELECT environment, trajectory_id, trajectory_key, slot, turn, index, generation, api, evidence FROM gaps";

/// What the queries say of one range.
pub(super) struct Range {
    pub(super) gaps: RecordBatch,
    pub(super) evidence: RecordBatch,
    pub(super) profiles: RecordBatch,
}

impl Range {
    /// Asks them of the pending trajectories, of `total` that a scan of their tables meets.
    pub(super) async fn compute(
        engine: &Engine,
        settings: &Arc<Settings>,
        pending: RecordBatch,
        total: u64,
        generation: i64,
    ) -> EngineResult<Self> {
        // A session of its own, because the ranges name their rows alike.
        let engine = engine.fork(settings).await?;
        let offered = any(&pending, "offered");
        name_range(&engine, pending, total).await?;
        name_offered(&engine, offered).await?;
        let parameters = [("generation", ScalarValue::Int64(Some(generation)))];
        let (schema, rows) = spread(engine.query(COMPARED).await?, "calls")?;
        engine.name_rows("compared", &schema, rows)?;
        let (schema, rows) = engine.query_with(CALL_GAPS, &parameters).await?;
        engine.name_rows("gaps", &schema, rows.clone())?;
        let (examples, found) = spread(engine.query(EXAMPLES).await?, "evidence")?;
        engine.name_rows("examples", &examples, found)?;
        let evidence = conform("evidence", engine.query(EVIDENCE).await?)?;
        let profiles = conform("profiles", engine.query_with(PROFILES, &parameters).await?)?;
        Ok(Self {
            gaps: conform("call_gaps", (schema, rows))?,
            evidence,
            profiles,
        })
    }

    /// Calls that both arms have.
    pub(super) fn pairs(&self) -> u64 {
        let side = self.gaps.column_by_name("side");
        side.map_or(0, |side| {
            let side = side.as_string::<i32>().iter();
            side.filter(|side| *side == Some("both")).count() as u64
        })
    }
}

/// Names the rows `decisions` and `surfaces`. Payloads are read for them, and queries planned,
/// only if `offered` says that a trajectory of the range was offered tools on both arms.
async fn name_offered(engine: &Engine, offered: bool) -> EngineResult<()> {
    let parts = [
        ("decisions", "decision", DECISIONS, decision_fields()),
        ("surfaces", "surface", SURFACES, catalog_fields()),
    ];
    for (name, column, sql, fields) in parts {
        let (schema, rows) = match offered {
            true => engine.query(sql).await?,
            false => {
                let key = Field::new("trajectory_key", DataType::Int64, false);
                let told = Field::new(column, DataType::Struct(fields), true);
                (Arc::new(Schema::new(vec![key, told])), Vec::new())
            }
        };
        engine.name_rows(name, &schema, rows)?;
    }
    Ok(())
}

/// Whether a flag is set in any row.
fn any(rows: &RecordBatch, flag: &str) -> bool {
    let flags = rows.column_by_name(flag).and_then(|c| c.as_boolean_opt());
    flags.is_some_and(|flags| flags.iter().flatten().any(|set| set))
}

/// Gives query results the exact columns of a table.
pub(super) fn conform(
    table: &str,
    (schema, rows): (SchemaRef, Vec<RecordBatch>),
) -> EngineResult<RecordBatch> {
    let rows = concat_batches(&schema, &rows).map_err(LakeError::from)?;
    let wanted = schema::table(table)
        .map(schema::TableSchema::arrow)
        .ok_or_else(|| EngineError::Run(format!("there is no table {table}")))?;
    let mut columns = Vec::with_capacity(wanted.fields().len());
    for field in wanted.fields() {
        let column = rows.column_by_name(field.name()).ok_or_else(|| {
            EngineError::Run(format!(
                "queries/profile: no column {} for table {table}",
                field.name()
            ))
        })?;
        columns.push(cast(column, field.data_type()).map_err(LakeError::from)?);
    }
    Ok(RecordBatch::try_new(wanted, columns).map_err(LakeError::from)?)
}
