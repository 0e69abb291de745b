//! What the trainers of supervised fine-tuning read: the whole conversation and
//! the tools. None of them has a column for a sample weight; the weight stands
//! beside, for a filter or a loss of one's own.

use super::column::{Cell, Column, Kind, column};
use super::flat::{
    CALL_WEIGHTS, ENVIRONMENT, FIDELITY, GROUP, POLICY, REPAIRED, REPAIRED_FROM, REWARD, RUN,
    SOURCE, TASK, TOOLS, TRAJECTORY, WEIGHT,
};

const MESSAGES: Column = column(
    "messages",
    Kind::Chat,
    "The conversation in the OpenAI chat form; arguments are JSON texts",
    |i| Cell::Messages(&i.chat.messages),
);

/// `MultiTurnSFTDataset` of verl and `SFTTrainer` of TRL. Tools are a JSON text:
/// schemas of several tools in one struct would get each other's keys.
pub(super) static CHAT: [Column; 15] = [
    MESSAGES,
    TOOLS,
    WEIGHT,
    CALL_WEIGHTS,
    TRAJECTORY,
    RUN,
    ENVIRONMENT,
    GROUP,
    TASK,
    POLICY,
    REWARD,
    FIDELITY,
    SOURCE,
    REPAIRED,
    REPAIRED_FROM,
];

static EXTRA: [Column; 9] = [
    TRAJECTORY,
    RUN,
    ENVIRONMENT,
    GROUP,
    REWARD,
    WEIGHT,
    CALL_WEIGHTS,
    REPAIRED,
    REPAIRED_FROM,
];

/// NeMo-RL: `loss_multiplier` is what its loss multiplies with.
pub(super) static NEMO_RL: [Column; 7] = [
    MESSAGES,
    TOOLS,
    WEIGHT.named("loss_multiplier"),
    ENVIRONMENT.named("task_name"),
    column(
        "idx",
        Kind::Whole,
        "Number of the row in its part of the data set, from 0",
        |i| Cell::Whole(i64::try_from(i.number).unwrap_or(i64::MAX)),
    ),
    column(
        "extra_env_info",
        Kind::Struct(&EXTRA),
        "What is known of the row",
        |_| Cell::Null,
    ),
    WEIGHT,
];
