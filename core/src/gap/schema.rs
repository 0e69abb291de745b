//! A tool's parameter schema, taken apart: what it accepts, what its parameters
//! are called, and what it says about them.

use std::collections::BTreeSet;

use crate::json::{Doc, Kind, Node, canonical, push_json_string};

/// Nesting beyond this is copied as it stands.
const MAX_DEPTH: usize = 64;

/// The parts of a schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SchemaParts {
    /// Canonical JSON without texts, `required` and `enum` sorted. `{}` for no schema.
    pub(super) accepts: String,
    /// Names of parameters at every depth.
    pub(super) names: BTreeSet<String>,
    /// Descriptions and titles, in the order of the canonical form.
    pub(super) text: String,
}

/// Takes a schema apart; what is no JSON object counts as no schema.
pub(super) fn split(schema: &str) -> SchemaParts {
    let mut parts = SchemaParts::default();
    match Doc::parse(schema) {
        Ok(doc) if doc.root().kind() == Kind::Object => {
            let root = doc.root();
            // A bare map of parameters, without `type` and `properties`.
            let bare = root.get("properties").is_none() && root.get_str("type").is_none();
            let place = if bare { Place::Names } else { Place::Schema };
            parts.write(root, place, 0);
        }
        _ => parts.accepts.push_str("{}"),
    }
    parts
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The keys are keywords.
    Schema,
    /// The keys are names of parameters.
    Names,
    /// The keys are names of shared schemas.
    Definitions,
    /// Plain data.
    Data,
    /// Plain data whose order does not count.
    Set,
}

impl SchemaParts {
    fn write(&mut self, node: Node<'_>, place: Place, depth: usize) {
        if depth >= MAX_DEPTH || matches!(place, Place::Data) {
            self.accepts.push_str(&canonical(node).0);
            return;
        }
        match node.kind() {
            Kind::Object => self.object(node, place, depth),
            Kind::Array if place == Place::Set => {
                let mut items: Vec<_> = node.elements().map(|e| canonical(e).0).collect();
                items.sort_unstable();
                self.accepts.push_str(&format!("[{}]", items.join(",")));
            }
            Kind::Array => {
                self.accepts.push('[');
                for (i, element) in node.elements().enumerate() {
                    if i > 0 {
                        self.accepts.push(',');
                    }
                    self.write(element, place, depth + 1);
                }
                self.accepts.push(']');
            }
            _ => self.accepts.push_str(&canonical(node).0),
        }
    }

    fn object(&mut self, node: Node<'_>, place: Place, depth: usize) {
        let mut entries: Vec<_> = node.entries().collect();
        entries.sort_by_key(|(key, _)| *key);
        self.accepts.push('{');
        let mut first = true;
        for (key, value) in entries {
            if place == Place::Schema
                && matches!(key, "description" | "title" | "$comment")
                && let Some(text) = value.as_str()
            {
                self.text.push_str(text);
                self.text.push('\n');
                continue;
            }
            if place == Place::Names {
                self.names.insert(key.to_owned());
            }
            if !std::mem::take(&mut first) {
                self.accepts.push(',');
            }
            push_json_string(key, &mut self.accepts);
            self.accepts.push(':');
            let inside = match (place, key) {
                (Place::Schema, "properties" | "patternProperties") => Place::Names,
                (Place::Schema, "$defs" | "definitions") => Place::Definitions,
                (Place::Schema, "required" | "enum") => Place::Set,
                (Place::Schema, "const" | "default" | "examples" | "example") => Place::Data,
                (Place::Set, _) => Place::Data,
                _ => Place::Schema,
            };
            self.write(value, inside, depth + 1);
        }
        self.accepts.push('}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taken_apart_by_hand() {
        let parts = split(
            r#"{"type":"object","title":"T","properties":{
                "description":{"type":"string","description":"What it is."},
                "at":{"properties":{"x":{"type":"number"}},"description":"Where."}},
                "required":["description","at"]}"#,
        );
        assert_eq!(
            parts.accepts,
            r#"{"properties":{"at":{"properties":{"x":{"type":"number"}}},"description":{"type":"string"}},"required":["at","description"],"type":"object"}"#
        );
        assert_eq!(Vec::from_iter(&parts.names), ["at", "description", "x"]);
        assert_eq!(parts.text, "Where.\nWhat it is.\nT\n");
    }

    #[test]
    fn odd_schemas() {
        assert_eq!(split("").accepts, "{}");
        assert_eq!(split("[1]").accepts, "{}");
        assert_eq!(
            Vec::from_iter(split(r#"{"id":{"type":"string"}}"#).names),
            ["id"]
        );
        let deep = "{\"a\":".repeat(100_000) + "1" + &"}".repeat(100_000);
        assert!(Doc::parse(&split(&deep).accepts).is_ok());
    }
}
