//! From a statement to a plan that reads, and does not multiply tables.

use std::sync::Arc;

use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use datafusion::sql::parser::Statement as Parsed;
use datafusion::sql::sqlparser::ast::Statement;
use datafusion_postgres::pgwire::error::PgWireResult;

use super::error::{code, of_engine, of_query, refused};
use crate::engine::{Engine, only_reading};

/// Plans a statement, if it only reads.
pub(super) async fn plan(engine: &Engine, statement: &Statement) -> PgWireResult<LogicalPlan> {
    let state = engine.context().state();
    let parsed = Parsed::Statement(Box::new(statement.clone()));
    let plan = state.statement_to_plan(parsed).await;
    let plan = plan.map_err(|error| of_query(&error))?;
    only_reading(&plan).map_err(|error| of_engine(&error))?;
    Ok(plan)
}

/// Refuses a plan that would look at more than `most` pairs of rows in one join without a key.
pub(super) fn refuse_products(plan: &Arc<dyn ExecutionPlan>, most: u64) -> PgWireResult<()> {
    let sizes = StatisticsContext::new();
    let mut open = vec![plan];
    while let Some(node) = open.pop() {
        let children = node.children();
        if matches!(
            node.name(),
            "CrossJoinExec" | "NestedLoopJoinExec" | "PiecewiseMergeJoinExec"
        ) {
            let pairs = children
                .iter()
                .map(|child| rows(child, &sizes))
                .fold(1u64, u64::saturating_mul);
            if pairs > most {
                return Err(refused(
                    code::TOO_COSTLY,
                    format!(
                        "this joins tables without an equality between them: about {pairs} pairs of rows, and at most {most} are looked at; join on a key (ON a.x = b.x), or filter first"
                    ),
                ));
            }
        }
        open.extend(children);
    }
    Ok(())
}

/// Members that a list is taken to have where nobody knows.
const MEMBERS: u64 = 1_000;

/// Rows that a node gives, as far as it is known.
fn rows(node: &Arc<dyn ExecutionPlan>, sizes: &StatisticsContext) -> u64 {
    let known = sizes
        .compute(node.as_ref(), &StatisticsArgs::new())
        .ok()
        .and_then(|known| known.num_rows.get_value().copied());
    if let Some(known) = known {
        return u64::try_from(known).unwrap_or(u64::MAX);
    }
    let children = node.children();
    let of_children = children.iter().map(|child| rows(child, sizes));
    match node.name() {
        "CrossJoinExec" => of_children.fold(1, u64::saturating_mul),
        "UnionExec" | "InterleaveExec" => of_children.fold(0, u64::saturating_add),
        // The catalogue that clients ask for: a row for a table or a column.
        "StreamingTableExec" => 1_000,
        // Series and the like are made while they are read.
        "LazyMemoryExec" => 1_000_000_000,
        // A list has as many members as it has.
        "UnnestExec" => of_children.fold(MEMBERS, u64::saturating_mul),
        _ => of_children.max().unwrap_or(1_000_000),
    }
}
