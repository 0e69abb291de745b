//! Gaps summed over cells: where the arms differ, and how much of the whole
//! difference stands there.
//!
//! Every cell's gap is one ratio of sums of the raw columns, floored once; cells
//! are never averages of floored gaps (docs/measures.md, "Noise-corrected gap").
//!
//! What else is decided here:
//! * `share_gap` is the cell's part of the unfloored sum of `weight x gap_raw`
//!   of all cells, so it does not depend on how the others are cut. Noise can
//!   make it negative. Null where that sum is not positive.
//! * For `trans` and `all` there is no such sum: the cell's composed gap times
//!   the weight of its measured calls stands in for it.
//! * `all` is `1 - (1 - obs)(1 - act)(1 - trans)`, as in the gate, without an
//!   interval. `rew` is known per trajectory and is sliced by what trajectories
//!   have.

mod columns;
mod query;
mod result;
mod transition;

use arrow::error::ArrowError;
use clap::ValueEnum;

use crate::engine::{Engine, EngineError};
use columns::Rows;
pub use result::{Cell, Sliced};

/// Which gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Dimension {
    /// What the calls answer
    #[default]
    Obs,
    /// Which tools and arguments are accepted
    Act,
    /// Rewards and verdicts, per trajectory
    Rew,
    /// Outcomes, states and latencies
    Trans,
    /// obs, act and trans together
    All,
}

/// What to slice.
#[derive(Clone, Debug)]
pub struct Slice {
    /// Columns whose values make a cell.
    pub by: Vec<String>,
    /// Which gap.
    pub dimension: Dimension,
    /// A condition on the rows, in SQL.
    pub filter: Option<String>,
    /// Cells with fewer measured calls are left out; shares stay those of the whole.
    pub min_calls: i64,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum SliceError {
    /// No columns.
    #[error("name at least one column to slice by")]
    NoColumn,
    /// The same column twice.
    #[error("column {0} is named twice")]
    Twice(String),
    /// A column that is not there.
    #[error("there is no column {name:?} to slice by; there are {known}")]
    Unknown {
        /// As given.
        name: String,
        /// All that there are.
        known: String,
    },
    /// A column of calls, where trajectories are sliced.
    #[error(
        "rew is known per trajectory, and {0} is a column of calls: slice rew by environment, columns of runs or labels"
    )]
    OfCalls(String),
    /// The condition cannot be understood.
    #[error("in --where: {0}")]
    Filter(EngineError),
    /// The query failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Arrow.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
}

impl SliceError {
    /// Whether the user can mend it by asking otherwise.
    #[must_use]
    pub const fn is_usage(&self) -> bool {
        !matches!(self, Self::Engine(_) | Self::Arrow(_))
    }
}

/// Name of the view that the condition is read against.
const VIEW: &str = "slice_rows";

impl Slice {
    /// Runs it.
    ///
    /// # Errors
    /// If a column is not there, the condition is wrong, or the query fails.
    pub async fn run(&self, engine: &Engine) -> Result<Sliced, SliceError> {
        let rows = match self.dimension {
            Dimension::Rew => Rows::Trajectories,
            _ => Rows::Calls,
        };
        columns::check(engine, &self.by, rows).await?;
        let filter = self.filter.as_deref();
        if let Some(filter) = filter {
            engine.condition(filter).map_err(SliceError::Filter)?;
        }
        engine
            .view(VIEW, &columns::base(rows, &self.by, filter))
            .await?;
        let sql = query::sql(self.dimension, &self.by, VIEW, filter);
        let (schema, batches) = engine.query(&sql).await.map_err(|e| match (filter, e) {
            (Some(_), e @ EngineError::Sql(_)) => SliceError::Filter(e),
            (_, e) => SliceError::Engine(e),
        })?;
        let batch = arrow::compute::concat_batches(&schema, &batches)?;
        Sliced::new(&batch, self)
    }
}
