//! Arguments against what the catalog declares.

use arrow::array::{Array as _, ArrayRef, StringArray};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use fidelake_core::patterns;

use super::scalar::{column, scalar, text, texts};
use super::{Doc, Function};

const TEXT: DataType = DataType::Utf8View;

pub(super) fn functions() -> Vec<Function> {
    vec![
        scalar(
            Doc {
                name: "argument_faults",
                signature: "argument_faults(arguments text, parameters text) -> text",
                doc: "What is wrong with a call's arguments under its tool's parameter schema, at the top level: the words undeclared, missing, type, enum, range that apply, joined by commas; none where nothing is. Null if the schema declares nothing, or one of them is no JSON object.",
                example: r#"SELECT argument_faults('{"page":2}', '{"properties":{"id":{}},"required":["id"]}') AS f"#,
                gives: "undeclared,missing",
            },
            vec![TEXT, TEXT],
            DataType::Utf8,
            faults,
        ),
        scalar(
            Doc {
                name: "argument_names",
                signature: "argument_names(arguments text) -> text",
                doc: "The names of a call's arguments, sorted, joined by commas. Null for what is no JSON object.",
                example: r#"SELECT argument_names('{"b":1,"a":2}') AS names"#,
                gives: "a,b",
            },
            vec![TEXT],
            DataType::Utf8,
            names,
        ),
    ]
}

fn faults(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (arguments, schemas) = (texts(&args[0])?, texts(&args[1])?);
    let words = |row| {
        let found = patterns::argument_faults(text(&arguments, row)?, text(&schemas, row)?)?;
        let mut words: Vec<&str> = found.iter().map(|(fault, _)| fault.name()).collect();
        words.dedup();
        Some(if words.is_empty() {
            "none".to_owned()
        } else {
            words.join(",")
        })
    };
    column((0..arguments.len()).map(words).collect::<StringArray>())
}

fn names(args: &[ArrayRef]) -> Result<ArrayRef> {
    let arguments = texts(&args[0])?;
    let of = |row| patterns::argument_names(text(&arguments, row)?);
    column((0..arguments.len()).map(of).collect::<StringArray>())
}
