//! The columns of the plain formats: everything that fidelake knows of a row.

use super::column::{Cell, Column, Kind, column};
use super::item::Item;
use crate::curate::message::json_of;

pub(super) const TRAJECTORY: Column = column("trajectory_id", Kind::Text, "The trajectory", |i| {
    Cell::Text(&i.row().run.trajectory_id)
});
pub(super) const RUN: Column = column(
    "run_id",
    Kind::Text,
    "The run of the lake that became this row",
    |i| Cell::Text(&i.row().run.run_id),
);
pub(super) const ENVIRONMENT: Column = column(
    "environment",
    Kind::Text,
    "The set of tools with a state",
    |i| Cell::Text(&i.row().run.environment),
);
pub(super) const GROUP: Column = column(
    "group_id",
    Kind::Text,
    "Rows of one environment and group (and policy) share a baseline",
    |i| Cell::Text(&i.row().run.group),
);
pub(super) const TASK: Column = column(
    "task_id",
    Kind::Text,
    "The task, as the source names it",
    |i| Cell::text(i.row().run.task_id.as_deref()),
)
.or_null();
pub(super) const POLICY: Column = column(
    "policy",
    Kind::Text,
    "The model or script that chose the calls",
    |i| Cell::text(i.row().run.policy.as_deref()),
)
.or_null();
pub(super) const TOOLS: Column = column(
    "tools",
    Kind::Json,
    "JSON: the tools that were offered; `[]` if not recorded",
    |i| Cell::Text(&i.tools),
);
pub(super) const REWARD: Column = column(
    "reward",
    Kind::Number,
    "Reward, as the judge gave it",
    |i| Cell::Number(i.row().run.reward),
);
pub(super) const FIDELITY: Column = column(
    "fidelity",
    Kind::Number,
    "f: the product over the factors, unknown ones as expected of the environment",
    |i| Cell::number(i.row().fidelity),
)
.or_null();
pub(super) const WEIGHT: Column =
    column("fidelity_weight", Kind::Number, "The weight, 0..1", |i| {
        Cell::Number(i.row().advantages.fidelity_weight)
    });
pub(super) const ADVANTAGE_FIDELITY: Column = column(
    "advantage_fidelity",
    Kind::Number,
    "Weighted advantage over the weighted baseline: the default for training",
    |i| Cell::Number(i.row().advantages.advantage_fidelity),
);
pub(super) const CALL_WEIGHTS: Column = column(
    "call_weights",
    Kind::Numbers,
    "One weight per call, in the order in which the messages make them, 0..fidelity_weight",
    |i| Cell::Numbers(&i.call_weights),
);
pub(super) const REPAIRED: Column = column(
    "repaired",
    Kind::Flag,
    "Answers of the simulator were replaced by those of the real world",
    |i| Cell::Flag(i.row().run.repair.is_some()),
);
pub(super) const REPAIRED_FROM: Column = column(
    "repaired_from",
    Kind::Text,
    "The run of the real arm whose answers stand here; null: not repaired",
    |i| Cell::text(i.row().run.repair.as_ref().map(|r| r.real_run.as_str())),
)
.or_null();
pub(super) const SOURCE: Column = column(
    "profile_source",
    Kind::Text,
    "measured, mixed, predicted, unknown, or real",
    |i| Cell::Text(i.row().source),
);

/// Fidelity of one dimension.
fn dimension(item: &Item, at: usize) -> Cell<'_> {
    let profile = item.row().run.profile.as_deref();
    Cell::number(profile.and_then(|p| p.fidelity.get(at).copied().flatten()))
}

/// The columns, in order.
pub(super) static COLUMNS: [Column; 43] = [
    TRAJECTORY,
    RUN,
    ENVIRONMENT,
    column("arm", Kind::Text, "`sim` or `real`: where it ran", |i| {
        Cell::Text(i.arm)
    }),
    column(
        "repeat",
        Kind::Small,
        "Number of the run within its arm",
        |i| Cell::Whole(i.row().run.repeat.into()),
    ),
    GROUP,
    TASK,
    POLICY,
    column(
        "prompt",
        Kind::Json,
        "JSON: the messages before the first of the assistant",
        |i| Cell::Made(json_of(i.chat.prompt())),
    ),
    column(
        "messages",
        Kind::Json,
        "JSON: the whole conversation in the OpenAI chat form",
        |i| Cell::Made(json_of(&i.chat.messages)),
    ),
    TOOLS,
    REWARD,
    column(
        "reward_corrected",
        Kind::Number,
        "Reward less what the simulator gives too much in this environment; null: unknown",
        |i| Cell::number(i.row().reward_corrected),
    )
    .or_null(),
    column(
        "advantage",
        Kind::Number,
        "(reward - group_mean) / (group_std + 1e-6)",
        |i| Cell::Number(i.row().advantages.advantage),
    ),
    column(
        "advantage_centered",
        Kind::Number,
        "reward - group_mean",
        |i| Cell::Number(i.row().advantages.advantage_centered),
    ),
    column(
        "fidelity_obs",
        Kind::Number,
        "Fidelity of answers, 0..1; null: unknown",
        |i| dimension(i, 0),
    )
    .or_null(),
    column(
        "fidelity_act",
        Kind::Number,
        "Fidelity of the action space",
        |i| dimension(i, 1),
    )
    .or_null(),
    column("fidelity_rew", Kind::Number, "Fidelity of rewards", |i| {
        dimension(i, 2)
    })
    .or_null(),
    column(
        "fidelity_trans",
        Kind::Number,
        "Fidelity of transitions",
        |i| dimension(i, 3),
    )
    .or_null(),
    column(
        "fidelity_mean",
        Kind::Number,
        "Mean of the known dimensions; predicted where profile_source says so",
        |i| Cell::number(i.row().fidelity_mean),
    )
    .or_null(),
    FIDELITY,
    column(
        "fidelity_se",
        Kind::Number,
        "Standard error of f; null: unknown",
        |i| Cell::number(i.row().fidelity_se),
    )
    .or_null(),
    column(
        "fidelity_low",
        Kind::Number,
        "f less its standard error, at most 0.1: what the quantile gate sees",
        |i| Cell::number(i.row().fidelity_low),
    )
    .or_null(),
    WEIGHT,
    column(
        "advantage_fidelity_seed",
        Kind::Number,
        "fidelity_weight * advantage",
        |i| Cell::Number(i.row().advantages.advantage_fidelity_seed),
    ),
    ADVANTAGE_FIDELITY,
    column("group_size", Kind::Small, "Rows of the group", |i| {
        Cell::Whole(i.row().group.size.into())
    }),
    column(
        "group_mean",
        Kind::Number,
        "Mean reward of the group",
        |i| Cell::Number(i.row().group.mean),
    ),
    column(
        "group_std",
        Kind::Number,
        "Standard deviation of the rewards (n - 1)",
        |i| Cell::Number(i.row().group.std),
    ),
    column(
        "group_effective_size",
        Kind::Number,
        "How many equally weighted rows the weights of the group are worth",
        |i| Cell::Number(i.row().group.effective_size),
    ),
    column(
        "group_degenerate",
        Kind::Flag,
        "Nothing can be learned from the group: its advantages are 0",
        |i| Cell::Flag(i.row().group.degenerate),
    ),
    SOURCE,
    CALL_WEIGHTS,
    REPAIRED,
    REPAIRED_FROM,
    column(
        "original_weight",
        Kind::Number,
        "The weight without the repair; equal to fidelity_weight if not repaired",
        |i| Cell::Number(i.original_weight),
    ),
    column(
        "gate_weight",
        Kind::Number,
        "g: what the gate alone says; fidelity_weight = v g c_b / scale with the joint gate, else g",
        |i| Cell::Number(i.row().gate_weight),
    ),
    column(
        "feasible",
        Kind::Flag,
        "v: false if the real world failed at these actions for a cause of its own",
        |i| Cell::Flag(i.row().run.figures.feasible),
    ),
    column(
        "difficulty_factor",
        Kind::Number,
        "c_b: gives its stratum of difficulty its share back; 1 without the joint gate",
        |i| Cell::Number(i.row().difficulty_factor),
    ),
    column(
        "pass_rate",
        Kind::Number,
        "Smoothed pass rate of the task, of real runs where there are any; null: unknown",
        |i| Cell::number(i.row().run.figures.pass_rate),
    )
    .or_null(),
    column(
        "pass_at_k",
        Kind::Number,
        "Probability that one of k runs solves the task, unbiased; k in the recipe, 4 if not said; null: fewer runs",
        |i| Cell::number(i.row().run.figures.pass_at_k),
    )
    .or_null(),
    column(
        "pass_hat_k",
        Kind::Number,
        "Probability that all of k runs solve the task (pass^k)",
        |i| Cell::number(i.row().run.figures.pass_hat_k),
    )
    .or_null(),
    column("split", Kind::Text, "train, validation or test", |i| {
        Cell::Text(i.row().split.as_str())
    }),
];

#[cfg(test)]
mod tests {
    use super::super::column::{FEATURES, schema};
    use super::*;
    use arrow::datatypes::DataType;

    #[test]
    fn the_features_name_the_schema_and_every_type_is_plain() {
        let schema = schema(&COLUMNS);
        let features: serde_json::Value =
            serde_json::from_str(&schema.metadata()[FEATURES]).unwrap();
        let features = features["info"]["features"].as_object().unwrap();
        assert_eq!(features.len(), COLUMNS.len());
        assert_eq!(features["fidelity_weight"]["dtype"], "float64");
        assert_eq!(features["group_degenerate"]["dtype"], "bool");
        assert_eq!(features["call_weights"][0]["dtype"], "float64");
        let nested = |kind: &DataType| kind.is_nested() || *kind == DataType::Null;
        let nested = schema.fields().iter().filter(|f| nested(f.data_type()));
        let nested: Vec<&str> = nested.map(|f| f.name().as_str()).collect();
        assert_eq!(nested, ["call_weights"]);
        let names: std::collections::HashSet<_> = COLUMNS.iter().map(|c| c.name).collect();
        assert_eq!(names.len(), COLUMNS.len());
    }
}
