//! Patterns as rows of the lake, and the ids that they keep.

use std::collections::{BTreeMap, BTreeSet};

use fidelake_core::json::key::{Key, KeyHasher};
use fidelake_core::patterns::{Old, stable_ids};

use super::call::{Calls, place};
use super::core_of::Core;
use super::error::PatternResult;
use super::mine::{Found, MineReport, MineRequest};
use crate::engine::Engine;
use crate::engine::columns::{Columns, text};
use crate::import::Progress;
use crate::lake::rows::Table;
use crate::lake::{Lake, LakeError, Started, failpoint};

const BEFORE: &str = include_str!("../../queries/patterns/before.sql");

/// The id of a pattern that nobody has seen before: a hash of its core.
pub(super) fn fresh_id(core: &Core) -> String {
    format!(
        "p{:08x}",
        Key::of_parts(&core.parts()).as_i64().cast_unsigned() >> 32
    )
}

/// Gives patterns the ids that they had in the newest run.
pub(super) async fn name_as_before(
    engine: &Engine,
    all: &Calls,
    found: &mut [Found],
) -> PatternResult<()> {
    let (_, batches) = engine.query(BEFORE).await?;
    let mut old: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for batch in &batches {
        let columns = Columns(batch);
        let ids = columns.texts("pattern_id")?;
        let (keys, slots) = (
            columns.integers("trajectory_key")?,
            columns.integers("slot")?,
        );
        for row in 0..batch.num_rows() {
            let slot = i32::try_from(slots.value(row)).unwrap_or(i32::MAX);
            let id = text(&ids, row).unwrap_or_default();
            old.entry(id)
                .or_default()
                .insert(place(keys.value(row), slot));
        }
    }
    let old: Vec<Old> = old
        .into_iter()
        .map(|(id, members)| Old { id, members })
        .collect();
    let fresh: Vec<String> = found.iter().map(|f| f.pattern_id.clone()).collect();
    let members: Vec<BTreeSet<u64>> = found
        .iter()
        .map(|f| {
            f.members
                .iter()
                .map(|&at| all.place(&all.calls[at]))
                .collect()
        })
        .collect();
    for (found, id) in found.iter_mut().zip(stable_ids(&fresh, &members, &old)) {
        found.pattern_id = id;
    }
    Ok(())
}

/// A hash of all that is written but the lake version.
fn hash(all: &Calls, report: &MineReport, seed: u64) -> String {
    let mut hasher = KeyHasher::default();
    hasher.update(
        format!(
            "{} {} {} {seed}",
            report.method, report.setting, report.score
        )
        .as_bytes(),
    );
    for found in &report.patterns {
        hasher.update(format!("{found:?}").as_bytes());
        for &at in &found.members {
            hasher.update(&all.place(&all.calls[at]).to_le_bytes());
        }
    }
    hasher.hex()
}

/// Writes the patterns as one lake version, unless they are as they were.
pub(super) async fn write(
    lake: &mut Lake,
    all: &Calls,
    request: &MineRequest,
    report: &mut MineReport,
    progress: &dyn Progress,
) -> PatternResult<()> {
    let hash = hash(all, report, request.seed);
    let last = lake
        .versions()?
        .into_iter()
        .rfind(|v| v.operation == "mine");
    if last.is_some_and(|v| v.counts["hash"] == hash.as_str()) {
        return Ok(());
    }
    let generation = report.lake_version;
    let id = format!("mine-{generation}-{}", &hash[..12]);
    let (mut writer, started) = lake
        .write(
            "mine",
            &id,
            &request.command,
            &["patterns", "pattern_members"],
        )
        .await?;
    if started == Started::Resumed {
        progress.say("going on with a run of mine that was interrupted");
    }
    let mut patterns = Table::new("patterns");
    for found in &report.patterns {
        row(&mut patterns, found, generation, request.seed, report);
    }
    let mut calls = Table::new("pattern_members");
    // Files are sorted by trajectory, as the other tables are.
    let mut members: Vec<(usize, &str)> = report
        .patterns
        .iter()
        .flat_map(|f| f.members.iter().map(|&at| (at, f.pattern_id.as_str())))
        .collect();
    members.sort_unstable();
    for (at, pattern) in members {
        let call = &all.calls[at];
        let trajectory = &all.trajectories[call.trajectory as usize];
        let api = all.value(call, super::feature::Field::Api);
        calls
            .text(&trajectory.environment)
            .text(&trajectory.id)
            .int64(trajectory.key)
            .int64(generation)
            .text(pattern)
            .int32(Some(call.slot))
            .int32(Some(call.turn))
            .int32(Some(call.index))
            .opt_text(Some(api).filter(|api| *api != "-"))
            .float64(Some(call.gap))
            .boolean(Some(trajectory.held_out));
        calls.end_row();
    }
    for (name, table) in [("patterns", &mut patterns), ("pattern_members", &mut calls)] {
        let rows = table.finish().map_err(LakeError::from)?;
        writer.push(name, 0, rows)?;
    }
    writer.end_chunk(0).await?;
    failpoint::pass("mine:rows");
    let counts = serde_json::json!({
        "patterns": report.patterns.len(),
        "members": report.patterns.iter().map(|f| f.members.len()).sum::<usize>(),
        "hash": hash,
    });
    report.lake_version = writer.commit(1, counts).await?.version;
    report.written = true;
    Ok(())
}

fn row(table: &mut Table, found: &Found, generation: i64, seed: u64, report: &MineReport) {
    let count = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    table
        .int64(generation)
        .text(&found.pattern_id)
        .text(&found.environment)
        .text(found.family)
        .text(&found.name)
        .text(&found.rule)
        .text(found.status)
        .text(found.test)
        .float64(found.p_value)
        .texts(found.apis.iter().map(String::as_str))
        .int64(count(found.calls))
        .int64(count(found.trajectories))
        .float64(Some(found.gap))
        .float64(Some(found.share_gap))
        .float64(Some(found.causes[0]))
        .float64(Some(found.causes[1]))
        .float64(Some(found.causes[2]))
        .float64(found.precision)
        .float64(found.recall)
        .int64(count(found.held_out))
        .texts(found.examples.iter().map(String::as_str))
        .text(report.method)
        .float64(Some(report.setting))
        .float64(Some(report.score))
        .int64(seed.cast_signed());
    table.end_row();
}
