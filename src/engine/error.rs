//! What can go wrong with a query.

use datafusion::error::DataFusionError;

use crate::lake::{LakeError, without_backtrace};

/// Errors of the engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The lake.
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// The query cannot be understood; the text marks the place where it is known.
    #[error("{0}")]
    Sql(String),
    /// The query would change something.
    #[error("only reading is allowed here, and this would change something: {0}")]
    ReadOnly(String),
    /// There is nothing to compare.
    #[error("{0}")]
    NothingToProfile(String),
    /// The rules file cannot be understood.
    #[error("{0}")]
    Rules(String),
    /// The query failed while it ran.
    #[error("the query failed: {0}")]
    Run(String),
}

/// Result of the engine.
pub type EngineResult<T> = Result<T, EngineError>;

impl EngineError {
    /// From an error of planning, with the query for marking the place.
    pub(super) fn planning(error: &DataFusionError, sql: &str) -> Self {
        let message = message(error);
        match place(error, &message, sql) {
            Some(marked) => Self::Sql(format!("{message}\n{marked}")),
            None => Self::Sql(message),
        }
    }

    /// From the refusal of a statement that is no query.
    pub(super) fn changing(error: &DataFusionError) -> Self {
        let message = message(error);
        // `DML not supported: Insert Into`
        let what = message
            .split_once(" not supported: ")
            .map_or(&*message, |m| m.1);
        Self::ReadOnly(what.to_owned())
    }

    /// From an error of running.
    pub(super) fn running(error: &DataFusionError) -> Self {
        Self::Run(message(error))
    }
}

impl From<arrow::error::ArrowError> for EngineError {
    fn from(error: arrow::error::ArrowError) -> Self {
        Self::Run(error.to_string())
    }
}

/// The innermost words, without wrappers and backtraces.
fn message(error: &DataFusionError) -> String {
    let text = without_backtrace(&error.strip_backtrace());
    // The optimizer names its rule first; what is wrong stands last.
    let text = text
        .rsplit("\ncaused by\n")
        .next()
        .unwrap_or_default()
        .to_owned();
    for prefix in [
        "SQL error: ParserError(\"",
        "SQL error: TokenizerError(\"",
        "Error during planning: ",
        "Schema error: ",
    ] {
        if let Some(rest) = text.strip_prefix(prefix) {
            return rest
                .trim_end_matches("\")")
                .replace("\\\"", "\"")
                .to_owned();
        }
    }
    text
}

/// The line of the query with a caret under the place, if it is known.
fn place(error: &DataFusionError, message: &str, sql: &str) -> Option<String> {
    let (line, column) = from_diagnostic(error).or_else(|| from_words(message))?;
    let text = sql.lines().nth(line.checked_sub(1)?)?;
    let number = line.to_string();
    let gap = " ".repeat(column.saturating_sub(1) + number.len() + 3);
    Some(format!("{number} | {text}\n{gap}^"))
}

fn from_diagnostic(error: &DataFusionError) -> Option<(usize, usize)> {
    let span = error.diagnostic()?.span?;
    let number = |n: u64| usize::try_from(n).ok();
    Some((number(span.start.line)?, number(span.start.column)?))
}

/// The parser says `... at Line: 1, Column: 8`.
fn from_words(message: &str) -> Option<(usize, usize)> {
    let number = |text: &str| -> Option<usize> {
        let digits: String = text
            .trim_start()
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        digits.parse().ok()
    };
    let (_, rest) = message.split_once("Line: ")?;
    let (_, column) = rest.split_once("Column: ")?;
    Some((number(rest)?, number(column)?))
}
