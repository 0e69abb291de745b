//! Arguments against what the catalog declares.
//!
//! Not a validator of JSON Schema: only what agents get wrong and simulators overlook, at
//! the top level. What the schema does not say in plain words (`anyOf`, `$ref`, patterns)
//! is no fault.

use crate::json::{Doc, Kind, Node, canonical};

/// What is wrong with an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// No such parameter is declared.
    Undeclared,
    /// A required parameter is not given.
    Missing,
    /// A value of another type.
    Type,
    /// A value that the schema does not list.
    Enum,
    /// Below `minimum`, above `maximum`, or a text of a forbidden length.
    Range,
}

impl Fault {
    /// The word that tables use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Undeclared => "undeclared",
            Self::Missing => "missing",
            Self::Type => "type",
            Self::Enum => "enum",
            Self::Range => "range",
        }
    }
}

/// The properties that a schema declares: under `properties`, or a bare map of parameters.
/// `None` where it declares nothing, which is not the same as declaring that there are none.
fn properties<'d>(schema: Node<'d>) -> Option<Node<'d>> {
    if let Some(properties) = schema.get("properties") {
        return (properties.kind() == Kind::Object).then_some(properties);
    }
    let bare = schema
        .get("type")
        .is_none_or(|kind| kind.kind() == Kind::Object);
    let has = schema
        .entries()
        .any(|(_, value)| value.kind() == Kind::Object);
    (bare && has).then_some(schema)
}

/// The faults of arguments (a JSON object) under a tool's parameter schema, sorted, each
/// with the parameter's name. `None` where one of them is no object, or the schema declares
/// nothing.
///
/// ```
/// use fidelake_core::patterns::{Fault, argument_faults};
/// let schema = r#"{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}"#;
/// let found = argument_faults(r#"{"page":2}"#, schema).unwrap();
/// assert_eq!(found, [(Fault::Undeclared, "page".into()), (Fault::Missing, "id".into())]);
/// assert_eq!(argument_faults("{}", "{}"), None);
/// ```
#[must_use]
pub fn argument_faults(arguments: &str, schema: &str) -> Option<Vec<(Fault, String)>> {
    let (arguments, schema) = (Doc::parse(arguments).ok()?, Doc::parse(schema).ok()?);
    let (arguments, schema) = (arguments.root(), schema.root());
    if arguments.kind() != Kind::Object || schema.kind() != Kind::Object {
        return None;
    }
    let declared = properties(schema)?;
    let open = schema
        .get("additionalProperties")
        .is_some_and(|more| more.as_bool() == Some(true) || more.kind() == Kind::Object);
    let mut found = Vec::new();
    for (name, value) in arguments.entries() {
        match declared.get(name) {
            None if open => {}
            None => found.push((Fault::Undeclared, name.to_owned())),
            Some(property) => {
                if let Some(fault) = of_value(value, property) {
                    found.push((fault, name.to_owned()));
                }
            }
        }
    }
    let required = schema
        .get("required")
        .filter(|list| list.kind() == Kind::Array);
    for name in required
        .iter()
        .flat_map(|list| list.elements())
        .filter_map(|n| n.as_str())
    {
        if arguments.get(name).is_none() {
            found.push((Fault::Missing, name.to_owned()));
        }
    }
    found.sort_unstable();
    found.dedup();
    Some(found)
}

fn of_value(value: Node<'_>, property: Node<'_>) -> Option<Fault> {
    if property.kind() != Kind::Object {
        return None;
    }
    let kinds: Vec<&str> = match property.get("type") {
        Some(kind) if kind.kind() == Kind::Array => {
            kind.elements().filter_map(|k| k.as_str()).collect()
        }
        Some(kind) => kind.as_str().into_iter().collect(),
        None => Vec::new(),
    };
    if !kinds.is_empty() && !kinds.iter().any(|kind| is_of(value, kind)) {
        return Some(Fault::Type);
    }
    if let Some(list) = property
        .get("enum")
        .filter(|list| list.kind() == Kind::Array)
    {
        let own = canonical(value).0;
        if !list.elements().any(|allowed| canonical(allowed).0 == own) {
            return Some(Fault::Enum);
        }
    }
    let bound = |key: &str| property.get(key).and_then(|bound| bound.as_f64());
    let (size, low, high) = match value.kind() {
        Kind::Number => (value.as_f64()?, bound("minimum"), bound("maximum")),
        Kind::String => (
            value.as_str()?.chars().count() as f64,
            bound("minLength"),
            bound("maxLength"),
        ),
        _ => return None,
    };
    let outside = low.is_some_and(|low| size < low) || high.is_some_and(|high| size > high);
    outside.then_some(Fault::Range)
}

/// Whether a value is of a type as schemas name it, `dict`, `float` and `tuple` of Python among them.
fn is_of(value: Node<'_>, kind: &str) -> bool {
    match kind {
        "string" | "str" => value.kind() == Kind::String,
        "number" | "float" | "double" => value.kind() == Kind::Number,
        "integer" | "int" => value.as_f64().is_some_and(|x| x.fract() == 0.0),
        "boolean" | "bool" => value.kind() == Kind::Bool,
        "array" | "list" | "tuple" => value.kind() == Kind::Array,
        "object" | "dict" => value.kind() == Kind::Object,
        "null" => value.is_null(),
        // A word that is none of JSON Schema's says nothing.
        _ => true,
    }
}

/// The names of the arguments given, sorted: `date,user_id`. `None` for what is no object.
#[must_use]
pub fn argument_names(arguments: &str) -> Option<String> {
    let doc = Doc::parse(arguments).ok()?;
    if doc.root().kind() != Kind::Object {
        return None;
    }
    let mut names: Vec<&str> = doc.root().entries().map(|(name, _)| name).collect();
    names.sort_unstable();
    names.dedup();
    Some(names.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#"{"type":"object","properties":{
        "cabin":{"type":"string","enum":["economy","business"]},
        "n":{"type":"integer","minimum":1,"maximum":9},
        "note":{"type":["string","null"],"maxLength":3},
        "any":{"anyOf":[{"type":"string"}]}},"required":["cabin"]}"#;

    fn faults(arguments: &str, schema: &str) -> Vec<String> {
        let found = argument_faults(arguments, schema).unwrap();
        let words = found
            .iter()
            .map(|(fault, name)| format!("{} {name}", fault.name()));
        words.collect()
    }

    #[test]
    fn each_fault_and_none() {
        assert!(faults(r#"{"cabin":"economy","n":2.0,"note":null,"any":3}"#, SCHEMA).is_empty());
        assert_eq!(
            faults(r#"{"cabin":"first","n":"2","note":"long","x":1}"#, SCHEMA),
            ["undeclared x", "type n", "enum cabin", "range note"]
        );
        assert_eq!(faults(r#"{"n":0}"#, SCHEMA), ["missing cabin", "range n"]);
    }

    #[test]
    fn what_declares_nothing_is_unknown() {
        for schema in ["{}", "null", "not json", r#"{"type":"object"}"#, "[]"] {
            assert_eq!(argument_faults(r#"{"a":1}"#, schema), None, "{schema}");
        }
        assert_eq!(argument_faults("[]", SCHEMA), None);
        let none = r#"{"type":"object","properties":{}}"#;
        assert_eq!(faults(r#"{"a":1}"#, none), ["undeclared a"]);
        // A bare map of parameters, and a schema that is open.
        assert_eq!(
            faults(r#"{"b":1}"#, r#"{"a":{"type":"string"}}"#),
            ["undeclared b"]
        );
        let open = r#"{"properties":{"a":{}},"additionalProperties":true}"#;
        assert!(faults(r#"{"b":1}"#, open).is_empty());
        // BFCL's words for types.
        let python = r#"{"type":"dict","properties":{"a":{"type":"float"},"b":{"type":"tuple"}}}"#;
        assert_eq!(faults(r#"{"a":1.5,"b":2}"#, python), ["type b"]);
    }

    #[test]
    fn names_are_sorted_and_hostile_texts_have_none() {
        assert_eq!(
            argument_names(r#"{"b":1,"a":{"z":1}}"#).as_deref(),
            Some("a,b")
        );
        assert_eq!(argument_names("{}").as_deref(), Some(""));
        assert_eq!(argument_names("[1]"), None);
        assert_eq!(argument_names("{"), None);
    }
}
