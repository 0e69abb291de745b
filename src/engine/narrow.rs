//! A session over the trajectories that got runs since an earlier lake version.

use std::sync::Arc;

use arrow::array::AsArray as _;
use arrow::datatypes::Int64Type;
use arrow::record_batch::RecordBatch;
use futures::future::join_all;

use super::error::EngineResult;
use super::session::Engine;
use crate::lake::{At, Lake, LakeVersion, Pinned};

/// The tables that queries over ranges of trajectories read.
const READ: [&str; 4] = ["calls", "observations", "runs", "verdicts"];

/// From this share of the trajectories on, looking at all of them is no slower.
const MANY: f64 = 0.5;

/// More keys are not written into a query.
const KEYS: u64 = 20_000;

/// A session over some trajectories.
pub(super) struct Narrow {
    /// Holds all their rows.
    pub(super) engine: Engine,
    /// How many trajectories a scan of its tables meets.
    pub(super) met: u64,
    /// Whether none of them can have a profile.
    pub(super) fresh: bool,
}

impl Narrow {
    fn fresh(engine: Engine, met: u64) -> Self {
        Self {
            engine,
            met,
            fresh: true,
        }
    }
}

/// A session over the trajectories that got runs since `then`. `None` if these are not
/// known, or too many.
pub(super) async fn narrow(
    lake: &Lake,
    engine: &Engine,
    then: &LakeVersion,
) -> EngineResult<Option<Narrow>> {
    let pinned = lake.pin(&At::Version(engine.version().version))?;
    let now = engine.table("runs");
    let Some(added) = pinned.added_since("runs", now, then).await? else {
        return Ok(None);
    };
    let all = engine.held("trajectories")?.rows;
    let narrow = engine.fork(&Arc::default()).await?;
    narrow.also("runs", "all_runs").await?;
    narrow.only_files("runs", added).await?;
    let sql = "SELECT count(DISTINCT trajectory_key) AS keys, count(*) AS runs FROM runs";
    let rows = narrow.query(sql).await?.1;
    let number = |column: usize| {
        let number = |rows: &RecordBatch| rows.column(column).as_primitive::<Int64Type>().value(0);
        u64::try_from(rows.first().map_or(0, number)).unwrap_or_default()
    };
    let (changed, here) = (number(0), number(1));
    if changed == 0 {
        // Nothing is read then.
        let nothing = only_new(&pinned, &narrow, then).await?;
        return Ok(nothing.then_some(Narrow::fresh(narrow, 0)));
    }
    if changed as f64 > MANY * all as f64 {
        return Ok(None);
    }
    let everywhere =
        "SELECT count(*) FROM all_runs WHERE trajectory_key IN (SELECT trajectory_key FROM runs)";
    // If all their runs came since, so did everything else of them.
    if narrow.count(everywhere).await? == here && only_new(&pinned, &narrow, then).await? {
        return Ok(Some(Narrow::fresh(narrow, changed)));
    }
    if changed > KEYS {
        return Ok(None);
    }
    let sql = "SELECT DISTINCT trajectory_key FROM runs ORDER BY trajectory_key";
    // Literals, as a join would have to be planned before the query that reads it.
    let keys: Vec<String> = narrow
        .query(sql)
        .await?
        .1
        .iter()
        .flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values())
        .map(i64::to_string)
        .collect();
    let among = format!("trajectory_key IN ({})", keys.join(", "));
    for table in READ.iter().chain(&["profiles"]) {
        let sql = format!("SELECT * FROM {table} WHERE {among}");
        let rows = engine.plan(&sql).await?.into_view();
        narrow.replace(table, rows)?;
    }
    Ok(Some(Narrow {
        engine: narrow,
        met: all,
        fresh: false,
    }))
}

/// Leaves only files added since `then`; false if they are not known.
async fn only_new(pinned: &Pinned<'_>, narrow: &Engine, then: &LakeVersion) -> EngineResult<bool> {
    let tables = READ.iter().filter(|table| **table != "runs");
    let added = tables.map(async |table| {
        let added = pinned.added_since(table, narrow.table(table), then).await;
        added.map(|added| (table, added))
    });
    // All of them to the end, also if one fails: see `lake::delta::load_all`.
    for added in join_all(added).await {
        let (table, Some(added)) = added? else {
            return Ok(false);
        };
        narrow.only_files(table, added).await?;
    }
    narrow.only_files("profiles", None).await?;
    Ok(true)
}
