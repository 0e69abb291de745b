//! How a call ended.

use arrow::array::{Array as _, ArrayRef, AsArray as _, StringArray};
use arrow::datatypes::{DataType, Int64Type};
use datafusion::common::Result;
use fidelake_core::model::{Evidence, OutcomeRules};

use super::scalar::{column, scalar, text, texts};
use super::{Doc, Function};

pub(super) fn functions() -> Vec<Function> {
    vec![scalar(
        Doc {
            name: "outcome_of",
            signature: "outcome_of(content text, status bigint, is_error boolean, error_type text) -> text",
            doc: "How a call ended, from its answer and what the protocol says of it (each may be null): ok, invalid_arguments, unknown_tool, auth, not_found, conflict, rate_limited, timeout, server_error, malformed_response, schema_drift, transport or tool_error. By the built-in rules; those of a lake apply when it imports.",
            example: "SELECT outcome_of('Error: Tool ''think'' not found.', NULL, NULL, NULL) AS tool, outcome_of('{\"items\":[]}', 429, NULL, NULL) AS status",
            gives: "unknown_tool|rate_limited",
        },
        vec![
            DataType::Utf8View,
            DataType::Int64,
            DataType::Boolean,
            DataType::Utf8View,
        ],
        DataType::Utf8,
        outcome_of,
    )]
}

fn outcome_of(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (content, error_types) = (texts(&args[0])?, texts(&args[3])?);
    let (status, flags) = (args[1].as_primitive::<Int64Type>(), args[2].as_boolean());
    let rules = OutcomeRules::default();
    let outcomes = (0..content.len()).map(|row| {
        let evidence = Evidence {
            is_error: flags.is_valid(row).then(|| flags.value(row)),
            status: status.is_valid(row).then(|| status.value(row)),
            error_type: text(&error_types, row),
            text: text(&content, row).unwrap_or_default(),
            ..Evidence::default()
        };
        Some(rules.derive(&evidence).outcome.as_str())
    });
    column(outcomes.collect::<StringArray>())
}
