//! The one schema of all shards.
//!
//! One schema for all of them, texts as Utf8, numbers as float64, no column whose
//! type depends on what stands in it, and the footer key `huggingface`: with
//! anything less, `datasets` fails on a shard that differs from the first.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

/// The footer key in which `datasets` looks for a schema in its own words.
pub(super) const FEATURES: &str = "huggingface";

/// Name, type, whether null can stand there, meaning.
type Spec = (&'static str, DataType, bool, &'static str);

const TEXT: DataType = DataType::Utf8;
const NUMBER: DataType = DataType::Float64;
const WHOLE: DataType = DataType::Int32;
const FLAG: DataType = DataType::Boolean;

/// The columns, in order.
pub(super) const COLUMNS: &[Spec] = &[
    ("trajectory_id", TEXT, false, "The trajectory"),
    (
        "run_id",
        TEXT,
        false,
        "The run of the lake that became this row",
    ),
    ("environment", TEXT, false, "The set of tools with a state"),
    ("arm", TEXT, false, "`sim` or `real`: where it ran"),
    ("repeat", WHOLE, false, "Number of the run within its arm"),
    (
        "group_id",
        TEXT,
        false,
        "Rows of one environment and group (and policy) share a baseline",
    ),
    ("task_id", TEXT, true, "The task, as the source names it"),
    (
        "policy",
        TEXT,
        true,
        "The model or script that chose the calls",
    ),
    (
        "prompt",
        TEXT,
        false,
        "JSON: the messages before the first of the assistant",
    ),
    (
        "messages",
        TEXT,
        false,
        "JSON: the whole conversation in the OpenAI chat form",
    ),
    (
        "tools",
        TEXT,
        false,
        "JSON: the tools that were offered; `[]` if not recorded",
    ),
    ("reward", NUMBER, false, "Reward, as the judge gave it"),
    (
        "reward_corrected",
        NUMBER,
        true,
        "Reward less what the simulator gives too much in this environment; null: unknown",
    ),
    (
        "advantage",
        NUMBER,
        false,
        "(reward - group_mean) / (group_std + 1e-6)",
    ),
    ("advantage_centered", NUMBER, false, "reward - group_mean"),
    (
        "fidelity_obs",
        NUMBER,
        true,
        "Fidelity of answers, 0..1; null: unknown",
    ),
    ("fidelity_act", NUMBER, true, "Fidelity of the action space"),
    ("fidelity_rew", NUMBER, true, "Fidelity of rewards"),
    ("fidelity_trans", NUMBER, true, "Fidelity of transitions"),
    (
        "fidelity_mean",
        NUMBER,
        true,
        "Mean of the known dimensions; predicted where profile_source says so",
    ),
    (
        "fidelity",
        NUMBER,
        true,
        "f: the product over the factors, unknown ones as expected of the environment",
    ),
    (
        "fidelity_se",
        NUMBER,
        true,
        "Standard error of f; null: unknown",
    ),
    (
        "fidelity_low",
        NUMBER,
        true,
        "f less its standard error, at most 0.1: what the quantile gate sees",
    ),
    ("fidelity_weight", NUMBER, false, "The weight, 0..1"),
    (
        "advantage_fidelity_seed",
        NUMBER,
        false,
        "fidelity_weight * advantage",
    ),
    (
        "advantage_fidelity",
        NUMBER,
        false,
        "Weighted advantage over the weighted baseline: the default for training",
    ),
    ("group_size", WHOLE, false, "Rows of the group"),
    ("group_mean", NUMBER, false, "Mean reward of the group"),
    (
        "group_std",
        NUMBER,
        false,
        "Standard deviation of the rewards (n - 1)",
    ),
    (
        "group_effective_size",
        NUMBER,
        false,
        "How many equally weighted rows the weights of the group are worth",
    ),
    (
        "group_degenerate",
        FLAG,
        false,
        "Nothing can be learned from the group: its advantages are 0",
    ),
    (
        "profile_source",
        TEXT,
        false,
        "measured, mixed, predicted, unknown, or real",
    ),
    (
        "gate_weight",
        NUMBER,
        false,
        "g: what the gate alone says; fidelity_weight = v g c_b / scale with the joint gate, else g",
    ),
    (
        "feasible",
        FLAG,
        false,
        "v: false if the real world failed at these actions for a cause of its own",
    ),
    (
        "difficulty_factor",
        NUMBER,
        false,
        "c_b: gives its stratum of difficulty its share back; 1 without the joint gate",
    ),
    (
        "pass_rate",
        NUMBER,
        true,
        "Smoothed pass rate of the task, of real runs where there are any; null: unknown",
    ),
    (
        "pass_at_k",
        NUMBER,
        true,
        "Probability that one of k runs solves the task, unbiased; k in the recipe, 4 if not said; null: fewer runs",
    ),
    (
        "pass_hat_k",
        NUMBER,
        true,
        "Probability that all of k runs solve the task (pass^k)",
    ),
    ("split", TEXT, false, "train, validation or test"),
];

/// The one schema of all shards. It carries the footer key as well, because
/// pyarrow looks for it there.
pub(super) fn schema() -> SchemaRef {
    let field = |(name, kind, null, _): &Spec| Field::new(*name, kind.clone(), *null);
    let fields: Vec<Field> = COLUMNS.iter().map(field).collect();
    let metadata = [(FEATURES.to_owned(), features())].into();
    Arc::new(Schema::new(fields).with_metadata(metadata))
}

/// What `datasets` finds in the footer: its own words for the same schema, in
/// the same order.
pub(super) fn features() -> String {
    let features = COLUMNS.iter().map(|(name, kind, _, _)| {
        let dtype = match kind {
            DataType::Float64 => "float64",
            DataType::Int32 => "int32",
            DataType::Boolean => "bool",
            _ => "string",
        };
        format!(r#""{name}": {{"dtype": "{dtype}", "_type": "Value"}}"#)
    });
    let features: Vec<String> = features.collect();
    format!(r#"{{"info": {{"features": {{{}}}}}}}"#, features.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_features_name_the_schema_and_every_type_is_plain() {
        let schema = schema();
        let features: serde_json::Value =
            serde_json::from_str(&schema.metadata()[FEATURES]).unwrap();
        let features = features["info"]["features"].as_object().unwrap();
        assert_eq!(features.len(), COLUMNS.len());
        assert_eq!(features["fidelity_weight"]["dtype"], "float64");
        assert_eq!(features["group_degenerate"]["dtype"], "bool");
        let plain = [TEXT, NUMBER, WHOLE, FLAG];
        assert!(
            schema
                .fields()
                .iter()
                .all(|f| plain.contains(f.data_type()))
        );
        let names: std::collections::HashSet<_> = COLUMNS.iter().map(|c| c.0).collect();
        assert_eq!(names.len(), COLUMNS.len());
    }
}
