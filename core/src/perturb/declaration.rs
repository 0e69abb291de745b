//! The declaration of a tool, edited in place: what is not changed stays as spelled.

use std::ops::Range;

use crate::json::{Doc, Kind, Node, push_json_string};

/// Keys under which the schema of the arguments stands.
pub(super) const SCHEMA_KEYS: [&str; 4] =
    ["parameters", "inputSchema", "input_schema", "arguments"];

/// A tool without parameters.
pub(super) const NO_PARAMETERS: &str = r#"{"type":"object","properties":{}}"#;

/// What stands in a declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Declaration {
    pub(super) name: String,
    pub(super) description: String,
    /// JSON text.
    pub(super) schema: Option<String>,
    /// The key of the schema there.
    pub(super) schema_key: &'static str,
}

/// The object that declares: the whole one, or that under `function`.
fn declaring(root: Node<'_>) -> Node<'_> {
    match root.get("function") {
        Some(inner) if inner.kind() == Kind::Object && root.get("name").is_none() => inner,
        _ => root,
    }
}

impl Declaration {
    /// `None` if it is no object with a name.
    pub(super) fn read(text: &str) -> Option<Self> {
        let doc = Doc::parse(text).ok()?;
        let tool = declaring(doc.root());
        let found = SCHEMA_KEYS
            .into_iter()
            .find_map(|key| Some((key, tool.get_some(key)?)));
        Some(Self {
            name: tool.get_str("name")?.to_owned(),
            description: tool.get_str("description").unwrap_or_default().to_owned(),
            schema: found.map(|(_, schema)| schema.raw().to_owned()),
            schema_key: found.map_or("parameters", |(key, _)| key),
        })
    }

    /// Names and schemas of the parameters, JSON text.
    pub(super) fn parameters(&self) -> Vec<(String, String)> {
        let Some(schema) = &self.schema else {
            return Vec::new();
        };
        let Ok(doc) = Doc::parse(schema) else {
            return Vec::new();
        };
        let properties = doc.root().get("properties");
        let entries = properties.into_iter().flat_map(Node::entries);
        entries
            .map(|(name, schema)| (name.to_owned(), schema.raw().to_owned()))
            .collect()
    }

    /// A declaration of its own, with nothing but these three.
    pub(super) fn written(&self) -> String {
        let mut out = String::from("{\"name\":");
        push_json_string(&self.name, &mut out);
        out.push_str(",\"description\":");
        push_json_string(&self.description, &mut out);
        out.push(',');
        push_json_string(self.schema_key, &mut out);
        out.push(':');
        out.push_str(self.schema.as_deref().unwrap_or(NO_PARAMETERS));
        out.push('}');
        out
    }
}

/// With another text under a key of the declaring object.
pub(super) fn with_text(declaration: &str, key: &str, text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    push_json_string(text, &mut json);
    let Ok(doc) = Doc::parse(declaration) else {
        return declaration.to_owned();
    };
    with_value(declaration, declaring(doc.root()), key, &json)
}

/// A text with the value under `key` of one of its objects replaced, or added at its end.
pub(crate) fn with_value(text: &str, object: Node<'_>, key: &str, json: &str) -> String {
    if object.kind() != Kind::Object {
        return text.to_owned();
    }
    // Of duplicates readers take the last; all are replaced, so that none says otherwise.
    let places = object.entries().filter(|(known, _)| *known == key);
    let edits: Vec<(Range<usize>, String)> = places
        .map(|(_, value)| (value.span(), json.to_owned()))
        .collect();
    if !edits.is_empty() {
        return spliced(text, &edits);
    }
    let end = object.span().end - 1;
    let mut entry = String::from(if object.is_empty() { "" } else { "," });
    push_json_string(key, &mut entry);
    entry.push(':');
    entry.push_str(json);
    spliced(text, &[(end..end, entry)])
}

/// A text with some places replaced; they stand in order and do not overlap.
pub(super) fn spliced(text: &str, edits: &[(Range<usize>, String)]) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let mut from = 0;
    for (place, new) in edits {
        out.push_str(&text[from..place.start]);
        out.push_str(new);
        from = place.end;
    }
    out.push_str(&text[from..]);
    out
}

/// Schemas nested deeper are left as they are.
const DEEPEST: usize = 32;

/// With the descriptions of all parameters, nested ones too, changed by `change`,
/// which is told the ordinal of each.
pub(super) fn with_parameter_descriptions(
    declaration: &str,
    mut change: impl FnMut(usize, &str) -> String,
) -> String {
    let Ok(doc) = Doc::parse(declaration) else {
        return declaration.to_owned();
    };
    let tool = declaring(doc.root());
    let mut edits = Vec::new();
    let schema = SCHEMA_KEYS.into_iter().find_map(|key| tool.get_some(key));
    if let Some(schema) = schema {
        let mut places = Vec::new();
        described(schema, 0, &mut places);
        places.sort_by_key(|place: &Node<'_>| place.span().start);
        for (ordinal, place) in places.into_iter().enumerate() {
            let old = place.as_str().unwrap_or_default();
            let new = change(ordinal, old);
            if new != old {
                let mut json = String::new();
                push_json_string(&new, &mut json);
                edits.push((place.span(), json));
            }
        }
    }
    spliced(declaration, &edits)
}

/// The descriptions of the properties of a schema and of what is below them.
fn described<'d>(schema: Node<'d>, depth: usize, found: &mut Vec<Node<'d>>) {
    if depth > DEEPEST {
        return;
    }
    for (key, value) in schema.entries() {
        match (key, value.kind()) {
            ("properties", Kind::Object) => {
                for (_, property) in value.entries() {
                    let told = property.get("description");
                    found.extend(told.filter(|text| text.kind() == Kind::String));
                    described(property, depth + 1, found);
                }
            }
            ("items" | "$defs" | "definitions" | "additionalProperties", Kind::Object) => {
                described(value, depth + 1, found);
                if key != "items" {
                    value
                        .entries()
                        .for_each(|(_, one)| described(one, depth + 1, found));
                }
            }
            ("anyOf" | "oneOf" | "allOf", Kind::Array) => value
                .elements()
                .for_each(|one| described(one, depth + 1, found)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOL: &str = r#"{ "name":"f", "x":1.10, "inputSchema":{"type":"object","properties":{"a":{"description":"one","type":"array","items":{"properties":{"b":{"description":"two"}}}},"description":{"type":"string"}}} }"#;

    #[test]
    fn what_is_not_changed_stays_as_spelled() {
        let renamed = with_text(TOOL, "name", "g\"");
        assert_eq!(renamed, TOOL.replace("\"f\"", "\"g\\\"\""));
        let told = with_text(TOOL, "description", "d");
        assert_eq!(Declaration::read(&told).unwrap().description, "d");
        assert!(
            told.contains("1.10") && told.ends_with(r#","description":"d"}"#),
            "{told}"
        );
        let nested = r#"{"type":"function","function":{"name":"f"}}"#;
        assert_eq!(
            with_text(nested, "name", "g"),
            nested.replace("\"f\"", "\"g\"")
        );
    }

    #[test]
    fn descriptions_of_parameters_are_found_at_any_depth() {
        let mut seen = Vec::new();
        let changed = with_parameter_descriptions(TOOL, |at, text| {
            seen.push((at, text.to_owned()));
            text.to_uppercase()
        });
        assert_eq!(seen, [(0, "one".to_owned()), (1, "two".to_owned())]);
        assert_eq!(
            changed,
            TOOL.replace("\"one\"", "\"ONE\"")
                .replace("\"two\"", "\"TWO\"")
        );
    }

    #[test]
    fn a_declaration_of_its_own_says_what_it_was_given() {
        let mut tool = Declaration::read(TOOL).unwrap();
        assert_eq!(tool.parameters().len(), 2);
        tool.schema = None;
        let text = tool.written();
        assert_eq!(
            text,
            format!(r#"{{"name":"f","description":"","inputSchema":{NO_PARAMETERS}}}"#)
        );
        assert!(Declaration::read("[1]").is_none());
    }
}
