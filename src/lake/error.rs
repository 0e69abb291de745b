//! What can go wrong with a lake, and what to do about it.

use std::path::PathBuf;

/// Errors of the lake. Every message says what, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum LakeError {
    /// The folder does not exist or holds no lake.
    #[error("{} is no lake: {why}", path.display())]
    NotALake {
        /// The folder.
        path: PathBuf,
        /// What is missing, and what to do.
        why: String,
    },
    /// The lake was written by a newer program.
    #[error(
        "the lake {} has schema version {found}, this program knows versions up to {known}: use a newer fidelake",
        path.display()
    )]
    NewerSchema {
        /// The folder.
        path: PathBuf,
        /// Schema version of the lake.
        found: i64,
        /// Newest version known here.
        known: i64,
    },
    /// Somebody else is writing.
    #[error("the lake {} is being written by {holder}: wait until that has ended, or give --wait SECONDS", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
        /// Who holds the lock.
        holder: String,
    },
    /// A write began and did not end, and this is not the same command.
    #[error(
        "the lake has an unfinished write: {operation} {id} ({command}). Run that command again to finish it, or undo it with `fidelake repair --drop {id}`"
    )]
    Unfinished {
        /// Kind of write.
        operation: String,
        /// Its id.
        id: String,
        /// The command that began it.
        command: String,
    },
    /// No such intent.
    #[error("there is no unfinished write {0}: `fidelake repair` lists them")]
    NoSuchIntent(String),
    /// A version that does not exist.
    #[error("{what}: the newest lake version is {newest}; `fidelake log` lists them")]
    NoSuchVersion {
        /// What was asked for.
        what: String,
        /// Newest version there is.
        newest: i64,
    },
    /// A version whose files are gone.
    #[error("lake version {0} can no longer be read: its files were removed by `fidelake vacuum`")]
    Vacuumed(i64),
    /// A table that should be there and cannot be read.
    #[error("table {table} of the lake {} cannot be read: {why}", path.display())]
    Table {
        /// The folder of the lake.
        path: PathBuf,
        /// The table.
        table: String,
        /// Why, and what to do.
        why: String,
    },
    /// No space left.
    #[error(
        "the disk is full while writing {what}. Nothing is lost: free some space and run the same command again"
    )]
    DiskFull {
        /// What was being written.
        what: String,
    },
    /// A value that cannot name an environment.
    #[error("environment {0:?} cannot be used: {1}")]
    BadEnvironment(String, &'static str),
    /// The catalog is no database, or a broken one.
    #[error(
        "the catalog {} is damaged: put it back from a copy, or import the sources into a new lake",
        path.display()
    )]
    DamagedCatalog {
        /// The database file.
        path: PathBuf,
    },
    /// The catalog database.
    #[error("the catalog {}: {source}", path.display())]
    Catalog {
        /// The database file.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// Delta.
    #[error("table {table}: {message}")]
    Delta {
        /// The table.
        table: String,
        /// What the library says, without its backtrace.
        message: String,
    },
    /// Files.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Columns that do not fit together: a fault of this program.
    #[error("columns do not fit together (please report this): {0}")]
    Arrow(#[from] arrow::error::ArrowError),
    /// Stopped by Ctrl-C.
    #[error(
        "stopped; nothing is lost: run the same command again to go on, or undo it with `fidelake repair --drop {0}`"
    )]
    Interrupted(String),
}

/// Result of the lake.
pub type LakeResult<T> = Result<T, LakeError>;

impl LakeError {
    pub(crate) fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        let path = path.into();
        if is_disk_full(&source) {
            return Self::DiskFull {
                what: path.display().to_string(),
            };
        }
        Self::Io { path, source }
    }

    pub(crate) fn catalog(path: impl Into<PathBuf>, source: rusqlite::Error) -> Self {
        let path = path.into();
        let extended = source.sqlite_error().map(|error| error.extended_code);
        match source.sqlite_error_code() {
            // Shared memory that cannot grow is a full disk, too.
            Some(rusqlite::ErrorCode::DiskFull) => Self::DiskFull {
                what: path.display().to_string(),
            },
            _ if extended == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE) => Self::DiskFull {
                what: path.display().to_string(),
            },
            Some(rusqlite::ErrorCode::NotADatabase | rusqlite::ErrorCode::DatabaseCorrupt) => {
                Self::DamagedCatalog { path }
            }
            _ => Self::Catalog { path, source },
        }
    }

    pub(super) fn delta(table: &str, source: &deltalake::DeltaTableError) -> Self {
        let message = without_backtrace(&chain(source));
        if message.contains("No space left on device") || message.contains("os error 28") {
            return Self::DiskFull {
                what: format!("table {table}"),
            };
        }
        Self::Delta {
            table: table.to_owned(),
            message,
        }
    }
}

/// `ENOSPC` and quota, wherever they hide.
#[must_use]
pub fn is_disk_full(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded
    )
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        source = inner.source();
    }
    text
}

/// Library errors carry a backtrace when RUST_BACKTRACE is set; people do not want it.
#[must_use]
pub fn without_backtrace(text: &str) -> String {
    let cut = [
        "\n\nbacktrace:",
        "\nbacktrace:",
        "\n\nBacktrace",
        "stack backtrace:",
    ]
    .iter()
    .filter_map(|mark| text.find(mark))
    .min()
    .unwrap_or(text.len());
    text[..cut].trim_end().to_owned()
}
