//! tau2-bench results: `simulations` beside the `info` and `tasks` they refer to.

use std::borrow::Cow;
use std::collections::HashMap;

use fidelake_core::json::key::Key;
use fidelake_core::json::{Doc, Flags, Kind, Node, canonical};
use fidelake_core::model::Arm;

use super::extra::Extra;
use super::native::text;
use super::reject::{Reason, Reject};
use super::run::{Run, Text, Verdict};
use super::time::Time;
use super::{Context, chat, tau};

const SIMULATION_KEYS: &[&str] = &[
    "task_id",
    "trial",
    "messages",
    "reward_info",
    "start_time",
    "end_time",
    "termination_reason",
    "policy",
];

/// What stands beside the simulations, as owned texts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Header {
    domain: Option<String>,
    version: Option<String>,
    policy: Option<String>,
    tool_defs: Option<String>,
    tasks: HashMap<String, Task>,
}

#[derive(Clone, Debug, Default)]
struct Task {
    told: Option<String>,
    gold: Option<String>,
    rest: Option<String>,
}

impl Header {
    /// Reads the top level of a results file without its simulations.
    pub(crate) fn read(root: Node<'_>) -> Self {
        let info = root.get_some("info");
        let environment = info.and_then(|info| info.get_some("environment_info"));
        let agent = info.and_then(|info| info.get_some("agent_info"));
        let commit = info.and_then(|info| info.get_str("git_commit"));
        let tasks = root.get_some("tasks").into_iter().flat_map(Node::elements);
        Self {
            domain: environment
                .and_then(|e| e.get_str("domain_name"))
                .map(str::to_owned),
            version: commit.map(|commit| format!("tau2-bench {commit}")),
            policy: agent.and_then(|a| a.get_str("llm")).map(str::to_owned),
            tool_defs: environment
                .and_then(|e| e.get_some("tool_defs"))
                .map(|t| t.raw().to_owned()),
            tasks: tasks
                .filter_map(|task| Some((text(task, "id")?.into_owned(), Task::read(task))))
                .collect(),
        }
    }

    /// The catalog's text, if the file has one, for the caller to parse.
    pub(crate) fn tool_defs(&self) -> Option<&str> {
        self.tool_defs.as_deref()
    }
}

impl Task {
    fn read(task: Node<'_>) -> Self {
        let scenario = task.get_some("user_scenario");
        let instructions = scenario.and_then(|s| s.get_some("instructions"));
        let told = match instructions {
            Some(node) if node.kind() == Kind::Object => {
                // What the user knows and wants, in the order of the form.
                let parts = [
                    "reason_for_call",
                    "known_info",
                    "unknown_info",
                    "task_instructions",
                ];
                let parts: Vec<_> = parts.iter().filter_map(|key| node.get_str(key)).collect();
                Some(parts.join("\n"))
            }
            Some(node) => node.as_str().map(str::to_owned),
            None => task.get_str("ticket").map(str::to_owned),
        };
        let criteria = task.get_some("evaluation_criteria");
        let actions = criteria.and_then(|c| c.get_some("actions"));
        Self {
            told: told.filter(|told| !told.is_empty()),
            gold: actions.map(|actions| tau::gold(actions, "arguments").into_owned()),
            rest: Extra::of(task, &["id"]).map(Cow::into_owned),
        }
    }
}

/// Whether an object is a results file: simulations or an index of them, beside info.
pub(crate) fn is_tau2(root: Node<'_>) -> bool {
    root.get("simulations")
        .is_some_and(|s| s.kind() == Kind::Array)
        && root.get("info").is_some()
}

/// Reads one simulation.
pub(crate) fn read<'d>(doc: &'d Doc<'d>, context: &Context<'d>) -> Result<Run<'d>, Reject> {
    let root = doc.root();
    let not_this = |what: &str| Err(Reject::new(Reason::NotThisFormat, what));
    if root.kind() != Kind::Object || root.get("task_id").is_none() {
        return not_this(
            "no simulation of tau2-bench: it needs \"task_id\" and a list \"messages\"",
        );
    }
    if root
        .get_some("ticks")
        .is_some_and(|ticks| !ticks.is_empty())
    {
        return not_this("a full-duplex (voice) simulation: its ticks cannot be read yet");
    }
    let Some(messages) = root
        .get_some("messages")
        .filter(|m| m.kind() == Kind::Array)
    else {
        return not_this("a simulation without a list \"messages\"");
    };
    let chat = chat::read(messages);
    let header = context.tau2;
    let (form, odd) = canonical(root);
    let content_hash = Key::of(form.as_bytes());
    let task_id = text(root, "task_id").unwrap_or_default();
    let trial = text(root, "trial").unwrap_or(Cow::Borrowed("0"));
    let hash = content_hash.to_string();
    let own = root.get_str("id").filter(|id| !id.is_empty());
    let own = own.map_or(&hash[..8], |id| id.get(..8).unwrap_or(id));
    let environment = match (
        context.environment,
        header.and_then(|h| h.domain.as_deref()),
    ) {
        (None, Some(domain)) => Cow::Borrowed(domain),
        _ => context.environment_or("tau2-bench"),
    };
    let trajectory_id = format!("{environment}/{task_id}/{trial}/{own}");
    let task = header.and_then(|h| h.tasks.get(&*task_id));
    let borrowed = |text: &'d Option<String>| text.as_deref().map(Cow::Borrowed);
    let started_at = root.get("start_time").and_then(Time::of);
    let ended_at = root.get("end_time").and_then(Time::of);
    let zone_unknown = [&started_at, &ended_at]
        .into_iter()
        .flatten()
        .any(|t| t.zone_unknown);
    let flags = doc.flags()
        | odd
        | if zone_unknown {
            Flags::ZONE_UNKNOWN
        } else {
            Flags::NONE
        };
    Ok(Run {
        environment,
        trajectory_id: Cow::Owned(trajectory_id),
        arm: context.arm.unwrap_or(Arm::Sim),
        repeat: 0,
        content_hash,
        environment_version: header.and_then(|h| borrowed(&h.version)),
        origin: Some(Cow::Borrowed("recorded")),
        policy: header.and_then(|h| borrowed(&h.policy)),
        group_id: Some(task_id.clone()),
        task_id: Some(task_id),
        task: task.and_then(|t| borrowed(&t.told)),
        gold: task.and_then(|t| borrowed(&t.gold)),
        catalog: context.catalog.map(|tools| tools.elements().collect()),
        started_at,
        ended_at,
        termination: text(root, "termination_reason"),
        labels: None,
        extra: extra(root, task),
        messages: chat.messages,
        calls: chat.calls,
        verdicts: verdict(root).into_iter().collect(),
        flags,
    })
}

fn verdict(root: Node<'_>) -> Option<Verdict<'_>> {
    let info = root.get_some("reward_info")?;
    let reward = info.get_some("reward").and_then(Node::as_f64);
    Some(Verdict {
        judge: Cow::Borrowed("tau2-bench"),
        agent: Cow::Borrowed(""),
        reward,
        success: reward.map(|r| (r - 1.0).abs() < 1e-6),
        criteria: info
            .get_some("reward_breakdown")
            .map(|c| Cow::Borrowed(c.raw())),
        extra: Extra::of(info, &["reward", "reward_breakdown"]),
    })
}

fn extra<'d>(root: Node<'d>, task: Option<&Task>) -> Option<Text<'d>> {
    let mut extra = Extra::default();
    extra.rest(root, SIMULATION_KEYS);
    if let Some(policy) = root.get_some("policy") {
        extra.add("policy_text", policy.raw());
    }
    if let Some(rest) = task.and_then(|task| task.rest.as_deref()) {
        extra.add("task", rest);
    }
    extra.finish()
}
