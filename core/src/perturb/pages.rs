//! Lists in pages, and the argument that asks for the next one.

use crate::json::{Doc, Kind, Node, push_json_string};

use super::answer::New;
use super::declaration::{SCHEMA_KEYS, spliced, with_value};

/// The argument that asks for the next page.
pub const CURSOR: &str = "cursor";

/// One page of the text's list: the value itself, or the longest list among the
/// fields of an object. An object around it says `next_cursor` where there is more.
/// `None` if there is no list longer than a page.
#[must_use]
pub fn paged(text: &str, from: usize, page: usize) -> Option<New> {
    let doc = Doc::parse(text).ok()?;
    let root = doc.root();
    let list = match root.kind() {
        Kind::Array => root,
        Kind::Object => root
            .entries()
            .map(|(_, value)| value)
            .filter(|value| value.kind() == Kind::Array)
            .max_by_key(|value| value.len())?,
        _ => return None,
    };
    if list.len() <= page {
        return None;
    }
    let shown: Vec<&str> = list
        .elements()
        .skip(from)
        .take(page)
        .map(Node::raw)
        .collect();
    let shown = format!("[{}]", shown.join(","));
    let next = from.saturating_add(page);
    let next = (next < list.len()).then(|| format!("\"{next}\""));
    if root.kind() == Kind::Array {
        let next = next.unwrap_or_else(|| "null".to_owned());
        return Some(New::Json(format!(
            r#"{{"items":{shown},"next_cursor":{next}}}"#
        )));
    }
    let cut = spliced(text, &[(list.span(), shown)]);
    let Some(next) = next else {
        return Some(New::Json(cut));
    };
    let doc = Doc::parse(&cut).ok()?;
    Some(New::Json(with_value(
        &cut,
        doc.root(),
        "next_cursor",
        &next,
    )))
}

/// A declaration whose schema knows the cursor; `None` if it does already, or has no
/// object of properties.
#[must_use]
pub fn with_cursor(declaration: &str) -> Option<String> {
    let doc = Doc::parse(declaration).ok()?;
    let root = doc.root();
    let schema = SCHEMA_KEYS.into_iter().find_map(|key| root.get_some(key))?;
    let properties = schema.get_some("properties")?;
    if properties.kind() != Kind::Object || properties.get(CURSOR).is_some() {
        return None;
    }
    let told = r#"{"type":"string","description":"Where the next page begins: next_cursor of the last answer"}"#;
    Some(with_value(declaration, properties, CURSOR, told))
}

/// The arguments without the cursor, and where it points; `None` if there is none.
#[must_use]
pub fn without_cursor(arguments: &str) -> Option<(String, usize)> {
    let doc = Doc::parse(arguments).ok()?;
    let root = doc.root();
    let cursor = root.get_some(CURSOR)?;
    let from = match cursor.as_str() {
        Some(text) => text.trim().parse().ok()?,
        None => usize::try_from(cursor.as_i64()?).ok()?,
    };
    let mut out = String::from("{");
    for (key, value) in root.entries().filter(|(key, _)| *key != CURSOR) {
        if out.len() > 1 {
            out.push(',');
        }
        push_json_string(key, &mut out);
        out.push(':');
        out.push_str(value.raw());
    }
    out.push('}');
    Some((out, from))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str, from: usize) -> Option<String> {
        paged(text, from, 2).map(|new| match new {
            New::Json(json) | New::Text(json) => json,
        })
    }

    #[test]
    fn all_pages_together_are_the_list() {
        assert_eq!(
            page("[1,2.0,3]", 0).unwrap(),
            r#"{"items":[1,2.0],"next_cursor":"2"}"#
        );
        assert_eq!(
            page("[1,2.0,3]", 2).unwrap(),
            r#"{"items":[3],"next_cursor":null}"#
        );
        assert_eq!(page("[1,2]", 0), None);
        let object = r#"{"n":3, "found":[1,2,3], "few":[0]}"#;
        assert_eq!(
            page(object, 0).unwrap(),
            r#"{"n":3, "found":[1,2], "few":[0],"next_cursor":"2"}"#
        );
        assert_eq!(
            page(object, 2).unwrap(),
            r#"{"n":3, "found":[3], "few":[0]}"#
        );
        assert_eq!(
            page(object, usize::MAX).unwrap(),
            r#"{"n":3, "found":[], "few":[0]}"#
        );
        assert_eq!(page("\"x\"", 0), None);
    }

    #[test]
    fn cursors_come_and_go() {
        let tool = r#"{"name":"f","parameters":{"properties":{"a":{}}}}"#;
        let with = with_cursor(tool).unwrap();
        assert!(
            with.contains(r#""properties":{"a":{},"cursor":{"#),
            "{with}"
        );
        assert_eq!(with_cursor(&with), None);
        assert_eq!(with_cursor(r#"{"name":"f"}"#), None);
        assert_eq!(
            without_cursor(r#"{"a": 1.10, "cursor":"4"}"#).unwrap(),
            (r#"{"a":1.10}"#.to_owned(), 4)
        );
        assert_eq!(
            without_cursor(r#"{"cursor":4}"#).unwrap(),
            ("{}".to_owned(), 4)
        );
        assert_eq!(without_cursor(r#"{"cursor":"x"}"#), None);
    }
}
