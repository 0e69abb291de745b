//! Opening a lake for questions.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use datafusion::catalog::{
    CatalogProvider as _, CatalogProviderList as _, MemoryCatalogProvider,
    MemoryCatalogProviderList, MemorySchemaProvider, SchemaProvider as _,
};
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::prelude::{SessionConfig, SessionContext};
use deltalake::DeltaTable;

use fidelake_core::gap::PathRules;

use super::error::{EngineError, EngineResult};
use super::functions::{Settings, register_all, register_with};
use super::settings;
use crate::lake::{At, Lake, LakeError, LakeVersion, schema};

/// Memory that operators may use before they spill.
const MEMORY_BYTES: usize = 1536 << 20;

/// Views over the tables, in the order in which they build on each other.
const VIEWS: &[(&str, &str)] = &[
    (
        "call_gaps_now",
        include_str!("../../queries/views/call_gaps_now.sql"),
    ),
    (
        "profiles_now",
        include_str!("../../queries/views/profiles_now.sql"),
    ),
    (
        "learned_noise_now",
        include_str!("../../queries/views/learned_noise_now.sql"),
    ),
    (
        "volatile_paths_now",
        include_str!("../../queries/views/volatile_paths_now.sql"),
    ),
    (
        "term_weights_now",
        include_str!("../../queries/views/term_weights_now.sql"),
    ),
    (
        "evidence_now",
        include_str!("../../queries/views/evidence_now.sql"),
    ),
    (
        "pattern_features",
        include_str!("../../queries/views/pattern_features.sql"),
    ),
    (
        "patterns_now",
        include_str!("../../queries/views/patterns_now.sql"),
    ),
    (
        "pattern_members_now",
        include_str!("../../queries/views/pattern_members_now.sql"),
    ),
];

/// A session over one state of a lake.
#[derive(Clone)]
pub struct Engine {
    context: SessionContext,
    version: LakeVersion,
    /// The tables of this version, as they were loaded.
    tables: Arc<BTreeMap<String, DeltaTable>>,
    /// Where the lake is: its rules stand beside its tables.
    lake: PathBuf,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("version", &self.version.version)
            .finish_non_exhaustive()
    }
}

/// A session with our functions and without tables.
#[must_use]
pub fn bare_context() -> SessionContext {
    let config = SessionConfig::new()
        .with_information_schema(true)
        .with_target_partitions(std::thread::available_parallelism().map_or(2, usize::from))
        .set_usize("datafusion.optimizer.hash_join_inlist_pushdown_max_size", 0)
        .set_usize(
            "datafusion.optimizer.hash_join_inlist_pushdown_max_distinct_values",
            0,
        )
        .set_bool("datafusion.sql_parser.collect_spans", true);
    let pool = Arc::new(FairSpillPool::new(MEMORY_BYTES));
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(pool).build_arc();
    // A scan that answers from the log alone (`SELECT environment`) says that it takes a limit,
    // and does not: the limit stays above it.
    let rules = PhysicalOptimizer::new().rules.into_iter();
    let rules = rules.filter(|rule| rule.name() != "LimitPushdown");
    let state = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime.unwrap_or_default())
        .with_default_features()
        .with_physical_optimizer_rules(rules.collect());
    let context = SessionContext::new_with_state(state.build());
    register_all(&context);
    context
}

impl Engine {
    /// Pins a state of the lake and registers its tables and views.
    ///
    /// # Errors
    /// If there is no such state, or a table cannot be read.
    pub async fn open(lake: &Lake, at: &At) -> EngineResult<Self> {
        let names: Vec<&str> = VIEWS.iter().map(|(name, _)| *name).collect();
        Self::open_with(lake, at, &names).await
    }

    /// As [`Self::open`], with these views only.
    pub(super) async fn open_with(lake: &Lake, at: &At, views: &[&str]) -> EngineResult<Self> {
        let pinned = lake.pin(at)?;
        let context = bare_context();
        let names: Vec<&str> = schema::tables().iter().map(|table| table.name).collect();
        let tables = pinned.tables(&names).await?;
        for table in schema::tables() {
            // A table that this version does not have yet reads as an empty one.
            match tables.get(table.name) {
                Some(delta) => {
                    let fail = |e: String| LakeError::Delta {
                        table: table.name.into(),
                        message: e,
                    };
                    delta
                        .update_datafusion_session(&context.state())
                        .map_err(|e| fail(e.to_string()))?;
                    let provider = delta
                        .table_provider()
                        .await
                        .map_err(|e| fail(e.to_string()))?;
                    context
                        .register_table(table.name, provider)
                        .map_err(|e| EngineError::running(&e))?;
                }
                None => {
                    let empty = RecordBatch::new_empty(table.arrow());
                    context
                        .register_batch(table.name, empty)
                        .map_err(|e| EngineError::running(&e))?;
                }
            }
        }
        let engine = Self {
            context,
            version: pinned.version().clone(),
            tables: Arc::new(tables),
            lake: lake.path().to_owned(),
        };
        for (name, sql) in VIEWS.iter().filter(|(name, _)| views.contains(name)) {
            engine.view(name, sql).await?;
        }
        Ok(engine)
    }

    /// Another session over the same state, in one partition, whose functions know
    /// what `settings` say. Rows named in one are not seen in the other.
    ///
    /// One partition: a trajectory's rows meet in one accumulator, instead of being
    /// written out as state and merged, which costs far more than a second core gives.
    pub(super) async fn fork(&self, settings: &Arc<Settings>) -> EngineResult<Self> {
        let fail = |e: datafusion::error::DataFusionError| EngineError::running(&e);
        let state = self.context.state();
        let tables = Arc::new(MemorySchemaProvider::new());
        let there = state.schema_for_ref("calls").map_err(fail)?;
        for name in there.table_names() {
            if let Some(table) = there.table(&name).await.map_err(fail)? {
                tables.register_table(name, table).map_err(fail)?;
            }
        }
        let options = state.config_options();
        let catalog = Arc::new(MemoryCatalogProvider::new());
        catalog
            .register_schema(&options.catalog.default_schema, tables)
            .map_err(fail)?;
        let catalogs = Arc::new(MemoryCatalogProviderList::new());
        catalogs.register_catalog(options.catalog.default_catalog.clone(), catalog);
        let config = state
            .config()
            .clone()
            .with_target_partitions(1)
            .with_create_default_catalog_and_schema(false);
        let state = SessionStateBuilder::new_from_existing(state)
            .with_config(config)
            .with_catalog_list(catalogs)
            .build();
        let context = SessionContext::new_with_state(state);
        register_with(&context, settings);
        Ok(Self {
            context,
            version: self.version.clone(),
            tables: Arc::clone(&self.tables),
            lake: self.lake.clone(),
        })
    }

    /// How the answers of a trajectory are compared: by the lake's rules, and by what
    /// was learned unless it has noise of its own.
    ///
    /// # Errors
    /// If the rules or the lake cannot be read.
    pub async fn path_rules(&self, own_noise: bool) -> EngineResult<PathRules> {
        let settings = settings::read(self, &self.lake).await?;
        Ok(match own_noise {
            true => settings.said,
            false => settings.said_and_learned,
        })
    }

    /// Unpacks only the payloads of rows that pass the filters: right where few do.
    pub(super) fn read_late(&self) {
        let state = self.context.state_ref();
        let mut state = state.write();
        let options = state.config_mut().options_mut();
        options.execution.parquet.pushdown_filters = true;
    }

    /// The state that is read.
    #[must_use]
    pub fn version(&self) -> &LakeVersion {
        &self.version
    }

    /// A table as this version has it; `None` if it does not have it yet.
    pub(super) fn table(&self, name: &str) -> Option<&DeltaTable> {
        self.tables.get(name)
    }

    /// The session, for callers that build plans themselves.
    #[must_use]
    pub fn context(&self) -> &SessionContext {
        &self.context
    }
}
