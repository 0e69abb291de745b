//! What the lake holds already: runs with their content, trajectories, catalogs,
//! environments. By hash, so that ten million runs fit in a few hundred MB.

use std::collections::{BTreeSet, HashMap, HashSet};

use arrow::array::AsArray as _;
use arrow::record_batch::RecordBatch;
use datafusion::prelude::SessionContext;
use fidelake_core::json::key::{Key, trajectory_key};

use crate::lake::{LakeError, LakeResult, Pinned};

/// So many environments may stand in one lake: each is a folder in every table.
pub(super) const MAX_ENVIRONMENTS: usize = 200;

/// What is known, from the lake and from the records before.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Content by run.
    pub(super) runs: HashMap<u128, u64>,
    /// (environment, trajectory) by hash.
    pub(super) trajectories: HashSet<i64>,
    pub(super) catalogs: HashSet<u128>,
    pub(super) environments: BTreeSet<String>,
    pub(super) imports: HashMap<String, Counts>,
}

/// Counts of an import that is in the lake.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) records: u64,
    pub(super) rejected: u64,
}

impl Known {
    /// Reads the keys of a lake version.
    pub(super) async fn read(pinned: &Pinned<'_>) -> LakeResult<Self> {
        let mut known = Self::default();
        for batch in columns(pinned, "runs", "run_id, content_hash").await? {
            let hashes = batch.column(1).as_string_view();
            for (run, hash) in batch.column(0).as_string_view().iter().zip(hashes) {
                if let (Some(run), Some(hash)) =
                    (run.and_then(Key::parse), hash.and_then(Key::parse))
                {
                    known.runs.insert(run.bits(), short(hash));
                }
            }
        }
        for batch in columns(
            pinned,
            "trajectories",
            "cast(environment AS varchar), trajectory_id",
        )
        .await?
        {
            let ids = text(&batch, 1)?;
            for (environment, id) in text(&batch, 0)?.iter().zip(&ids) {
                known.trajectories.insert(trajectory_key(environment, id));
                known.environments.insert(environment.clone());
            }
        }
        for batch in columns(pinned, "catalogs", "catalog_hash").await? {
            let hashes = text(&batch, 0)?;
            known
                .catalogs
                .extend(hashes.iter().filter_map(|h| Key::parse(h)).map(Key::bits));
        }
        for batch in columns(pinned, "imports", "import_id, records, rejected").await? {
            let count = |column: usize, row: usize| {
                let values = batch
                    .column(column)
                    .as_primitive::<arrow::datatypes::Int64Type>();
                u64::try_from(values.value(row)).unwrap_or_default()
            };
            for (row, id) in text(&batch, 0)?.into_iter().enumerate() {
                known.imports.insert(
                    id,
                    Counts {
                        records: count(1, row),
                        rejected: count(2, row),
                    },
                );
            }
        }
        Ok(known)
    }
}

/// Enough of a content hash to tell the contents of one run apart.
pub(super) const fn short(hash: Key) -> u64 {
    (hash.bits() >> 64) as u64
}

fn text(batch: &RecordBatch, column: usize) -> LakeResult<Vec<String>> {
    let array = arrow::compute::cast(batch.column(column), &arrow::datatypes::DataType::Utf8)?;
    Ok(array
        .as_string::<i32>()
        .iter()
        .map(|v| v.unwrap_or_default().to_owned())
        .collect())
}

async fn columns(pinned: &Pinned<'_>, name: &str, columns: &str) -> LakeResult<Vec<RecordBatch>> {
    let Some(table) = pinned.table(name).await? else {
        return Ok(Vec::new());
    };
    let context = SessionContext::new();
    let run = async {
        table.update_datafusion_session(&context.state())?;
        context.register_table(name, table.table_provider().await?)?;
        let rows = context
            .sql(&format!("SELECT {columns} FROM {name}"))
            .await?
            .collect()
            .await?;
        Ok::<_, deltalake::DeltaTableError>(rows)
    };
    run.await.map_err(|e| LakeError::Delta {
        table: name.to_owned(),
        message: crate::lake::without_backtrace(&e.to_string()),
    })
}
