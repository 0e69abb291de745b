//! The ledger: every call is counted, durably, before it is sent.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::error::DualResult;
use super::journal::Journal;
use super::plan::Plan;
use super::schedule::RunPlan;
use super::task::Task;
use crate::lake::now;

/// The ledger and journal of one plan.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    pub(super) journal: Journal,
    /// The plan's id.
    pub(super) plan: String,
    /// Whose budget it spends.
    pub(super) budget_of: String,
}

/// A call about to be sent.
#[derive(Clone, Debug)]
pub(super) struct Sending {
    pub(super) run: i64,
    pub(super) arm: &'static str,
    pub(super) position: i64,
    pub(super) name: String,
    pub(super) key: String,
    pub(super) purpose: &'static str,
    pub(super) arguments: String,
    /// The budget, where the arm has one.
    pub(super) budget: Option<i64>,
}

/// What came back.
#[derive(Clone, Debug)]
pub(super) struct Received {
    pub(super) status: &'static str,
    pub(super) fault: Option<&'static str>,
    pub(super) latency: f64,
    /// The result in the native run form.
    pub(super) answer: String,
}

/// A call of a run that was begun before.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) position: usize,
    pub(super) name: String,
    pub(super) status: String,
    pub(super) answer: Option<String>,
}

/// How a run ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Ending {
    pub(super) status: &'static str,
    pub(super) termination: Option<String>,
    /// JSON list of notes.
    pub(super) notes: Option<String>,
    /// JSON object.
    pub(super) labels: Option<String>,
    /// What a probe remembers of the call, for the next repeat.
    pub(super) mark: Option<String>,
}

impl Ledger {
    /// What is known of the plan; `None` if it was never begun.
    pub(super) async fn begun(&self) -> DualResult<Option<(String, String)>> {
        let plan = self.plan.clone();
        self.journal
            .run(move |db| {
                let sql = "SELECT content, source FROM dual_plans WHERE plan_id = ?1";
                db.query_row(sql, [&plan], |row| Ok((row.get(0)?, row.get(1)?)))
                    .optional()
            })
            .await
    }

    /// Writes down what the plan will run, all of it or nothing.
    pub(super) async fn begin(
        &self,
        plan: &Plan,
        source: String,
        tasks: Vec<Task>,
        runs: Vec<RunPlan>,
    ) -> DualResult<()> {
        let (id, content) = (self.plan.clone(), plan.content.clone());
        let budget_of = self.budget_of.clone();
        let path = plan.path.display().to_string();
        self.journal
            .run(move |db| {
                let sql = "INSERT INTO dual_plans (plan_id, content, source, path, started)
                           VALUES (?1, ?2, ?3, ?4, ?5)";
                db.execute(sql, params![id, content, source, path, now()])?;
                let sql = "INSERT OR REPLACE INTO dual_shared_budgets (plan_id, name) VALUES (?1, ?2)";
                db.execute(sql, params![id, budget_of])?;
                let sql = "INSERT INTO dual_trajectories (plan_id, trajectory, environment, trajectory_id, task)
                           VALUES (?1, ?2, ?3, ?4, ?5)";
                for (at, task) in tasks.iter().enumerate() {
                    let text = serde_json::to_string(task).unwrap_or_default();
                    let at = i64::try_from(at).unwrap_or(i64::MAX);
                    db.prepare_cached(sql)?
                        .execute(params![id, at, task.environment, task.trajectory_id, text])?;
                }
                let sql = "INSERT INTO dual_runs (plan_id, run, trajectory, arm, repeat, stored_repeat, status)
                           VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'pending')";
                for run in &runs {
                    let stored = tasks
                        .get(run.trajectory)
                        .map_or(run.repeat, |task| task.stored_repeat(run.arm, run.repeat));
                    let at = i64::try_from(run.trajectory).unwrap_or(i64::MAX);
                    db.prepare_cached(sql)?
                        .execute(params![id, run.run, at, run.arm, run.repeat, stored])?;
                }
                Ok(())
            })
            .await
    }

    /// After a kill: what was on its way is in doubt, what ran was cut short.
    pub(super) async fn recover(
        &self,
        budgets: Vec<(&'static str, Option<i64>)>,
    ) -> DualResult<()> {
        let (plan, name) = (self.plan.clone(), self.budget_of.clone());
        self.journal
            .run(move |db| {
                let sql = "UPDATE dual_calls SET status = 'in_doubt', fault = 'killed' WHERE plan_id = ?1 AND status = 'sent'";
                db.execute(sql, [&plan])?;
                let sql = "UPDATE dual_runs SET status = 'cut' WHERE plan_id = ?1 AND status = 'running'";
                db.execute(sql, [&plan])?;
                let sql = "UPDATE dual_runs SET status = CASE starts WHEN 0 THEN 'pending' ELSE 'cut' END
                           WHERE plan_id = ?1 AND status = 'refused'";
                db.execute(sql, [&plan])?;
                let sql = "INSERT INTO dual_budgets (name, arm, budget) VALUES (?1, ?2, ?3)
                           ON CONFLICT (name, arm) DO UPDATE SET budget = excluded.budget";
                for (arm, budget) in budgets {
                    db.execute(sql, params![name, arm, budget])?;
                }
                Ok(())
            })
            .await
    }

    /// The runs that are not done, in their order, without the refused ones.
    pub(super) async fn open_runs(&self) -> DualResult<Vec<RunPlan>> {
        self.runs("'pending', 'cut'").await
    }

    /// The runs that the next command looks at: refused ones may be permitted now.
    pub(super) async fn runs_to_try(&self) -> DualResult<Vec<RunPlan>> {
        self.runs("'pending', 'cut', 'running', 'refused'").await
    }

    async fn runs(&self, statuses: &'static str) -> DualResult<Vec<RunPlan>> {
        let plan = self.plan.clone();
        self.journal
            .run(move |db| {
                let sql = format!(
                    "SELECT run, trajectory, arm, repeat FROM dual_runs
                     WHERE plan_id = ?1 AND status IN ({statuses}) ORDER BY run"
                );
                let mut statement = db.prepare(&sql)?;
                let rows = statement.query_map([&plan], |row| {
                    let arm: String = row.get(2)?;
                    Ok(RunPlan {
                        run: row.get(0)?,
                        trajectory: usize::try_from(row.get::<_, i64>(1)?).unwrap_or_default(),
                        arm: if arm == "real" { "real" } else { "sim" },
                        repeat: row.get(3)?,
                    })
                })?;
                rows.collect()
            })
            .await
    }

    /// What a trajectory asks for.
    pub(super) async fn task(&self, trajectory: usize) -> DualResult<Option<Task>> {
        let plan = self.plan.clone();
        let at = i64::try_from(trajectory).unwrap_or(i64::MAX);
        let text = self
            .journal
            .run(move |db| {
                let sql =
                    "SELECT task FROM dual_trajectories WHERE plan_id = ?1 AND trajectory = ?2";
                db.query_row(sql, params![plan, at], |row| {
                    row.get::<_, Option<String>>(0)
                })
                .optional()
            })
            .await?;
        Ok(text
            .flatten()
            .and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// The calls that a run made before it was cut short, without remade prefixes.
    pub(super) async fn made(&self, run: i64) -> DualResult<Vec<Made>> {
        let plan = self.plan.clone();
        self.journal
            .run(move |db| {
                let sql = "SELECT position, name, status, answer FROM dual_calls
                           WHERE plan_id = ?1 AND run = ?2 AND purpose <> 'prefix'
                           ORDER BY seq";
                let mut statement = db.prepare_cached(sql)?;
                let rows = statement.query_map(params![plan, run], |row| {
                    Ok(Made {
                        position: usize::try_from(row.get::<_, i64>(0)?).unwrap_or_default(),
                        name: row.get(1)?,
                        status: row.get(2)?,
                        answer: row.get(3)?,
                    })
                })?;
                rows.collect()
            })
            .await
    }

    /// Notes that a run begins, with what the environment offers.
    pub(super) async fn start_run(
        &self,
        run: i64,
        version: Option<String>,
        catalog: String,
        tools: String,
    ) -> DualResult<()> {
        let plan = self.plan.clone();
        self.journal
            .run(move |db| {
                let sql = "INSERT OR IGNORE INTO dual_catalogs (plan_id, catalog, tools) VALUES (?1, ?2, ?3)";
                db.prepare_cached(sql)?.execute(params![plan, catalog, tools])?;
                let sql = "UPDATE dual_runs SET status = 'running', starts = starts + 1,
                               started = coalesce(started, ?3), version = ?4, catalog = ?5
                           WHERE plan_id = ?1 AND run = ?2";
                db.prepare_cached(sql)?
                    .execute(params![plan, run, now(), version, catalog])?;
                Ok(())
            })
            .await
    }

    /// Notes how a run ended.
    pub(super) async fn end_run(&self, run: i64, ending: Ending) -> DualResult<()> {
        let plan = self.plan.clone();
        self.journal
            .run(move |db| {
                let sql =
                    "UPDATE dual_runs SET status = ?3, ended = ?4, termination = ?5, notes = ?6,
                               labels = ?7, mark = ?8
                           WHERE plan_id = ?1 AND run = ?2";
                let Ending {
                    status,
                    termination,
                    notes,
                    labels,
                    mark,
                } = ending;
                db.prepare_cached(sql)?.execute(params![
                    plan,
                    run,
                    status,
                    now(),
                    termination,
                    notes,
                    labels,
                    mark
                ])?;
                Ok(())
            })
            .await
    }

    /// Counts a call and writes down what will be sent. `None`: the budget is
    /// spent, and the call must not be made.
    pub(super) async fn before(&self, call: Sending) -> DualResult<Option<i64>> {
        let (plan, name) = (self.plan.clone(), self.budget_of.clone());
        self.journal
            .run(move |db| {
                if let Some(budget) = call.budget
                    && !spend(db, &name, call.arm, budget)?
                {
                    return Ok(None);
                }
                let sql = "UPDATE dual_plans SET seq = seq + 1 WHERE plan_id = ?1 RETURNING seq";
                let seq: i64 = db
                    .prepare_cached(sql)?
                    .query_row([&plan], |row| row.get(0))?;
                let sql =
                    "INSERT INTO dual_calls (plan_id, seq, run, position, name, call_key, purpose,
                               status, budgeted, sent, arguments)
                           VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'sent', ?8, ?9, ?10)";
                db.prepare_cached(sql)?.execute(params![
                    plan,
                    seq,
                    call.run,
                    call.position,
                    call.name,
                    call.key,
                    call.purpose,
                    call.budget.is_some(),
                    micros(),
                    call.arguments
                ])?;
                Ok(Some(seq))
            })
            .await
    }

    /// Writes down what came back.
    pub(super) async fn after(&self, seq: i64, got: Received) -> DualResult<()> {
        let plan = self.plan.clone();
        self.journal
            .run(move |db| {
                let sql = "UPDATE dual_calls SET status = ?3, fault = ?4, answered = ?5, latency = ?6, answer = ?7
                           WHERE plan_id = ?1 AND seq = ?2";
                let Received { status, fault, latency, answer } = got;
                db.prepare_cached(sql)?
                    .execute(params![plan, seq, status, fault, micros(), latency, answer])?;
                Ok(())
            })
            .await
    }

    /// What is left of a budget.
    pub(super) async fn left(&self, arm: &'static str, budget: i64) -> DualResult<i64> {
        let name = self.budget_of.clone();
        self.journal
            .run(move |db| {
                let sql = "SELECT spent FROM dual_budgets WHERE name = ?1 AND arm = ?2";
                let spent: Option<i64> = db
                    .query_row(sql, params![name, arm], |row| row.get(0))
                    .optional()?;
                Ok((budget - spent.unwrap_or_default()).max(0))
            })
            .await
    }

    /// Runs that ended before their last call, and calls without an answer that can be read.
    pub(super) async fn trouble(&self) -> DualResult<(u64, u64)> {
        let plan = self.plan.clone();
        self.journal
            .run(move |db| {
                let sql =
                    "SELECT (SELECT count(*) FROM dual_runs WHERE plan_id = ?1 AND status = 'done'
                                   AND termination NOT IN ('completed', 'refused')),
                               (SELECT count(*) FROM dual_calls WHERE plan_id = ?1
                                   AND fault IN ('lost', 'late', 'malformed'))";
                let counts: (i64, i64) =
                    db.query_row(sql, [&plan], |row| Ok((row.get(0)?, row.get(1)?)))?;
                let number = |count| u64::try_from(count).unwrap_or_default();
                Ok((number(counts.0), number(counts.1)))
            })
            .await
    }

    /// What a probe remembers of an earlier repeat.
    pub(super) async fn mark(&self, run: &RunPlan) -> DualResult<Option<String>> {
        let (plan, arm, repeat) = (self.plan.clone(), run.arm, run.repeat);
        let trajectory = i64::try_from(run.trajectory).unwrap_or(i64::MAX);
        self.journal
            .run(move |db| {
                let sql =
                    "SELECT mark FROM dual_runs WHERE plan_id = ?1 AND trajectory = ?2 AND arm = ?3
                               AND repeat < ?4 AND mark IS NOT NULL ORDER BY repeat LIMIT 1";
                db.query_row(sql, params![plan, trajectory, arm, repeat], |row| {
                    row.get(0)
                })
                .optional()
            })
            .await
    }
}

/// Counts one call against a budget; false if it is spent.
fn spend(db: &Connection, name: &str, arm: &str, budget: i64) -> rusqlite::Result<bool> {
    let sql =
        "UPDATE dual_budgets SET spent = spent + 1 WHERE name = ?1 AND arm = ?2 AND spent < ?3";
    Ok(db
        .prepare_cached(sql)?
        .execute(params![name, arm, budget])?
        == 1)
}

fn micros() -> i64 {
    chrono::Utc::now().timestamp_micros()
}
