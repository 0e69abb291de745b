//! A run of the journal as one line of the native run form.

use fidelake_core::json::Doc;
use rusqlite::{Connection, params};

use super::answer::{Object, one_line, run_origin};
use super::task::Task;
use crate::formats::CALL_KEYS;

/// A row of `dual_runs`, as far as the line needs it.
struct RunRow {
    arm: String,
    repeat: i32,
    started: Option<String>,
    ended: Option<String>,
    version: Option<String>,
    termination: Option<String>,
    notes: Option<String>,
    labels: Option<String>,
    tools: Option<String>,
    task: Task,
}

/// A row of `dual_calls`.
struct CallRow {
    position: usize,
    purpose: String,
    status: String,
    sent: i64,
    arguments: Option<String>,
    answer: Option<String>,
}

/// The line of a run.
pub(super) fn line(db: &Connection, plan: &str, run: i64) -> rusqlite::Result<String> {
    let row = run_row(db, plan, run)?;
    let calls = call_rows(db, plan, run)?;
    let task = &row.task;
    let mut out = Object::default();
    out.raw("fidelake", "1")
        .text("trajectory_id", &task.trajectory_id)
        .text("environment", &task.environment)
        .text("arm", &row.arm)
        .raw("repeat", &row.repeat.to_string())
        .opt_text("environment_version", row.version.as_deref())
        .text(
            "origin",
            run_origin(calls.iter().filter_map(|call| call.answer.as_deref())),
        )
        .opt_text("policy", task.policy.as_deref())
        .opt_text("task_id", task.task_id.as_deref())
        .opt_text("group_id", task.group_id.as_deref())
        .opt_text("started_at", row.started.as_deref())
        .opt_text("ended_at", row.ended.as_deref())
        .opt_text("termination", row.termination.as_deref())
        .opt_text("task", task.told.as_deref());
    if let Some(gold) = &task.gold {
        out.raw("gold", &one_line(gold));
    }
    if let Some(state) = &task.start_state {
        out.raw("start_state", &one_line(state));
    }
    out.opt("catalog", row.tools.as_deref());
    let mut list = String::from("[");
    for (position, planned) in task.calls.iter().enumerate() {
        let of: Vec<&CallRow> = calls
            .iter()
            .filter(|call| call.position == position)
            .collect();
        let Some(last) = of.last() else { continue };
        // What was made again to come back to a state answers nothing new.
        let fresh = || of.iter().rev().filter(|call| call.purpose != "prefix");
        let chosen = fresh()
            .find(|call| call.answer.is_some() && call.status != "not_sent")
            .or_else(|| fresh().next())
            .unwrap_or(last);
        let mut call = Object::default();
        call.raw("turn", &planned.turn.to_string())
            .raw("index", &planned.index.to_string())
            .opt_text("id", planned.id.as_deref())
            .text("name", &planned.name)
            .opt_text("requestor", planned.requestor.as_deref());
        let arguments = chosen.arguments.as_deref().unwrap_or(&planned.arguments);
        match Doc::parse(arguments) {
            Ok(_) => call.raw("arguments", &one_line(arguments)),
            Err(_) => call.text("arguments_raw", arguments),
        };
        if let Some(time) = chrono::DateTime::from_timestamp_micros(chosen.sent) {
            call.text(
                "started_at",
                &time.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string(),
            );
        }
        match chosen.answer.as_deref() {
            // A replay without an answer leaves the observation unknown.
            Some(answer) if missed(answer) => call.raw("missed", "true"),
            answer => call.opt("result", answer),
        };
        call.raw("sent", &of.len().to_string());
        if chosen.status == "in_doubt" {
            call.raw("in_doubt", "true");
        }
        if let Some(more) = &planned.more {
            // What other formats call `result` or `state` is none of ours.
            let ours: Vec<&str> = [CALL_KEYS, &["missed", "sent", "in_doubt"]].concat();
            call.rest(&one_line(more), &ours);
        }
        if list.len() > 1 {
            list.push(',');
        }
        list.push_str(&call.finish());
    }
    list.push(']');
    out.raw("calls", &list)
        .opt("labels", row.labels.as_deref())
        .opt("notes", row.notes.as_deref());
    Ok(out.finish())
}

/// Whether a replay had no answer, and gave none.
pub(super) fn missed(answer: &str) -> bool {
    Doc::parse(answer).is_ok_and(|doc| {
        let root = doc.root();
        root.get_str("fault") == Some("missed") && root.get("content").is_none()
    })
}

fn run_row(db: &Connection, plan: &str, run: i64) -> rusqlite::Result<RunRow> {
    let sql = "SELECT r.arm, r.stored_repeat, r.started, r.ended, r.version, r.termination, r.notes, r.labels,
                   g.tools, t.task
               FROM dual_runs r
               JOIN dual_trajectories t ON t.plan_id = r.plan_id AND t.trajectory = r.trajectory
               LEFT JOIN dual_catalogs g ON g.plan_id = r.plan_id AND g.catalog = r.catalog
               WHERE r.plan_id = ?1 AND r.run = ?2";
    db.prepare_cached(sql)?
        .query_row(params![plan, run], |row| {
            let task: String = row.get(9)?;
            let task = serde_json::from_str(&task).map_err(|e| {
                rusqlite::Error::FromSqlConversionFailure(
                    9,
                    rusqlite::types::Type::Text,
                    Box::new(e),
                )
            })?;
            Ok(RunRow {
                arm: row.get(0)?,
                repeat: row.get(1)?,
                started: row.get(2)?,
                ended: row.get(3)?,
                version: row.get(4)?,
                termination: row.get(5)?,
                notes: row.get(6)?,
                labels: row.get(7)?,
                tools: row.get(8)?,
                task,
            })
        })
}

fn call_rows(db: &Connection, plan: &str, run: i64) -> rusqlite::Result<Vec<CallRow>> {
    let sql = "SELECT position, purpose, status, sent, arguments, answer FROM dual_calls
               WHERE plan_id = ?1 AND run = ?2 ORDER BY seq";
    let mut statement = db.prepare_cached(sql)?;
    let rows = statement.query_map(params![plan, run], |row| {
        Ok(CallRow {
            position: usize::try_from(row.get::<_, i64>(0)?).unwrap_or_default(),
            purpose: row.get(1)?,
            status: row.get(2)?,
            sent: row.get(3)?,
            arguments: row.get(4)?,
            answer: row.get(5)?,
        })
    })?;
    rows.collect()
}
