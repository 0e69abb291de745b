//! The experience graph: what was called, what came back, what that led to, how well it
//! ended, and how faithful the simulator is there.
//!
//! Nodes are APIs with an outcome, and recorded states; edges are transitions with counts
//! per arm, judged and right runs, and fidelity. Failures point to what mended them. The SQL
//! behind each table stands in `queries/graph/`.

mod error;
mod export;
mod graphml;
mod next;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;

pub use error::GraphError;
pub use export::write_parquet;
pub use graphml::write_graphml;
pub use next::{Context, ContextError, Next, next};

use crate::engine::Engine;
use crate::engine::columns::quoted;

const STEPS: &str = include_str!("../../../queries/graph/steps.sql");
const NODES: &str = include_str!("../../../queries/graph/nodes.sql");
const EDGES: &str = include_str!("../../../queries/graph/edges.sql");
const STATES: &str = include_str!("../../../queries/graph/states.sql");
const FIXES: &str = include_str!("../../../queries/graph/fixes.sql");

/// A table of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// APIs with an outcome.
    Nodes,
    /// Transitions between them.
    Edges,
    /// Transitions between recorded states.
    States,
    /// Failures and what mended them.
    Fixes,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Nodes, Self::Edges, Self::States, Self::Fixes];

    /// Its name in files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nodes => "nodes",
            Self::Edges => "edges",
            Self::States => "states",
            Self::Fixes => "fixes",
        }
    }

    const fn sql(self) -> &'static str {
        match self {
            Self::Nodes => NODES,
            Self::Edges => EDGES,
            Self::States => STATES,
            Self::Fixes => FIXES,
        }
    }
}

/// The graph of a lake: its tables are read as they are asked for.
#[derive(Clone, Debug)]
pub struct Experience {
    engine: Engine,
    /// On columns of `c`.
    condition: String,
    arm: String,
}

impl Experience {
    /// The graph of one environment, or of all; failures and their repairs on `arm`.
    ///
    /// # Errors
    /// If the lake cannot be read, or there is nothing of that name in it.
    pub async fn open(
        engine: &Engine,
        environment: Option<&str>,
        arm: &str,
    ) -> Result<Self, GraphError> {
        steps(engine, environment).await?;
        Ok(Self {
            engine: engine.clone(),
            condition: environment.map_or("true".to_owned(), |name| {
                format!("c.environment = {}", quoted(name))
            }),
            arm: quoted(arm),
        })
    }

    /// The rows of a part.
    ///
    /// # Errors
    /// If the lake cannot be read.
    pub async fn part(&self, part: Part) -> Result<RecordBatch, GraphError> {
        let sql = part
            .sql()
            .replace("{where}", &self.condition)
            .replace("{arm}", &self.arm);
        let (schema, batches) = self.engine.query(&sql).await?;
        Ok(concat_batches(&schema, &batches)?)
    }

    /// All parts.
    ///
    /// # Errors
    /// If the lake cannot be read.
    pub async fn tables(&self) -> Result<Tables, GraphError> {
        Ok(Tables {
            nodes: self.part(Part::Nodes).await?,
            edges: self.part(Part::Edges).await?,
            states: self.part(Part::States).await?,
            fixes: self.part(Part::Fixes).await?,
        })
    }
}

/// The tables of one graph.
#[derive(Clone, Debug)]
pub struct Tables {
    nodes: RecordBatch,
    edges: RecordBatch,
    states: RecordBatch,
    fixes: RecordBatch,
}

impl Tables {
    /// The rows of a part.
    #[must_use]
    pub const fn part(&self, part: Part) -> &RecordBatch {
        match part {
            Part::Nodes => &self.nodes,
            Part::Edges => &self.edges,
            Part::States => &self.states,
            Part::Fixes => &self.fixes,
        }
    }
}

/// Names the calls in their order `graph_steps`.
async fn steps(engine: &Engine, environment: Option<&str>) -> Result<(), GraphError> {
    engine.view("graph_steps", STEPS).await?;
    if let Some(name) = environment {
        let sql = format!(
            "SELECT 1 FROM runs WHERE environment = {} LIMIT 1",
            quoted(name)
        );
        let (_, found) = engine.query(&sql).await?;
        if found.iter().all(|batch| batch.num_rows() == 0) {
            return Err(GraphError::Empty(format!(
                "the lake has no runs of environment {name:?}; `fidelake sql \"SELECT DISTINCT environment FROM runs\"` lists what it has"
            )));
        }
    }
    Ok(())
}
