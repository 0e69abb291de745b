//! Gaps of the simulator's worlds, from the lake.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::ScalarValue;
use fidelake_core::json::Doc;

use super::error::RandomizeError;
use crate::engine::Engine;
use crate::engine::columns::Columns;

const RUNS: &str = include_str!("../../queries/randomize/runs.sql");
const CELLS: &str = include_str!("../../queries/randomize/cells.sql");

/// An API in one world.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measured {
    /// Empty: nothing stood around the simulator.
    pub(super) perturbation: String,
    pub(super) intensity: f64,
    pub(super) api: String,
    pub(super) calls: i64,
    pub(super) trajectories: i64,
    pub(super) obs: f64,
    pub(super) act: f64,
    pub(super) trans: f64,
}

/// What was measured; how many trajectories were left out, since several perturbations
/// stood around the simulator at once, or it is not said how strong one was.
pub(super) async fn measured(
    engine: &Engine,
    environment: &str,
) -> Result<(Vec<Measured>, usize), RandomizeError> {
    let parameters = [("environment", ScalarValue::from(environment))];
    let (_, batches) = engine.query_with(RUNS, &parameters).await?;
    let mut worlds: BTreeMap<(String, String), Option<World>> = BTreeMap::new();
    for batch in &batches {
        let columns = Columns(batch);
        let names = columns.texts("environment")?;
        let trajectories = columns.texts("trajectory_id")?;
        let labels = columns.texts("labels")?;
        for row in 0..batch.num_rows() {
            let label = labels.is_valid(row).then(|| labels.value(row));
            let world = world(label.unwrap_or("{}"));
            let key = (
                names.value(row).to_owned(),
                trajectories.value(row).to_owned(),
            );
            let known = worlds.entry(key).or_insert_with(|| world.clone());
            if *known != world {
                *known = None;
            }
        }
    }
    let left_out = worlds.values().filter(|world| world.is_none()).count();
    let known = worlds
        .into_iter()
        .filter_map(|(key, world)| Some((key, world?)));
    name(engine, known.collect())?;
    let (_, batches) = engine.query(CELLS).await?;
    let mut cells = Vec::new();
    for batch in &batches {
        let columns = Columns(batch);
        let (kinds, apis) = (columns.texts("perturbation")?, columns.texts("api")?);
        let [intensity, obs, act, trans] =
            ["intensity", "obs", "act", "trans"].map(|name| columns.numbers(name));
        let (intensity, obs, act, trans) = (intensity?, obs?, act?, trans?);
        let (calls, trajectories) = (
            columns.integers("calls")?,
            columns.integers("trajectories")?,
        );
        cells.extend((0..batch.num_rows()).map(|row| Measured {
            perturbation: kinds.value(row).to_owned(),
            intensity: intensity.value(row),
            api: apis.value(row).to_owned(),
            calls: calls.value(row),
            trajectories: trajectories.value(row),
            obs: obs.value(row),
            act: act.value(row),
            trans: trans.value(row),
        }));
    }
    Ok((cells, left_out))
}

/// A perturbation and its intensity; none and 0.
type World = (String, f64);

/// `None`: more than one, or it is not said how strong.
fn world(labels: &str) -> Option<World> {
    let Ok(doc) = Doc::parse(labels) else {
        return Some((String::new(), 0.0));
    };
    let Some(name) = doc.root().get_str("perturbation") else {
        return Some((String::new(), 0.0));
    };
    let given = doc.root().get_some("perturbation_intensity")?;
    let given = given.as_str().unwrap_or(given.raw());
    let intensity = given
        .strip_prefix(name)
        .and_then(|rest| rest.strip_prefix('='))
        .unwrap_or(given);
    let intensity: f64 = intensity.parse().ok()?;
    let fits = (0.0..=1.0).contains(&intensity);
    fits.then(|| (name.to_owned(), intensity))
}

fn name(engine: &Engine, worlds: Vec<((String, String), World)>) -> Result<(), RandomizeError> {
    let texts = |of: fn(&((String, String), World)) -> &str| {
        Arc::new(StringArray::from_iter_values(worlds.iter().map(of))) as ArrayRef
    };
    let intensities = worlds.iter().map(|(_, (_, intensity))| *intensity);
    let columns = vec![
        texts(|(key, _)| &key.0),
        texts(|(key, _)| &key.1),
        texts(|(_, world)| &world.0),
        Arc::new(Float64Array::from_iter_values(intensities)) as ArrayRef,
    ];
    let text = |name: &str| Field::new(name, DataType::Utf8, false);
    let schema = Arc::new(Schema::new(vec![
        text("environment"),
        text("trajectory_id"),
        text("perturbation"),
        Field::new("intensity", DataType::Float64, false),
    ]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns)?;
    engine.name_rows("randomize_worlds", &schema, vec![batch])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_say_which_world_it_was() {
        let plain = Some((String::new(), 0.0));
        assert_eq!(world("{}"), plain);
        assert_eq!(world(r#"{"plan":"p"}"#), plain);
        let labelled = r#"{"perturbation":"latency","perturbation_intensity":"latency=0.25"}"#;
        assert_eq!(world(labelled), Some(("latency".into(), 0.25)));
        let number = r#"{"perturbation":"latency","perturbation_intensity":0.25}"#;
        assert_eq!(world(number), Some(("latency".into(), 0.25)));
        assert_eq!(world(r#"{"perturbation":"latency"}"#), None);
        let two = r#"{"perturbation":"a+b","perturbation_intensity":"a=0.1,b=0.2"}"#;
        assert_eq!(world(two), None);
    }
}
