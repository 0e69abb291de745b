//! A pair of runs as rows, for programs.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, ListBuilder, RecordBatch,
    StringArray, StringBuilder, StructBuilder,
};
use arrow::datatypes::{DataType, Field, Fields};
use arrow::error::ArrowError;

use super::{Call, Pair, Step};

/// One row per aligned call: places, outcomes, latencies, the distance of the
/// answers, and the paths that differ.
///
/// # Errors
/// Never for a pair that was loaded.
pub fn batch(pair: &Pair, keep: impl Fn(&Step) -> bool) -> Result<RecordBatch, ArrowError> {
    let steps: Vec<&Step> = pair.steps.iter().filter(|step| keep(step)).collect();
    let sim = |step: &Step| pair.sides(step).0;
    let real = |step: &Step| pair.sides(step).1;
    let either = |step: &Step| sim(step).or_else(|| real(step));
    let texts = |pick: &dyn Fn(&Step) -> Option<String>| -> ArrayRef {
        Arc::new(steps.iter().map(|step| pick(step)).collect::<StringArray>())
    };
    let places = |pick: fn(&Call) -> i32| -> ArrayRef {
        Arc::new(
            steps
                .iter()
                .map(|step| either(step).map(pick))
                .collect::<Int32Array>(),
        )
    };
    let numbers = |pick: &dyn Fn(&Step) -> Option<f64>| -> ArrayRef {
        Arc::new(
            steps
                .iter()
                .map(|step| pick(step))
                .collect::<Float64Array>(),
        )
    };
    let flags = |pick: fn(&Step) -> bool| -> ArrayRef {
        Arc::new(
            steps
                .iter()
                .map(|step| Some(pick(step)))
                .collect::<BooleanArray>(),
        )
    };
    let number = steps
        .iter()
        .map(|step| i64::try_from(step.number).ok())
        .collect::<Int64Array>();
    let side = |step: &Step| {
        let side = match (step.sim, step.real) {
            (Some(_), Some(_)) => "both",
            (Some(_), None) => "sim_only",
            _ => "real_only",
        };
        Some(side.to_owned())
    };
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("number", Arc::new(number)),
        ("turn", places(|call| call.turn)),
        ("index", places(|call| call.index)),
        (
            "api",
            texts(&|step| either(step).map(|call| call.name.clone())),
        ),
        (
            "arguments",
            texts(&|step| either(step).map(|call| call.arguments.clone())),
        ),
        ("side", texts(&side)),
        ("outcome_sim", texts(&|step| sim(step)?.outcome.clone())),
        ("outcome_real", texts(&|step| real(step)?.outcome.clone())),
        ("status_sim", texts(&|step| sim(step)?.status.clone())),
        ("status_real", texts(&|step| real(step)?.status.clone())),
        ("latency_ms_sim", numbers(&|step| sim(step)?.latency_ms)),
        ("latency_ms_real", numbers(&|step| real(step)?.latency_ms)),
        (
            "obs_distance",
            numbers(&|step| step.diff.as_ref().map(|diff| diff.gap.gap)),
        ),
        ("diverges", flags(|step| step.diverges)),
        ("first_divergence", flags(|step| step.first)),
        ("state_differs", flags(|step| step.state_differs)),
        ("cause", texts(&|step| step.cause.clone())),
        ("content_sim", texts(&|step| sim(step)?.content.clone())),
        ("content_real", texts(&|step| real(step)?.content.clone())),
        ("paths", paths(&steps)),
    ];
    RecordBatch::try_from_iter_with_nullable(
        columns
            .into_iter()
            .map(|(name, column)| (name, column, true)),
    )
}

fn paths(steps: &[&Step]) -> ArrayRef {
    let names = ["path", "kind", "sim", "real"];
    let fields: Fields = names
        .map(|name| Field::new(name, DataType::Utf8, true))
        .to_vec()
        .into();
    let texts = || Box::new(StringBuilder::new()) as Box<dyn arrow::array::ArrayBuilder>;
    let mut list = ListBuilder::new(StructBuilder::new(fields, names.map(|_| texts()).into()));
    for step in steps {
        let Some(diff) = &step.diff else {
            list.append(false);
            continue;
        };
        for path in &diff.paths {
            let values = [
                Some(path.path.as_str()),
                Some(path.kind.name()),
                path.left.as_deref(),
                path.right.as_deref(),
            ];
            for (at, value) in values.into_iter().enumerate() {
                if let Some(builder) = list.values().field_builder::<StringBuilder>(at) {
                    builder.append_option(value);
                }
            }
            list.values().append(true);
        }
        list.append(true);
    }
    Arc::new(list.finish())
}
