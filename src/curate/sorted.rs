//! A session whose rows come sorted: many payloads, little memory.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::SessionContext;

use super::error::{CurateError, CurateResult};
use crate::engine::Engine;

/// Rows of a batch: each may hold a whole answer, and sorting holds many.
const BATCH_ROWS: usize = 512;

/// Memory for sorting; what does not fit goes to disk.
const SORT_BYTES: usize = 256 << 20;

/// A session over the same state of the lake in which `list` is the table `name`.
pub(super) fn sorted(
    engine: &Engine,
    name: &str,
    list: RecordBatch,
) -> CurateResult<SessionContext> {
    let fail = |e: datafusion::error::DataFusionError| CurateError::run(&e);
    let state = engine.context().state();
    // A new default catalog would hide the lake's tables.
    let config = state
        .config()
        .clone()
        .with_create_default_catalog_and_schema(false)
        // Merging sorted partitions needs memory that cannot go to disk.
        .with_target_partitions(1)
        .with_batch_size(BATCH_ROWS);
    let runtime = RuntimeEnvBuilder::from_runtime_env(state.runtime_env())
        .with_memory_pool(Arc::new(FairSpillPool::new(SORT_BYTES)))
        .build_arc()
        .map_err(fail)?;
    let state = SessionStateBuilder::new_from_existing(state)
        .with_config(config)
        .with_runtime_env(runtime)
        .build();
    let context = SessionContext::new_with_state(state);
    // The catalog is shared by all sessions: the list of an earlier rule stands there still.
    context.deregister_table(name).map_err(fail)?;
    context.register_batch(name, list).map_err(fail)?;
    Ok(context)
}
