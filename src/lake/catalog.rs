//! The small, transactional part of a lake: versions and unfinished writes.
//!
//! It stands behind a trait, so that a lake on an object store can keep it in
//! a database server one day. Here it is SQLite beside the tables.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::error::{LakeError, LakeResult};

/// A state of the whole lake: which version of which table belongs together.
#[derive(Clone, Debug, PartialEq)]
pub struct LakeVersion {
    /// Number, from 0.
    pub version: i64,
    /// Version of the table schemas.
    pub schema_version: i64,
    /// create, import, compact, migrate, ...
    pub operation: String,
    /// Id of the write.
    pub id: String,
    /// The command, for people.
    pub command: String,
    /// Delta version of every table.
    pub tables: BTreeMap<String, i64>,
    /// What was written, as the command reported it.
    pub counts: serde_json::Value,
    /// When it was committed, UTC, ISO 8601.
    pub time: String,
    /// False once vacuum removed its files.
    pub readable: bool,
}

/// A write that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// Id of the write: the same command on the same inputs has the same.
    pub id: String,
    /// Kind of write.
    pub operation: String,
    /// From 1; one more after each time it was dropped.
    pub attempt: i32,
    /// The lake version that it builds on.
    pub base: i64,
    /// The command, for people.
    pub command: String,
    /// When it began, UTC, ISO 8601.
    pub started: String,
}

/// What a catalog must do. Every method is one transaction.
pub trait Catalog: Send + std::fmt::Debug {
    /// All versions, oldest first.
    fn versions(&self) -> LakeResult<Vec<LakeVersion>>;
    /// The newest version, if the lake was ever finished.
    fn newest(&self) -> LakeResult<Option<LakeVersion>>;
    /// Unfinished writes.
    fn intents(&self) -> LakeResult<Vec<Intent>>;
    /// Notes that a write begins; its attempt is one more than the last that was dropped.
    fn begin(&mut self, operation: &str, id: &str, command: &str, base: i64) -> LakeResult<Intent>;
    /// Adds a version and clears the intent that made it.
    fn commit(&mut self, version: &LakeVersion) -> LakeResult<()>;
    /// Forgets an intent, with the table versions its restore made.
    fn drop_intent(&mut self, id: &str, restored: &LakeVersion) -> LakeResult<()>;
    /// Forgets an intent that wrote nothing.
    fn forget(&mut self, id: &str) -> LakeResult<()>;
    /// Notes that the files of these versions are gone.
    fn mark_unreadable(&mut self, versions: &[i64]) -> LakeResult<()>;
}

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS lake_versions (
        version INTEGER PRIMARY KEY, schema_version INTEGER NOT NULL, operation TEXT NOT NULL,
        id TEXT NOT NULL, command TEXT NOT NULL, tables TEXT NOT NULL, counts TEXT NOT NULL,
        time TEXT NOT NULL, readable INTEGER NOT NULL DEFAULT 1) STRICT;
    CREATE TABLE IF NOT EXISTS intents (
        id TEXT PRIMARY KEY, operation TEXT NOT NULL, attempt INTEGER NOT NULL, base INTEGER NOT NULL,
        command TEXT NOT NULL, started TEXT NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS dropped (
        id TEXT NOT NULL, attempt INTEGER NOT NULL, time TEXT NOT NULL,
        PRIMARY KEY (id, attempt)) STRICT;
";

/// The catalog in SQLite.
#[derive(Debug)]
pub(super) struct SqliteCatalog {
    path: PathBuf,
    db: Connection,
}

impl SqliteCatalog {
    /// Opens the database of a lake, and makes it if `create`.
    pub(super) fn open(lake: &Path, create: bool) -> LakeResult<Self> {
        use rusqlite::OpenFlags;

        let path = lake.join("_fidelake").join("catalog.sqlite");
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        if create {
            flags |= OpenFlags::SQLITE_OPEN_CREATE;
        }
        let fail = |e| LakeError::catalog(&path, e);
        let db = Connection::open_with_flags(&path, flags).map_err(fail)?;
        if !create && db.is_readonly("main").map_err(fail)? {
            // The file, or its folder, cannot be written by this user.
            return Self::open_read_only(path);
        }
        db.busy_timeout(std::time::Duration::from_secs(10))
            .map_err(fail)?;
        // A file that is no database is found out by the first statement.
        db.pragma_update(None, "journal_mode", "WAL")
            .map_err(fail)?;
        db.pragma_update(None, "synchronous", "FULL")
            .map_err(fail)?;
        if create {
            db.execute_batch(TABLES).map_err(fail)?;
        }
        Ok(Self { path, db })
    }

    /// For a lake that this user cannot write. SQLite would write a log beside the
    /// database; `immutable` keeps it from trying, which is right as long as no
    /// unfinished log stands there.
    fn open_read_only(path: PathBuf) -> LakeResult<Self> {
        use rusqlite::OpenFlags;

        let log = path.with_extension("sqlite-wal");
        if log.metadata().is_ok_and(|log| log.len() > 0) {
            return Err(LakeError::NotALake {
                path,
                why: "its last write is not folded in yet, and this user cannot write here: run any command once as its owner".into(),
            });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let escaped = path
            .display()
            .to_string()
            .replace('%', "%25")
            .replace('?', "%3f")
            .replace('#', "%23");
        let uri = format!("file:{escaped}?immutable=1");
        let db =
            Connection::open_with_flags(&uri, flags).map_err(|e| LakeError::catalog(&path, e))?;
        Ok(Self { path, db })
    }

    fn fail(&self) -> impl Fn(rusqlite::Error) -> LakeError + '_ {
        |e| LakeError::catalog(&self.path, e)
    }
}

fn read_version(row: &Row<'_>) -> rusqlite::Result<LakeVersion> {
    let json = |column: usize, text: String| {
        serde_json::from_str::<serde_json::Value>(&text).map_err(|e| {
            rusqlite::Error::FromSqlConversionFailure(
                column,
                rusqlite::types::Type::Text,
                Box::new(e),
            )
        })
    };
    let tables = json(5, row.get(5)?)?;
    let tables = tables.as_object().map_or_else(BTreeMap::new, |map| {
        map.iter()
            .filter_map(|(name, v)| Some((name.clone(), v.as_i64()?)))
            .collect()
    });
    Ok(LakeVersion {
        version: row.get(0)?,
        schema_version: row.get(1)?,
        operation: row.get(2)?,
        id: row.get(3)?,
        command: row.get(4)?,
        tables,
        counts: json(6, row.get(6)?)?,
        time: row.get(7)?,
        readable: row.get(8)?,
    })
}

const VERSION_COLUMNS: &str =
    "version, schema_version, operation, id, command, tables, counts, time, readable";

impl Catalog for SqliteCatalog {
    fn versions(&self) -> LakeResult<Vec<LakeVersion>> {
        let sql = format!("SELECT {VERSION_COLUMNS} FROM lake_versions ORDER BY version");
        let mut statement = self.db.prepare(&sql).map_err(self.fail())?;
        let rows = statement.query_map([], read_version).map_err(self.fail())?;
        rows.collect::<rusqlite::Result<_>>().map_err(self.fail())
    }

    fn newest(&self) -> LakeResult<Option<LakeVersion>> {
        let sql =
            format!("SELECT {VERSION_COLUMNS} FROM lake_versions ORDER BY version DESC LIMIT 1");
        self.db
            .query_row(&sql, [], read_version)
            .optional()
            .map_err(self.fail())
    }

    fn intents(&self) -> LakeResult<Vec<Intent>> {
        let sql =
            "SELECT id, operation, attempt, base, command, started FROM intents ORDER BY started";
        let mut statement = self.db.prepare(sql).map_err(self.fail())?;
        let rows = statement.query_map([], |row| {
            Ok(Intent {
                id: row.get(0)?,
                operation: row.get(1)?,
                attempt: row.get(2)?,
                base: row.get(3)?,
                command: row.get(4)?,
                started: row.get(5)?,
            })
        });
        rows.map_err(self.fail())?
            .collect::<rusqlite::Result<_>>()
            .map_err(self.fail())
    }

    fn begin(&mut self, operation: &str, id: &str, command: &str, base: i64) -> LakeResult<Intent> {
        let sql = "SELECT coalesce(max(attempt), 0) + 1 FROM dropped WHERE id = ?1";
        let attempt = self
            .db
            .query_row(sql, [id], |row| row.get(0))
            .map_err(self.fail())?;
        let intent = Intent {
            id: id.to_owned(),
            operation: operation.to_owned(),
            attempt,
            base,
            command: command.to_owned(),
            started: now(),
        };
        let sql = "INSERT INTO intents (id, operation, attempt, base, command, started)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let values = params![id, operation, attempt, base, command, intent.started];
        self.db.execute(sql, values).map_err(self.fail())?;
        Ok(intent)
    }

    fn commit(&mut self, version: &LakeVersion) -> LakeResult<()> {
        let path = self.path.clone();
        let fail = |e| LakeError::catalog(&path, e);
        let transaction = self.db.transaction().map_err(fail)?;
        insert_version(&transaction, version).map_err(fail)?;
        transaction
            .execute("DELETE FROM intents WHERE id = ?1", [&version.id])
            .map_err(fail)?;
        transaction.commit().map_err(fail)
    }

    fn drop_intent(&mut self, id: &str, restored: &LakeVersion) -> LakeResult<()> {
        let path = self.path.clone();
        let fail = |e| LakeError::catalog(&path, e);
        let transaction = self.db.transaction().map_err(fail)?;
        let sql = "INSERT INTO dropped (id, attempt, time) SELECT id, attempt, ?2 FROM intents WHERE id = ?1";
        transaction.execute(sql, params![id, now()]).map_err(fail)?;
        transaction
            .execute("DELETE FROM intents WHERE id = ?1", [id])
            .map_err(fail)?;
        insert_version(&transaction, restored).map_err(fail)?;
        transaction.commit().map_err(fail)
    }

    fn forget(&mut self, id: &str) -> LakeResult<()> {
        self.db
            .execute("DELETE FROM intents WHERE id = ?1", [id])
            .map_err(self.fail())?;
        Ok(())
    }

    fn mark_unreadable(&mut self, versions: &[i64]) -> LakeResult<()> {
        let path = self.path.clone();
        let fail = |e| LakeError::catalog(&path, e);
        let transaction = self.db.transaction().map_err(fail)?;
        for version in versions {
            let sql = "UPDATE lake_versions SET readable = 0 WHERE version = ?1";
            transaction.execute(sql, [version]).map_err(fail)?;
        }
        transaction.commit().map_err(fail)
    }
}

fn insert_version(db: &Connection, version: &LakeVersion) -> rusqlite::Result<()> {
    let tables = serde_json::json!(version.tables).to_string();
    let sql = format!(
        "INSERT INTO lake_versions ({VERSION_COLUMNS}) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9)"
    );
    db.execute(
        &sql,
        params![
            version.version,
            version.schema_version,
            version.operation,
            version.id,
            version.command,
            tables,
            version.counts.to_string(),
            version.time,
            version.readable
        ],
    )?;
    Ok(())
}

/// Now, UTC, ISO 8601 with milliseconds: times sort as texts.
#[must_use]
pub fn now() -> String {
    chrono::Utc::now()
        .format("%Y-%m-%dT%H:%M:%S%.3fZ")
        .to_string()
}
