//! tau-bench (v1) results: an array of runs with `traj`, `info` and `reward`.

use std::borrow::Cow;

use fidelake_core::json::key::{Key, KeyHasher};
use fidelake_core::json::{Doc, Kind, Node, canonical, push_json_string};
use fidelake_core::model::Arm;

use super::extra::Extra;
use super::native::text;
use super::reject::{Reason, Reject};
use super::run::{Run, Text, Verdict};
use super::{Context, chat};

/// Whether an object is a run of tau-bench.
pub(crate) fn is_tau(root: Node<'_>) -> bool {
    root.get("traj")
        .is_some_and(|traj| traj.kind() == Kind::Array)
        && root.get("task_id").is_some()
}

/// A hash of the conversation without the answers of tools.
fn spoken(traj: Node<'_>) -> Key {
    let mut hasher = KeyHasher::default();
    for message in traj.elements() {
        if !matches!(message.get_str("role"), Some("tool" | "function")) {
            hasher.update(canonical(message).0.as_bytes());
            hasher.update(b"\n");
        }
    }
    hasher.finish()
}

/// Reads one element.
pub(crate) fn read<'d>(doc: &'d Doc<'d>, context: &Context<'d>) -> Result<Run<'d>, Reject> {
    let root = doc.root();
    if !is_tau(root) {
        let what = "no run of tau-bench: it needs \"task_id\" and a list \"traj\"";
        return Err(Reject::new(Reason::NotThisFormat, what));
    }
    let traj = root.get("traj").ok_or_else(|| Reject::missing("traj"))?;
    let chat = chat::read(traj);
    let (form, odd) = canonical(root);
    let content_hash = Key::of(form.as_bytes());
    let task_id = text(root, "task_id").ok_or_else(|| Reject::missing("task_id"))?;
    let trial = text(root, "trial").unwrap_or(Cow::Borrowed("0"));
    let environment = context.environment_or("tau-bench");
    // A file says neither its model nor its environment, so two files hold the
    // same task and trial: what was said and done tells them apart. What the tools
    // answered does not, so that one trajectory run in two worlds stays one.
    let hash = spoken(traj).to_string();
    let trajectory_id = format!("{environment}/{task_id}/{trial}/{}", &hash[..8]);
    let info = root.get_some("info");
    let task = info.and_then(|info| info.get_some("task"));
    Ok(Run {
        environment,
        trajectory_id: Cow::Owned(trajectory_id),
        arm: context.arm.unwrap_or(Arm::Sim),
        repeat: 0,
        content_hash,
        environment_version: Some(Cow::Borrowed("tau-bench-v1")),
        origin: Some(Cow::Borrowed("recorded")),
        policy: None,
        group_id: Some(task_id.clone()),
        task_id: Some(task_id),
        task: task.and_then(|task| text(task, "instruction")),
        gold: task
            .and_then(|task| task.get_some("actions"))
            .map(|actions| gold(actions, "kwargs")),
        catalog: None,
        started_at: None,
        ended_at: None,
        termination: None,
        labels: None,
        extra: extra(root, info, task),
        messages: chat.messages,
        calls: chat.calls,
        verdicts: verdict(root, info).into_iter().collect(),
        flags: doc.flags() | odd,
    })
}

/// A list of {name, arguments} from actions that name their arguments otherwise.
pub(crate) fn gold<'d>(actions: Node<'d>, arguments_key: &str) -> Text<'d> {
    let mut list = String::from("[");
    for action in actions.elements() {
        if list.len() > 1 {
            list.push(',');
        }
        list.push_str("{\"name\":");
        push_json_string(action.get_str("name").unwrap_or_default(), &mut list);
        list.push_str(",\"arguments\":");
        list.push_str(action.get_some(arguments_key).map_or("{}", Node::raw));
        if let Some(requestor) = action.get_some("requestor") {
            list.push_str(",\"requestor\":");
            list.push_str(requestor.raw());
        }
        list.push('}');
    }
    list.push(']');
    Cow::Owned(list)
}

fn verdict<'d>(root: Node<'d>, info: Option<Node<'d>>) -> Option<Verdict<'d>> {
    let reward = root.get_some("reward")?.as_f64();
    let unread = reward
        .is_none()
        .then(|| Extra::unread(root, &["task_id", "trial", "info", "traj"], &[]));
    let reward_info = info.and_then(|info| info.get_some("reward_info"));
    Some(Verdict {
        judge: Cow::Borrowed("tau-bench"),
        agent: Cow::Borrowed(""),
        reward,
        // tau-bench counts a run as passed when its reward is 1.
        success: reward.map(|r| (r - 1.0).abs() < 1e-6),
        criteria: reward_info
            .and_then(|i| i.get_some("info"))
            .map(|i| Cow::Borrowed(i.raw())),
        extra: unread.flatten(),
    })
}

fn extra<'d>(root: Node<'d>, info: Option<Node<'d>>, task: Option<Node<'d>>) -> Option<Text<'d>> {
    let mut extra = Extra::default();
    extra.rest(root, &["task_id", "reward", "info", "traj"]);
    extra.nested("info", info, &["task", "reward_info"]);
    extra.nested("task", task, &["actions", "instruction"]);
    let reward_info = info.and_then(|info| info.get_some("reward_info"));
    extra.nested("reward_info", reward_info, &["reward", "info", "actions"]);
    extra.finish()
}
