//! What the trainers of reinforcement learning read: a prompt, what a reward
//! function needs, and the weight where their code can reach it.
//! `docs/trainers.md` says how each of them applies it.

use super::column::{Cell, Column, Kind, column};
use super::flat::{
    ADVANTAGE_FIDELITY, CALL_WEIGHTS, ENVIRONMENT, FIDELITY, GROUP, POLICY, REPAIRED,
    REPAIRED_FROM, REWARD, RUN, SOURCE, TASK, TOOLS, TRAJECTORY, WEIGHT,
};
use super::item::Item;
use super::lines::push_object;
use crate::curate::json::separate;
use fidelake_core::json::{Doc, push_json_string};

pub(super) const PROMPT: Column = column(
    "prompt",
    Kind::Prompt,
    "The messages before the first of the assistant",
    |i| Cell::Messages(i.chat.prompt()),
);

pub(super) const DATA_SOURCE: Column = ENVIRONMENT.named("data_source");

/// The calls said to be right.
pub(super) const GROUND_TRUTH: Column = column(
    "ground_truth",
    Kind::Text,
    "JSON: the calls said to be right, `[]` if nothing says so",
    |i| Cell::Text(i.gold.as_deref().unwrap_or("[]")),
);

const INDEX: Column = column(
    "index",
    Kind::Whole,
    "Number of the row in its part of the data set, from 0",
    |i| Cell::Whole(i64::try_from(i.number).unwrap_or(i64::MAX)),
);

/// What every trainer gets to know of a row beside its prompt.
static INFO: [Column; 16] = [
    column("split", Kind::Text, "Part of the data set", |i| {
        Cell::Text(i.row().split.as_str())
    }),
    INDEX,
    TRAJECTORY,
    RUN,
    ENVIRONMENT,
    GROUP,
    TASK,
    POLICY,
    REWARD,
    ADVANTAGE_FIDELITY,
    FIDELITY,
    SOURCE,
    WEIGHT,
    CALL_WEIGHTS,
    REPAIRED,
    REPAIRED_FROM,
];

/// A struct; its columns have the values.
const fn nested(name: &'static str, columns: &'static [Column], doc: &'static str) -> Column {
    column(name, Kind::Struct(columns), doc, |_| Cell::Null)
}

static VERL_REWARD: [Column; 2] = [
    column("style", Kind::Text, "`rule`", |_| Cell::Text("rule")),
    GROUND_TRUTH,
];

/// `RLHFDataset` of verl.
pub(super) static VERL: [Column; 8] = [
    DATA_SOURCE,
    PROMPT,
    column("ability", Kind::Text, "`tool_use`", |_| {
        Cell::Text("tool_use")
    }),
    nested(
        "reward_model",
        &VERL_REWARD,
        "What the reward manager reads",
    ),
    nested(
        "extra_info",
        &INFO,
        "What reward functions see, the weight among it",
    ),
    column(
        "agent_name",
        Kind::Text,
        "`tool_agent`: verl's agent loop",
        |_| Cell::Text("tool_agent"),
    ),
    WEIGHT,
    CALL_WEIGHTS,
];

/// `GRPOTrainer` of TRL: every column but the prompt goes to the reward functions.
pub(super) static TRL: [Column; 15] = [
    PROMPT,
    ENVIRONMENT,
    GROUND_TRUTH,
    WEIGHT,
    CALL_WEIGHTS,
    TRAJECTORY,
    RUN,
    GROUP,
    TASK,
    POLICY,
    REWARD,
    ADVANTAGE_FIDELITY,
    FIDELITY,
    SOURCE,
    REPAIRED,
];

/// `PromptDataset` of OpenRLHF drops every column but these, so the weight
/// travels in the label.
pub(super) static OPENRLHF: [Column; 4] = [
    PROMPT.named("input"),
    column(
        "label",
        Kind::Text,
        "JSON: ground_truth, fidelity_weight and what else is known of the row",
        |i| Cell::Made(label(i)),
    ),
    ENVIRONMENT.named("datasource"),
    WEIGHT,
];

fn label(item: &Item) -> String {
    let mut out = String::from("{\"ground_truth\":");
    push_json_string(item.gold.as_deref().unwrap_or("[]"), &mut out);
    let mut info = String::new();
    push_object(&INFO, item, &mut info);
    out.push(',');
    out.push_str(&info[1..]);
    out
}

static SKYRL_REWARD: [Column; 2] = [
    column("method", Kind::Text, "`rule`", |_| Cell::Text("rule")),
    GROUND_TRUTH,
];

/// `PromptDataset` of SkyRL.
pub(super) static SKYRL: [Column; 7] = [
    DATA_SOURCE,
    PROMPT,
    ENVIRONMENT.named("env_class"),
    nested(
        "reward_spec",
        &SKYRL_REWARD,
        "What the environment checks against",
    ),
    nested("extra_info", &INFO, "What is known of the row"),
    WEIGHT,
    CALL_WEIGHTS,
];

/// slime: a line per prompt, `metadata` an object.
pub(super) static SLIME: [Column; 4] = [
    PROMPT.named("input"),
    GROUND_TRUTH.named("label"),
    nested(
        "metadata",
        &INFO,
        "What is known of the row, fidelity_weight among it",
    ),
    TOOLS,
];

/// Rows of verifiers, which prime-rl trains on.
pub(super) static PRIME: [Column; 5] = [
    PROMPT,
    INDEX.named("example_id"),
    GROUND_TRUTH.named("answer"),
    column(
        "info",
        Kind::Text,
        "JSON: what is known of the row, fidelity_weight among it",
        |i| {
            let mut info = String::new();
            push_object(&INFO, i, &mut info);
            Cell::Made(info)
        },
    ),
    WEIGHT,
];

/// NeMo-Gym: the parameters of a request in the form of the Responses API.
pub(super) static NEMO_GYM: [Column; 6] = [
    column(
        "responses_create_params",
        Kind::Json,
        "The request: `input` and `tools`",
        |i| Cell::Made(responses(i)),
    ),
    INDEX.named("id"),
    GROUND_TRUTH,
    nested("metadata", &INFO, "What is known of the row"),
    WEIGHT,
    WEIGHT.named("loss_multiplier"),
];

fn responses(item: &Item) -> String {
    let mut out = String::from("{\"input\":[");
    let mut first = true;
    for message in item.chat.prompt() {
        separate(&mut out, &mut first);
        out.push_str("{\"role\":");
        push_json_string(&message.role, &mut out);
        out.push_str(",\"content\":");
        push_json_string(&message.text().unwrap_or_default(), &mut out);
        out.push('}');
    }
    out.push_str("],\"tools\":[");
    let mut first = true;
    if let Ok(doc) = Doc::parse(&item.tools) {
        // There a tool is flat: what the chat form has under `function` stands beside `type`.
        for tool in doc.root().elements().filter_map(|t| t.get_some("function")) {
            separate(&mut out, &mut first);
            out.push_str("{\"type\":\"function\",");
            out.push_str(
                tool.raw()
                    .trim_start()
                    .get(1..)
                    .unwrap_or_default()
                    .trim_end(),
            );
            out.truncate(out.len() - 1);
            out.push_str(",\"strict\":false}");
        }
    }
    out.push_str("]}");
    out
}
