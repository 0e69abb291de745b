//! The recorded catalog as MCP tells it.

use fidelake_core::json::{Doc, Kind, push_json_string};

use crate::env::Tool;

/// What a tool without a schema takes: anything.
const ANYTHING: &str = r#"{"type":"object"}"#;

/// The elements of `tools/list`, joined; names of those without a schema.
///
/// A declaration that is MCP's own goes out as it was recorded. Others get
/// `inputSchema` in the place of what they call their parameters.
pub(super) fn list(tools: &[Tool]) -> (String, Vec<String>) {
    let mut json = String::from("[");
    let mut without = Vec::new();
    for tool in tools {
        if json.len() > 1 {
            json.push(',');
        }
        let doc = Doc::parse(&tool.declaration).ok();
        let root = doc.as_ref().map(Doc::root);
        let schema = |key: &str| {
            let node = root?.get(key)?;
            (node.kind() == Kind::Object).then_some(node.raw())
        };
        if schema("inputSchema").is_some() && root.and_then(|root| root.get_str("name")).is_some() {
            json.push_str(&tool.declaration);
            continue;
        }
        let keys = ["inputSchema", "parameters", "input_schema", "arguments"];
        let given = keys.iter().find_map(|key| schema(key));
        if given.is_none() {
            without.push(tool.name.clone());
        }
        json.push_str("{\"name\":");
        push_json_string(&tool.name, &mut json);
        for key in ["title", "description"] {
            let text = root.and_then(|root| root.get(key));
            if let Some(text) = text.filter(|text| text.as_str().is_some()) {
                json.push_str(&format!(",\"{key}\":{}", text.raw()));
            }
        }
        json.push_str(",\"inputSchema\":");
        json.push_str(&typed(given.unwrap_or(ANYTHING)));
        json.push('}');
    }
    (json + "]", without)
}

/// A schema that says it is one of an object: clients refuse others.
fn typed(schema: &str) -> String {
    let is_typed = Doc::parse(schema).is_ok_and(|doc| doc.root().get("type").is_some());
    match schema.trim_start().strip_prefix('{') {
        Some(rest) if !is_typed && rest.trim_start() == "}" => ANYTHING.to_owned(),
        Some(rest) if !is_typed => format!("{{\"type\":\"object\",{rest}"),
        _ => schema.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_a_schema_and_mcps_own_stay_as_they_are() {
        let tool = |declaration: &str| Tool {
            name: "t".into(),
            declaration: declaration.into(),
            mutates: None,
        };
        let own = r#"{"name":"t", "inputSchema":{"type":"object","x":1.10}, "odd":1}"#;
        let tools = [
            tool(own),
            tool(r#"{"name":"t","description":"d","parameters":{"properties":{}}}"#),
            tool(r#"{"name":"t"}"#),
            tool(r#"{"name":"t","parameters":{}}"#),
        ];
        let (json, without) = list(&tools);
        assert_eq!(
            json,
            format!(
                r#"[{own},{{"name":"t","description":"d","inputSchema":{{"type":"object","properties":{{}}}}}},{{"name":"t","inputSchema":{{"type":"object"}}}},{{"name":"t","inputSchema":{{"type":"object"}}}}]"#
            )
        );
        assert_eq!(without, ["t"]);
    }
}
