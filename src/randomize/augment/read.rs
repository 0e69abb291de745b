//! What the lake knows of rare failures, of places for them, and of answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};

use super::AugmentError;
use super::choose::{Api, Counts, Limits, RunCounts};
use crate::engine::Engine;
use crate::engine::columns::{Columns, text};
use crate::randomize::{Experience, Part};

const PLACES: &str = include_str!("../../../queries/augment/places.sql");
const DONORS: &str = include_str!("../../../queries/augment/donors.sql");
const RUNS: &str = include_str!("../../../queries/augment/runs.sql");

/// An API with an outcome, or the beginning of a run.
pub(super) type Step = Option<(String, String)>;

/// A failure of an API.
pub(super) type Failure = (Api, String);

/// The rare failures, and which transitions the real world has shown.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) rare: BTreeMap<Failure, Counts>,
    /// What came before each of them.
    entries: BTreeMap<Failure, Vec<Step>>,
}

impl Seen {
    /// Whether the real world has shown the failure behind this step, and a repetition of the
    /// call behind the failure that went well.
    pub(super) fn supports(&self, kind: &Failure, before: &Step) -> bool {
        let retried = self.rare.get(kind).is_some_and(|counts| counts.retried > 0);
        let entries = self.entries.get(kind);
        retried && entries.is_some_and(|entries| entries.contains(before))
    }

    pub(super) async fn of(graph: &Experience, limits: Limits) -> Result<Self, AugmentError> {
        let mut seen = Self::default();
        seen.read_nodes(&graph.part(Part::Nodes).await?, limits)?;
        seen.read_edges(&graph.part(Part::Edges).await?)?;
        Ok(seen)
    }

    fn read_nodes(&mut self, nodes: &RecordBatch, limits: Limits) -> Result<(), AugmentError> {
        let rows = Rows::of(nodes)?;
        let (apis, outcomes) = (rows.apis("api")?, rows.texts("outcome")?);
        let (real, sim) = (rows.counts("real_calls")?, rows.counts("sim_calls")?);
        let mut calls: BTreeMap<Api, (u64, u64)> = BTreeMap::new();
        for row in 0..nodes.num_rows() {
            let sums = calls.entry(apis(row)).or_default();
            sums.0 += real(row);
            sums.1 += sim(row);
        }
        for row in 0..nodes.num_rows() {
            let (api, outcome, real) = (apis(row), outcomes(row).unwrap_or_default(), real(row));
            let (real_calls, sim_calls) = calls.get(&api).copied().unwrap_or_default();
            // A missing answer is no answer that could be given.
            let failed = !matches!(outcome.as_str(), "ok" | "no_result");
            if failed && real >= limits.at_least && (real as f64) < limits.below * real_calls as f64
            {
                let counts = Counts {
                    real_calls,
                    real,
                    sim_calls,
                    sim: sim(row),
                    ..Counts::default()
                };
                self.rare.insert((api, outcome), counts);
            }
        }
        Ok(())
    }

    fn read_edges(&mut self, edges: &RecordBatch) -> Result<(), AugmentError> {
        let rows = Rows::of(edges)?;
        let (real, sim) = (rows.counts("real_count")?, rows.counts("sim_count")?);
        let (froms, tos) = (
            rows.steps("from_api", "from_outcome")?,
            rows.steps("to_api", "to_outcome")?,
        );
        let environments = rows.texts("environment")?;
        for row in 0..edges.num_rows() {
            let (real, sim) = (real(row), sim(row));
            let environment = environments(row).unwrap_or_default();
            let (from, to) = (froms(row), tos(row));
            let kind = |step: &Step| -> Option<Failure> {
                let (api, outcome) = step.clone()?;
                Some(((environment.clone(), api), outcome))
            };
            if let Some(kind) = kind(&to)
                && real > 0
                && self.rare.contains_key(&kind)
            {
                self.entries.entry(kind).or_default().push(from.clone());
            }
            if let Some(counts) = kind(&from).and_then(|kind| self.rare.get_mut(&kind)) {
                let again = to.as_ref().zip(from.as_ref());
                let again = again.is_some_and(|(to, from)| to.0 == from.0 && to.1 == "ok");
                counts.followed += real;
                counts.sim_followed += sim;
                if again {
                    counts.retried += real;
                    counts.sim_retried += sim;
                }
            }
        }
        Ok(())
    }

    /// Names the rare kinds `augment_rare`.
    pub(super) fn name(&self, engine: &Engine) -> Result<(), AugmentError> {
        let column = |of: &dyn Fn(&Failure) -> String| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(self.rare.keys().map(of)))
        };
        let rows = RecordBatch::try_from_iter([
            ("environment", column(&|kind| kind.0.0.clone())),
            ("api", column(&|kind| kind.0.1.clone())),
            ("outcome", column(&|kind| kind.1.clone())),
        ])?;
        Ok(engine.name_rows("augment_rare", &rows.schema(), vec![rows])?)
    }
}

/// A call before which a failure could be put.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    pub(super) run: String,
    pub(super) turn: i32,
    pub(super) arguments: String,
    pub(super) before: Step,
}

/// An answer that was given.
#[derive(Clone, Debug)]
pub(super) struct Donor {
    pub(super) run: String,
    pub(super) turn: i32,
    pub(super) index: i32,
    pub(super) arguments: String,
}

pub(super) async fn spots(engine: &Engine) -> Result<BTreeMap<Api, Vec<Spot>>, AugmentError> {
    let mut found: BTreeMap<Api, Vec<Spot>> = BTreeMap::new();
    for batch in &engine.query(PLACES).await?.1 {
        let rows = Rows::of(batch)?;
        let (apis, turns) = (rows.apis("api")?, rows.places("turn")?);
        let (runs, arguments) = (rows.texts("run_id")?, rows.texts("arguments")?);
        let before = rows.steps("before_api", "before_outcome")?;
        for row in 0..batch.num_rows() {
            found.entry(apis(row)).or_default().push(Spot {
                run: runs(row).unwrap_or_default(),
                turn: turns(row),
                arguments: arguments(row).unwrap_or_default(),
                before: before(row),
            });
        }
    }
    Ok(found)
}

pub(super) async fn donors(engine: &Engine) -> Result<BTreeMap<Failure, Vec<Donor>>, AugmentError> {
    let mut found: BTreeMap<Failure, Vec<Donor>> = BTreeMap::new();
    for batch in &engine.query(DONORS).await?.1 {
        let rows = Rows::of(batch)?;
        let (apis, outcomes) = (rows.apis("api")?, rows.texts("outcome")?);
        let (turns, indexes) = (rows.places("turn")?, rows.places("index")?);
        let (runs, arguments) = (rows.texts("run_id")?, rows.texts("arguments")?);
        for row in 0..batch.num_rows() {
            let kind = (apis(row), outcomes(row).unwrap_or_default());
            found.entry(kind).or_default().push(Donor {
                run: runs(row).unwrap_or_default(),
                turn: turns(row),
                index: indexes(row),
                arguments: arguments(row).unwrap_or_default(),
            });
        }
    }
    Ok(found)
}

/// The calls of these runs, by API and outcome.
pub(super) async fn run_counts(
    engine: &Engine,
    hosts: &[&str],
) -> Result<BTreeMap<String, RunCounts>, AugmentError> {
    let ids: ArrayRef = Arc::new(StringArray::from(hosts.to_vec()));
    let hosts = RecordBatch::try_from_iter([("run_id", ids)])?;
    engine.name_rows("augment_hosts", &hosts.schema(), vec![hosts])?;
    let mut found: BTreeMap<String, RunCounts> = BTreeMap::new();
    for batch in &engine.query(RUNS).await?.1 {
        let rows = Rows::of(batch)?;
        let (apis, outcomes) = (rows.apis("api")?, rows.texts("outcome")?);
        let (runs, calls) = (rows.texts("run_id")?, rows.counts("calls")?);
        for row in 0..batch.num_rows() {
            let kind = (apis(row), outcomes(row).unwrap_or_default());
            let run = runs(row).unwrap_or_default();
            found.entry(run).or_default().insert(kind, calls(row));
        }
    }
    Ok(found)
}

/// Rows that have an environment; counts in them are never null.
struct Rows<'b> {
    columns: Columns<'b>,
    environments: StringArray,
}

impl<'b> Rows<'b> {
    fn of(batch: &'b RecordBatch) -> Result<Self, AugmentError> {
        let columns = Columns(batch);
        Ok(Self {
            environments: columns.texts("environment")?,
            columns,
        })
    }

    /// Environment and API of a row.
    fn apis(&self, name: &str) -> Result<impl Fn(usize) -> Api + use<>, AugmentError> {
        let (environments, apis) = (self.environments.clone(), self.columns.texts(name)?);
        Ok(move |row| {
            let of = |column: &StringArray| text(column, row).unwrap_or_default();
            (of(&environments), of(&apis))
        })
    }

    fn steps(
        &self,
        api: &str,
        outcome: &str,
    ) -> Result<impl Fn(usize) -> Step + use<>, AugmentError> {
        let (apis, outcomes) = (self.columns.texts(api)?, self.columns.texts(outcome)?);
        Ok(move |row| text(&apis, row).zip(text(&outcomes, row)))
    }

    fn texts(&self, name: &str) -> Result<impl Fn(usize) -> Option<String> + use<>, AugmentError> {
        let column = self.columns.texts(name)?;
        Ok(move |row| text(&column, row))
    }

    fn counts(&self, name: &str) -> Result<impl Fn(usize) -> u64 + use<>, AugmentError> {
        let column = self.columns.integers(name)?;
        Ok(move |row| u64::try_from(column.value(row)).unwrap_or_default())
    }

    fn places(&self, name: &str) -> Result<impl Fn(usize) -> i32 + use<>, AugmentError> {
        let column = self.columns.integers(name)?;
        Ok(move |row| i32::try_from(column.value(row)).unwrap_or(-1))
    }
}
