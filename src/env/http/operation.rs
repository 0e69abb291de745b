//! One operation of a document: how its arguments become a request.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Map, Value, json};

use super::schema::{Schemas, resolved};

/// Where a parameter stands in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Path,
    Query,
    Header,
    Cookie,
}

/// A parameter, and the argument that gives it.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    /// Name in the request.
    pub(super) name: String,
    /// Name of the argument: another where two places use the same name.
    pub(super) argument: String,
    pub(super) place: Place,
    /// Lists are repeated rather than joined by commas.
    pub(super) explode: bool,
    /// Objects are written `name[key]=value`.
    pub(super) deep: bool,
}

/// How a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    UrlEncoded,
    /// The argument `body`, as text.
    Text,
    /// Not spoken here, as `multipart/form-data`.
    Unspoken,
}

/// The body of a request.
#[derive(Clone, Debug)]
pub(super) struct Body {
    pub(super) media: String,
    pub(super) form: Form,
    /// Its properties are arguments themselves; else the argument `body` is all of it.
    pub(super) merged: bool,
}

/// An operation as a tool.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) name: String,
    pub(super) method: Method,
    /// With `{name}` where parameters stand.
    pub(super) path: String,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<Body>,
    /// JSON text.
    pub(super) declaration: String,
}

impl Operation {
    /// Whether a call may change something, as far as HTTP says so.
    pub(super) fn mutates(&self) -> bool {
        mutates(&self.method)
    }

    /// Reads one operation. `shared` are the parameters of its path.
    pub(super) fn read(
        root: &Value,
        method: Method,
        path: &str,
        shared: Option<&Value>,
        given: &Value,
        name: String,
    ) -> Result<Self, String> {
        let mut schemas = Schemas::new(root);
        let mut arguments = Arguments::default();
        let mut parameters: Vec<Parameter> = Vec::new();
        // Those of the operation take the place of those of its path.
        let lists = [given.get("parameters"), shared].into_iter().flatten();
        for parameter in lists.filter_map(Value::as_array).flatten() {
            let parameter = resolved(root, parameter)?;
            if let Some(read) = read_parameter(parameter, &parameters, &arguments) {
                let schema = schema_of(parameter).map_or(json!({}), |schema| schemas.take(schema));
                let required = read.place == Place::Path
                    || parameter.get("required").and_then(Value::as_bool) == Some(true);
                arguments.add(&read.argument, described(schema, parameter), required);
                parameters.push(read);
            }
        }
        let body = match given.get("requestBody") {
            Some(body) => read_body(root, resolved(root, body)?, &mut schemas, &mut arguments)?,
            None => None,
        };
        let mut schema = arguments.schema();
        let definitions = schemas.definitions();
        if !definitions.is_empty() {
            schema.insert("$defs".to_owned(), Value::Object(definitions));
        }
        let text = |key: &str| {
            given
                .get(key)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
        };
        let description = match (text("summary"), text("description")) {
            (Some(summary), Some(more)) if summary != more => format!("{summary}\n\n{more}"),
            (Some(one), _) | (None, Some(one)) => one.to_owned(),
            (None, None) => format!("{method} {path}"),
        };
        let declaration = json!({
            "name": name, "description": description, "parameters": schema, "mutates": mutates(&method),
        });
        Ok(Self {
            name,
            method,
            path: path.to_owned(),
            parameters,
            body,
            declaration: declaration.to_string(),
        })
    }
}

fn mutates(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// The arguments of a tool, from wherever they go.
#[derive(Debug, Default)]
struct Arguments {
    properties: Map<String, Value>,
    required: BTreeSet<String>,
}

impl Arguments {
    fn add(&mut self, name: &str, schema: Value, required: bool) {
        self.properties.insert(name.to_owned(), schema);
        if required {
            self.required.insert(name.to_owned());
        }
    }

    fn schema(self) -> Map<String, Value> {
        let mut schema = Map::new();
        schema.insert("type".to_owned(), json!("object"));
        schema.insert("properties".to_owned(), Value::Object(self.properties));
        if !self.required.is_empty() {
            schema.insert("required".to_owned(), json!(self.required));
        }
        schema
    }
}

fn read_parameter(given: &Value, known: &[Parameter], arguments: &Arguments) -> Option<Parameter> {
    let name = given.get("name")?.as_str()?;
    let (place, word) = match given.get("in")?.as_str()? {
        "path" => (Place::Path, "path"),
        "query" => (Place::Query, "query"),
        // The standard says that these three are described elsewhere.
        "header"
            if ["accept", "content-type", "authorization"]
                .contains(&name.to_ascii_lowercase().as_str()) =>
        {
            return None;
        }
        "header" => (Place::Header, "header"),
        "cookie" => (Place::Cookie, "cookie"),
        _ => return None,
    };
    if known
        .iter()
        .any(|known| known.name == name && known.place == place)
    {
        return None;
    }
    let argument = if arguments.properties.contains_key(name) {
        format!("{name}_{word}")
    } else {
        name.to_owned()
    };
    let style = given.get("style").and_then(Value::as_str);
    let explode = given.get("explode").and_then(Value::as_bool);
    Some(Parameter {
        name: name.to_owned(),
        argument,
        place,
        explode: explode.unwrap_or(place == Place::Query && style.is_none_or(|s| s == "form")),
        deep: style == Some("deepObject"),
    })
}

/// A parameter's schema stands in it, or under its only media type.
fn schema_of(parameter: &Value) -> Option<&Value> {
    let content = || {
        parameter
            .get("content")?
            .as_object()?
            .values()
            .next()?
            .get("schema")
    };
    parameter.get("schema").or_else(content)
}

fn described(mut schema: Value, by: &Value) -> Value {
    if let (Some(object), Some(text)) = (schema.as_object_mut(), by.get("description")) {
        object.entry("description").or_insert_with(|| text.clone());
    }
    schema
}

fn read_body(
    root: &Value,
    given: &Value,
    schemas: &mut Schemas<'_>,
    arguments: &mut Arguments,
) -> Result<Option<Body>, String> {
    let Some(content) = given.get("content").and_then(Value::as_object) else {
        return Ok(None);
    };
    let form_of = |media: &str| match media.split(';').next().unwrap_or_default().trim() {
        "application/json" | "*/*" | "application/*" => Form::Json,
        other if other.ends_with("+json") => Form::Json,
        "application/x-www-form-urlencoded" => Form::UrlEncoded,
        other if other.starts_with("multipart/") => Form::Unspoken,
        _ => Form::Text,
    };
    let rank = |form: Form| match form {
        Form::Json => 0,
        Form::UrlEncoded => 1,
        Form::Text => 2,
        Form::Unspoken => 3,
    };
    let Some((media, described_by)) = content.iter().min_by_key(|(media, _)| rank(form_of(media)))
    else {
        return Ok(None);
    };
    let form = form_of(media);
    let media = if media.contains('*') {
        "application/json"
    } else {
        media
    };
    let required = given.get("required").and_then(Value::as_bool) == Some(true);
    let empty = json!({});
    let schema = described_by.get("schema").unwrap_or(&empty);
    let inner = resolved(root, schema)?;
    let properties = inner.get("properties").and_then(Value::as_object);
    let plain = ["allOf", "oneOf", "anyOf"]
        .iter()
        .all(|key| inner.get(key).is_none());
    let free = |name: &String| !arguments.properties.contains_key(name);
    let merged = matches!(form, Form::Json | Form::UrlEncoded)
        && plain
        && properties.is_some_and(|properties| properties.keys().all(free));
    if let (true, Some(properties)) = (merged, properties) {
        let needed = inner.get("required").and_then(Value::as_array);
        for (name, schema) in properties {
            let schema = schemas.take(schema);
            let needed = needed.is_some_and(|needed| needed.iter().any(|one| one == name.as_str()));
            arguments.add(name, schema, required && needed);
        }
    } else {
        arguments.add("body", described(schemas.take(schema), given), required);
    }
    Ok(Some(Body {
        media: media.to_owned(),
        form,
        merged,
    }))
}
