//! `SET` and `SHOW`: what a client may say of itself, and the lake version that it reads.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{Expr, Set, Statement, Value};
use datafusion_postgres::pgwire::api::Type;
use datafusion_postgres::pgwire::api::results::{
    DataRowEncoder, FieldFormat, FieldInfo, QueryResponse, Response, Tag,
};
use datafusion_postgres::pgwire::error::PgWireResult;
use futures::stream;

use super::error::{code, refused};
use super::session::{LAKE_VERSION, Session};

/// What clients set when they connect, or to format what they get. Everything else is refused: a
/// setting of the engine would hold for other clients too.
const ALLOWED: &[&str] = &[
    "application_name",
    "bytea_output",
    "client_encoding",
    "client_min_messages",
    "datestyle",
    "default_transaction_isolation",
    "default_transaction_read_only",
    "extra_float_digits",
    "idle_in_transaction_session_timeout",
    "intervalstyle",
    "lock_timeout",
    "row_security",
    "search_path",
    "standard_conforming_strings",
    "statement_timeout",
    "timezone",
];

/// Answers what the library does not know, and refuses what is not allowed; `None` leaves it to the library.
pub(super) async fn own(
    session: &Session,
    statement: &Statement,
) -> Option<PgWireResult<Response>> {
    match statement {
        Statement::Set(set) => own_set(session, set).await,
        Statement::ShowVariable { variable } => {
            let name: Vec<String> = variable
                .iter()
                .map(|part| part.value.to_lowercase())
                .collect();
            if name.join(".") != LAKE_VERSION {
                return None;
            }
            Some(match session.engine().await {
                Ok(engine) => one_value(LAKE_VERSION, &engine.version().version.to_string()),
                Err(error) => Err(error),
            })
        }
        _ => None,
    }
}

async fn own_set(session: &Session, set: &Set) -> Option<PgWireResult<Response>> {
    let (name, values) = match set {
        Set::SingleAssignment {
            variable, values, ..
        } => (variable.to_string().to_lowercase(), values.as_slice()),
        Set::SetTimeZone { .. } | Set::SetTransaction { .. } => return None,
        Set::SetNames { charset_name, .. } => return encoding(&charset_name.value),
        other => {
            let why = format!("{other}: not a setting of this server");
            return Some(Err(refused(code::UNSUPPORTED, why)));
        }
    };
    let value = values.first().map(text).unwrap_or_default();
    if name == LAKE_VERSION {
        let pinned = session.pin(&value).await;
        return Some(pinned.map(|()| Response::Execution(Tag::new("SET"))));
    }
    if name == "client_encoding" {
        return encoding(&value);
    }
    if ALLOWED.contains(&name.as_str()) {
        return None;
    }
    let why = format!(
        "{name} cannot be set here; there are {LAKE_VERSION}, {}",
        ALLOWED.join(", ")
    );
    Some(Err(refused("42704", why)))
}

/// There is UTF-8 only.
fn encoding(name: &str) -> Option<PgWireResult<Response>> {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    Some(match plain.to_ascii_lowercase().as_str() {
        "utf8" | "unicode" | "default" => Ok(Response::Execution(Tag::new("SET"))),
        _ => Err(refused(
            code::WRONG_VALUE,
            format!("client_encoding {name}: this server speaks UTF8 only"),
        )),
    })
}

/// A value without its quotes.
fn text(value: &Expr) -> String {
    match value {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => text.clone(),
            other => other.to_string(),
        },
        other => other.to_string().trim_matches('"').to_owned(),
    }
}

fn one_value(name: &str, value: &str) -> PgWireResult<Response> {
    let field = FieldInfo::new(name.to_owned(), None, None, Type::TEXT, FieldFormat::Text);
    let fields = Arc::new(vec![field]);
    let mut encoder = DataRowEncoder::new(Arc::clone(&fields));
    encoder.encode_field(&Some(value))?;
    let row = Ok(encoder.take_row());
    Ok(Response::Query(QueryResponse::new(
        fields,
        stream::iter([row]),
    )))
}
