//! What goes wrong, and how PostgreSQL's clients are told.

use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use datafusion_postgres::pgwire::error::{ErrorInfo, PgWireError};

use crate::engine::EngineError;
use crate::lake::without_backtrace;

/// Longest message that a client is sent: plans can be quoted in them.
const LONGEST: usize = 4096;

/// Why the server does not start.
#[derive(Debug, thiserror::Error)]
pub enum PgError {
    /// The lake cannot be read.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The system refuses.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// It was asked for in a way that would be unsafe, or cannot work.
    #[error("{0}")]
    Usage(String),
}

impl PgError {
    pub(super) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}

/// Codes of PostgreSQL that are used here.
pub(super) mod code {
    pub(crate) const SYNTAX: &str = "42601";
    pub(crate) const NO_TABLE: &str = "42P01";
    pub(crate) const NO_COLUMN: &str = "42703";
    pub(crate) const READ_ONLY: &str = "25006";
    pub(crate) const UNSUPPORTED: &str = "0A000";
    pub(crate) const CANCELED: &str = "57014";
    pub(crate) const TOO_COSTLY: &str = "54001";
    pub(crate) const OUT_OF_MEMORY: &str = "53200";
    pub(crate) const WRONG_VALUE: &str = "22023";
    pub(crate) const NOT_ADMITTED: &str = "28000";
    pub(crate) const PROTOCOL: &str = "08P01";
    pub(crate) const INTERNAL: &str = "XX000";
}

/// A statement fails; the connection goes on.
pub(super) fn refused(code: &str, message: impl Into<String>) -> PgWireError {
    tell("ERROR", code, &message.into())
}

/// The connection ends.
pub(super) fn fatal(code: &str, message: impl Into<String>) -> PgWireError {
    tell("FATAL", code, &message.into())
}

fn tell(severity: &str, code: &str, message: &str) -> PgWireError {
    let mut message = message.to_owned();
    if message.len() > LONGEST {
        let cut = message.floor_char_boundary(LONGEST);
        message.truncate(cut);
        message.push_str(" ...");
    }
    PgWireError::UserError(Box::new(ErrorInfo::new(
        severity.to_owned(),
        code.to_owned(),
        message,
    )))
}

/// Whatever it was, the connection ends.
pub(super) fn made_fatal(error: PgWireError) -> PgWireError {
    let mut info = ErrorInfo::from(error);
    info.severity = "FATAL".to_owned();
    PgWireError::UserError(Box::new(info))
}

/// Of planning or running a query.
pub(super) fn of_query(error: &DataFusionError) -> PgWireError {
    let code = match error.find_root() {
        DataFusionError::SQL(..) => code::SYNTAX,
        DataFusionError::SchemaError(error, _) => match **error {
            SchemaError::FieldNotFound { .. } => code::NO_COLUMN,
            _ => code::SYNTAX,
        },
        DataFusionError::Plan(text) if text.contains("not found") => code::NO_TABLE,
        DataFusionError::Plan(_) => code::SYNTAX,
        DataFusionError::NotImplemented(_) => code::UNSUPPORTED,
        DataFusionError::ResourcesExhausted(_) => code::OUT_OF_MEMORY,
        _ => code::INTERNAL,
    };
    refused(code, without_backtrace(&error.to_string()))
}

/// Of opening a state of the lake.
pub(super) fn of_engine(error: &EngineError) -> PgWireError {
    let code = match error {
        EngineError::ReadOnly(_) => code::READ_ONLY,
        EngineError::Sql(_) => code::SYNTAX,
        _ => code::WRONG_VALUE,
    };
    refused(code, error.to_string())
}
