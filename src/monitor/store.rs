//! What a monitor must not forget: SQLite, one transaction per batch of observations.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use fidelake_core::json::key::Key;
use fidelake_core::monitor::{Region, Regions, Stream};
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use super::error::{MonitorError, MonitorResult};
use super::totals::Totals;

/// Version of these tables.
pub(super) const FORM: i64 = 1;

/// "fdlm", so that a file of another program is not taken for a state.
pub(super) const APPLICATION: i64 = 0x6664_6c6d;

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS streams (
        place INTEGER PRIMARY KEY, environment TEXT NOT NULL, api TEXT NOT NULL, outcome TEXT NOT NULL,
        dimension INTEGER NOT NULL, state BLOB NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS sources (source TEXT PRIMARY KEY, newest INTEGER NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS seen (key BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS seen_before (key BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS events (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, kind TEXT NOT NULL, detail TEXT NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS rejected (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, line TEXT NOT NULL, why TEXT NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS actions (
        pause INTEGER NOT NULL, kind TEXT NOT NULL, status TEXT NOT NULL, output TEXT NOT NULL DEFAULT '',
        PRIMARY KEY (pause, kind)) STRICT;
";

/// Ids are remembered for at least so many observations.
const REMEMBERED: u64 = 1_000_000;

/// Rejected lines that are kept.
const REJECTED_KEPT: i64 = 1000;

/// The database, and the lock that says whose it is.
#[derive(Debug)]
pub(super) struct Store {
    path: PathBuf,
    db: Connection,
    _lock: File,
}

impl Store {
    /// Opens or makes it; only its owner may read it.
    pub(super) fn open(path: &Path) -> MonitorResult<Self> {
        let open = |path: &Path| {
            OpenOptions::new()
                .create(true)
                .truncate(false)
                .read(true)
                .write(true)
                .mode(0o600)
                .open(path)
                .map_err(MonitorError::io(format!("cannot open {}", path.display())))
        };
        let mut beside = path.as_os_str().to_owned();
        beside.push(".lock");
        let lock = open(Path::new(&beside))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(MonitorError::InUse(path.to_owned())),
            Err(TryLockError::Error(e)) => {
                return Err(MonitorError::io(format!("cannot lock {}", path.display()))(
                    e,
                ));
            }
        }
        drop(open(path)?);
        let fail = MonitorError::state(path);
        let db = Connection::open(path).map_err(&fail)?;
        let number = |name: &str| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let (ours, form) = (
            number("application_id").map_err(&fail)?,
            number("user_version").map_err(&fail)?,
        );
        let tables: i64 = db
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(&fail)?;
        let foreign = |why: String| MonitorError::Foreign {
            path: path.to_owned(),
            why,
        };
        if tables > 0 && ours != APPLICATION {
            return Err(foreign("it is a database of something else".into()));
        }
        if tables > 0 && form != FORM {
            return Err(foreign(format!(
                "its form is {form}, this program's is {FORM}"
            )));
        }
        db.pragma_update(None, "journal_mode", "WAL")
            .map_err(&fail)?;
        // What was answered for must survive a loss of power too.
        db.pragma_update(None, "synchronous", "FULL")
            .map_err(&fail)?;
        db.pragma_update(None, "application_id", APPLICATION)
            .map_err(&fail)?;
        db.pragma_update(None, "user_version", FORM)
            .map_err(&fail)?;
        db.execute_batch(TABLES).map_err(&fail)?;
        Ok(Self {
            path: path.to_owned(),
            db,
            _lock: lock,
        })
    }

    /// Puts everything that was charted into `regions`.
    pub(super) fn load(&self, regions: &mut Regions) -> MonitorResult<Totals> {
        let fail = MonitorError::state(&self.path);
        let sql = "SELECT environment, api, outcome, dimension, state FROM streams ORDER BY place";
        let mut statement = self.db.prepare(sql).map_err(&fail)?;
        let rows = statement.query_map([], |row| {
            let region = Region {
                environment: row.get(0)?,
                api: row.get(1)?,
                outcome: row.get(2)?,
            };
            Ok((region, row.get::<_, i64>(3)?, row.get::<_, Vec<u8>>(4)?))
        });
        for row in rows.map_err(&fail)? {
            let (region, dimension, state) = row.map_err(&fail)?;
            let dimension = usize::try_from(dimension).ok().filter(|at| *at < 4);
            let numbers: Vec<f64> = state
                .as_chunks::<8>()
                .0
                .iter()
                .map(|bytes| f64::from_le_bytes(*bytes))
                .collect();
            let (Some(dimension), Some(stream)) = (dimension, Stream::from_parts(&numbers)) else {
                return Err(MonitorError::Foreign {
                    path: self.path.clone(),
                    why: format!(
                        "the stream of {} {} cannot be read",
                        region.environment, region.api
                    ),
                });
            };
            regions.restore(region, dimension, stream);
        }
        let mut statement = self
            .db
            .prepare("SELECT source, newest FROM sources")
            .map_err(&fail)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        for row in rows.map_err(&fail)? {
            let (source, newest) = row.map_err(&fail)?;
            regions.restore_source(source, newest);
        }
        let totals = self.fact("totals")?;
        Ok(totals
            .and_then(|text| Totals::parse(&text))
            .unwrap_or_default())
    }

    /// Something that was noted.
    pub(super) fn fact(&self, name: &str) -> MonitorResult<Option<String>> {
        let sql = "SELECT value FROM facts WHERE name = ?1";
        let found = self.db.query_row(sql, [name], |row| row.get(0)).optional();
        found.map_err(MonitorError::state(&self.path))
    }

    /// Notes something.
    pub(super) fn note(&self, name: &str, value: &str) -> MonitorResult<()> {
        note(&self.db, name, value).map_err(MonitorError::state(&self.path))
    }

    pub(super) fn begin(&mut self) -> MonitorResult<Writing<'_>> {
        let fail = MonitorError::state(&self.path);
        let transaction = self.db.transaction().map_err(fail)?;
        Ok(Writing {
            transaction,
            path: &self.path,
        })
    }

    /// Actions that were not begun, as (pause, kind, what it was); those that were begun and not
    /// ended belong to a monitor that was killed, and are not made twice.
    pub(super) fn open_actions(&self) -> MonitorResult<Vec<(i64, String, String)>> {
        let fail = MonitorError::state(&self.path);
        let sql = "UPDATE actions SET status = 'interrupted' WHERE status = 'running'";
        self.db.execute(sql, []).map_err(&fail)?;
        let sql =
            "SELECT a.pause, a.kind, e.detail FROM actions AS a JOIN events AS e ON e.seq = a.pause
                   WHERE a.status = 'pending' ORDER BY a.pause, a.kind";
        let mut statement = self.db.prepare(sql).map_err(&fail)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        rows.map_err(&fail)?
            .collect::<rusqlite::Result<_>>()
            .map_err(&fail)
    }

    /// Begins an action; false if it was begun before. A pause may be found among those that
    /// are left and come by the channel as well.
    pub(super) fn begin_action(&self, pause: i64, kind: &str) -> MonitorResult<bool> {
        let sql = "UPDATE actions SET status = 'running'
                   WHERE pause = ?1 AND kind = ?2 AND status = 'pending'";
        let begun = self.db.execute(sql, params![pause, kind]);
        begun
            .map(|rows| rows > 0)
            .map_err(MonitorError::state(&self.path))
    }

    /// Notes how far an action is.
    pub(super) fn action(
        &self,
        pause: i64,
        kind: &str,
        status: &str,
        output: &str,
    ) -> MonitorResult<()> {
        let sql = "UPDATE actions SET status = ?3, output = ?4 WHERE pause = ?1 AND kind = ?2";
        let done = self.db.execute(sql, params![pause, kind, status, output]);
        done.map(|_| ()).map_err(MonitorError::state(&self.path))
    }

    /// How many actions ended how.
    pub(super) fn action_counts(&self) -> MonitorResult<Vec<(String, i64)>> {
        let fail = MonitorError::state(&self.path);
        let sql = "SELECT status, count(*) FROM actions GROUP BY status ORDER BY status";
        let mut statement = self.db.prepare_cached(sql).map_err(&fail)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        rows.map_err(&fail)?
            .collect::<rusqlite::Result<_>>()
            .map_err(&fail)
    }
}

fn note(db: &Connection, name: &str, value: &str) -> rusqlite::Result<()> {
    let sql = "INSERT INTO facts (name, value) VALUES (?1, ?2)
               ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    db.prepare_cached(sql)?.execute([name, value]).map(|_| ())
}

/// One transaction.
#[derive(Debug)]
pub(super) struct Writing<'s> {
    transaction: Transaction<'s>,
    path: &'s Path,
}

impl Writing<'_> {
    fn tried<T>(&self, done: rusqlite::Result<T>) -> MonitorResult<T> {
        done.map_err(MonitorError::state(self.path))
    }

    /// Whether an observation is new; from now on it is not.
    pub(super) fn is_new(&self, key: Key) -> MonitorResult<bool> {
        let bytes = key.bits().to_be_bytes();
        let db = &self.transaction;
        let done = || -> rusqlite::Result<bool> {
            let old = db
                .prepare_cached("SELECT 1 FROM seen_before WHERE key = ?1")?
                .exists([bytes])?;
            if old {
                return Ok(false);
            }
            let sql = "INSERT OR IGNORE INTO seen (key) VALUES (?1)";
            Ok(db.prepare_cached(sql)?.execute([bytes])? > 0)
        };
        self.tried(done())
    }

    /// Takes that back: the observation was refused, and may come again.
    pub(super) fn forget(&self, key: Key) -> MonitorResult<()> {
        let bytes = key.bits().to_be_bytes();
        let statement = self
            .transaction
            .prepare_cached("DELETE FROM seen WHERE key = ?1");
        let done = statement.and_then(|mut statement| statement.execute([bytes]));
        self.tried(done).map(|_| ())
    }

    /// Ids older than [`REMEMBERED`] observations are forgotten, a whole table at once.
    pub(super) fn turn_over(&self, accepted_before: u64, accepted: u64) -> MonitorResult<()> {
        if accepted_before / REMEMBERED == accepted / REMEMBERED {
            return Ok(());
        }
        let sql = "DROP TABLE seen_before; ALTER TABLE seen RENAME TO seen_before;
                   CREATE TABLE seen (key BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;";
        self.tried(self.transaction.execute_batch(sql))
    }

    pub(super) fn reject(&self, now: i64, line: &str, why: &str) -> MonitorResult<()> {
        let sql = "INSERT INTO rejected (at, line, why) VALUES (?1, ?2, ?3)";
        let cut: String = line.chars().take(400).collect();
        let done = self.transaction.prepare_cached(sql);
        let done = done.and_then(|mut statement| statement.execute(params![now, cut, why]));
        self.tried(done)?;
        let last = self.transaction.last_insert_rowid();
        let sql = "DELETE FROM rejected WHERE seq <= ?1";
        let done = self.transaction.prepare_cached(sql);
        let done = done.and_then(|mut statement| statement.execute([last - REJECTED_KEPT]));
        self.tried(done).map(|_| ())
    }

    /// Writes down what happened; `actions` are to be made because of it.
    pub(super) fn event(
        &self,
        now: i64,
        kind: &str,
        detail: &str,
        actions: &[&str],
    ) -> MonitorResult<i64> {
        let sql = "INSERT INTO events (at, kind, detail) VALUES (?1, ?2, ?3)";
        self.tried(self.transaction.execute(sql, params![now, kind, detail]))?;
        let seq = self.transaction.last_insert_rowid();
        for action in actions {
            let sql = "INSERT INTO actions (pause, kind, status) VALUES (?1, ?2, 'pending')";
            self.tried(self.transaction.execute(sql, params![seq, action]))?;
        }
        Ok(seq)
    }

    /// Writes what has changed, and makes all of it durable.
    pub(super) fn commit(self, regions: &mut Regions, totals: &Totals) -> MonitorResult<()> {
        let (streams, sources) = regions.changed();
        let db = &self.transaction;
        let write = || -> rusqlite::Result<()> {
            let sql = "INSERT INTO streams (place, environment, api, outcome, dimension, state)
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (place) DO UPDATE SET state = excluded.state";
            for at in streams {
                let Some((region, dimension, stream)) = regions.stream(at) else {
                    continue;
                };
                let bytes: Vec<u8> = stream
                    .to_parts()
                    .iter()
                    .flat_map(|part| part.to_le_bytes())
                    .collect();
                db.prepare_cached(sql)?.execute(params![
                    i64::try_from(at).unwrap_or(i64::MAX),
                    region.environment,
                    region.api,
                    region.outcome,
                    i64::try_from(dimension).unwrap_or_default(),
                    bytes
                ])?;
            }
            let sql = "INSERT INTO sources (source, newest) VALUES (?1, ?2)
                       ON CONFLICT (source) DO UPDATE SET newest = excluded.newest";
            for (source, newest) in sources {
                db.prepare_cached(sql)?.execute(params![source, newest])?;
            }
            note(db, "totals", &totals.to_text())
        };
        self.tried(write())?;
        let path = self.path;
        self.transaction.commit().map_err(MonitorError::state(path))
    }
}
