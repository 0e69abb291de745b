//! Runs and gold calls as JSON texts, written and read.

use arrow::array::{Array as _, ArrayRef, AsArray as _, StringArray};
use arrow::datatypes::Int32Type;
use datafusion::common::Result;
use fidelake_core::gap::{Made, Seen};
use fidelake_core::json::key::{Key, call_key, call_key_of};
use fidelake_core::json::{Doc as Json, Kind, push_json_string};

use crate::engine::functions::scalar::{column, text, texts};

/// The calls of a run: `[[turn, index, name, key, arguments, answer], ...]`.
pub(super) fn steps(columns: &[ArrayRef], ends: &[usize]) -> Result<ArrayRef> {
    let turns = columns[0].as_primitive::<Int32Type>();
    let indexes = columns[1].as_primitive::<Int32Type>();
    let rest = columns[2..].iter().map(texts).collect::<Result<Vec<_>>>()?;
    let list = |group: &[usize]| {
        let placed = |row: &usize| turns.is_valid(*row) && indexes.is_valid(*row);
        let mut rows: Vec<usize> = (group[0]..group[1]).filter(placed).collect();
        rows.sort_by_key(|&row| (turns.value(row), indexes.value(row)));
        let mut out = String::from("[");
        for row in rows {
            let comma = if out.len() > 1 { "," } else { "" };
            out.push_str(&format!(
                "{comma}[{},{}",
                turns.value(row),
                indexes.value(row)
            ));
            for texts in &rest {
                out.push(',');
                match text(texts, row) {
                    Some(text) => push_json_string(text, &mut out),
                    None => out.push_str("null"),
                }
            }
            out.push(']');
        }
        out.push(']');
        Some(out)
    };
    column(ends.windows(2).map(list).collect::<StringArray>())
}

/// A run, read: its calls, and what its agent saw.
#[derive(Default)]
pub(super) struct Steps<'d> {
    pub(super) made: Vec<Made<'d>>,
    pub(super) seen: Vec<Seen<'d>>,
}

impl<'d> Steps<'d> {
    pub(super) fn read(doc: Option<&'d Json<'_>>) -> Self {
        let mut steps = Self::default();
        for step in doc.into_iter().flat_map(|doc| doc.root().elements()) {
            let parts: Vec<_> = step.elements().collect();
            let &[turn, index, name, key, arguments, answer] = parts.as_slice() else {
                continue;
            };
            let number = |at: fidelake_core::json::Node<'_>| {
                at.as_i64()
                    .and_then(|n| i32::try_from(n).ok())
                    .unwrap_or_default()
            };
            let turn = number(turn);
            if let Some(text) = answer.as_str() {
                steps.seen.push(Seen { turn, text });
            }
            // What has no name is no call that could be right: a result alone.
            if let Some(name) = name.as_str() {
                let arguments = arguments.as_str().unwrap_or_default();
                steps.made.push(Made {
                    turn,
                    index: number(index),
                    name,
                    arguments,
                    key: key.as_str().and_then(Key::parse).map_or(0, Key::bits),
                });
            }
        }
        steps
    }
}

/// The gold calls of a task.
#[derive(Default)]
pub(super) struct Gold<'d>(Vec<(&'d str, &'d str, u128)>);

impl<'d> Gold<'d> {
    /// From a list of {name, arguments}; what a simulated user is to call is left out.
    pub(super) fn read(doc: Option<&'d Json<'_>>) -> Self {
        let mut calls = Vec::new();
        for call in doc.into_iter().flat_map(|doc| doc.root().elements()) {
            let Some(name) = call.get_str("name") else {
                continue;
            };
            if call.get_str("requestor") == Some("user") {
                continue;
            }
            let given = call.get_some("arguments");
            // An object, or the text of one.
            let arguments = match given {
                Some(node) => node.as_str().unwrap_or_else(|| node.raw()),
                None => "{}",
            };
            let key = match given.filter(|node| node.kind() == Kind::Object) {
                Some(node) => call_key(name, Some(node), arguments),
                None => match Json::parse(arguments) {
                    Ok(doc) => call_key(name, Some(doc.root()), arguments),
                    Err(_) => call_key_of(name, None, arguments),
                },
            };
            calls.push((name, arguments, key.bits()));
        }
        Self(calls)
    }

    pub(super) fn made(&self) -> Vec<Made<'d>> {
        let made = |&(name, arguments, key): &(&'d str, &'d str, u128)| Made {
            name,
            arguments,
            key,
            ..Made::default()
        };
        self.0.iter().map(made).collect()
    }
}
