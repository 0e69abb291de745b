//! One state of a lake, held still for a reader.

use std::collections::BTreeMap;

use deltalake::DeltaTable;

use super::catalog::LakeVersion;
use super::error::{LakeError, LakeResult};
use super::{Lake, delta};

/// Which state to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum At {
    /// The newest.
    #[default]
    Newest,
    /// A lake version.
    Version(i64),
    /// The newest one committed at or before this time (UTC, ISO 8601 with milliseconds).
    Time(String),
}

impl At {
    /// A time as people write it: a day (its end, UTC) or RFC 3339. `None` for anything else.
    #[must_use]
    pub fn parse_time(text: &str) -> Option<Self> {
        let day = chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d")
            .ok()
            .and_then(|day| day.and_hms_milli_opt(23, 59, 59, 999))
            .map(|time| time.and_utc());
        let time = chrono::DateTime::parse_from_rfc3339(text)
            .map(|t| t.to_utc())
            .ok()
            .or(day)?;
        Some(Self::Time(
            time.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
        ))
    }
}

/// A lake at one version: every table at exactly the Delta version that belongs to it.
#[derive(Debug)]
pub struct Pinned<'l> {
    lake: &'l Lake,
    version: LakeVersion,
}

impl Lake {
    /// Pins a state for reading.
    ///
    /// # Errors
    /// If there is no such version, or its files were vacuumed.
    pub fn pin(&self, at: &At) -> LakeResult<Pinned<'_>> {
        let newest = self.newest()?;
        let version = match at {
            At::Newest => newest,
            At::Version(number) => {
                let missing = LakeError::NoSuchVersion {
                    what: format!("there is no lake version {number}"),
                    newest: newest.version,
                };
                self.versions()?
                    .into_iter()
                    .find(|v| v.version == *number)
                    .ok_or(missing)?
            }
            At::Time(time) => {
                let missing = LakeError::NoSuchVersion {
                    what: format!("the lake did not exist at {time}"),
                    newest: newest.version,
                };
                self.versions()?
                    .into_iter()
                    .rfind(|v| v.time <= *time)
                    .ok_or(missing)?
            }
        };
        if !version.readable {
            return Err(LakeError::Vacuumed(version.version));
        }
        Ok(Pinned {
            lake: self,
            version,
        })
    }
}

impl Pinned<'_> {
    /// The lake version that is held.
    #[must_use]
    pub fn version(&self) -> &LakeVersion {
        &self.version
    }

    /// Loads a table; `None` if this version of the lake does not have it yet.
    ///
    /// # Errors
    /// If its files are missing or damaged.
    pub async fn table(&self, name: &str) -> LakeResult<Option<DeltaTable>> {
        match self.version.tables.get(name) {
            Some(&at) => delta::load(&self.lake.path, name, Some(at)).await.map(Some),
            None => Ok(None),
        }
    }

    /// Loads those of the tables that this version of the lake has.
    ///
    /// # Errors
    /// As [`Self::table`].
    pub async fn tables(&self, names: &[&str]) -> LakeResult<BTreeMap<String, DeltaTable>> {
        let known = names.iter().filter_map(|&name| {
            let at = self.version.tables.get(name)?;
            Some((name, Some(*at)))
        });
        let known: Vec<_> = known.collect();
        let loaded = delta::load_all(&self.lake.path, &known).await?;
        let names = known.iter().map(|(name, _)| (*name).to_owned());
        Ok(names.zip(loaded).collect())
    }

    /// What a table got since an earlier lake version: the table as it is `now`, and its new
    /// files, or nothing. The outer `None`: that cannot be told, because files of then were
    /// rewritten or the table is not in both.
    ///
    /// # Errors
    /// If its log is missing or damaged.
    pub async fn added_since(
        &self,
        name: &str,
        now: Option<&DeltaTable>,
        then: &LakeVersion,
    ) -> LakeResult<Option<Option<Added>>> {
        let Some((&was, now)) = then.tables.get(name).zip(now) else {
            return Ok(None);
        };
        if was == delta::version(now) {
            return Ok(Some(None));
        }
        let before = delta::load(&self.lake.path, name, Some(was)).await?;
        let before = delta::files(name, &before)?;
        let table = now.clone();
        let mut files = delta::files(name, &table)?;
        let all = files.len();
        files.retain(|file| !before.contains(file));
        if all != files.len() + before.len() {
            return Ok(None);
        }
        let files: Vec<String> = files.into_iter().collect();
        Ok(Some((!files.is_empty()).then_some(Added { table, files })))
    }
}

/// Files that a table got.
#[derive(Debug)]
pub struct Added {
    /// The table as it is now.
    pub table: DeltaTable,
    /// Never empty.
    pub files: Vec<String>,
}
