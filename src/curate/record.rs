//! The lake remembers what was made of it: tables `curations` and
//! `curation_rows`. A curation is named by its recipe and the state it read, so
//! making it again records nothing twice.

use std::path::Path;
use std::time::Duration;

use super::error::CurateResult;
use super::read::{count, longs, quoted, stream};
use super::weigh::Row;
use crate::engine::Engine;
use crate::lake::rows::Table;
use crate::lake::{At, Lake, LakeVersion, failpoint};

const TABLES: &[&str] = &["curations", "curation_rows"];

/// Rows of one chunk.
const CHUNK: usize = 65_536;

/// What is recorded of a curation.
pub(super) struct Entry<'a> {
    pub(super) curation_id: &'a str,
    pub(super) lake_version: i64,
    pub(super) recipe: &'a str,
    pub(super) manifest: &'a str,
    pub(super) output: &'a Path,
    pub(super) command: &'a str,
    pub(super) counts: serde_json::Value,
}

/// Records a curation unless it is recorded; the new lake version if it was not.
pub(super) async fn record(
    lake: &Path,
    wait: Duration,
    entry: &Entry<'_>,
    rows: &[Row],
) -> CurateResult<Option<LakeVersion>> {
    let (mut lake, _guard) = Lake::open_for_writing(lake, wait).await?;
    let engine = Engine::open(&lake, &At::Newest).await?;
    let id = quoted(entry.curation_id);
    let sql = format!("SELECT count(*) FROM curations WHERE curation_id = {id}");
    if count(&engine, &sql).await? > 0 {
        return Ok(None);
    }
    drop(engine);
    let (mut writer, _) = lake
        .write("curate", entry.curation_id, entry.command, TABLES)
        .await?;
    failpoint::pass("curate:record_begun");
    let mut table = Table::new("curations");
    table
        .text(entry.curation_id)
        .int64(entry.lake_version)
        .text(entry.recipe)
        .text(entry.manifest)
        .text(&entry.output.display().to_string())
        .int64(i64::try_from(rows.len()).unwrap_or(i64::MAX))
        .time(Some(chrono::Utc::now().timestamp_micros()))
        .end_row();
    writer.push("curations", 0, table.finish()?)?;
    // The tables of a lake are sorted by trajectory.
    let mut order: Vec<&Row> = rows.iter().collect();
    order.sort_by(|a, b| {
        (a.run.trajectory_key, &a.run.run_id).cmp(&(b.run.trajectory_key, &b.run.run_id))
    });
    let mut chunk = 0;
    let mut table = Table::new("curation_rows");
    for rows in order.chunks(CHUNK) {
        for row in rows {
            table
                .text(&row.run.environment)
                .text(&row.run.trajectory_id)
                .int64(row.run.trajectory_key)
                .text(entry.curation_id)
                .text(&row.run.run_id)
                .opt_text(Some(&row.run.group))
                .float64(Some(row.run.reward))
                .float64(Some(row.advantages.fidelity_weight))
                .float64(Some(row.advantages.advantage_fidelity))
                .end_row();
        }
        writer.push("curation_rows", chunk, table.finish()?)?;
        writer.end_chunk(chunk).await?;
        chunk += 1;
    }
    let version = writer.commit(chunk - 1, entry.counts.clone()).await?;
    failpoint::pass("curate:recorded");
    Ok(Some(version))
}

/// The lake versions that curations name; their files must stay.
///
/// # Errors
/// If the table cannot be read.
pub async fn pinned_versions(lake: &Lake) -> CurateResult<std::collections::BTreeSet<i64>> {
    let engine = Engine::open(lake, &At::Newest).await?;
    let mut versions = std::collections::BTreeSet::new();
    let mut batches = stream(&engine, "SELECT DISTINCT lake_version FROM curations").await?;
    while let Some(batch) = batches.next().await? {
        versions.extend(longs(&batch, "lake_version")?.values().iter().copied());
    }
    Ok(versions)
}
