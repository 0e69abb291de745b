//! A lake: Delta tables under one version number, in which nothing is lost and
//! nothing stands twice.
//!
//! Delta commits one table, a lake needs all of them to move together. So each
//! write appends to the tables under its own application id, and only then one
//! transaction of the catalog names the Delta versions that belong together.
//! Readers see that or the state before, never anything between.

mod catalog;
mod delta;
mod error;
pub(crate) mod failpoint;
pub(crate) mod journal;
pub(crate) mod lock;
mod maintain;
mod migrate;
mod pin;
pub(crate) mod rows;
pub mod schema;
mod superseded;
mod write;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use catalog::{Catalog, Intent, LakeVersion, now};
pub use error::{LakeError, LakeResult, is_disk_full, without_backtrace};
pub use maintain::{Compacted, Vacuumed};
pub use pin::{Added, At, Pinned};
pub use write::{LakeWriter, Started};

use catalog::SqliteCatalog;
use lock::WriteLock;
use schema::SCHEMA_VERSION;

/// A lake that exists.
#[derive(Debug)]
pub struct Lake {
    path: PathBuf,
    catalog: Box<dyn Catalog>,
}

impl Lake {
    /// Opens a lake for reading.
    ///
    /// # Errors
    /// If there is none, if its creation did not finish, or if it is of a newer
    /// schema version.
    pub fn open(path: &Path) -> LakeResult<Self> {
        let path = absolute(path)?;
        let not = |why: &str| LakeError::NotALake {
            path: path.clone(),
            why: why.into(),
        };
        if !path.exists() {
            return Err(not(
                "there is no such folder; `fidelake import` makes one, --lake DIR or FIDELAKE_LAKE names another",
            ));
        }
        if path.is_file() {
            return Err(not("it is a file; give a folder with --lake DIR"));
        }
        if !path.join("_fidelake").join("catalog.sqlite").is_file() {
            return Err(not(
                "it has no _fidelake/catalog.sqlite; --lake DIR or FIDELAKE_LAKE names the right folder",
            ));
        }
        let catalog = Box::new(SqliteCatalog::open(&path, false)?);
        let newest = match catalog.newest() {
            Ok(newest) => newest,
            // The database is there, its tables are not: creation was cut short.
            Err(LakeError::Catalog { source, .. })
                if source.to_string().contains("no such table") =>
            {
                None
            }
            Err(other) => return Err(other),
        };
        let Some(newest) = newest else {
            return Err(not(
                "its creation did not finish; the next `fidelake import` finishes it",
            ));
        };
        let lake = Self { path, catalog };
        lake.check_schema(&newest)?;
        Ok(lake)
    }

    /// Opens a lake for writing, makes it first where there is none, and brings
    /// an older one to today's schemas. The lock is held as long as the writer lives.
    ///
    /// # Errors
    /// If the folder holds something else, if somebody else is writing, or if
    /// the lake is of a newer schema version.
    pub async fn open_or_create(path: &Path, wait: Duration) -> LakeResult<(Self, WriteGuard)> {
        let path = absolute(path)?;
        let own = path.join("_fidelake");
        let made_here = !path.exists();
        if path.is_file() {
            let why = "it is a file; give a folder with --lake DIR".into();
            return Err(LakeError::NotALake { path, why });
        }
        if !own.is_dir() && path.exists() {
            let mut entries = std::fs::read_dir(&path).map_err(|e| LakeError::io(&path, e))?;
            if entries.next().is_some() {
                let why = "it is not empty and has no _fidelake folder; give a new or empty folder with --lake DIR".into();
                return Err(LakeError::NotALake { path, why });
            }
        }
        std::fs::create_dir_all(&own).map_err(|e| LakeError::io(&own, e))?;
        failpoint::pass("lake:folder_made");
        let guard = WriteGuard {
            _lock: WriteLock::take(&path, wait)?,
        };
        let mut catalog: Box<dyn Catalog> = Box::new(SqliteCatalog::open(&path, true)?);
        failpoint::pass("lake:catalog_made");
        if catalog.newest()?.is_none() {
            migrate::create_all(&path, catalog.as_mut())
                .await
                .inspect_err(|error| {
                    // A lake that never came to be leaves nothing behind on a full disk.
                    if made_here && matches!(error, LakeError::DiskFull { .. }) {
                        let _ = std::fs::remove_dir_all(&path);
                    }
                })?;
        }
        let mut lake = Self { path, catalog };
        let newest = lake.newest()?;
        lake.check_schema(&newest)?;
        if newest.schema_version < SCHEMA_VERSION {
            lake.refuse_unfinished(None)?;
            migrate::migrate(&mut lake, &newest).await?;
        }
        Ok((lake, guard))
    }

    /// Opens an existing lake for writing.
    ///
    /// # Errors
    /// As [`Self::open`], and if somebody else is writing.
    pub async fn open_for_writing(path: &Path, wait: Duration) -> LakeResult<(Self, WriteGuard)> {
        Self::open(path)?;
        Self::open_or_create(path, wait).await
    }

    /// Its folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All versions, oldest first.
    ///
    /// # Errors
    /// If the catalog cannot be read.
    pub fn versions(&self) -> LakeResult<Vec<LakeVersion>> {
        self.catalog.versions()
    }

    /// The newest version.
    ///
    /// # Errors
    /// If the catalog cannot be read.
    pub fn newest(&self) -> LakeResult<LakeVersion> {
        self.catalog.newest()?.ok_or_else(|| LakeError::NotALake {
            path: self.path.clone(),
            why: "its creation did not finish; the next `fidelake import` finishes it".into(),
        })
    }

    /// Writes that began and did not end.
    ///
    /// # Errors
    /// If the catalog cannot be read.
    pub fn intents(&self) -> LakeResult<Vec<Intent>> {
        self.catalog.intents()
    }

    fn check_schema(&self, newest: &LakeVersion) -> LakeResult<()> {
        if newest.schema_version > SCHEMA_VERSION {
            return Err(LakeError::NewerSchema {
                path: self.path.clone(),
                found: newest.schema_version,
                known: SCHEMA_VERSION,
            });
        }
        Ok(())
    }

    /// An error if there is an unfinished write other than `id`.
    fn refuse_unfinished(&self, id: Option<&str>) -> LakeResult<Option<Intent>> {
        let mut own = None;
        for intent in self.intents()? {
            if Some(intent.id.as_str()) == id {
                own = Some(intent);
            } else {
                return Err(LakeError::Unfinished {
                    operation: intent.operation,
                    id: intent.id,
                    command: intent.command,
                });
            }
        }
        Ok(own)
    }
}

/// The right to write; given back when dropped.
#[derive(Debug)]
pub struct WriteGuard {
    _lock: WriteLock,
}

fn absolute(path: &Path) -> LakeResult<PathBuf> {
    let path = std::path::absolute(path).map_err(|e| LakeError::io(path, e))?;
    // Delta names tables by URL; resolved links keep one lake under one name.
    Ok(path.canonicalize().unwrap_or(path))
}
