//! Which continuation worked, for real, from here.

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use datafusion::common::ScalarValue;
use fidelake_core::model::Outcome;

use super::{GraphError, NODES, steps};
use crate::engine::Engine;
use crate::engine::columns::{Columns, quoted};

const NEXT: &str = include_str!("../../../queries/graph/next.sql");

/// So many calls back the recorded runs are told apart.
const DEEPEST: usize = 3;

/// A place in a run: the last calls that were made there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context(Vec<(String, Option<String>)>);

/// A call that cannot be understood.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("--after {0:?}: write an API, or an API with its outcome, as in search_flights:not_found")]
pub struct ContextError(String);

impl Context {
    /// From `API` or `API:OUTCOME` per call, the last one made at the end.
    ///
    /// What follows the last colon is an outcome only if it is the name of one.
    ///
    /// # Errors
    /// If an entry has no API.
    pub fn parse(calls: &[String]) -> Result<Self, ContextError> {
        let one = |text: &String| {
            let (api, outcome) = match text.rsplit_once(':') {
                Some((api, outcome)) if is_outcome(outcome) => (api, Some(outcome.to_owned())),
                _ => (text.as_str(), None),
            };
            match api.trim() {
                "" => Err(ContextError(text.clone())),
                api => Ok((api.to_owned(), outcome)),
            }
        };
        Ok(Self(calls.iter().map(one).collect::<Result<_, _>>()?))
    }

    /// The condition on `graph_steps` that the last so many calls were these, and its values.
    fn condition(&self, depth: usize) -> (String, Vec<(String, ScalarValue)>) {
        if self.0.is_empty() {
            return ("step = 1".to_owned(), Vec::new());
        }
        let (mut conditions, mut values) = (Vec::new(), Vec::new());
        for (at, (api, outcome)) in self.0.iter().rev().take(depth).enumerate() {
            let column = match at {
                0 => String::new(),
                _ => format!("_{}", at + 1),
            };
            let mut equal = |what: &str, value: &str| {
                conditions.push(format!("before_{what}{column} = ${what}{at}"));
                values.push((format!("{what}{at}"), ScalarValue::from(value)));
            };
            equal("api", api);
            if let Some(outcome) = outcome {
                equal("outcome", outcome);
            }
        }
        (conditions.join(" AND "), values)
    }
}

fn is_outcome(text: &str) -> bool {
    text == "no_result" || Outcome::parse(text).is_some()
}

/// What followed.
#[derive(Clone, Debug)]
pub struct Next {
    /// One row per API that followed, as `queries/graph/next.sql` says.
    pub rows: RecordBatch,
    /// How many of the calls before it were looked at.
    pub depth: usize,
    /// How often somebody went on from there in the real world.
    pub real: i64,
}

/// What followed on these calls, by as many of them as at least `enough` real continuations
/// share; by the last one alone if nowhere so many do.
///
/// # Errors
/// If the lake cannot be read, or has nothing of that environment.
pub async fn next(
    engine: &Engine,
    environment: Option<&str>,
    context: &Context,
    enough: i64,
) -> Result<Next, GraphError> {
    steps(engine, environment).await?;
    let here = environment.map_or("true".to_owned(), |name| {
        format!("environment = {}", quoted(name))
    });
    let nodes = NODES.replace("{where}", "true");
    engine.view("graph_nodes", &nodes).await?;
    let mut depth = context.0.len().min(DEEPEST);
    loop {
        let (condition, values) = context.condition(depth);
        let sql = NEXT.replace("{context}", &format!("{condition} AND {here}"));
        let values: Vec<(&str, ScalarValue)> = values
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone()))
            .collect();
        let (schema, batches) = engine.query_with(&sql, &values).await?;
        let rows = concat_batches(&schema, &batches)?;
        let real = Columns(&rows)
            .integers("real_count")?
            .iter()
            .flatten()
            .sum();
        if depth <= 1 || real >= enough {
            return Ok(Next { rows, depth, real });
        }
        depth -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(calls: &[&str]) -> Result<Context, ContextError> {
        Context::parse(
            &calls
                .iter()
                .map(|&call| call.to_owned())
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn an_outcome_stands_behind_the_last_colon() {
        let context = parse(&["ns:tool", "get:not_found"]).unwrap();
        let expected = [("ns:tool", None), ("get", Some("not_found"))];
        let expected = expected.map(|(api, outcome)| (api.to_owned(), outcome.map(str::to_owned)));
        assert_eq!(context.0, expected);
        assert!(parse(&[":ok"]).is_err());
        assert!(parse(&[" "]).is_err());
    }

    #[test]
    fn the_last_call_is_asked_first() {
        let context = parse(&["a", "b:ok"]).unwrap();
        assert_eq!(
            context.condition(1).0,
            "before_api = $api0 AND before_outcome = $outcome0"
        );
        let deeper = context.condition(2);
        assert!(
            deeper.0.ends_with("AND before_api_2 = $api1"),
            "{}",
            deeper.0
        );
        assert_eq!(deeper.1.len(), 3);
        assert_eq!(Context::default().condition(0).0, "step = 1");
    }
}
