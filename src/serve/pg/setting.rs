//! `SET` and `SHOW`: what a client may say of itself, and the lake version that it reads.

use std::sync::Arc;
use std::time::Duration;

use datafusion::sql::sqlparser::ast::{Expr, Set, Statement, Value};
use datafusion_postgres::hooks::HookClient;
use datafusion_postgres::pgwire::api::results::{
    DataRowEncoder, FieldFormat, FieldInfo, QueryResponse, Response, Tag,
};
use datafusion_postgres::pgwire::api::{ClientInfo, Type};
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

/// What the library can show beside them.
const SHOWN: &[&str] = &[
    "catalogs",
    "server_version",
    "transaction.isolation.level",
    "transaction_isolation",
];

const NO_SETTING: &str = "42704";

/// Answers what the library does not know, and refuses what is not allowed; `None` leaves it to the library.
pub(super) async fn own(
    session: &Session,
    client: &mut dyn HookClient,
    statement: &Statement,
) -> Option<PgWireResult<Response>> {
    match statement {
        Statement::Set(set) => own_set(session, client, set).await,
        Statement::ShowVariable { variable } => {
            let name: Vec<String> = variable
                .iter()
                .map(|part| part.value.to_lowercase())
                .collect();
            let name = name.join(".");
            if name != LAKE_VERSION {
                return match name.as_str() {
                    "timezone" | "time.zone" => Some(one_value("TimeZone", "UTC")),
                    "client_encoding" | "server_encoding" => Some(one_value(&name, "UTF8")),
                    "standard_conforming_strings" => Some(one_value(&name, "on")),
                    known if SHOWN.contains(&known) || ALLOWED.contains(&known) => None,
                    _ => Some(Err(refused(
                        NO_SETTING,
                        format!("there is no setting {name}"),
                    ))),
                };
            }
            Some(match session.engine().await {
                Ok(engine) => one_value(LAKE_VERSION, &engine.version().version.to_string()),
                Err(error) => Err(error),
            })
        }
        _ => None,
    }
}

async fn own_set(
    session: &Session,
    client: &mut dyn HookClient,
    set: &Set,
) -> Option<PgWireResult<Response>> {
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
    if name == "statement_timeout" {
        let kept = keep_timeout(client, &value);
        return Some(kept.map(|()| Response::Execution(Tag::new("SET"))));
    }
    if ALLOWED.contains(&name.as_str()) {
        return None;
    }
    let why = format!(
        "{name} cannot be set here; there are {LAKE_VERSION}, {}",
        ALLOWED.join(", ")
    );
    Some(Err(refused(NO_SETTING, why)))
}

/// Where a client's own `statement_timeout` is kept, in milliseconds; the library shows what stands there.
const KEPT_TIMEOUT: &str = "statement_timeout_ms";

/// How long a client lets its statements take, if it said so.
pub(super) fn own_timeout(client: &(impl ClientInfo + ?Sized)) -> Option<Duration> {
    let kept = client.metadata().get(KEPT_TIMEOUT)?;
    kept.parse().ok().map(Duration::from_millis)
}

/// Keeps a client's `statement_timeout`; 0 and `default` are none.
pub(super) fn keep_timeout(
    client: &mut (impl ClientInfo + ?Sized),
    value: &str,
) -> PgWireResult<()> {
    match milliseconds(value)? {
        0 => client.metadata_mut().remove(KEPT_TIMEOUT),
        limit => client
            .metadata_mut()
            .insert(KEPT_TIMEOUT.to_owned(), limit.to_string()),
    };
    Ok(())
}

/// Milliseconds of a `statement_timeout`, 0 for none: a number with ms, s, min or nothing.
fn milliseconds(value: &str) -> PgWireResult<u64> {
    let value = value.trim();
    if value.eq_ignore_ascii_case("default") {
        return Ok(0);
    }
    let units = [("ms", 1), ("min", 60_000), ("s", 1000), ("", 1)];
    let found = units.iter().find_map(|(unit, size)| {
        let number: u32 = value.strip_suffix(unit)?.trim().parse().ok()?;
        Some(u64::from(number) * size)
    });
    found.ok_or_else(|| {
        let why =
            format!("statement_timeout = '{value}': write milliseconds, '700ms', '5s' or '2min'");
        refused(code::WRONG_VALUE, why)
    })
}

/// The settings of `options` in a client's first message: `-c name=value`, `--name=value`.
pub(super) fn options(text: &str) -> PgWireResult<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        let setting = match word.strip_prefix("--").or_else(|| word.strip_prefix("-c")) {
            Some("") => words.next().unwrap_or_default(),
            Some(setting) => setting,
            None => word,
        };
        let Some((name, value)) = setting.split_once('=') else {
            let why = format!("options: {word}: write -c name=value");
            return Err(refused(code::WRONG_VALUE, why));
        };
        let name = name.to_lowercase();
        if name != LAKE_VERSION && !ALLOWED.contains(&name.as_str()) {
            return Err(refused(
                NO_SETTING,
                format!("options: there is no setting {name}"),
            ));
        }
        found.push((name, value.trim_matches('\'').to_owned()));
    }
    Ok(found)
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
