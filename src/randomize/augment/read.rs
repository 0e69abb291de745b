//! What the lake knows of rare failures, of places for them, and of answers.

use std::collections::BTreeMap;

use arrow::array::{Array as _, ArrayRef, AsArray as _, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int32Type, Int64Type};

use super::AugmentError;
use super::choose::{Api, Counts, Limits, RunCounts};
use crate::engine::Engine;
use crate::randomize::{Experience, Part};

const PLACES: &str = include_str!("../../../queries/augment/places.sql");
const DONORS: &str = include_str!("../../../queries/augment/donors.sql");
const RUNS: &str = include_str!("../../../queries/augment/runs.sql");

/// An API with an outcome, or the beginning of a run.
pub(super) type Step = Option<(String, String)>;

/// The rare failures, and which transitions the real world has shown.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) rare: BTreeMap<(Api, String), Counts>,
    /// What came before each of them.
    entries: BTreeMap<(Api, String), Vec<Step>>,
}

impl Seen {
    /// Whether the real world has shown the failure behind this step, and a repetition of the
    /// call behind the failure that went well.
    pub(super) fn supports(&self, kind: &(Api, String), before: &Step) -> bool {
        let retried = self.rare.get(kind).is_some_and(|counts| counts.retried > 0);
        retried
            && self
                .entries
                .get(kind)
                .is_some_and(|entries| entries.contains(before))
    }

    pub(super) fn of(graph: &Experience, limits: Limits) -> Result<Self, AugmentError> {
        let mut calls: BTreeMap<Api, (u64, u64)> = BTreeMap::new();
        let nodes = Table::of(graph.part(Part::Nodes))?;
        for row in 0..nodes.rows {
            let sums = calls.entry(nodes.api(row, "api")).or_default();
            sums.0 += nodes.count(row, "real_calls");
            sums.1 += nodes.count(row, "sim_calls");
        }
        let mut seen = Self::default();
        for row in 0..nodes.rows {
            let outcome = nodes.text(row, "outcome").unwrap_or_default();
            let real = nodes.count(row, "real_calls");
            let api = nodes.api(row, "api");
            let (real_calls, sim_calls) = calls.get(&api).copied().unwrap_or_default();
            // A missing answer is no answer that could be given.
            let failed = !matches!(outcome.as_str(), "ok" | "no_result");
            if failed && real >= limits.at_least && (real as f64) < limits.below * real_calls as f64
            {
                let counts = Counts {
                    real_calls,
                    real,
                    sim_calls,
                    sim: nodes.count(row, "sim_calls"),
                    ..Counts::default()
                };
                seen.rare.insert((api, outcome), counts);
            }
        }
        let edges = Table::of(graph.part(Part::Edges))?;
        for row in 0..edges.rows {
            let [real, sim] = ["real_count", "sim_count"].map(|name| edges.count(row, name));
            let step = |api: &str, outcome: &str| -> Step {
                Some((edges.text(row, api)?, edges.text(row, outcome)?))
            };
            let environment = edges.text(row, "environment").unwrap_or_default();
            let (from, to) = (
                step("from_api", "from_outcome"),
                step("to_api", "to_outcome"),
            );
            let kind = |step: &Step| {
                let (api, outcome) = step.clone()?;
                Some(((environment.clone(), api), outcome))
            };
            if let Some(kind) = kind(&to)
                && real > 0
                && seen.rare.contains_key(&kind)
            {
                seen.entries.entry(kind).or_default().push(from.clone());
            }
            if let Some(counts) = kind(&from).and_then(|kind| seen.rare.get_mut(&kind)) {
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
        Ok(seen)
    }

    /// Names the rare kinds `augment_rare`.
    pub(super) fn name(&self, engine: &Engine) -> Result<(), AugmentError> {
        let column = |of: &dyn Fn(&(Api, String)) -> String| -> ArrayRef {
            std::sync::Arc::new(StringArray::from_iter_values(self.rare.keys().map(of)))
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
    for table in tables(engine, PLACES).await? {
        for row in 0..table.rows {
            let before = table
                .text(row, "before_api")
                .zip(table.text(row, "before_outcome"));
            found.entry(table.api(row, "api")).or_default().push(Spot {
                run: table.text(row, "run_id").unwrap_or_default(),
                turn: table.place(row, "turn"),
                arguments: table.text(row, "arguments").unwrap_or_default(),
                before,
            });
        }
    }
    Ok(found)
}

pub(super) async fn donors(
    engine: &Engine,
) -> Result<BTreeMap<(Api, String), Vec<Donor>>, AugmentError> {
    let mut found: BTreeMap<(Api, String), Vec<Donor>> = BTreeMap::new();
    for table in tables(engine, DONORS).await? {
        for row in 0..table.rows {
            let kind = (
                table.api(row, "api"),
                table.text(row, "outcome").unwrap_or_default(),
            );
            found.entry(kind).or_default().push(Donor {
                run: table.text(row, "run_id").unwrap_or_default(),
                turn: table.place(row, "turn"),
                index: table.place(row, "index"),
                arguments: table.text(row, "arguments").unwrap_or_default(),
            });
        }
    }
    Ok(found)
}

/// The calls of these runs, by API and outcome.
pub(super) async fn run_counts(
    engine: &Engine,
    runs: &[&str],
) -> Result<BTreeMap<String, RunCounts>, AugmentError> {
    let ids: ArrayRef = std::sync::Arc::new(StringArray::from(runs.to_vec()));
    let hosts = RecordBatch::try_from_iter([("run_id", ids)])?;
    engine.name_rows("augment_hosts", &hosts.schema(), vec![hosts])?;
    let mut found: BTreeMap<String, RunCounts> = BTreeMap::new();
    for table in tables(engine, RUNS).await? {
        for row in 0..table.rows {
            let run = table.text(row, "run_id").unwrap_or_default();
            let kind = (
                table.api(row, "api"),
                table.text(row, "outcome").unwrap_or_default(),
            );
            found
                .entry(run)
                .or_default()
                .insert(kind, table.count(row, "calls"));
        }
    }
    Ok(found)
}

async fn tables(engine: &Engine, sql: &str) -> Result<Vec<Table>, AugmentError> {
    let (_, batches) = engine.query(sql).await?;
    batches.iter().map(Table::of).collect()
}

/// Columns by name.
struct Table {
    rows: usize,
    texts: BTreeMap<String, StringArray>,
    batch: RecordBatch,
}

impl Table {
    fn of(batch: &RecordBatch) -> Result<Self, AugmentError> {
        let mut texts = BTreeMap::new();
        for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
            if !field.data_type().is_numeric() {
                let column = cast(column, &DataType::Utf8)?;
                texts.insert(field.name().clone(), column.as_string::<i32>().clone());
            }
        }
        Ok(Self {
            rows: batch.num_rows(),
            texts,
            batch: batch.clone(),
        })
    }

    fn text(&self, row: usize, name: &str) -> Option<String> {
        let column = self.texts.get(name)?;
        column.is_valid(row).then(|| column.value(row).to_owned())
    }

    fn api(&self, row: usize, name: &str) -> Api {
        let text = |name: &str| self.text(row, name).unwrap_or_default();
        (text("environment"), text(name))
    }

    fn count(&self, row: usize, name: &str) -> u64 {
        let column = self.batch.column_by_name(name);
        let column = column.and_then(|c| c.as_primitive_opt::<Int64Type>());
        column.map_or(0, |c| u64::try_from(c.value(row)).unwrap_or_default())
    }

    fn place(&self, row: usize, name: &str) -> i32 {
        let column = self.batch.column_by_name(name);
        let column = column.and_then(|c| c.as_primitive_opt::<Int32Type>());
        column.map_or(-1, |c| c.value(row))
    }
}
