//! Schemas out of a document that refers to itself.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// References in a row are followed this far.
const CHAIN: usize = 32;
const SCHEMAS: &str = "#/components/schemas/";

/// Where a reference inside the document leads; a value that is none is itself.
pub(super) fn resolved<'d>(root: &'d Value, mut value: &'d Value) -> Result<&'d Value, String> {
    for _ in 0..CHAIN {
        let Some(reference) = value.get("$ref").and_then(Value::as_str) else {
            return Ok(value);
        };
        let place = reference.strip_prefix('#').ok_or_else(|| {
            format!("{reference} refers to another file; put everything into one document")
        })?;
        value = root
            .pointer(place)
            .ok_or_else(|| format!("{reference} refers to nothing in the document"))?;
    }
    Err("references lead to each other without an end".to_owned())
}

/// Schemas of one tool. What they refer to is collected once, under `$defs`, so
/// that types that hold themselves stay what they are and nothing grows.
#[derive(Debug)]
pub(super) struct Schemas<'d> {
    root: &'d Value,
    /// By name; `None` while it is only known to be needed.
    found: BTreeMap<String, Option<Value>>,
}

impl<'d> Schemas<'d> {
    pub(super) fn new(root: &'d Value) -> Self {
        Self {
            root,
            found: BTreeMap::new(),
        }
    }

    /// A schema whose references lead into `$defs`.
    pub(super) fn take(&mut self, schema: &Value) -> Value {
        match schema {
            Value::Object(object) => {
                let reference = object.get("$ref").and_then(Value::as_str);
                if let Some(reference) = reference {
                    return self.reference(reference);
                }
                let entries = object
                    .iter()
                    .map(|(key, value)| (key.clone(), self.take(value)));
                Value::Object(entries.collect())
            }
            Value::Array(list) => list.iter().map(|value| self.take(value)).collect(),
            other => other.clone(),
        }
    }

    fn reference(&mut self, reference: &str) -> Value {
        if let Some(name) = reference
            .strip_prefix(SCHEMAS)
            .filter(|name| !name.contains('/'))
        {
            self.found.entry(name.to_owned()).or_insert(None);
            return serde_json::json!({ "$ref": format!("#/$defs/{name}") });
        }
        // Elsewhere in the document, or outside of it: anything may stand there.
        serde_json::json!({ "description": format!("as {reference}") })
    }

    /// What was referred to, and what that refers to.
    pub(super) fn definitions(mut self) -> Map<String, Value> {
        loop {
            let next = self.found.iter().find(|(_, schema)| schema.is_none());
            let Some(name) = next.map(|(name, _)| name.clone()) else {
                break;
            };
            let unescaped = name.replace("~1", "/").replace("~0", "~");
            let schemas = self.root.pointer("/components/schemas");
            let schema = schemas.and_then(|all| all.get(&unescaped)).cloned();
            let schema = schema.map_or(Value::Bool(true), |schema| self.take(&schema));
            self.found.insert(name, Some(schema));
        }
        let found = self.found.into_iter();
        found
            .filter_map(|(name, schema)| Some((name, schema?)))
            .collect()
    }
}
