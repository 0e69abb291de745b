//! Functions over a window: what needs the whole trajectory and answers every row.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray as _, Float64Array};
use arrow::datatypes::{DataType, Field, FieldRef, Int32Type};
use datafusion::common::Result;
use datafusion::logical_expr::function::{PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion::logical_expr::{
    PartitionEvaluator, Signature, Volatility, WindowUDF, WindowUDFImpl,
};
use fidelake_core::stats::{GAMMA, temporal_weight};

use super::{Doc, Function};

pub(super) fn functions() -> Vec<Function> {
    vec![Function::Window(
        WindowUDF::new_from_impl(TemporalWeight {
            signature: Signature::exact(vec![DataType::Int32], Volatility::Immutable),
        }),
        Doc {
            name: "temporal_weight",
            signature: "temporal_weight(turn int) OVER (PARTITION BY trajectory) -> double",
            doc: "The weight of a call in its trajectory, 0.95 per turn until the last turn of the window's partition: 1 at the end. Null for a null turn.",
            example: "SELECT min(w) AS first FROM (SELECT temporal_weight(t) OVER () AS w FROM (VALUES (CAST(1 AS INT)), (CAST(2 AS INT))) AS v(t))",
            gives: "0.95",
        },
    )]
}

#[derive(Debug)]
struct TemporalWeight {
    signature: Signature,
}

impl PartialEq for TemporalWeight {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for TemporalWeight {}

impl Hash for TemporalWeight {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl WindowUDFImpl for TemporalWeight {
    fn name(&self) -> &'static str {
        "temporal_weight"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn partition_evaluator(
        &self,
        _: PartitionEvaluatorArgs<'_>,
    ) -> Result<Box<dyn PartitionEvaluator>> {
        Ok(Box::new(Weights))
    }

    fn field(&self, args: WindowUDFFieldArgs<'_>) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(args.name(), DataType::Float64, true)))
    }
}

#[derive(Debug)]
struct Weights;

impl PartitionEvaluator for Weights {
    fn evaluate_all(&mut self, values: &[ArrayRef], _: usize) -> Result<ArrayRef> {
        let turns = values[0].as_primitive::<Int32Type>();
        let last = arrow::compute::max(turns).unwrap_or_default();
        let weight = |turn: Option<i32>| temporal_weight(i64::from(turn?), i64::from(last), GAMMA);
        Ok(Arc::new(turns.iter().map(weight).collect::<Float64Array>()))
    }
}
