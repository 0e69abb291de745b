//! Paths whose values vary by themselves.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray as _, BooleanArray, Int64Array, StringArray};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use fidelake_core::gap::{MAX_PATHS, Varied, Volatility};
use fidelake_core::model::Arm;

use crate::engine::columns::quoted;
use crate::engine::error::{EngineError, EngineResult};
use crate::engine::functions::Settings;
use crate::engine::range::{calls_per_range, name_range, ranges};
use crate::engine::session::Engine;
use crate::engine::settings::{self, texts};
use crate::import::Progress;
use crate::lake::{Lake, LakeError};

const REPEATED: &str = include_str!("../../../queries/learn/repeated.sql");
const VARIATIONS: &str = include_str!("../../../queries/learn/variations.sql");
const RESIDUAL: &str = include_str!("../../../queries/learn/residual.sql");

/// What holds for paths once `learned_paths` are written: edits before what was learned.
const IN_FORCE: &str = "
    SELECT environment, api, path, class FROM volatile_paths_now WHERE edited AND class IS NOT NULL
    UNION ALL
    SELECT l.environment, l.api, l.path, l.class
    FROM learned_paths AS l
    LEFT ANTI JOIN (SELECT * FROM volatile_paths_now WHERE edited) AS e
      ON e.environment = l.environment AND e.api = l.api AND e.path = l.path
    WHERE l.class IS NOT NULL
    ORDER BY environment, api, path";

const CLASSED: &str = "
    SELECT DISTINCT environment, api FROM (
        SELECT environment, api FROM volatile_paths_now WHERE edited AND class IS NOT NULL
        UNION ALL
        SELECT environment, api FROM learned_paths WHERE class IS NOT NULL
    ) ORDER BY environment, api";

/// Trajectories with repeats, by API: what the counts of a path are shares of.
const OF_APIS: &str = "
    SELECT environment, api, count(DISTINCT trajectory_key) AS trajectories FROM call_gaps_now
    WHERE sim_runs > 1 AND real_runs > 1 AND api IS NOT NULL GROUP BY environment, api";

/// What varies, by environment and API.
type Found = BTreeMap<(String, String), Varying>;

/// What varies in the answers of one API.
#[derive(Default)]
struct Varying {
    classes: Volatility,
    /// By path, for sim and real: trajectories in which it varied, and the last of
    /// them. The rows of a trajectory come together.
    counts: BTreeMap<String, [(i64, Option<i64>); 2]>,
    /// Trajectories with repeats.
    repeated: Option<i64>,
}

impl Varying {
    fn add(&mut self, arm: Arm, trajectory: i64, path: &str, how: Varied) {
        self.classes.add(arm, trajectory, path, how);
        if !self.counts.contains_key(path) {
            if self.counts.len() >= MAX_PATHS {
                return;
            }
            self.counts.insert(path.to_owned(), Default::default());
        }
        if let Some(counts) = self.counts.get_mut(path) {
            let (count, last) = &mut counts[arm as usize];
            if *last != Some(trajectory) {
                *count += 1;
                *last = Some(trajectory);
            }
        }
    }
}

/// The trajectories with repeats, range by range.
struct Repeated {
    engine: Engine,
    settings: Arc<Settings>,
    /// Of the whole lake.
    trajectories: u64,
    rows: RecordBatch,
    ranges: Vec<std::ops::Range<usize>>,
}

impl Repeated {
    async fn read(engine: &Engine, settings: Settings) -> EngineResult<Self> {
        let settings = Arc::new(settings);
        let engine = engine.fork(&settings).await?;
        let (schema, rows) = engine.query(REPEATED).await?;
        let rows = concat_batches(&schema, &rows).map_err(LakeError::from)?;
        let trajectories = engine.held("trajectories")?.rows;
        let ranges = ranges(&rows, calls_per_range(&engine)?);
        Ok(Self {
            engine,
            settings,
            trajectories,
            rows,
            ranges,
        })
    }

    /// Asks of every range.
    async fn ask(
        &self,
        sql: &str,
        progress: &dyn Progress,
        mut found: impl FnMut(RecordBatch) -> EngineResult<()>,
    ) -> EngineResult<()> {
        for range in &self.ranges {
            if progress.stop() {
                let what = "stopped before anything was written: the same command begins again";
                return Err(EngineError::Run(what.into()));
            }
            let rows = self.rows.slice(range.start, range.len());
            let engine = self.engine.fork(&self.settings).await?;
            name_range(&engine, rows, self.trajectories).await?;
            for batch in engine.query(sql).await?.1 {
                found(batch)?;
            }
            progress.items(range.end as u64, self.rows.num_rows() as u64);
        }
        Ok(())
    }
}

/// The rows of `volatile_paths` (without artefact) that the lake teaches.
pub(super) async fn learn(engine: &Engine, progress: &dyn Progress) -> EngineResult<RecordBatch> {
    let mut found = Found::new();
    let repeated = Repeated::read(engine, Settings::default()).await?;
    let count = |batch| count(&batch, &mut found);
    repeated.ask(VARIATIONS, progress, count).await?;
    for ((environment, api), varying) in &found {
        if varying.classes.dropped() > 0 {
            progress.say(&format!(
                "{environment} {api}: {} variations at paths beyond the first {MAX_PATHS} were not counted",
                varying.classes.dropped(),
            ));
        }
    }
    for batch in engine.query(OF_APIS).await?.1 {
        let (environments, apis) = (texts(&batch, 0)?, texts(&batch, 1)?);
        let counts = batch.column(2).as_primitive::<Int64Type>();
        for row in 0..batch.num_rows() {
            let place = (
                environments.value(row).to_owned(),
                apis.value(row).to_owned(),
            );
            if let Some(varying) = found.get_mut(&place) {
                varying.repeated = Some(counts.value(row));
            }
        }
    }
    table_rows(&found)
}

/// Names, for the query of noise, the APIs for which classes are in force once
/// `learned` is, and the noise that these leave.
pub(super) async fn name_residual(
    lake: &Lake,
    engine: &Engine,
    learned: &RecordBatch,
    progress: &dyn Progress,
) -> EngineResult<()> {
    engine.name_rows("learned_paths", &learned.schema(), vec![learned.clone()])?;
    let (_, rows) = engine.query(IN_FORCE).await?;
    let rules = settings::volatile_rules(&rows)?;
    let (schema, classed) = engine.query(CLASSED).await?;
    let any = classed.iter().any(|batch| batch.num_rows() > 0);
    engine.name_rows("classed", &schema, classed.clone())?;
    let settings = settings::with_volatile(lake.path(), rules)?;
    let repeated = Repeated::read(engine, settings).await?;
    repeated.engine.name_rows("classed", &schema, classed)?;
    let mut residual = Vec::new();
    if any {
        let keep = |batch| {
            residual.push(batch);
            Ok(())
        };
        repeated.ask(RESIDUAL, progress, keep).await?;
    }
    let schema = residual
        .first()
        .map_or_else(residual_schema, RecordBatch::schema);
    engine.name_rows("residual", &schema, residual)
}

/// As the query gives it.
fn residual_schema() -> SchemaRef {
    let field = |name: &str, kind| Field::new(name, kind, true);
    Arc::new(Schema::new(vec![
        field("environment", DataType::Utf8),
        field("trajectory_key", DataType::Int64),
        field("api", DataType::Utf8),
        field("sim", DataType::Float64),
        field("real", DataType::Float64),
    ]))
}

fn count(batch: &RecordBatch, found: &mut Found) -> EngineResult<()> {
    let [environments, apis, arms, paths] = [
        texts(batch, 0)?,
        texts(batch, 2)?,
        texts(batch, 3)?,
        texts(batch, 4)?,
    ];
    let trajectories = batch.column(1).as_primitive::<Int64Type>();
    let flag = |column: usize, row: usize| batch.column(column).as_boolean().value(row);
    for row in 0..batch.num_rows() {
        let Some(arm) = Arm::parse(arms.value(row)) else {
            continue;
        };
        let how = Varied {
            same_shape: flag(5, row),
            floats: flag(6, row),
            order: flag(7, row),
        };
        let place = (
            environments.value(row).to_owned(),
            apis.value(row).to_owned(),
        );
        let volatility = found.entry(place).or_default();
        volatility.add(arm, trajectories.value(row), paths.value(row), how);
    }
    Ok(())
}

fn table_rows(found: &Found) -> EngineResult<RecordBatch> {
    let mut texts: [Vec<String>; 3] = Default::default();
    let mut classes = Vec::new();
    let mut counts: [Vec<Option<i64>>; 3] = Default::default();
    for ((environment, api), varying) in found {
        for path in varying.classes.paths() {
            let words = [environment, api, path.path];
            for (list, word) in texts.iter_mut().zip(words) {
                list.push(word.to_owned());
            }
            classes.push(path.suggested.map(|class| class.name()));
            let [sim, real] = varying
                .counts
                .get(path.path)
                .map_or([None; 2], |known| known.map(|(count, _)| Some(count)));
            for (list, n) in counts.iter_mut().zip([sim, real, varying.repeated]) {
                list.push(n);
            }
        }
    }
    let edited = BooleanArray::from(vec![false; classes.len()]);
    let [environments, apis, paths] =
        texts.map(|list| Arc::new(StringArray::from(list)) as ArrayRef);
    let [sim, real, repeated] = counts.map(|list| Arc::new(Int64Array::from(list)) as ArrayRef);
    let columns: [(&str, ArrayRef); 8] = [
        ("environment", environments),
        ("api", apis),
        ("path", paths),
        ("class", Arc::new(StringArray::from(classes))),
        ("trajectories_sim", sim),
        ("trajectories_real", real),
        ("trajectories_repeated", repeated),
        ("edited", Arc::new(edited)),
    ];
    let columns = columns.map(|(name, column)| (name, column, true));
    Ok(RecordBatch::try_from_iter_with_nullable(columns).map_err(LakeError::from)?)
}

/// The class of an edit that takes an earlier one back.
const TAKEN_BACK: &str = "learned";

/// A correction by hand.
#[derive(Clone, Debug)]
pub struct Edit {
    /// The environment.
    pub environment: String,
    /// The tool.
    pub api: String,
    /// The path, as in `volatile_paths`.
    pub path: String,
    /// form, tolerant, exact, text or ignore; `learned` takes an earlier edit back.
    pub class: String,
}

impl Edit {
    /// Its row, without artefact.
    pub(super) fn row(&self) -> EngineResult<RecordBatch> {
        let text = |value: &str| Arc::new(StringArray::from(vec![value])) as ArrayRef;
        let none = || Arc::new(Int64Array::from(vec![None])) as ArrayRef;
        let columns: [(&str, ArrayRef); 8] = [
            ("environment", text(&self.environment)),
            ("api", text(&self.api)),
            ("path", text(&self.path)),
            ("class", text(&self.class)),
            ("trajectories_sim", none()),
            ("trajectories_real", none()),
            ("trajectories_repeated", none()),
            ("edited", Arc::new(BooleanArray::from(vec![true]))),
        ];
        let columns = columns.map(|(name, column)| (name, column, true));
        Ok(RecordBatch::try_from_iter_with_nullable(columns).map_err(LakeError::from)?)
    }

    /// Whether it changes nothing.
    pub(super) async fn holds(&self, engine: &Engine) -> EngineResult<bool> {
        let is = match self.class.as_str() {
            TAKEN_BACK => "count(*) = 0".to_owned(),
            class => format!("count(*) FILTER (WHERE class = {}) > 0", quoted(class)),
        };
        let sql = format!(
            "SELECT CAST({is} AS BIGINT) FROM volatile_paths_now WHERE edited AND environment = {} AND api = {} AND path = {}",
            quoted(&self.environment),
            quoted(&self.api),
            quoted(&self.path),
        );
        Ok(engine.count(&sql).await? > 0)
    }

    /// Whether the lake has a call that it could be about.
    pub(super) async fn has_calls(&self, engine: &Engine) -> EngineResult<bool> {
        let sql = format!(
            "SELECT count(*) FROM (SELECT 1 FROM calls WHERE environment = {} AND name = {} LIMIT 1)",
            quoted(&self.environment),
            quoted(&self.api),
        );
        Ok(engine.count(&sql).await? > 0)
    }

    /// Checks path and class.
    pub(super) fn check(&self) -> EngineResult<()> {
        use fidelake_core::gap::{PathRule, PathRules, RuleAction};

        let action = match self.class.as_str() {
            TAKEN_BACK => Some(RuleAction::Ignore),
            class => settings::class_action(class),
        };
        let Some(action) = action else {
            return Err(EngineError::Rules(format!(
                "there is no class {:?}; there are form, tolerant, exact, text and ignore, and learned to take an edit back",
                self.class
            )));
        };
        let rule = PathRule::new(self.path.as_str(), action);
        let checked = PathRules::new(vec![rule]);
        checked
            .map(|_| ())
            .map_err(|e| EngineError::Rules(format!("{:?} is no path: {}", self.path, e.kind)))
    }
}
