//! One run as a line.

use fidelake_core::json::Doc;

use super::columns::Row;
use crate::env::one_line;
use crate::formats::Object;

/// What belongs to a run.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) catalog: Option<Vec<String>>,
    pub(super) calls: Vec<Row>,
    pub(super) messages: Vec<Row>,
    pub(super) verdicts: Vec<Row>,
}

/// The run in the native form, on one line.
pub(super) fn line(run: &Row, parts: &Parts) -> String {
    let mut out = Object::default();
    out.raw("fidelake", "1");
    texts(
        &mut out,
        run,
        &["trajectory_id", "environment", "arm"].map(|key| (key, key)),
    );
    out.opt("repeat", run.get("repeat"));
    texts(
        &mut out,
        run,
        &[
            ("environment_version", "environment_version"),
            ("origin", "origin"),
            ("policy", "policy"),
            ("task_id", "task_id"),
            ("group_id", "group_id"),
            ("started_at", "started_at_raw"),
            ("ended_at", "ended_at_raw"),
            ("termination", "termination"),
            ("task", "task"),
        ],
    );
    json(&mut out, run, &[("gold", "gold")]);
    if let Some(tools) = &parts.catalog {
        out.raw("catalog", &list(tools.iter().map(|tool| one_line(tool))));
    }
    out.raw("calls", &list(parts.calls.iter().map(call)));
    if !parts.messages.is_empty() {
        out.raw("messages", &list(parts.messages.iter().map(message)));
    }
    if !parts.verdicts.is_empty() {
        out.raw("verdicts", &list(parts.verdicts.iter().map(verdict)));
    }
    json(&mut out, run, &[("labels", "labels")]);
    rest(&mut out, run.get("extra"));
    out.finish()
}

fn call(row: &Row) -> String {
    let mut out = Object::default();
    json(&mut out, row, &["turn", "index"].map(|key| (key, key)));
    texts(
        &mut out,
        row,
        &[
            ("id", "call_id"),
            ("name", "name"),
            ("requestor", "requestor"),
        ],
    );
    match row.get("arguments_raw") {
        Some(text) if Doc::parse(text).is_ok() => out.raw("arguments", &one_line(text)),
        Some(text) => out.text("arguments_raw", text),
        None => &mut out,
    };
    texts(&mut out, row, &[("started_at", "started_at_raw")]);
    if row.get("answered") == Some("true") {
        out.raw("result", &result(row));
    }
    json(&mut out, row, &[("state", "state")]);
    texts(&mut out, row, &[("state_hash", "state_hash")]);
    rest(&mut out, row.get("call_extra"));
    out.finish()
}

fn result(row: &Row) -> String {
    let mut out = Object::default();
    content(&mut out, row);
    json(
        &mut out,
        row,
        &[
            ("structured_content", "structured_raw"),
            ("is_error", "is_error"),
            ("status", "status"),
            ("rpc_code", "rpc_code"),
            ("latency_ms", "latency_ms"),
            ("truncated", "truncated"),
        ],
    );
    texts(&mut out, row, &[("error_type", "error_type")]);
    rest(&mut out, row.get("extra"));
    out.finish()
}

/// The content in the form in which it was given.
fn content(out: &mut Object, row: &Row) {
    match (row.get("content_kind"), row.get("content")) {
        (Some("absent" | "observation"), _) => {}
        (Some("text"), Some(text)) => {
            out.text("content", text);
        }
        (Some("text_part"), Some(text)) => {
            let mut part = Object::default();
            part.text("type", "text").text("text", text);
            out.raw("content", &format!("[{}]", part.finish()));
        }
        (_, Some(value)) => {
            out.raw("content", &one_line(value));
        }
        (_, None) => {
            out.raw("content", "null");
        }
    }
}

fn message(row: &Row) -> String {
    let mut out = Object::default();
    texts(&mut out, row, &[("role", "role")]);
    content(&mut out, row);
    texts(&mut out, row, &[("name", "name")]);
    let made = row.places("calls");
    if !made.is_empty() {
        let made = made.iter().map(|(turn, index)| format!("[{turn},{index}]"));
        out.raw("calls", &list(made));
    }
    if let (Some(turn), Some(index)) = (row.get("result_turn"), row.get("result_index")) {
        out.raw("result_of", &format!("[{turn},{index}]"));
    }
    texts(&mut out, row, &[("sent_at", "sent_at_raw")]);
    rest(&mut out, row.get("extra"));
    out.finish()
}

fn verdict(row: &Row) -> String {
    let mut out = Object::default();
    texts(&mut out, row, &["judge", "agent"].map(|key| (key, key)));
    json(
        &mut out,
        row,
        &["reward", "success", "criteria"].map(|key| (key, key)),
    );
    rest(&mut out, row.get("extra"));
    out.finish()
}

/// Columns that hold texts, as (key, column).
fn texts(out: &mut Object, row: &Row, columns: &[(&str, &str)]) {
    for (key, column) in columns {
        out.opt_text(key, row.get(column));
    }
}

/// Columns that hold JSON, numbers or booleans.
fn json(out: &mut Object, row: &Row, columns: &[(&str, &str)]) {
    for (key, column) in columns {
        out.opt(key, row.get(column).map(one_line));
    }
}

/// The keys of the source that have no column.
fn rest(out: &mut Object, extra: Option<&str>) {
    if let Some(extra) = extra {
        out.rest(&one_line(extra), &[]);
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    let mut text = String::from("[");
    for item in items {
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(&item);
    }
    text.push(']');
    text
}
