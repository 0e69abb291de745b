//! Queries of a session: planned, checked, run.

use std::sync::Arc;

use arrow::array::AsArray as _;
use arrow::datatypes::{Int64Type, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::dataframe::DataFrame;
use datafusion::execution::context::SQLOptions;
use datafusion::logical_expr::{LogicalPlan, Volatility};
use datafusion::prelude::Expr;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::Token;

use super::error::{EngineError, EngineResult};
use super::session::Engine;

/// Checks that a plan changes nothing, and does nothing to its session either.
///
/// # Errors
/// With what it would change.
pub(crate) fn only_reading(plan: &LogicalPlan) -> EngineResult<()> {
    SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false)
        .verify_plan(plan)
        .map_err(|e| EngineError::changing(&e))
}

/// A function in the plan whose value is not that of its arguments alone.
fn fickle(plan: &LogicalPlan) -> datafusion::error::Result<Option<String>> {
    let mut found = None;
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expression| {
            expression.apply(|part| {
                if let Expr::ScalarFunction(call) = part
                    && call.func.signature().volatility != Volatility::Immutable
                {
                    found = Some(call.func.name().to_owned());
                    return Ok(TreeNodeRecursion::Stop);
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(found)
}

impl Engine {
    /// Checks that a text is one condition and nothing else: it is put between
    /// parentheses, and must not leave them.
    ///
    /// # Errors
    /// With the place marked, in the text as given.
    pub fn condition(&self, text: &str) -> EngineResult<()> {
        let parsed = Parser::new(&GenericDialect {})
            .try_with_sql(text)
            .and_then(|mut parser| {
                parser.parse_expr()?;
                match parser.peek_token().token {
                    Token::EOF => Ok(()),
                    _ => parser.expected("the end of the condition", parser.peek_token()),
                }
            });
        parsed.map_err(|e| EngineError::planning(&e.into(), text))
    }

    /// Checks that a query gives the same rows each time it is asked.
    ///
    /// # Errors
    /// If it cannot be planned, or calls a function of chance or of the clock.
    pub(crate) async fn repeatable(&self, sql: &str) -> EngineResult<()> {
        let frame = self.plan(sql).await?;
        match fickle(frame.logical_plan()).map_err(|e| EngineError::running(&e))? {
            None => Ok(()),
            Some(name) => Err(EngineError::Sql(format!(
                "{name}() gives another value each time, so the same command would not give the same rows"
            ))),
        }
    }

    /// Plans one read-only query.
    ///
    /// # Errors
    /// With the place marked if the query is wrong; if it would change anything.
    pub async fn plan(&self, sql: &str) -> EngineResult<DataFrame> {
        let state = self.context().state();
        let plan = state
            .create_logical_plan(sql)
            .await
            .map_err(|e| EngineError::planning(&e, sql))?;
        only_reading(&plan)?;
        Ok(DataFrame::new(state, plan))
    }

    /// Runs one of our own queries with parameters ($name).
    ///
    /// # Errors
    /// As [`Self::query`].
    pub(crate) async fn query_with(
        &self,
        sql: &str,
        parameters: &[(&str, ScalarValue)],
    ) -> EngineResult<(SchemaRef, Vec<RecordBatch>)> {
        collected(self.plan_with(sql, parameters).await?).await
    }

    /// Plans one of our own queries with parameters ($name).
    pub(super) async fn plan_with(
        &self,
        sql: &str,
        parameters: &[(&str, ScalarValue)],
    ) -> EngineResult<DataFrame> {
        let frame = self.plan(sql).await?;
        frame
            .with_param_values(parameters.to_vec())
            .map_err(|e| EngineError::planning(&e, sql))
    }

    /// The one number that a query returns.
    pub(super) async fn count(&self, sql: &str) -> EngineResult<u64> {
        let (_, rows) = self.query(sql).await?;
        let value = rows
            .first()
            .map(|batch| batch.column(0).as_primitive::<Int64Type>().value(0));
        Ok(u64::try_from(value.unwrap_or_default()).unwrap_or_default())
    }

    /// Runs one read-only query.
    ///
    /// # Errors
    /// As [`Self::plan`], and if it fails while it runs.
    pub async fn query(&self, sql: &str) -> EngineResult<(SchemaRef, Vec<RecordBatch>)> {
        collected(self.plan(sql).await?).await
    }
}

async fn collected(frame: DataFrame) -> EngineResult<(SchemaRef, Vec<RecordBatch>)> {
    let schema = Arc::clone(frame.schema().inner());
    let batches = frame
        .collect()
        .await
        .map_err(|e| EngineError::running(&e))?;
    // The plan promises less about nulls than the rows keep.
    let schema = batches.first().map_or(schema, RecordBatch::schema);
    Ok((schema, batches))
}
