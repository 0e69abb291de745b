//! Functions over texts and small values: gaps, keys, distances.

use std::sync::Arc;

use arrow::array::StringViewArray;
use arrow::array::{
    Array as _, ArrayRef, AsArray as _, Float64Array, Int64Array, ListArray, StringArray,
    StructArray,
};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Field, Fields, Float64Type, Int64Type};
use datafusion::common::Result;
use fidelake_core::gap::{
    Answer, Comparer, StateAfter, acceptance_distance, compose, latency_distance, outcome_distance,
    state_distance,
};
use fidelake_core::json::{Doc as Json, canonical, key, structured};

use super::scalar::{column, scalar, text, texts};
use super::{Doc, Function};

const TEXT: DataType = DataType::Utf8View;
const NUMBER: DataType = DataType::Float64;

pub(super) fn functions() -> Vec<Function> {
    vec![
        scalar(
            Doc {
                name: "json_gap",
                signature: "json_gap(a text, b text) -> double",
                doc: "How far apart two answers are, 0 to 1: the share of fields (typed paths) that differ. Key order and number spelling do not count; letter case, white space and null against absent count little. Null if either is null.",
                example: r#"SELECT json_gap('{"a":1,"b":"x"}', '{"b":"x","a":1.0}') AS same, json_gap('{"a":1,"b":"x"}', '{"a":2,"b":"x"}') AS half"#,
                gives: "0.0|0.5",
            },
            vec![TEXT, TEXT],
            NUMBER,
            json_gap,
        ),
        scalar(
            Doc {
                name: "json_paths_diff",
                signature: "json_paths_diff(a text, b text, limit bigint) -> list<struct<path, kind, weight, left, right>>",
                doc: "The fields in which two answers differ, at most `limit` of them, in order of their paths. Kinds: missing, extra, type, value, order, cosmetic.",
                example: r#"SELECT json_paths_diff('{"a":1}', '{"a":2}', 5)[1]['path'] AS path, json_paths_diff('{"a":1}', '{"a":2}', 5)[1]['kind'] AS kind"#,
                gives: "$.a|value",
            },
            vec![TEXT, TEXT, DataType::Int64],
            diff_type(),
            json_diff,
        ),
        scalar(
            Doc {
                name: "json_canonical",
                signature: "json_canonical(t text) -> text",
                doc: "The one form that equal JSON values share: keys sorted, numbers in their shortest spelling, no white space. Null if the text is no JSON.",
                example: r#"SELECT json_canonical('{"b":1.0, "a":[]}') AS form"#,
                gives: r#"{"a":[],"b":1}"#,
            },
            vec![TEXT],
            DataType::Utf8,
            json_canonical,
        ),
        scalar(
            Doc {
                name: "call_key",
                signature: "call_key(name text, arguments text) -> text",
                doc: "The key of a call: a hash of the tool's name and its arguments in canonical form.",
                example: r#"SELECT call_key('f', '{"a":1}') = call_key('f', '{ "a": 1.0 }') AS same"#,
                gives: "true",
            },
            vec![TEXT, TEXT],
            DataType::Utf8,
            call_key,
        ),
        scalar(
            Doc {
                name: "hash64",
                signature: "hash64(t text) -> bigint",
                doc: "The first 64 bits of the BLAKE3 hash of a text. Null if the text is.",
                example: "SELECT hash64('fidelake') AS h",
                gives: "3342544623753822467",
            },
            vec![TEXT],
            DataType::Int64,
            hash64,
        ),
        scalar(
            Doc {
                name: "outcome_distance",
                signature: "outcome_distance(a text, b text) -> double",
                doc: "1 if two outcomes differ, else 0. Null if either is null.",
                example: "SELECT outcome_distance('ok', 'rate_limited') AS d",
                gives: "1.0",
            },
            vec![TEXT, TEXT],
            NUMBER,
            |args| pairwise(args, |a, b| Some(outcome_distance(a, b))),
        ),
        scalar(
            Doc {
                name: "acceptance_distance",
                signature: "acceptance_distance(a text, b text) -> double",
                doc: "1 if one outcome refuses the tool or its arguments (unknown_tool, invalid_arguments) and the other does not, else 0. Null if either is null.",
                example: "SELECT acceptance_distance('ok', 'unknown_tool') AS d",
                gives: "1.0",
            },
            vec![TEXT, TEXT],
            NUMBER,
            |args| pairwise(args, |a, b| Some(acceptance_distance(a, b))),
        ),
        scalar(
            Doc {
                name: "state_distance",
                signature: "state_distance(state_a text, hash_a text, state_b text, hash_b text) -> double",
                doc: "How far apart two states are, 0 to 1: by their values where both are known, else 1 if their hashes differ. Null if neither can be compared.",
                example: "SELECT state_distance(NULL, 'x', NULL, 'y') AS d",
                gives: "1.0",
            },
            vec![TEXT, TEXT, TEXT, TEXT],
            NUMBER,
            states,
        ),
        scalar(
            Doc {
                name: "latency_distance",
                signature: "latency_distance(a double, b double) -> double",
                doc: "x / (1 + x) with x = |ln a - ln b|, 0 to 1, of two latencies in ms (below 0.001 ms counts as that). Null if either is unknown.",
                example: "SELECT latency_distance(10, 10) AS d",
                gives: "0.0",
            },
            vec![NUMBER, NUMBER],
            NUMBER,
            latencies,
        ),
        scalar(
            Doc {
                name: "trans_gap",
                signature: "trans_gap(outcome double, state double, idempotency double, read_after_write double, latency double) -> double",
                doc: "The transition gap from its aggregated components: 1 - (1 - c1)(1 - c2)(1 - c3/2)(1 - c4/2)(1 - c5/10). A component that was not measured is null and left out; null if none was.",
                example: "SELECT trans_gap(0.5, NULL, NULL, NULL, 0.0) AS d",
                gives: "0.5",
            },
            vec![NUMBER; 5],
            NUMBER,
            transition,
        ),
    ]
}

/// A column from two columns of texts.
fn pairwise(args: &[ArrayRef], f: impl Fn(&str, &str) -> Option<f64>) -> Result<ArrayRef> {
    let (a, b) = (texts(&args[0])?, texts(&args[1])?);
    let values = (0..a.len()).map(|row| f(text(&a, row)?, text(&b, row)?));
    column(values.collect::<Float64Array>())
}

/// An answer from the text of a result.
fn with_answer<R>(raw: &str, f: impl FnOnce(Answer<'_>) -> R) -> R {
    let found = structured(raw);
    f(Answer::of(raw, found.as_ref()))
}

fn json_gap(args: &[ArrayRef]) -> Result<ArrayRef> {
    let mut comparer = Comparer::default();
    let (a, b) = (texts(&args[0])?, texts(&args[1])?);
    let mut gap = |a: &str, b: &str| {
        if a == b {
            return 0.0;
        }
        with_answer(a, |left| {
            with_answer(b, |right| comparer.observe(left, right).gap)
        })
    };
    let values = (0..a.len()).map(|row| Some(gap(text(&a, row)?, text(&b, row)?)));
    column(values.collect::<Float64Array>())
}

fn diff_fields() -> Fields {
    Fields::from(vec![
        Field::new("path", DataType::Utf8, false),
        Field::new("kind", DataType::Utf8, false),
        Field::new("weight", DataType::Float64, false),
        Field::new("left", DataType::Utf8, true),
        Field::new("right", DataType::Utf8, true),
    ])
}

fn diff_type() -> DataType {
    DataType::List(Arc::new(Field::new_list_field(
        DataType::Struct(diff_fields()),
        true,
    )))
}

fn json_diff(args: &[ArrayRef]) -> Result<ArrayRef> {
    let mut comparer = Comparer::default();
    let (a, b) = (texts(&args[0])?, texts(&args[1])?);
    let limits = args[2].as_primitive::<Int64Type>();
    let mut found = Vec::new();
    let mut ends = vec![0i32];
    for row in 0..a.len() {
        if let (Some(left), Some(right)) = (text(&a, row), text(&b, row)) {
            let limit = if limits.is_valid(row) {
                limits.value(row).clamp(0, 100_000)
            } else {
                100
            };
            let limit = usize::try_from(limit).unwrap_or_default();
            let diff = with_answer(left, |l| with_answer(right, |r| comparer.diff(l, r, limit)));
            found.extend(diff.paths);
        }
        ends.push(i32::try_from(found.len()).unwrap_or(i32::MAX));
    }
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(
            found.iter().map(|d| d.path.as_str()),
        )),
        Arc::new(StringArray::from_iter_values(
            found.iter().map(|d| d.kind.name()),
        )),
        Arc::new(Float64Array::from_iter_values(
            found.iter().map(|d| d.weight),
        )),
        Arc::new(
            found
                .iter()
                .map(|d| d.left.as_deref())
                .collect::<StringArray>(),
        ),
        Arc::new(
            found
                .iter()
                .map(|d| d.right.as_deref())
                .collect::<StringArray>(),
        ),
    ];
    let rows = StructArray::try_new(diff_fields(), columns, None)?;
    let item = Arc::new(Field::new_list_field(DataType::Struct(diff_fields()), true));
    column(ListArray::try_new(
        item,
        OffsetBuffer::new(ScalarBuffer::from(ends)),
        Arc::new(rows),
        None,
    )?)
}

fn json_canonical(args: &[ArrayRef]) -> Result<ArrayRef> {
    let texts = texts(&args[0])?;
    let form = |row| {
        Json::parse(text(&texts, row)?)
            .ok()
            .map(|doc| canonical(doc.root()).0)
    };
    column((0..texts.len()).map(form).collect::<StringArray>())
}

fn call_key(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (names, arguments) = (texts(&args[0])?, texts(&args[1])?);
    let hash = |row| {
        let raw = text(&arguments, row).unwrap_or_default();
        let doc = Json::parse(raw).ok();
        Some(key::call_key(text(&names, row)?, doc.as_ref().map(Json::root), raw).to_string())
    };
    column((0..names.len()).map(hash).collect::<StringArray>())
}

fn hash64(args: &[ArrayRef]) -> Result<ArrayRef> {
    let texts = texts(&args[0])?;
    let hash = |row| text(&texts, row).map(|t| key::Key::of(t.as_bytes()).as_i64());
    column((0..texts.len()).map(hash).collect::<Int64Array>())
}

fn states(args: &[ArrayRef]) -> Result<ArrayRef> {
    let columns = args
        .iter()
        .map(texts)
        .collect::<Result<Vec<StringViewArray>>>()?;
    let mut comparer = Comparer::default();
    let mut distance = |row| {
        let after = |at: usize| StateAfter {
            value: text(&columns[at], row),
            hash: text(&columns[at + 1], row),
        };
        state_distance(after(0), after(2), &mut comparer)
    };
    column(
        (0..columns[0].len())
            .map(&mut distance)
            .collect::<Float64Array>(),
    )
}

fn latencies(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (a, b) = (
        args[0].as_primitive::<Float64Type>(),
        args[1].as_primitive::<Float64Type>(),
    );
    let values = a.iter().zip(b).map(|(a, b)| latency_distance(a?, b?));
    column(values.collect::<Float64Array>())
}

fn transition(args: &[ArrayRef]) -> Result<ArrayRef> {
    let columns: Vec<_> = args
        .iter()
        .map(|a| a.as_primitive::<Float64Type>())
        .collect();
    let value = |row| {
        compose(std::array::from_fn(|at| {
            columns[at].is_valid(row).then(|| columns[at].value(row))
        }))
        .trans
    };
    column((0..columns[0].len()).map(value).collect::<Float64Array>())
}
