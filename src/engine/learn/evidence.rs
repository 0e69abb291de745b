//! Artefacts without a table of their own: what was found, with its evidence, stored by
//! hand and applied to nothing. The row stands in `learned`, the text among the counts of
//! the lake version that brought it.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use arrow::record_batch::RecordBatch;

use super::{Artefact, entry_rows, hash};
use crate::engine::error::{EngineError, EngineResult};
use crate::import::Progress;
use crate::lake::{Lake, LakeError, Started, WriteGuard};

/// One artefact.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Evidence {
    /// Its name: kind, lake version and hash.
    pub artefact_id: String,
    /// The lake version that it stands on.
    pub from_version: i64,
    /// The lake version that brought it.
    pub lake_version: i64,
    /// When, UTC, ISO 8601.
    pub time: String,
    /// What was found.
    pub found: serde_json::Value,
}

/// Stores what was found on lake version `from`. The same again is not stored twice.
///
/// # Errors
/// If the lake cannot be written.
pub async fn stored_as(
    lake: &mut Lake,
    _guard: WriteGuard,
    kind: &'static str,
    from: i64,
    found: serde_json::Value,
    progress: &dyn Progress,
) -> EngineResult<Evidence> {
    let text: ArrayRef = Arc::new(StringArray::from(vec![found.to_string()]));
    let rows = RecordBatch::try_from_iter([("found", text)]).map_err(LakeError::from)?;
    let artefact = Artefact {
        kind,
        table: "learned",
        hash: hash(&rows)?,
        rows,
    };
    let id = artefact.id(from);
    if let Some(known) = stored(lake, kind)?
        .into_iter()
        .find(|one| one.artefact_id == id)
    {
        return Ok(known);
    }
    let command = format!("fidelake validate --store ({kind})");
    let (mut writer, started) = lake.write("learn", &id, &command, &["learned"]).await?;
    if started == Started::Resumed {
        progress.say("going on with a write that was interrupted");
    }
    writer.push("learned", 0, entry_rows(&[(id.clone(), &artefact)], from)?)?;
    writer.end_chunk(0).await?;
    let counts = serde_json::json!({ "artefact_id": id, "from": from, kind: found });
    writer.commit(1, counts).await?;
    let all = stored(lake, kind)?;
    let own = all.into_iter().find(|one| one.artefact_id == id);
    own.ok_or_else(|| EngineError::Run(format!("{id} is not in the lake")))
}

/// All of a kind, the newest last.
///
/// # Errors
/// If the catalog of the lake cannot be read.
pub fn stored(lake: &Lake, kind: &str) -> EngineResult<Vec<Evidence>> {
    let versions = lake.versions()?.into_iter().filter_map(|version| {
        let found = version.counts.get(kind)?.clone();
        let id = version.counts.get("artefact_id")?.as_str()?.to_owned();
        let from = version.counts.get("from")?.as_i64()?;
        Some(Evidence {
            artefact_id: id,
            from_version: from,
            lake_version: version.version,
            time: version.time.clone(),
            found,
        })
    });
    let mut all: Vec<Evidence> = versions.collect();
    all.sort_by_key(|one| one.lake_version);
    Ok(all)
}
