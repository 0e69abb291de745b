//! `fidelake functions`

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use clap::Args;

use super::printer::Printer;
use super::{Status, UsageError};
use crate::engine::functions::{Function, all};
use crate::report::{OutputFormat, Screen, wrapped};

/// Describe the SQL functions that fidelake adds, or one of them.
#[derive(Debug, Args)]
pub(crate) struct FunctionsArgs {
    /// The function
    name: Option<String>,
}

pub(crate) fn run(args: &FunctionsArgs, printer: &Printer) -> anyhow::Result<Status> {
    let mut functions = all();
    functions.sort_by_key(|f| f.doc().name);
    if let Some(name) = &args.name {
        let known: Vec<&str> = functions.iter().map(|f| f.doc().name).collect();
        let known = known.join(", ");
        functions.retain(|f| f.doc().name == name.to_lowercase());
        if functions.is_empty() {
            anyhow::bail!(UsageError(format!(
                "there is no function {name:?} of ours; ours are {known}"
            )));
        }
    }
    if printer.format() == OutputFormat::Table {
        printer.data(&pages(&functions))?;
    } else {
        let batch = rows(&functions)?;
        printer.batch(&batch)?;
    }
    Ok(Status::Done)
}

/// Functions for people.
pub(super) fn pages(functions: &[Function]) -> String {
    let width = Screen::of_stdout().width;
    let pages: Vec<String> = functions.iter().map(|f| page(f, width)).collect();
    pages.join("\n\n")
}

fn page(function: &Function, width: usize) -> String {
    let doc = function.doc();
    let mut lines = vec![format!("{}  ({})", doc.signature, function.kind())];
    lines.extend(
        wrapped(doc.doc, width.saturating_sub(4))
            .into_iter()
            .map(|line| format!("    {line}")),
    );
    lines.push(format!("    > {}", doc.example));
    lines.extend(doc.gives.lines().map(|line| format!("    {line}")));
    lines.join("\n")
}

fn rows(functions: &[Function]) -> anyhow::Result<RecordBatch> {
    let texts = |pick: fn(&Function) -> &'static str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(functions.iter().map(pick)))
    };
    Ok(RecordBatch::try_from_iter([
        ("function", texts(|f| f.doc().name)),
        ("kind", texts(Function::kind)),
        ("signature", texts(|f| f.doc().signature)),
        ("meaning", texts(|f| f.doc().doc)),
        ("example", texts(|f| f.doc().example)),
        ("gives", texts(|f| f.doc().gives)),
    ])?)
}
