//! Which rules and which learned artefacts touch which API: part of the inputs of
//! the profiles that hold a call of it.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, Int64Array, StringArray};
use arrow::record_batch::RecordBatch;
use fidelake_core::json::key::KeyHasher;

use super::error::EngineResult;
use super::functions::Settings;
use super::session::Engine;
use super::settings::texts;
use crate::lake::LakeError;

/// Names the rows `touched(environment, api, said, learned)`: hashes of what is
/// said of an API (it touches every trajectory) and of what was learned of it (it
/// touches those without repeats of both arms). 0: nothing.
pub(super) async fn name_touched(engine: &Engine, settings: &Settings) -> EngineResult<()> {
    let (mut environments, mut names) = (Vec::new(), Vec::new());
    let (mut said, mut learned) = (Vec::new(), Vec::new());
    if !settings.is_empty() {
        let sql = "SELECT DISTINCT environment, name FROM calls WHERE name IS NOT NULL ORDER BY environment, name";
        for batch in engine.query(sql).await?.1 {
            let (of, apis) = (texts(&batch, 0)?, texts(&batch, 1)?);
            for row in 0..of.len() {
                let found = hashes(settings, of.value(row), apis.value(row));
                if found != (0, 0) {
                    environments.push(of.value(row).to_owned());
                    names.push(apis.value(row).to_owned());
                    said.push(found.0);
                    learned.push(found.1);
                }
            }
        }
    }
    let columns: [(&str, ArrayRef); 4] = [
        ("environment", Arc::new(StringArray::from(environments))),
        ("api", Arc::new(StringArray::from(names))),
        ("said", Arc::new(Int64Array::from(said))),
        ("learned", Arc::new(Int64Array::from(learned))),
    ];
    let rows = RecordBatch::try_from_iter(columns).map_err(LakeError::from)?;
    engine.name_rows("touched", &rows.schema(), vec![rows])
}

fn hashes(settings: &Settings, environment: &str, api: &str) -> (i64, i64) {
    let number = |hasher: KeyHasher| hasher.finish().as_i64();
    // The API's own name, or equal rules for two APIs would cancel out.
    let begin = || {
        let mut hasher = KeyHasher::default();
        hasher.update(api.as_bytes());
        hasher.update(b"\n");
        hasher
    };
    let mut said = begin();
    let mut any = settings.declared.describe(environment, api, &mut said);
    let rules = settings.said.select(environment, api);
    if !rules.is_empty() {
        said.update(&rules.fingerprint().bits().to_le_bytes());
        any = true;
    }
    let said = if any { number(said) } else { 0 };
    let mut learned = begin();
    let known = settings
        .learned
        .get(environment)
        .and_then(|apis| apis.get(api));
    for level in known.iter().flat_map(|known| known.0.iter().flatten()) {
        learned.update(&level.map_or(u64::MAX, f64::to_bits).to_le_bytes());
    }
    let classes = settings.volatile.select(environment, api);
    if !classes.is_empty() {
        learned.update(&classes.fingerprint().bits().to_le_bytes());
    }
    let any = known.is_some() || !classes.is_empty();
    (said, if any { number(learned) } else { 0 })
}
