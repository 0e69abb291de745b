//! Forgetting a plan: its payloads, and what was not run.

use std::path::Path;

use rusqlite::{Connection, params};

use super::error::{DualError, DualResult};
use super::holder::Holder;
use super::journal::Journal;
use super::ledger::Ledger;
use super::tables::TABLES;
use crate::lake::Lake;

/// Forgets a plan and its probe: what they selected, and the runs that are not in the
/// lake. What was spent stays counted under the plan's name.
///
/// # Errors
/// If there is no such plan, if it is being run, or if finished runs of it are not in
/// the lake yet.
pub async fn forget(lake: &Path, name: &str) -> DualResult<()> {
    let lake = Lake::open(lake)?;
    let _holder = Holder::take(lake.path(), name)?;
    let journal = Journal::open(lake.path(), TABLES)?;
    let wanted = name.to_owned();
    let (plans, waiting) = journal
        .run(move |db| {
            let both = [wanted.clone(), format!("{wanted}+idempotency")];
            let sql = "SELECT count(*) FROM dual_plans WHERE plan_id IN (?1, ?2)";
            let plans: i64 = db.query_row(sql, params![both[0], both[1]], |row| row.get(0))?;
            let sql = "SELECT count(*) FROM dual_runs
                       WHERE plan_id IN (?1, ?2) AND status = 'done' AND folded = 0";
            let waiting: i64 = db.query_row(sql, params![both[0], both[1]], |row| row.get(0))?;
            if waiting == 0 {
                for plan in &both {
                    remove(db, plan)?;
                }
            }
            Ok((plans, waiting))
        })
        .await?;
    if plans == 0 {
        return Err(DualError::NoSuchPlan(name.to_owned()));
    }
    if waiting > 0 {
        return Err(DualError::Waiting {
            name: name.to_owned(),
            runs: waiting,
        });
    }
    Journal::tidy(lake.path())
}

/// Forgets a plan of which no call was ever made; false if there was one.
pub(super) async fn forget_untouched(ledger: &Ledger) -> DualResult<bool> {
    let plan = ledger.plan.clone();
    ledger
        .journal
        .run(move |db| {
            let sql = "SELECT count(*) FROM dual_calls WHERE plan_id = ?1";
            let calls: i64 = db.query_row(sql, [&plan], |row| row.get(0))?;
            if calls == 0 {
                remove(db, &plan)?;
            }
            Ok(calls == 0)
        })
        .await
}

fn remove(db: &Connection, plan: &str) -> rusqlite::Result<()> {
    for table in [
        "dual_calls",
        "dual_catalogs",
        "dual_runs",
        "dual_trajectories",
        "dual_plans",
    ] {
        db.execute(&format!("DELETE FROM {table} WHERE plan_id = ?1"), [plan])?;
    }
    Ok(())
}
