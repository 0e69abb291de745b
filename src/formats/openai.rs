//! Records in the OpenAI chat form: `messages`, often beside `tools`.

use std::borrow::Cow;

use fidelake_core::json::key::Key;
use fidelake_core::json::{Doc, Kind, Node, canonical};
use fidelake_core::model::Arm;

use super::extra::Extra;
use super::native::text;
use super::reject::{Reason, Reject};
use super::run::{Run, Text, Verdict};
use super::time::Time;
use super::{Context, chat};

const IDS: &[&str] = &[
    "trajectory_id",
    "id",
    "conversation_id",
    "session_id",
    "uuid",
];
const KNOWN: &[&str] = &[
    "messages",
    "tools",
    "reward",
    "score",
    "success",
    "model",
    "task_id",
    "group_id",
    "environment",
    "env",
    "domain",
    "task",
    "question",
    "created",
    "timestamp",
];

/// Whether an object is a conversation in the chat form.
pub(crate) fn is_openai(root: Node<'_>) -> bool {
    root.get("messages").is_some_and(|messages| {
        messages.kind() == Kind::Array
            && !messages.is_empty()
            && messages.elements().all(chat::is_message)
    })
}

/// Reads one record.
pub(crate) fn read<'d>(doc: &'d Doc<'d>, context: &Context<'d>) -> Result<Run<'d>, Reject> {
    let root = doc.root();
    let messages = root.get_some("messages").filter(|_| is_openai(root)).ok_or_else(|| {
        let what = "no conversation in the chat form: it needs a list \"messages\" of objects with a role";
        Reject::new(Reason::NotThisFormat, what)
    })?;
    let chat = chat::read(messages);
    let (form, odd) = canonical(root);
    let content_hash = Key::of(form.as_bytes());
    let given = IDS
        .iter()
        .find_map(|key| text(root, key))
        .filter(|id| !id.is_empty());
    let named = ["environment", "env", "domain"]
        .iter()
        .find_map(|key| root.get_str(key));
    let environment = match (context.environment, named.filter(|name| !name.is_empty())) {
        (None, Some(name)) => Cow::Borrowed(name),
        _ => context.environment_or("openai"),
    };
    let trajectory_id = given.unwrap_or_else(|| Cow::Owned(format!("openai/{content_hash}")));
    let verdict = verdict(root);
    let number = |key: &str| root.get_some(key).is_none_or(|v| v.as_f64().is_some());
    let typed = [
        ("reward", number("reward")),
        ("score", number("score")),
        (
            "success",
            root.get_some("success")
                .is_none_or(|v| v.as_bool().is_some()),
        ),
    ];
    Ok(Run {
        environment,
        trajectory_id,
        arm: context.arm.unwrap_or(Arm::Sim),
        repeat: 0,
        content_hash,
        environment_version: None,
        origin: Some(Cow::Borrowed("recorded")),
        policy: text(root, "model"),
        task_id: text(root, "task_id"),
        group_id: text(root, "group_id").or_else(|| text(root, "task_id")),
        task: task(root, messages),
        gold: None,
        catalog: root
            .get_some("tools")
            .filter(|tools| tools.kind() == Kind::Array)
            .or(context.catalog)
            .map(|tools| tools.elements().collect()),
        started_at: root
            .get("timestamp")
            .or_else(|| root.get("created"))
            .and_then(Time::of),
        ended_at: None,
        termination: None,
        labels: None,
        extra: Extra::unread(root, KNOWN, &typed),
        messages: chat.messages,
        calls: chat.calls,
        verdicts: verdict.into_iter().collect(),
        flags: doc.flags() | odd,
    })
}

/// The text of `tools` where it is a JSON string, for the caller to parse.
pub(crate) fn tools_text(root: Node<'_>) -> Option<&str> {
    root.get_str("tools")
}

/// What the agent was told: as named, else the first user message that is a text.
fn task<'d>(root: Node<'d>, messages: Node<'d>) -> Option<Text<'d>> {
    let named = text(root, "task").or_else(|| text(root, "question"));
    named.or_else(|| {
        let first = messages
            .elements()
            .find(|m| m.get_str("role") == Some("user"))?;
        first.get_str("content").map(Cow::Borrowed)
    })
}

fn verdict(root: Node<'_>) -> Option<Verdict<'_>> {
    let reward = ["reward", "score"]
        .iter()
        .find_map(|key| root.get_some(key)?.as_f64());
    let success = root.get_some("success").and_then(Node::as_bool);
    (reward.is_some() || success.is_some()).then(|| Verdict {
        reward,
        success,
        ..Verdict::default()
    })
}
