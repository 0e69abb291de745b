//! What a lake has newly profiled, as observations.

use std::path::Path;
use std::sync::Arc;

use arrow::json::LineDelimitedWriter;
use serde_json::{Map, Value, json};

use super::desk::Receipt;
use super::error::{MonitorError, MonitorResult};
use super::http::Shared;
use super::pool::Pool;
use crate::engine::{Engine, EngineError};
use crate::lake::{At, Lake};

const TAIL: &str = include_str!("../../queries/monitor/tail.sql");

/// Follows a lake.
#[derive(Debug)]
pub struct Tail {
    lake: std::path::PathBuf,
    /// The lake version that was read last.
    version: i64,
    fact: String,
}

impl Tail {
    /// Goes on behind what this state has taken from the lake before.
    ///
    /// # Errors
    /// If the lake is none, or the state cannot be read.
    pub fn open(lake: &Path, shared: &Shared) -> MonitorResult<Self> {
        let path = Lake::open(lake)?.path().display().to_string();
        let fact = format!("tail {path}");
        let version = shared.desk().store.fact(&fact)?;
        Ok(Self {
            lake: lake.to_owned(),
            version: version.and_then(|text| text.parse().ok()).unwrap_or(-1),
            fact,
        })
    }

    /// Takes what is new; `None` if nothing is. The pool of the lake is read again as well.
    ///
    /// # Errors
    /// If the lake cannot be read, or the state not be written.
    pub async fn poll(&mut self, shared: &Arc<Shared>) -> MonitorResult<Option<Receipt>> {
        let lake = Lake::open(&self.lake)?;
        let newest = lake.newest()?.version;
        if newest <= self.version {
            return Ok(None);
        }
        let engine = Engine::open(&lake, &At::Version(newest)).await?;
        shared.set_pool(Pool::read(&engine).await?);
        let sql = TAIL.replace("$1", &self.version.to_string());
        let mut rows = engine.stream(&sql).await?;
        let mut all = Receipt::default();
        while let Some(batch) = rows.next().await? {
            let mut bytes = Vec::new();
            let mut writer = LineDelimitedWriter::new(&mut bytes);
            writer.write(&batch).map_err(EngineError::from)?;
            writer.finish().map_err(EngineError::from)?;
            drop(writer);
            let lines: Vec<String> = bytes
                .split(|byte| *byte == b'\n')
                .filter_map(|line| serde_json::from_slice::<Map<String, Value>>(line).ok())
                .map(|row| observation(&row).to_string())
                .collect();
            let shared = Arc::clone(shared);
            let taken =
                tokio::task::spawn_blocking(move || shared.take(lines.join("\n").as_bytes()));
            let (receipt, _) = taken
                .await
                .map_err(|error| MonitorError::Stopped(error.to_string()))??;
            all.counts.merge(&receipt.counts);
            all.refused.extend(receipt.refused);
            all.paused.extend(receipt.paused);
        }
        shared.desk().store.note(&self.fact, &newest.to_string())?;
        self.version = newest;
        Ok(Some(all))
    }
}

/// A row of the query as a line of the monitor.
fn observation(row: &Map<String, Value>) -> Value {
    let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default();
    let number = |name: &str| row.get(name).and_then(Value::as_i64).unwrap_or_default();
    let gap = |name: &str| row.get(name).cloned().unwrap_or(Value::Null);
    // A trajectory that is profiled again is seen again: its gaps are others.
    let id = format!(
        "lake/{}/{}/{}/{}",
        text("environment"),
        text("trajectory_id"),
        number("slot"),
        number("generation")
    );
    json!({
        "id": id, "environment": text("environment"), "api": text("api"), "outcome": text("outcome"),
        "gaps": { "obs": gap("obs"), "act": gap("act"), "rew": gap("rew"), "trans": gap("trans") },
        "cost": if number("slot") < 0 { 0 } else { 1 },
    })
}
