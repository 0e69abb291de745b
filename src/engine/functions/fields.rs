//! Reading into JSON objects: the labels, criteria and extra keys of the tables.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, ListBuilder, StringArray, StringBuilder};
use arrow::datatypes::{DataType, Field};
use datafusion::common::Result;
use fidelake_core::json::{Doc as Json, Kind, Node, canonical};

use super::scalar::{column, scalar, text, texts};
use super::{Doc, Function};

const TEXT: DataType = DataType::Utf8View;

pub(super) fn functions() -> Vec<Function> {
    let item = Arc::new(Field::new_list_field(DataType::Utf8, true));
    vec![
        scalar(
            Doc {
                name: "json_field",
                signature: "json_field(object text, key text) -> text",
                doc: "What stands under a key of a JSON object: the text of a string, the canonical JSON of anything else. Null if the key is not there, stands for null, or the text is no object.",
                example: r#"SELECT json_field('{"plan":"gold","n":1.0}', 'plan') AS plan, json_field('{"plan":"gold","n":1.0}', 'n') AS n"#,
                gives: "gold|1",
            },
            vec![TEXT, TEXT],
            DataType::Utf8,
            json_field,
        ),
        scalar(
            Doc {
                name: "json_keys",
                signature: "json_keys(object text) -> list<text>",
                doc: "The keys of a JSON object, in the order given. Null if the text is no object.",
                example: r#"SELECT array_to_string(json_keys('{"b":1,"a":2}'), ' ') AS keys"#,
                gives: "b a",
            },
            vec![TEXT],
            DataType::List(item),
            json_keys,
        ),
    ]
}

fn json_field(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (objects, keys) = (texts(&args[0])?, texts(&args[1])?);
    let value = |row| {
        let doc = Json::parse(text(&objects, row)?).ok()?;
        doc.root().get_some(text(&keys, row)?).map(spelled)
    };
    column((0..objects.len()).map(value).collect::<StringArray>())
}

fn spelled(node: Node<'_>) -> String {
    match node.as_str() {
        Some(text) => text.to_owned(),
        None => canonical(node).0,
    }
}

fn json_keys(args: &[ArrayRef]) -> Result<ArrayRef> {
    let objects = texts(&args[0])?;
    let mut out = ListBuilder::new(StringBuilder::new());
    for row in 0..objects.len() {
        let doc = text(&objects, row).and_then(|t| Json::parse(t).ok());
        match doc
            .as_ref()
            .map(Json::root)
            .filter(|root| root.kind() == Kind::Object)
        {
            Some(root) => {
                root.entries()
                    .for_each(|(key, _)| out.values().append_value(key));
                out.append(true);
            }
            None => out.append(false),
        }
    }
    column(out.finish())
}
