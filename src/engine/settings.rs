//! What a lake knows beside its rows, read for a profile run.

use std::path::Path;

use arrow::array::{Array as _, AsArray as _, StringArray};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use fidelake_core::gap::{ContentClass, PARTS, PathRule, PathRules, RuleAction};

use super::error::{EngineError, EngineResult};
use super::functions::{Samples, Settings};
use super::rules::Said;
use super::session::Engine;
use crate::lake::LakeError;

const SAMPLES: &str = include_str!("../../queries/profile/samples.sql");

/// What is said, and these classes of paths.
pub(super) fn with_volatile(lake: &Path, volatile: Vec<PathRule>) -> EngineResult<Settings> {
    let said = Said::read(lake)?;
    let checked = |rules: Vec<PathRule>| {
        // Both were checked when they came; a fault here is one of the lake.
        PathRules::new(rules).map_err(|e| EngineError::Rules(e.to_string()))
    };
    // Of equal rules the later one holds: what people say.
    let all = volatile.iter().chain(&said.paths).cloned().collect();
    Ok(Settings {
        declared: said.declared,
        said: checked(said.paths)?,
        said_and_learned: checked(all)?,
        volatile: checked(volatile)?,
        ..Settings::default()
    })
}

/// Reads what is said and what was learned.
pub(super) async fn read(engine: &Engine, lake: &Path) -> EngineResult<Settings> {
    let sql = "SELECT environment, api, path, class FROM volatile_paths_now
               WHERE class IS NOT NULL ORDER BY environment, api, path";
    let volatile = match engine.holds("volatile_paths")? {
        true => volatile_rules(&engine.query(sql).await?.1)?,
        false => Vec::new(),
    };
    let mut settings = with_volatile(lake, volatile)?;
    if !engine.holds("learned_noise")? {
        return Ok(settings);
    }
    let sql = "SELECT environment, api, component, noise_sim, noise_real FROM learned_noise_now";
    for batch in engine.query(sql).await?.1 {
        let [environments, apis, components] =
            [texts(&batch, 0)?, texts(&batch, 1)?, texts(&batch, 2)?];
        for row in 0..batch.num_rows() {
            let component = components.value(row);
            let Some(part) = PARTS.iter().position(|part| *part == component) else {
                continue;
            };
            let noise = [3, 4].map(|column| {
                let levels = batch.column(column).as_primitive::<Float64Type>();
                levels.is_valid(row).then(|| levels.value(row))
            });
            let of_environment = settings
                .learned
                .entry(environments.value(row).to_owned())
                .or_default();
            let learned = of_environment
                .entry(apis.value(row).to_owned())
                .or_default();
            learned.0[part] = noise;
        }
    }
    Ok(settings)
}

/// Paths whose values vary by themselves (environment, api, path, class), as rules.
pub(super) fn volatile_rules(rows: &[RecordBatch]) -> EngineResult<Vec<PathRule>> {
    let mut rules = Vec::new();
    for batch in rows {
        let [environments, apis, paths, classes] = [
            texts(batch, 0)?,
            texts(batch, 1)?,
            texts(batch, 2)?,
            texts(batch, 3)?,
        ];
        for row in 0..batch.num_rows() {
            if let Some(action) = class_action(classes.value(row)) {
                let rule = PathRule::new(paths.value(row), action);
                let rule = rule.within(environments.value(row), apis.value(row));
                rules.push(rule.learned());
            }
        }
    }
    Ok(rules)
}

/// Reads how much evidence there is. That of trajectories that are computed again
/// does not count.
pub(super) async fn read_samples(engine: &Engine, pending: &RecordBatch) -> EngineResult<Samples> {
    let mut samples = Samples::default();
    if !engine.holds("evidence")? {
        return Ok(samples);
    }
    engine.name_rows("pending_range", &pending.schema(), vec![pending.clone()])?;
    let oldest = engine.query("SELECT min(generation) FROM evidence").await?;
    let oldest = oldest.1.first().map(|batch| batch.column(0));
    let oldest = oldest.map(|column| column.as_primitive::<Int64Type>().value(0));
    let parameters = [("oldest", ScalarValue::Int64(oldest))];
    for batch in engine.query_with(SAMPLES, &parameters).await?.1 {
        let (environments, apis) = (texts(&batch, 0)?, texts(&batch, 1)?);
        let number = |column: usize| batch.column(column).as_primitive::<Int64Type>();
        for row in 0..batch.num_rows() {
            let api = if apis.is_valid(row) {
                apis.value(row)
            } else {
                ""
            };
            let of_api = samples
                .entry(environments.value(row).to_owned())
                .or_default()
                .entry(api.to_owned())
                .or_default();
            let examples = u32::try_from(number(3).value(row)).unwrap_or(u32::MAX);
            of_api.insert(number(2).value(row), examples);
        }
    }
    Ok(samples)
}

/// How a class of `volatile_paths` is compared; `None` if there is none of that name.
pub(super) fn class_action(class: &str) -> Option<RuleAction> {
    match class {
        "ignore" => Some(RuleAction::Ignore),
        name => ContentClass::from_name(name).map(RuleAction::Class),
    }
}

/// A column of texts.
pub(super) fn texts(batch: &RecordBatch, column: usize) -> EngineResult<StringArray> {
    let texts = arrow::compute::cast(batch.column(column), &DataType::Utf8);
    Ok(texts.map_err(LakeError::from)?.as_string::<i32>().clone())
}
