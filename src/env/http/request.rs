//! From the arguments of a call to an address, headers and a body.

use fidelake_core::json::{Doc, Kind, Node};
use reqwest::header::{CONTENT_TYPE, COOKIE, HeaderMap, HeaderName, HeaderValue};
use url::Url;
use url::form_urlencoded::Serializer;

use super::super::answer::Note;
use super::operation::{Form, Operation, Parameter, Place};

/// What is sent.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<String>,
    pub(super) notes: Vec<Note>,
}

/// Writes a request. An error says which argument cannot be written.
pub(super) fn prepare(
    operation: &Operation,
    base: &Url,
    arguments: &str,
) -> Result<Prepared, String> {
    let text = if arguments.trim().is_empty() {
        "{}"
    } else {
        arguments
    };
    let doc = Doc::parse(text).map_err(|error| format!("no JSON ({error}): {arguments}"))?;
    let root = doc.root();
    if !matches!(root.kind(), Kind::Object | Kind::Null) {
        return Err(format!("no object: {arguments}"));
    }
    let mut headers = HeaderMap::new();
    let mut cookies = Vec::new();
    let mut query: Vec<(String, String)> = Vec::new();
    for parameter in &operation.parameters {
        let Some(value) = root.get_some(&parameter.argument) else {
            continue;
        };
        match parameter.place {
            Place::Path => {}
            Place::Query => in_query(parameter, value, &mut query),
            Place::Header => {
                let wrong = || format!("{} cannot stand in a header", parameter.argument);
                let name = HeaderName::try_from(&parameter.name).map_err(|_| wrong())?;
                headers.append(
                    name,
                    HeaderValue::try_from(joined(value)).map_err(|_| wrong())?,
                );
            }
            Place::Cookie => cookies.push(format!("{}={}", parameter.name, joined(value))),
        }
    }
    if !cookies.is_empty() {
        let cookies = HeaderValue::try_from(cookies.join("; "));
        headers.insert(
            COOKIE,
            cookies.map_err(|_| "a cookie cannot be written".to_owned())?,
        );
    }
    let url = address(operation, base, root, &query)?;
    let (body, left) = body(operation, root)?;
    if let (Some(_), Some(described)) = (&body, &operation.body) {
        let media = HeaderValue::try_from(described.media.as_str());
        headers.insert(CONTENT_TYPE, media.map_err(|error| error.to_string())?);
    }
    let notes = if left.is_empty() {
        Vec::new()
    } else {
        vec![Note::new("unknown_arguments", left.join(", "))]
    };
    Ok(Prepared {
        url,
        headers,
        body,
        notes,
    })
}

fn address(
    operation: &Operation,
    base: &Url,
    root: Node<'_>,
    query: &[(String, String)],
) -> Result<Url, String> {
    let mut url = base.clone();
    let mut segments = url
        .path_segments_mut()
        .map_err(|()| format!("{base} has no path"))?;
    segments.pop_if_empty();
    for segment in operation.path.trim_start_matches('/').split('/') {
        let mut filled = segment.to_owned();
        for parameter in operation
            .parameters
            .iter()
            .filter(|p| p.place == Place::Path)
        {
            let hole = format!("{{{}}}", parameter.name);
            if !filled.contains(&hole) {
                continue;
            }
            let value = root.get_some(&parameter.argument).map(joined);
            // Empty or a step upwards would be another address.
            let value = value.filter(|value| !matches!(value.as_str(), "" | "." | ".."));
            let value = value.ok_or_else(|| {
                format!(
                    "{} is missing or empty, and the path needs it",
                    parameter.argument
                )
            })?;
            filled = filled.replace(&hole, &value);
        }
        segments.push(&filled);
    }
    drop(segments);
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    Ok(url)
}

fn in_query(parameter: &Parameter, value: Node<'_>, query: &mut Vec<(String, String)>) {
    let name = &parameter.name;
    match value.kind() {
        Kind::Array if parameter.explode => {
            query.extend(value.elements().map(|one| (name.clone(), scalar(one))));
        }
        Kind::Object if parameter.deep => {
            let entries = value.entries();
            query.extend(entries.map(|(key, one)| (format!("{name}[{key}]"), scalar(one))));
        }
        Kind::Object if parameter.explode => {
            query.extend(
                value
                    .entries()
                    .map(|(key, one)| (key.to_owned(), scalar(one))),
            );
        }
        _ => query.push((name.clone(), joined(value))),
    }
}

/// A value in one text; lists and objects by commas, as the standard's `simple` style.
fn joined(value: Node<'_>) -> String {
    match value.kind() {
        Kind::Array => value.elements().map(scalar).collect::<Vec<_>>().join(","),
        Kind::Object => {
            let pairs = value
                .entries()
                .map(|(key, one)| format!("{key},{}", scalar(one)));
            pairs.collect::<Vec<_>>().join(",")
        }
        _ => scalar(value),
    }
}

/// Strings without quotes, everything else as it is spelled.
fn scalar(value: Node<'_>) -> String {
    value.as_str().unwrap_or_else(|| value.raw()).to_owned()
}

/// The body, and the arguments that have no place at all.
fn body<'d>(
    operation: &Operation,
    root: Node<'d>,
) -> Result<(Option<String>, Vec<&'d str>), String> {
    let is_parameter = |name: &str| {
        operation
            .parameters
            .iter()
            .any(|parameter| parameter.argument == name)
    };
    let rest: Vec<(&str, Node<'_>)> = root
        .entries()
        .filter(|(name, _)| !is_parameter(name))
        .collect();
    let Some(described) = &operation.body else {
        return Ok((None, rest.into_iter().map(|(name, _)| name).collect()));
    };
    if described.form == Form::Unspoken {
        return Err(format!("{} is not spoken here", described.media));
    }
    if described.merged {
        // What nobody declared goes along: the API says what it thinks of it.
        let body = match described.form {
            Form::UrlEncoded => urlencoded(rest.into_iter()),
            _ => object(rest.into_iter()),
        };
        return Ok((Some(body), Vec::new()));
    }
    let left = rest
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| *name != "body")
        .collect();
    let whole = root.get("body");
    let body = whole.map(|whole| match described.form {
        Form::Json => whole.raw().to_owned(),
        Form::UrlEncoded => urlencoded(whole.entries()),
        _ => scalar(whole),
    });
    Ok((body, left))
}

/// Values as they are spelled.
fn object<'d>(entries: impl Iterator<Item = (&'d str, Node<'d>)>) -> String {
    let mut text = String::from("{");
    for (at, (name, value)) in entries.enumerate() {
        if at > 0 {
            text.push(',');
        }
        fidelake_core::json::push_json_string(name, &mut text);
        text.push(':');
        text.push_str(value.raw());
    }
    text.push('}');
    text
}

fn urlencoded<'d>(entries: impl Iterator<Item = (&'d str, Node<'d>)>) -> String {
    let mut form = Serializer::new(String::new());
    for (name, value) in entries {
        if value.kind() == Kind::Array {
            for one in value.elements() {
                form.append_pair(name, &scalar(one));
            }
        } else {
            form.append_pair(name, &scalar(value));
        }
    }
    form.finish()
}
