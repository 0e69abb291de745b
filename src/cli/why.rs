//! `fidelake why`

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int32Array, RecordBatch, StringArray};
use clap::Args;

use super::printer::Printer;
use super::{AtArgs, Global, Status};
use crate::curate::{Asked, Fate, Why, why};
use crate::report::OutputFormat;

/// Say which rule left a trajectory out of a curation, or how it was weighed.
///
/// The recipe is applied again to the state of the lake that it read. Without
/// --curation and --recipe the newest recorded curation is meant.
#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    /// Its id
    trajectory: String,
    /// Its environment, where several have that id
    #[arg(long, value_name = "NAME")]
    environment: Option<String>,
    /// A recorded curation, or the beginning of its id
    #[arg(long, value_name = "ID", conflicts_with = "recipe")]
    curation: Option<String>,
    /// A recipe, whether shards were made of it or not
    #[arg(long, value_name = "RECIPE.toml")]
    recipe: Option<PathBuf>,
    #[command(flatten)]
    at: AtArgs,
}

pub(crate) async fn run(
    args: &WhyArgs,
    global: &Global,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let found = why(&Asked {
        lake: global.lake.clone(),
        at: args.at.resolve()?,
        trajectory: args.trajectory.clone(),
        environment: args.environment.clone(),
        curation: args.curation.clone(),
        recipe: args.recipe.clone(),
    })
    .await?;
    if printer.format() == OutputFormat::Table {
        printer.data(&text(&found))?;
    } else {
        printer.batch(&batch(&found)?)?;
    }
    printer.say(&format!(
        "by the recipe of curation {} at lake version {}",
        found.curation_id, found.lake_version
    ));
    Ok(Status::Done)
}

fn text(found: &Why) -> String {
    let mut lines = Vec::new();
    for fate in &found.runs {
        let name = format!("{} {} {}", fate.environment, fate.arm, fate.repeat);
        match fate.weight {
            Some(weight) => lines.push(format!(
                "{name}: a row of weight {weight:.4}. {}: {}",
                fate.rule, fate.why
            )),
            None => lines.push(format!("{name}: left out by {}: {}", fate.rule, fate.why)),
        }
        let figures = fate.figures.iter();
        lines.extend(figures.map(|(name, value)| format!("    {name:<20}{value}")));
    }
    lines.join("\n")
}

fn batch(found: &Why) -> anyhow::Result<RecordBatch> {
    let texts = |of: &dyn Fn(&Fate) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(found.runs.iter().map(of)))
    };
    let figures = |fate: &Fate| {
        let pairs = fate.figures.iter();
        let map: serde_json::Map<String, serde_json::Value> = pairs
            .map(|(name, value)| ((*name).to_owned(), value.clone().into()))
            .collect();
        serde_json::Value::Object(map).to_string()
    };
    let repeats = found.runs.iter().map(|fate| fate.repeat);
    let kept: Vec<bool> = found.runs.iter().map(|fate| fate.kept).collect();
    let weights: Vec<Option<f64>> = found.runs.iter().map(|fate| fate.weight).collect();
    Ok(RecordBatch::try_from_iter([
        ("environment", texts(&|fate| fate.environment.clone())),
        ("run_id", texts(&|fate| fate.run_id.clone())),
        ("arm", texts(&|fate| fate.arm.clone())),
        (
            "repeat",
            Arc::new(Int32Array::from_iter_values(repeats)) as ArrayRef,
        ),
        ("kept", Arc::new(BooleanArray::from(kept)) as ArrayRef),
        ("rule", texts(&|fate| fate.rule.clone())),
        ("why", texts(&|fate| fate.why.clone())),
        (
            "fidelity_weight",
            Arc::new(Float64Array::from(weights)) as ArrayRef,
        ),
        ("figures", texts(&figures)),
    ])?)
}
