//! The native run form: one JSON object per line, one run per object
//! (`docs/design.md`, "The native run form").

use std::borrow::Cow;
use std::collections::HashSet;

use fidelake_core::gap::Logged;
use fidelake_core::json::key::Key;
use fidelake_core::json::{Doc, Kind, Node, canonical};
use fidelake_core::model::{Arm, CallStatus, Origin};

use super::Context;
use super::extra::Extra;
use super::reject::{Reason, Reject};
use super::run::{Answer, Call, Content, Message, Run, Text, Verdict};
use super::time::Time;

const RUN_KEYS: &[&str] = &[
    "fidelake",
    "trajectory_id",
    "environment",
    "arm",
    "repeat",
    "environment_version",
    "origin",
    "policy",
    "task_id",
    "group_id",
    "started_at",
    "ended_at",
    "termination",
    "task",
    "catalog",
    "gold",
    "calls",
    "messages",
    "verdicts",
    "labels",
];
pub(crate) const CALL_KEYS: &[&str] = &[
    "turn",
    "index",
    "id",
    "name",
    "requestor",
    "arguments",
    "arguments_raw",
    "started_at",
    "result",
    "state",
    "state_hash",
];
const RESULT_KEYS: &[&str] = &[
    "content",
    "structured_content",
    "structuredContent",
    "is_error",
    "isError",
    "status",
    "rpc_code",
    "error_type",
    "latency_ms",
    "truncated",
    "state",
    "state_hash",
];

/// Whether an object is a run in this form.
pub(crate) fn is_native(root: Node<'_>) -> bool {
    root.get("fidelake").is_some()
}

/// Reads one line.
pub(crate) fn read<'d>(doc: &'d Doc<'d>, context: &Context<'d>) -> Result<Run<'d>, Reject> {
    let root = doc.root();
    let version = root.get_some("fidelake").ok_or_else(|| {
        Reject::new(
            Reason::NotThisFormat,
            "no run in the native form: the key \"fidelake\" is missing",
        )
    })?;
    if version.as_i64() != Some(1) {
        return Err(Reject::bad(
            "fidelake",
            "names a form that this program does not know (it knows 1)",
        ));
    }
    let environment = match context.environment {
        Some(forced) => Cow::Borrowed(forced),
        None => required(root, "environment")?,
    };
    let arm = match context.arm {
        Some(forced) => forced,
        None => Arm::parse(&required(root, "arm")?)
            .ok_or_else(|| Reject::bad("arm", "is neither \"sim\" nor \"real\""))?,
    };
    let repeat = match root.get_some("repeat") {
        None => 0,
        Some(node) => small(node).ok_or_else(|| Reject::bad("repeat", "is no number from 0 on"))?,
    };
    if let Some(origin) = root.get_str("origin")
        && Origin::parse(origin).is_none()
    {
        return Err(Reject::bad(
            "origin",
            "is none of live, replay_exact, replay_near, generated, sandbox, recorded",
        ));
    }
    let calls = list(root, "calls")?
        .map(calls)
        .transpose()?
        .unwrap_or_default();
    // Decisions of a policy stand among the other keys, and count in the profile.
    if let Some(decisions) = root.get_some("decisions") {
        Logged::read(decisions).map_err(|what| Reject::bad("decisions", &what))?;
    }
    let (form, odd) = canonical(root);
    Ok(Run {
        environment,
        trajectory_id: required(root, "trajectory_id")?,
        arm,
        repeat,
        content_hash: Key::of(form.as_bytes()),
        environment_version: text(root, "environment_version"),
        origin: text(root, "origin"),
        policy: text(root, "policy"),
        task_id: text(root, "task_id"),
        group_id: text(root, "group_id"),
        task: text(root, "task"),
        gold: root.get_some("gold").map(|g| Cow::Borrowed(g.raw())),
        catalog: list(root, "catalog")?.map(|tools| tools.elements().collect()),
        started_at: root.get("started_at").and_then(Time::of),
        ended_at: root.get("ended_at").and_then(Time::of),
        termination: text(root, "termination"),
        labels: root.get_some("labels").map(|l| Cow::Borrowed(l.raw())),
        extra: Extra::of(root, RUN_KEYS),
        messages: match list(root, "messages")? {
            Some(nodes) => messages(nodes, &calls)?,
            None => Vec::new(),
        },
        calls,
        verdicts: list(root, "verdicts")?
            .map(|nodes| nodes.elements().map(verdict).collect())
            .unwrap_or_default(),
        flags: doc.flags() | odd,
    })
}

/// A string, or the text of a number; absent and null are the same.
pub(crate) fn text<'d>(node: Node<'d>, key: &str) -> Option<Text<'d>> {
    let value = node.get_some(key)?;
    Some(Cow::Borrowed(value.as_str().unwrap_or_else(|| value.raw())))
}

fn required<'d>(node: Node<'d>, key: &str) -> Result<Text<'d>, Reject> {
    let value = text(node, key).ok_or_else(|| Reject::missing(key))?;
    if value.is_empty() {
        return Err(Reject::bad(key, "is empty"));
    }
    Ok(value)
}

fn small(node: Node<'_>) -> Option<i32> {
    node.as_i64()
        .and_then(|n| i32::try_from(n).ok())
        .filter(|n| *n >= 0)
}

fn list<'d>(node: Node<'d>, key: &str) -> Result<Option<Node<'d>>, Reject> {
    match node.get_some(key) {
        Some(value) if value.kind() != Kind::Array => Err(Reject::bad(key, "is no list")),
        other => Ok(other),
    }
}

fn calls(nodes: Node<'_>) -> Result<Vec<Call<'_>>, Reject> {
    let mut calls = Vec::with_capacity(nodes.len());
    let mut places = HashSet::with_capacity(nodes.len());
    for (ordinal, node) in nodes.elements().enumerate() {
        if node.kind() != Kind::Object {
            return Err(Reject::bad("calls", "holds something that is no object"));
        }
        let place = |key: &str, default: usize| match node.get_some(key) {
            None => Ok(i32::try_from(default).unwrap_or(i32::MAX)),
            Some(value) => match value.as_i64().and_then(|n| i32::try_from(n).ok()) {
                Some(n) if n >= -1 => Ok(n),
                _ => Err(Reject::bad(key, "of a call is no number from 0 on")),
            },
        };
        let (turn, index) = (place("turn", ordinal)?, place("index", 0)?);
        if !places.insert((turn, index)) {
            let what = format!("holds two calls at turn {turn}, index {index}");
            return Err(Reject::bad("calls", &what));
        }
        calls.push(call(node, turn, index));
    }
    Ok(calls)
}

fn call(node: Node<'_>, turn: i32, index: i32) -> Call<'_> {
    let arguments = node
        .get_some("arguments_raw")
        .or_else(|| node.get_some("arguments"));
    let result = node.get_some("result").map(|result| answer(node, result));
    let name = text(node, "name");
    let status = match (&result, &name, arguments) {
        (Some(_), None, None) => CallStatus::OrphanResult,
        (Some(_), _, _) => CallStatus::Answered,
        (None, _, _) => CallStatus::NoResult,
    };
    Call {
        id: text(node, "id"),
        requestor: text(node, "requestor"),
        arguments: arguments.map(|a| Cow::Borrowed(a.as_str().unwrap_or_else(|| a.raw()))),
        started_at: node.get("started_at").and_then(Time::of),
        status,
        pairing: result.is_some().then_some("given"),
        result,
        extra: Extra::of(node, CALL_KEYS),
        ..Call::unanswered(turn, index, name)
    }
}

fn answer<'d>(call: Node<'d>, result: Node<'d>) -> Answer<'d> {
    let either = |a: &str, b: &str| result.get_some(a).or_else(|| result.get_some(b));
    let state = |key: &str| call.get_some(key).or_else(|| result.get_some(key));
    let latency_ms = result
        .get_some("latency_ms")
        .and_then(Node::as_f64)
        .filter(|ms| ms.is_finite());
    let is_error = either("is_error", "isError").and_then(Node::as_bool);
    let status = result.get_some("status").and_then(code);
    let rpc_code = result.get_some("rpc_code").and_then(code);
    let truncated = result.get_some("truncated").and_then(Node::as_bool);
    let typed = [
        ("is_error", is_error.is_some()),
        ("isError", is_error.is_some()),
        ("status", status.is_some()),
        ("rpc_code", rpc_code.is_some()),
        ("latency_ms", latency_ms.is_some()),
        ("truncated", truncated.is_some()),
    ];
    Answer {
        // A result that is no object is the content itself.
        content: if result.kind() == Kind::Object {
            result.get("content")
        } else {
            Some(result)
        },
        structured: either("structured_content", "structuredContent"),
        is_error,
        status,
        rpc_code,
        error_type: text(result, "error_type"),
        latency_ms,
        latency_source: latency_ms.map(|_| "given"),
        truncated,
        state: state("state"),
        state_hash: text(call, "state_hash").or_else(|| text(result, "state_hash")),
        extra: Extra::unread(result, RESULT_KEYS, &typed),
    }
}

/// A code as a number, or as the text of one.
fn code(node: Node<'_>) -> Option<i64> {
    let number = node
        .as_i64()
        .or_else(|| node.as_str()?.trim().parse().ok())?;
    i32::try_from(number).ok().map(i64::from)
}

fn messages<'d>(nodes: Node<'d>, calls: &[Call<'d>]) -> Result<Vec<Message<'d>>, Reject> {
    let pair = |node: Node<'_>| {
        let mut numbers = node
            .elements()
            .map(|n| n.as_i64().and_then(|n| i32::try_from(n).ok()));
        match (numbers.next().flatten(), numbers.next().flatten()) {
            (Some(turn), Some(index)) => Ok((turn, index)),
            _ => Err(Reject::bad(
                "messages",
                "points at a call with something that is no [turn, index]",
            )),
        }
    };
    let mut messages = Vec::with_capacity(nodes.len());
    for node in nodes.elements() {
        let role = text(node, "role").ok_or_else(|| Reject::missing("role"))?;
        let result_of = node.get_some("result_of").map(pair).transpose()?;
        let mut content = Content::of(node.get("content"));
        if let (Some(place), Content::Value(given)) = (result_of, content) {
            let answered = calls.iter().find(|c| (c.turn, c.index) == place);
            let said = answered.and_then(|c| c.result.as_ref()?.content);
            if said.is_some_and(|said| said.raw() == given.raw()) {
                content = Content::Observation;
            }
        } else if result_of.is_some() {
            content = Content::Observation;
        }
        messages.push(Message {
            role,
            content,
            name: text(node, "name"),
            calls: match node.get_some("calls") {
                Some(places) => places.elements().map(pair).collect::<Result<_, _>>()?,
                None => Vec::new(),
            },
            result_of,
            sent_at: node
                .get("timestamp")
                .or_else(|| node.get("sent_at"))
                .and_then(Time::of),
            extra: Extra::of(
                node,
                &[
                    "role",
                    "content",
                    "name",
                    "calls",
                    "result_of",
                    "timestamp",
                    "sent_at",
                ],
            ),
        });
    }
    Ok(messages)
}

fn verdict(node: Node<'_>) -> Verdict<'_> {
    let reward = node.get_some("reward").and_then(Node::as_f64);
    let success = node.get_some("success").and_then(Node::as_bool);
    let typed = [("reward", reward.is_some()), ("success", success.is_some())];
    Verdict {
        judge: text(node, "judge").unwrap_or_default(),
        agent: text(node, "agent").unwrap_or_default(),
        reward,
        success,
        criteria: node.get_some("criteria").map(|c| Cow::Borrowed(c.raw())),
        extra: Extra::unread(
            node,
            &["judge", "agent", "reward", "success", "criteria"],
            &typed,
        ),
    }
}
