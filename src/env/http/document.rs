//! An OpenAPI document as a list of operations.

use std::collections::HashSet;
use std::path::Path;

use fidelake_core::json::Doc;
use reqwest::Method;
use serde_json::Value;

use super::super::text::strict;
use super::operation::Operation;
use super::schema::resolved;

const METHODS: [(&str, Method); 8] = [
    ("get", Method::GET),
    ("put", Method::PUT),
    ("post", Method::POST),
    ("delete", Method::DELETE),
    ("options", Method::OPTIONS),
    ("head", Method::HEAD),
    ("patch", Method::PATCH),
    ("trace", Method::TRACE),
];

/// What a document says.
#[derive(Debug)]
pub(in crate::env) struct Document {
    /// Title, version and revision of the standard.
    pub(super) version: String,
    pub(super) operations: Vec<Operation>,
    /// The first address under `servers`, with its variables filled in.
    pub(in crate::env) server: Option<String>,
}

impl Document {
    /// Reads a file.
    pub(in crate::env) fn open(path: &Path) -> Result<Self, String> {
        let here = path.display();
        let text = std::fs::read_to_string(path).map_err(|error| format!("{here}: {error}"))?;
        Self::read(&text).map_err(|why| format!("{here}: {why}"))
    }

    fn read(text: &str) -> Result<Self, String> {
        let text = text.trim_start_matches('\u{feff}');
        let doc = Doc::parse(text).map_err(|error| {
            if text.trim_start().starts_with('{') {
                format!("no JSON: {error}")
            } else {
                "is no JSON. YAML is not read: convert it, for example with \
                 python3 -c 'import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)'"
                    .to_owned()
            }
        })?;
        let root: Value = serde_json::from_str(&strict(doc.root())).map_err(|e| e.to_string())?;
        let standard = root
            .get("openapi")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if !standard.starts_with("3.") {
            return Err(match root.get("swagger").and_then(Value::as_str) {
                Some(old) => format!("is Swagger {old}; convert it to OpenAPI 3"),
                None => format!("is no OpenAPI 3 document (openapi: {standard:?})"),
            });
        }
        let about = |key: &str| root.pointer(key).and_then(Value::as_str).unwrap_or("?");
        let version = format!(
            "{} {} (OpenAPI {standard})",
            about("/info/title"),
            about("/info/version")
        );
        Ok(Self {
            version,
            operations: operations(&root)?,
            server: server(&root),
        })
    }
}

fn operations(root: &Value) -> Result<Vec<Operation>, String> {
    let mut names = HashSet::new();
    let mut found = Vec::new();
    let paths = root.get("paths").and_then(Value::as_object);
    for (path, item) in paths.into_iter().flatten() {
        let item = resolved(root, item).map_err(|why| format!("{path}: {why}"))?;
        for (word, method) in METHODS {
            let Some(given) = item.get(word).filter(|given| given.is_object()) else {
                continue;
            };
            let name = name_of(given, word, path, &mut names);
            let read = Operation::read(root, method, path, item.get("parameters"), given, name);
            found.push(read.map_err(|why| format!("{word} {path}: {why}"))?);
        }
    }
    if found.is_empty() {
        return Err("describes no operation under `paths`".to_owned());
    }
    Ok(found)
}

/// Its `operationId`, or method and path; never the same twice.
fn name_of(given: &Value, method: &str, path: &str, names: &mut HashSet<String>) -> String {
    let own = given
        .get("operationId")
        .and_then(Value::as_str)
        .filter(|id| !id.is_empty());
    let name = own.map_or_else(
        || {
            let words = path
                .split(|c: char| !c.is_ascii_alphanumeric())
                .filter(|w| !w.is_empty());
            std::iter::once(method)
                .chain(words)
                .collect::<Vec<_>>()
                .join("_")
        },
        str::to_owned,
    );
    let mut unique = name.clone();
    let mut count = 1;
    while !names.insert(unique.clone()) {
        count += 1;
        unique = format!("{name}_{count}");
    }
    unique
}

fn server(root: &Value) -> Option<String> {
    let server = root.get("servers")?.get(0)?;
    let mut url = server.get("url")?.as_str()?.to_owned();
    let variables = server.get("variables").and_then(Value::as_object);
    for (name, variable) in variables.into_iter().flatten() {
        if let Some(default) = variable.get("default").and_then(Value::as_str) {
            url = url.replace(&format!("{{{name}}}"), default);
        }
    }
    Some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = r##"{"openapi":"3.1.0","info":{"title":"Shop","version":"2"},
      "servers":[{"url":"https://{place}.example/v1","variables":{"place":{"default":"eu"}}}],
      "paths":{
        "/items/{id}":{
          "parameters":[{"$ref":"#/components/parameters/Id"}],
          "get":{"operationId":"item","summary":"One item","parameters":[
            {"name":"id","in":"query","schema":{"type":"string"}},
            {"name":"Authorization","in":"header","schema":{"type":"string"}}]},
          "put":{"requestBody":{"required":true,"content":{
            "application/xml":{},"application/json":{"schema":{"$ref":"#/components/schemas/Item"}}}}},
          "delete":{"operationId":"item"}}},
      "components":{
        "parameters":{"Id":{"name":"id","in":"path","required":true,"description":"Which","schema":{"type":"integer"}}},
        "schemas":{"Item":{"type":"object","required":["name"],"properties":{
          "name":{"type":"string"},"parts":{"type":"array","items":{"$ref":"#/components/schemas/Item"}}}}}}}"##;

    #[test]
    fn operations_become_tools() {
        let document = Document::read(DOCUMENT).unwrap();
        assert_eq!(document.version, "Shop 2 (OpenAPI 3.1.0)");
        assert_eq!(document.server.as_deref(), Some("https://eu.example/v1"));
        let declarations: Vec<&str> = document
            .operations
            .iter()
            .map(|o| o.declaration.as_str())
            .collect();
        insta::assert_snapshot!(declarations.join("\n"));
    }

    #[test]
    fn what_is_no_openapi_3_says_what_it_is() {
        let why = |text: &str| Document::read(text).unwrap_err();
        assert!(why("openapi: 3.0.0").contains("convert it"));
        assert!(why(r#"{"swagger":"2.0"}"#).contains("Swagger 2.0"));
        assert!(why(r#"{"openapi":"3.0.0","paths":{}}"#).contains("no operation"));
        let loops = r##"{"openapi":"3.0.0","paths":{"/a":{"get":{"parameters":[{"$ref":"#/x"}]}}},"x":{"$ref":"#/x"}}"##;
        assert!(why(loops).contains("without an end"), "{}", why(loops));
        let outside = r##"{"openapi":"3.0.0","paths":{"/a":{"$ref":"other.json#/a"}}}"##;
        assert!(why(outside).contains("another file"));
    }
}
