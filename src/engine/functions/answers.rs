//! The distance of two stored answers, with everything that is known about it.

use arrow::array::{Array as _, ArrayRef, AsArray as _, Float64Builder, Int32Builder};
use arrow::datatypes::{DataType, Field, Fields};
use datafusion::common::Result;
use fidelake_core::gap::{Answer, Comparer, Form};

use super::scalar::{numbers_and_counts, scalar, text, texts};
use super::{Doc, Function};

const NUMBERS: [&str; 5] = ["gap", "mass", "structure", "value", "confidence"];
const COUNTS: [&str; 6] = ["missing", "extra", "type", "values", "order", "cosmetic"];

pub(super) fn functions() -> Vec<Function> {
    let side = [
        DataType::Utf8View,
        DataType::Utf8View,
        DataType::Utf8View,
        DataType::Boolean,
    ];
    vec![scalar(
        Doc {
            name: "answer_gap",
            signature: "answer_gap(structured_a, content_a, rule_a, truncated_a, structured_b, content_b, rule_b, truncated_b) -> struct<gap, mass, structure, value, confidence, missing, extra, type, values, order, cosmetic>",
            doc: "How far apart two stored answers are (columns of `observations`): `gap` per field, `mass` by size, both 0 to 1; `structure` and `value` add up to `gap`; the rest counts differing fields by kind. Null if an answer is missing altogether.",
            example: r#"SELECT answer_gap('{"a":1}', NULL, 'json', false, '{"a":2}', NULL, 'json', false)['value'] AS d"#,
            gives: "1.0",
        },
        [side.clone(), side].concat(),
        DataType::Struct(fields()),
        answer_gap,
    )]
}

fn fields() -> Fields {
    let numbers = NUMBERS
        .iter()
        .map(|name| Field::new(*name, DataType::Float64, true));
    let counts = COUNTS
        .iter()
        .map(|name| Field::new(*name, DataType::Int32, true));
    numbers.chain(counts).collect()
}

/// A stored answer: its canonical value, else its text.
pub(crate) fn stored<'a>(
    structured: Option<&'a str>,
    content: Option<&'a str>,
    rule: Option<&str>,
    truncated: bool,
) -> Answer<'a> {
    match structured {
        Some(text) => {
            let python = rule.is_some_and(|rule| rule.ends_with("python_repr"));
            Answer {
                text,
                raw: content.unwrap_or_default(),
                form: if python { Form::PythonRepr } else { Form::Json },
                truncated,
            }
        }
        None => Answer {
            text: content.unwrap_or_default(),
            raw: "",
            form: Form::Text,
            truncated,
        },
    }
}

fn answer_gap(args: &[ArrayRef]) -> Result<ArrayRef> {
    let column_of = |at: usize| texts(&args[at]);
    let (sa, ca, ra) = (column_of(0)?, column_of(1)?, column_of(2)?);
    let (sb, cb, rb) = (column_of(4)?, column_of(5)?, column_of(6)?);
    let (ta, tb) = (args[3].as_boolean(), args[7].as_boolean());
    let cut =
        |array: &arrow::array::BooleanArray, row: usize| array.is_valid(row) && array.value(row);
    let rows = sa.len();
    let mut numbers: Vec<Float64Builder> = NUMBERS
        .iter()
        .map(|_| Float64Builder::with_capacity(rows))
        .collect();
    let mut counts: Vec<Int32Builder> = COUNTS
        .iter()
        .map(|_| Int32Builder::with_capacity(rows))
        .collect();
    let mut valid = Vec::with_capacity(rows);
    let mut comparer = Comparer::default();
    for row in 0..rows {
        let left = stored(text(&sa, row), text(&ca, row), text(&ra, row), cut(ta, row));
        let right = stored(text(&sb, row), text(&cb, row), text(&rb, row), cut(tb, row));
        let found = comparer.observe(left, right);
        valid.push(true);
        let values = [
            found.gap,
            found.gap_mass,
            found.structure,
            found.value,
            found.confidence,
        ];
        for (builder, value) in numbers.iter_mut().zip(values) {
            builder.append_value(value);
        }
        let k = &found.kinds;
        for (builder, value) in counts
            .iter_mut()
            .zip([k.missing, k.extra, k.type_, k.value, k.order, k.cosmetic])
        {
            builder.append_value(i32::try_from(value).unwrap_or(i32::MAX));
        }
    }
    numbers_and_counts(fields(), &mut numbers, &mut counts, valid)
}
