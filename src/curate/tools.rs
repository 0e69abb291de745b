//! What was offered: catalogs in the OpenAI form of tools.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use fidelake_core::json::{Doc, push_json_string};

use super::error::CurateResult;
use super::json::{Sanitised, push_value, separate};
use super::read::{stream_in, text, texts};
use super::sorted::sorted;
use crate::engine::Engine;

/// The catalogs of the rows, each once, in the OpenAI form. They are held in
/// memory: a lake has many runs and few catalogs.
pub(super) async fn tools(
    engine: &Engine,
    wanted: &BTreeSet<String>,
    sanitised: &mut Sanitised,
) -> CurateResult<HashMap<String, Arc<str>>> {
    let sql = "SELECT c.catalog_hash, c.name, c.description, c.parameters, c.parameters_under, c.tool \
               FROM catalogs AS c LEFT SEMI JOIN curation_catalogs AS wanted \
               ON wanted.catalog_hash = c.catalog_hash \
               WHERE c.tool_index >= 0 AND c.name IS NOT NULL \
               ORDER BY c.catalog_hash, c.tool_index";
    let mut open: Option<(String, String)> = None;
    let mut done = HashMap::new();
    let mut close = |open: Option<(String, String)>| {
        if let Some((hash, mut list)) = open {
            list.push(']');
            done.insert(hash, Arc::from(list));
        }
    };
    let hashes: ArrayRef = Arc::new(StringArray::from_iter_values(wanted));
    let hashes = RecordBatch::try_from_iter([("catalog_hash", hashes)])?;
    let context = sorted(engine, "curation_catalogs", hashes)?;
    let mut batches = stream_in(&context, sql).await?;
    while let Some(batch) = batches.next().await? {
        let (hash, name) = (texts(&batch, "catalog_hash")?, texts(&batch, "name")?);
        let description = texts(&batch, "description")?;
        let (parameters, under) = (
            texts(&batch, "parameters")?,
            texts(&batch, "parameters_under")?,
        );
        let tool = texts(&batch, "tool")?;
        for row in 0..batch.num_rows() {
            if open
                .as_ref()
                .is_none_or(|(known, _)| known != hash.value(row))
            {
                close(open.replace((hash.value(row).to_owned(), "[".to_owned())));
            }
            let Some((_, list)) = &mut open else { continue };
            let mut first = list.len() == 1;
            separate(list, &mut first);
            let tool = Tool {
                name: name.value(row),
                description: text(&description, row),
                parameters: text(&parameters, row),
                under: text(&under, row),
                raw: text(&tool, row),
            };
            tool.push(list, sanitised);
        }
    }
    close(open);
    Ok(done)
}

struct Tool<'a> {
    name: &'a str,
    description: Option<String>,
    parameters: Option<String>,
    under: Option<String>,
    raw: Option<String>,
}

impl Tool<'_> {
    fn push(&self, out: &mut String, sanitised: &mut Sanitised) {
        out.push_str("{\"type\":\"function\",\"function\":{\"name\":");
        push_json_string(self.name, out);
        out.push_str(",\"description\":");
        push_json_string(self.description.as_deref().unwrap_or_default(), out);
        out.push_str(",\"parameters\":");
        if self.as_given(out, sanitised).is_none() {
            match self.parameters.as_deref().map(Doc::parse) {
                Some(Ok(doc)) => push_value(doc.root(), out, sanitised),
                _ => out.push_str("{\"type\":\"object\",\"properties\":{}}"),
            }
        }
        out.push_str("}}");
    }

    /// The schema in the order of its source, which the canonical form does not keep.
    fn as_given(&self, out: &mut String, sanitised: &mut Sanitised) -> Option<()> {
        let doc = Doc::parse(self.raw.as_deref()?).ok()?;
        let root = doc.root();
        let inner = root
            .get_some("function")
            .filter(|f| !f.is_empty())
            .unwrap_or(root);
        push_value(inner.get_some(self.under.as_deref()?)?, out, sanitised);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_keeps_the_order_of_its_schema() {
        let mut sanitised = Sanitised::default();
        let mut push = |tool: Tool<'_>| {
            let mut out = String::new();
            tool.push(&mut out, &mut sanitised);
            out
        };
        let tool = Tool {
            name: "f",
            description: Some("does \"it\"".into()),
            parameters: Some(r#"{"properties":{},"type":"object"}"#.into()),
            under: Some("inputSchema".into()),
            raw: Some(r#"{"name":"f","inputSchema":{"type":"object","properties":{"b":{"default":NaN}}}}"#.into()),
        };
        assert_eq!(
            push(tool),
            r#"{"type":"function","function":{"name":"f","description":"does \"it\"","parameters":{"type":"object","properties":{"b":{"default":null}}}}}"#
        );
        let bare = Tool {
            name: "g",
            description: None,
            parameters: None,
            under: None,
            raw: None,
        };
        assert!(push(bare).contains(r#""parameters":{"type":"object","properties":{}}"#));
        assert_eq!(sanitised.not_finite, 1);
    }
}
