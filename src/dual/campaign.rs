//! Plans that share a budget: where a campaign stands in the ledger.

use std::path::Path;

use rusqlite::{OptionalExtension as _, params};

use super::error::DualResult;
use super::journal::Journal;
use super::tables::TABLES;
use crate::lake::Lake;

/// What the ledger knows of a campaign.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Campaign {
    /// Real calls that were counted under its name.
    pub spent: i64,
    /// The budget that the last of its plans ran with.
    pub budget: Option<i64>,
    /// Its rounds that were begun, in order.
    pub rounds: Vec<CampaignRound>,
}

/// A round that was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CampaignRound {
    /// Its plan: the campaign's name, `-` and a number from 1.
    pub plan: String,
    /// That number.
    pub number: u32,
    /// Runs that are not finished and not refused.
    pub open: i64,
    /// Runs that are refused.
    pub refused: i64,
    /// Finished runs that are not in the lake yet.
    pub waiting: i64,
}

/// Reads where a campaign stands; nothing of it is an empty one.
///
/// # Errors
/// If there is no lake, or its journal cannot be read.
pub async fn campaign(lake: &Path, name: &str) -> DualResult<Campaign> {
    let lake = Lake::open(lake)?;
    let journal = Journal::open(lake.path(), TABLES)?;
    let name = name.to_owned();
    journal
        .run(move |db| {
            let sql = "SELECT spent, budget FROM dual_budgets WHERE name = ?1 AND arm = 'real'";
            let money: Option<(i64, Option<i64>)> = db
                .query_row(sql, params![name], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            let (spent, budget) = money.unwrap_or_default();
            let sql =
                "SELECT p.plan_id, coalesce(sum(r.status IN ('pending', 'cut', 'running')), 0),
                           coalesce(sum(r.status = 'refused'), 0),
                           coalesce(sum(r.status = 'done' AND r.folded = 0), 0)
                       FROM dual_plans p LEFT JOIN dual_runs r ON r.plan_id = p.plan_id
                       WHERE substr(p.plan_id, 1, length(?1) + 1) = ?1 || '-' GROUP BY p.plan_id";
            let mut statement = db.prepare(sql)?;
            let rows = statement.query_map([&name], |row| {
                Ok((
                    row.get::<_, String>(0)?,
                    row.get(1)?,
                    row.get(2)?,
                    row.get(3)?,
                ))
            })?;
            let mut rounds = Vec::new();
            for row in rows {
                let (plan, open, refused, waiting) = row?;
                let number = plan.get(name.len() + 1..).and_then(|n| n.parse().ok());
                if let Some(number) = number {
                    rounds.push(CampaignRound {
                        plan,
                        number,
                        open,
                        refused,
                        waiting,
                    });
                }
            }
            rounds.sort_by_key(|round| round.number);
            Ok(Campaign {
                spent,
                budget,
                rounds,
            })
        })
        .await
}
