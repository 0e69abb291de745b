//! Arguments with one thing changed, as texts: what is not changed stays as given.

use fidelake_core::json::{Doc, Kind, push_json_string};

/// An object's arguments, each as the text that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Arguments(pub(super) Vec<(String, String)>);

impl Arguments {
    /// From a text; `None` if it is no object.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let doc = Doc::parse(text).ok()?;
        if doc.root().kind() != Kind::Object {
            return None;
        }
        let entries = doc.root().entries();
        Some(Self(
            entries
                .map(|(name, value)| (name.to_owned(), value.raw().to_owned()))
                .collect(),
        ))
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// With another value; a name that was not there comes last.
    pub(super) fn with(&self, name: &str, value: &str) -> Self {
        let mut out = self.clone();
        match out.0.iter_mut().find(|(key, _)| key == name) {
            Some(entry) => entry.1 = value.to_owned(),
            None => out.0.push((name.to_owned(), value.to_owned())),
        }
        out
    }

    pub(super) fn without(&self, name: &str) -> Self {
        Self(
            self.0
                .iter()
                .filter(|(key, _)| key != name)
                .cloned()
                .collect(),
        )
    }

    pub(super) fn text(&self) -> String {
        let mut out = String::from("{");
        for (at, (name, value)) in self.0.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            push_json_string(name, &mut out);
            out.push(':');
            out.push_str(value);
        }
        out.push('}');
        out
    }
}

/// Values of a parameter that its schema allows or just does not: (value, what it is).
pub(super) fn at_the_edge(schema: &str, name: &str) -> Vec<(String, &'static str)> {
    let Ok(doc) = Doc::parse(schema) else {
        return Vec::new();
    };
    let root = doc.root();
    let Some(property) = root.get("properties").unwrap_or(root).get(name) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    if let Some(listed) = property
        .get("enum")
        .filter(|list| list.kind() == Kind::Array)
    {
        out.extend(
            listed
                .elements()
                .map(|value| (value.raw().to_owned(), "schema")),
        );
        out.push(("\"not_listed\"".to_owned(), "boundary"));
        return out;
    }
    let kind = match property.get("type") {
        Some(kind) if kind.kind() == Kind::Array => kind.elements().find_map(|k| k.as_str()),
        Some(kind) => kind.as_str(),
        None => None,
    };
    match kind {
        Some("integer" | "number" | "int" | "float" | "double") => {
            let bound = |key: &str| property.get(key).and_then(|b| b.as_i64());
            let (low, high) = (bound("minimum"), bound("maximum"));
            out.extend(
                low.into_iter()
                    .chain(high)
                    .map(|n| (n.to_string(), "schema")),
            );
            let beyond = [
                low.map(|n| n.saturating_sub(1)),
                high.map(|n| n.saturating_add(1)),
            ];
            let beyond = beyond.into_iter().flatten().chain([0, -1, 2_147_483_648]);
            out.extend(beyond.map(|n| (n.to_string(), "boundary")));
        }
        Some("boolean" | "bool") => out.extend(["true", "false"].map(|b| (b.to_owned(), "schema"))),
        Some("string" | "str") => {
            out.push(("\"\"".to_owned(), "boundary"));
            out.push((format!("\"{}\"", "x".repeat(300)), "boundary"));
        }
        Some("array" | "list") => out.push(("[]".to_owned(), "boundary")),
        Some("object" | "dict") => out.push(("{}".to_owned(), "boundary")),
        _ => {}
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_changed_stays_as_given() {
        let own = Arguments::parse(r#"{"id":18446744073709551617,"n":1.10,"k\"":"a"}"#).unwrap();
        assert_eq!(
            own.with("n", "2").text(),
            r#"{"id":18446744073709551617,"n":2,"k\"":"a"}"#
        );
        assert_eq!(
            own.with("new", "null").without("id").text(),
            r#"{"n":1.10,"k\"":"a","new":null}"#
        );
        assert_eq!(own.get("n"), Some("1.10"));
        assert_eq!(Arguments::parse("[1]"), None);
    }

    #[test]
    fn edges_by_schema() {
        let schema = r#"{"properties":{"n":{"type":"integer","minimum":1},"c":{"enum":["a"]},"t":{"type":["string","null"]},"x":{}}}"#;
        let values = |name| {
            at_the_edge(schema, name)
                .into_iter()
                .map(|v| v.0)
                .collect::<Vec<_>>()
        };
        assert_eq!(values("n"), ["1", "0", "0", "-1", "2147483648"]);
        assert_eq!(values("c"), ["\"a\"", "\"not_listed\""]);
        assert_eq!(values("t").len(), 2);
        assert!(values("x").is_empty() && values("none").is_empty());
        assert!(at_the_edge("no schema", "n").is_empty());
    }
}
