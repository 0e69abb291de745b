//! Where a plan stands.

use std::path::Path;

use rusqlite::{OptionalExtension as _, params};

use super::error::{DualError, DualResult};
use super::journal::Journal;
use super::tables::TABLES;
use crate::lake::Lake;

/// Where a plan stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanStatus {
    /// Its name.
    pub plan_id: String,
    /// When it was begun.
    pub started: String,
    /// By arm.
    pub arms: Vec<ArmStatus>,
    /// Calls of which nobody knows what became, and which no later answer settled.
    pub doubts: Vec<Doubt>,
    /// Payloads that stand in the journal, in bytes.
    pub payload_bytes: i64,
}

/// Where an arm of a plan stands.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ArmStatus {
    /// The plan.
    pub plan_id: String,
    /// `sim` or `real`.
    pub arm: String,
    /// Runs of the plan.
    pub runs: i64,
    /// Runs in the lake.
    pub in_lake: i64,
    /// Finished runs that are not in the lake yet.
    pub finished: i64,
    /// Runs under way, as far as the journal knows.
    pub running: i64,
    /// Runs that were cut short and can go on.
    pub cut: i64,
    /// Runs that were not begun.
    pub pending: i64,
    /// Runs with calls that are not permitted.
    pub refused: i64,
    /// Calls counted.
    pub calls: i64,
    /// Of these, answered.
    pub answered: i64,
    /// Of these, in doubt.
    pub in_doubt: i64,
    /// Of these, surely never sent.
    pub not_sent: i64,
    /// Counted against the budget; the plan and its probe share one.
    pub spent: i64,
    /// The budget as of the last run.
    pub budget: Option<i64>,
}

/// A call in doubt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The arm.
    pub arm: String,
    /// The trajectory.
    pub trajectory_id: String,
    /// The tool.
    pub name: String,
    /// Its number in the ledger.
    pub seq: i64,
    /// lost, late, killed.
    pub fault: String,
}

/// Reads where a plan stands, and its probe if there is one.
///
/// # Errors
/// If there is no lake, or no such plan in it.
pub async fn status(lake: &Path, name: &str) -> DualResult<Vec<PlanStatus>> {
    let lake = Lake::open(lake)?;
    let journal = Journal::open(lake.path(), TABLES)?;
    let wanted = name.to_owned();
    let found = journal
        .run(move |db| {
            let sql = "SELECT plan_id, started FROM dual_plans WHERE plan_id = ?1 OR plan_id = ?1 || '+idempotency' ORDER BY plan_id";
            let mut statement = db.prepare(sql)?;
            let plans: Vec<(String, String)> = statement
                .query_map([&wanted], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<rusqlite::Result<_>>()?;
            let mut found = Vec::new();
            for (plan_id, started) in plans {
                // Plans that were begun before budgets could be shared have their own.
                let sql = "SELECT name FROM dual_shared_budgets WHERE plan_id = ?1";
                let shared: Option<String> = db
                    .query_row(sql, [&plan_id], |row| row.get(0))
                    .optional()?;
                found.push(PlanStatus {
                    arms: arms(db, &plan_id, shared.as_deref().unwrap_or(&wanted))?,
                    doubts: doubts(db, &plan_id)?,
                    payload_bytes: payload(db, &plan_id)?,
                    plan_id,
                    started,
                });
            }
            Ok(found)
        })
        .await?;
    if found.is_empty() {
        return Err(DualError::NoSuchPlan(name.to_owned()));
    }
    Ok(found)
}

fn arms(
    db: &rusqlite::Connection,
    plan: &str,
    budget_of: &str,
) -> rusqlite::Result<Vec<ArmStatus>> {
    let sql = "SELECT arm, count(*), sum(folded), sum(status = 'done' AND folded = 0), sum(status = 'running'),
                   sum(status = 'cut'), sum(status = 'pending'), sum(status = 'refused')
               FROM dual_runs WHERE plan_id = ?1 GROUP BY arm ORDER BY arm DESC";
    let mut statement = db.prepare(sql)?;
    let rows = statement.query_map([plan], |row| {
        Ok(ArmStatus {
            plan_id: plan.to_owned(),
            arm: row.get(0)?,
            runs: row.get(1)?,
            in_lake: row.get(2)?,
            finished: row.get(3)?,
            running: row.get(4)?,
            cut: row.get(5)?,
            pending: row.get(6)?,
            refused: row.get(7)?,
            calls: 0,
            answered: 0,
            in_doubt: 0,
            not_sent: 0,
            spent: 0,
            budget: None,
        })
    })?;
    let mut found = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    for of in &mut found {
        let sql = "SELECT count(*), coalesce(sum(c.status = 'answered'), 0), coalesce(sum(c.status IN ('in_doubt', 'sent')), 0),
                       coalesce(sum(c.status = 'not_sent'), 0)
                   FROM dual_calls c JOIN dual_runs r ON r.plan_id = c.plan_id AND r.run = c.run
                   WHERE c.plan_id = ?1 AND r.arm = ?2";
        let counts =
            |row: &rusqlite::Row<'_>| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]);
        [of.calls, of.answered, of.in_doubt, of.not_sent] =
            db.query_row(sql, params![plan, of.arm], counts)?;
        let sql = "SELECT budget, spent FROM dual_budgets WHERE name = ?1 AND arm = ?2";
        let budget: Option<(Option<i64>, i64)> = db
            .query_row(sql, params![budget_of, of.arm], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .optional()?;
        (of.budget, of.spent) = budget.unwrap_or_default();
    }
    Ok(found)
}

fn doubts(db: &rusqlite::Connection, plan: &str) -> rusqlite::Result<Vec<Doubt>> {
    let sql = "SELECT r.arm, t.trajectory_id, c.name, c.seq, coalesce(c.fault, 'killed')
               FROM dual_calls c
               JOIN dual_runs r ON r.plan_id = c.plan_id AND r.run = c.run
               JOIN dual_trajectories t ON t.plan_id = r.plan_id AND t.trajectory = r.trajectory
               WHERE c.plan_id = ?1 AND c.status = 'in_doubt' AND NOT EXISTS (
                   SELECT 1 FROM dual_calls later WHERE later.plan_id = c.plan_id AND later.run = c.run
                   AND later.position = c.position AND later.status = 'answered' AND later.seq > c.seq)
               ORDER BY c.seq";
    let mut statement = db.prepare(sql)?;
    let rows = statement.query_map([plan], |row| {
        Ok(Doubt {
            arm: row.get(0)?,
            trajectory_id: row.get(1)?,
            name: row.get(2)?,
            seq: row.get(3)?,
            fault: row.get(4)?,
        })
    })?;
    rows.collect()
}

fn payload(db: &rusqlite::Connection, plan: &str) -> rusqlite::Result<i64> {
    let sql = "SELECT (SELECT coalesce(sum(coalesce(length(arguments), 0) + coalesce(length(answer), 0)), 0)
                       FROM dual_calls WHERE plan_id = ?1)
                    + (SELECT coalesce(sum(coalesce(length(task), 0)), 0) FROM dual_trajectories WHERE plan_id = ?1)
                    + (SELECT coalesce(sum(length(tools)), 0) FROM dual_catalogs WHERE plan_id = ?1)";
    db.query_row(sql, [plan], |row| row.get(0))
}
