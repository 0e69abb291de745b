//! Finding a tool by its words.

use fidelake_core::gap::text_similarity;
use fidelake_core::json::{Doc, Node, push_json_string};

use crate::env::Tool;

const SCHEMA_KEYS: [&str; 3] = ["parameters", "inputSchema", "arguments"];

/// The words of a declaration: name, description, names and descriptions of parameters.
fn words(declaration: &str) -> String {
    let Ok(doc) = Doc::parse(declaration) else {
        return declaration.to_owned();
    };
    let root = doc.root();
    let mut text = root
        .get_str("name")
        .unwrap_or_default()
        .replace(['_', '-', '.'], " ");
    let mut more = |words: Option<&str>| {
        text.push(' ');
        text.push_str(words.unwrap_or_default());
    };
    more(root.get_str("description"));
    for (name, schema) in parameters(root) {
        more(Some(name));
        more(schema.get_str("description"));
    }
    text
}

fn parameters<'d>(root: Node<'d>) -> impl Iterator<Item = (&'d str, Node<'d>)> {
    let schema = SCHEMA_KEYS.into_iter().find_map(|key| root.get_some(key));
    let properties = schema.and_then(|schema| schema.get("properties"));
    properties.into_iter().flat_map(Node::entries)
}

/// The place of the tool on offer whose words are most like those of the wanted one;
/// of equals the first.
pub(super) fn most_alike(wanted: &str, offered: &[Tool]) -> Option<usize> {
    let wanted = words(wanted);
    let mut best: Option<(f64, usize)> = None;
    for (at, tool) in offered.iter().enumerate() {
        let alike = text_similarity(&wanted, &words(&tool.declaration));
        if best.is_none_or(|(most, _)| alike > most) {
            best = Some((alike, at));
        }
    }
    best.map(|(_, at)| at)
}

/// The arguments that a tool knows; all of them if it does not say which it knows.
pub(super) fn known_arguments(arguments: &str, declaration: &str) -> String {
    let (Ok(given), Ok(tool)) = (Doc::parse(arguments), Doc::parse(declaration)) else {
        return arguments.to_owned();
    };
    let says = SCHEMA_KEYS
        .into_iter()
        .find_map(|key| tool.root().get_some(key))
        .is_some_and(|schema| schema.get_some("properties").is_some());
    if !says {
        return arguments.to_owned();
    }
    let mut out = String::from("{");
    for (key, value) in given.root().entries() {
        if parameters(tool.root()).any(|(name, _)| name == key) {
            if out.len() > 1 {
                out.push(',');
            }
            push_json_string(key, &mut out);
            out.push(':');
            out.push_str(value.raw());
        }
    }
    out.push('}');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(declaration: &str) -> Tool {
        let doc = Doc::parse(declaration).unwrap();
        Tool {
            name: doc.root().get_str("name").unwrap().to_owned(),
            declaration: declaration.to_owned(),
            mutates: None,
        }
    }

    #[test]
    fn the_most_alike_is_found_under_another_name_and_gets_what_it_knows() {
        let wanted = r#"{"name":"get_user","description":"Shows a user","parameters":{"properties":{"user_id":{"description":"Key of the user"}}}}"#;
        let offered = [
            tool(
                r#"{"name":"get_user_1","description":"Shows a user","parameters":{"properties":{}}}"#,
            ),
            tool(&wanted.replace("get_user", "GT_USR")),
            tool(r#"{"name":"other"}"#),
        ];
        assert_eq!(most_alike(wanted, &offered), Some(1));
        assert_eq!(most_alike(wanted, &[]), None);
        let given = r#"{"user_id": 1.10, "x":2}"#;
        assert_eq!(
            known_arguments(given, &offered[1].declaration),
            r#"{"user_id":1.10}"#
        );
        assert_eq!(known_arguments(given, &offered[0].declaration), "{}");
        assert_eq!(known_arguments(given, &offered[2].declaration), given);
    }
}
