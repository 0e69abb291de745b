//! `fidelake functions`

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use clap::Args;

use super::printer::Printer;
use super::{Status, UsageError};
use crate::engine::functions::{Function, all};
use crate::report::OutputFormat;

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
        let pages: Vec<String> = functions.iter().map(page).collect();
        printer.data(&pages.join("\n\n"))?;
    } else {
        let batch = rows(&functions)?;
        printer.batches(&batch.schema(), &[batch.clone()])?;
    }
    Ok(Status::Done)
}

/// One function for people.
pub(super) fn page(function: &Function) -> String {
    let doc = function.doc();
    let mut lines = vec![format!("{} ({})", doc.signature, function.kind())];
    lines.extend(doc.doc.lines().map(|line| format!("    {}", line.trim())));
    let mut mark = ">";
    for line in doc.example.lines() {
        lines.push(format!("    {mark} {line}"));
        mark = " ";
    }
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
