//! Keeping a lake in order: undo an unfinished write, fewer files, no old files.

use std::collections::BTreeSet;
use std::num::NonZeroU64;

use chrono::Duration;
use deltalake::kernel::Transaction;
use deltalake::kernel::transaction::CommitProperties;
use deltalake::operations::vacuum::VacuumMode;

use super::catalog::{LakeVersion, now};
use super::error::{LakeError, LakeResult};
use super::schema::SCHEMA_VERSION;
use super::superseded::{GENERATIONS, Superseded};
use super::{Lake, delta, failpoint};

/// Files are merged up to this size.
const TARGET_FILE_BYTES: NonZeroU64 = NonZeroU64::new(256 << 20).unwrap();

/// What `compact` did to one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// The table.
    pub table: String,
    /// Files that were merged.
    pub files_before: u64,
    /// Files that they became.
    pub files_after: u64,
    /// Rows of replaced profiles that were removed.
    pub rows_removed: u64,
}

/// What `vacuum` did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vacuumed {
    /// Files removed (or to be removed, in a dry run).
    pub files: Vec<String>,
    /// Lake versions that can no longer be read.
    pub versions: Vec<i64>,
}

impl Lake {
    /// Undoes an unfinished write: every table goes back to the newest lake version.
    ///
    /// # Errors
    /// If there is no such write, or a table cannot be restored.
    pub async fn drop_intent(&mut self, id: &str) -> LakeResult<LakeVersion> {
        if !self.intents()?.iter().any(|intent| intent.id == id) {
            return Err(LakeError::NoSuchIntent(id.to_owned()));
        }
        let base = self.newest()?;
        let mut tables = base.tables.clone();
        for (name, at) in &base.tables {
            let table = delta::load(&self.path, name, None).await?;
            let table = if delta::version(&table) == *at {
                table
            } else {
                delta::restore(name, table, *at).await?
            };
            tables.insert(name.clone(), delta::version(&table));
            failpoint::pass(&format!("repair:restored:{name}"));
        }
        let version = LakeVersion {
            version: base.version + 1,
            operation: "repair".into(),
            id: format!("drop-{id}"),
            command: format!("repair --drop {id}"),
            tables,
            counts: serde_json::json!({}),
            time: now(),
            schema_version: SCHEMA_VERSION,
            readable: true,
        };
        self.catalog.drop_intent(id, &version)?;
        failpoint::pass("repair:dropped");
        Ok(version)
    }

    /// Looks at every table of the newest version. Faults are texts for people.
    ///
    /// # Errors
    /// If the catalog cannot be read.
    pub async fn check(&self) -> LakeResult<Vec<String>> {
        let newest = self.newest()?;
        let mut faults = Vec::new();
        for (name, at) in &newest.tables {
            match delta::load(&self.path, name, Some(*at)).await {
                Err(error) => faults.push(error.to_string()),
                Ok(table) => {
                    let files = table
                        .get_file_uris()
                        .map_err(|e| LakeError::delta(name, &e))?;
                    for file in files {
                        let path = file.strip_prefix("file://").unwrap_or(&file);
                        if !std::path::Path::new(path).is_file() {
                            faults.push(format!(
                                "table {name}: the file {path} is missing: put it back from a copy, or import the sources that `fidelake log` names into a new lake"
                            ));
                        }
                    }
                }
            }
        }
        Ok(faults)
    }

    /// Removes profiles that were computed again, if they are more than a twentieth,
    /// and merges small files, table by table. Every other row stays, and so does
    /// every older lake version until it is vacuumed.
    ///
    /// # Errors
    /// If another write is unfinished, or a table cannot be written.
    pub async fn compact(&mut self) -> LakeResult<(LakeVersion, Vec<Compacted>)> {
        let base = self.newest()?;
        let id = format!("compact-{}", base.version);
        let intent = match self.refuse_unfinished(Some(&id))? {
            Some(intent) => intent,
            None => self
                .catalog
                .begin("compact", &id, "compact", base.version)?,
        };
        failpoint::pass("compact:begun");
        let app = format!("compact/{id}/{}", intent.attempt);
        let mut tables = base.tables.clone();
        // Of the lake version, not of what an interrupted run left.
        let profiles = base.tables.get("profiles").copied();
        let profiles = delta::load(&self.path, "profiles", profiles).await?;
        let superseded = Superseded::find(&profiles).await?;
        let mut done = Vec::new();
        for name in base.tables.keys() {
            let table = delta::load(&self.path, name, None).await?;
            let commit = CommitProperties::default()
                .with_application_transaction(Transaction::new(&app, base.version));
            let (table, rows_removed) = if GENERATIONS.contains(&name.as_str()) {
                let removed = superseded.remove_from(name, table, &commit).await?;
                failpoint::pass(&format!("compact:removed:{name}"));
                removed
            } else {
                (table, 0)
            };
            let (table, metrics) = table
                .optimize()
                .with_target_size(TARGET_FILE_BYTES)
                .with_commit_properties(commit)
                .await
                .map_err(|e| LakeError::delta(name, &e))?;
            done.push(Compacted {
                table: name.clone(),
                files_before: metrics.num_files_removed,
                files_after: metrics.num_files_added,
                rows_removed,
            });
            tables.insert(name.clone(), delta::version(&table));
            failpoint::pass(&format!("compact:table:{name}"));
        }
        if tables == base.tables {
            self.catalog.forget(&id)?;
            return Ok((base, done));
        }
        let version = LakeVersion {
            version: base.version + 1,
            schema_version: SCHEMA_VERSION,
            operation: "compact".into(),
            id,
            command: "compact".into(),
            tables,
            counts: serde_json::json!({}),
            time: now(),
            readable: true,
        };
        self.catalog.commit(&version)?;
        failpoint::pass("compact:committed");
        Ok((version, done))
    }

    /// Removes files that no kept lake version needs. Kept are the newest, those
    /// committed in the last `keep` time, and those named in `pinned`.
    ///
    /// # Errors
    /// If a write is unfinished, or files cannot be removed.
    pub async fn vacuum(
        &mut self,
        keep: Duration,
        pinned: &BTreeSet<i64>,
        dry_run: bool,
    ) -> LakeResult<Vacuumed> {
        self.refuse_unfinished(None)?;
        let newest = self.newest()?;
        let oldest = (chrono::Utc::now() - keep)
            .format("%Y-%m-%dT%H:%M:%S%.3fZ")
            .to_string();
        let versions = self.versions()?;
        let kept = |v: &&LakeVersion| {
            v.version == newest.version || v.time >= oldest || pinned.contains(&v.version)
        };
        let kept: Vec<&LakeVersion> = versions
            .iter()
            .filter(|v| v.readable)
            .filter(kept)
            .collect();
        let mut result = Vacuumed {
            files: Vec::new(),
            versions: versions
                .iter()
                .filter(|v| v.readable && !kept.iter().any(|k| k.version == v.version))
                .map(|v| v.version)
                .collect(),
        };
        if !dry_run {
            // First the promise, then the deed: a version that loses files must not be offered.
            self.catalog.mark_unreadable(&result.versions)?;
            failpoint::pass("vacuum:marked");
        }
        for name in newest.tables.keys() {
            let table = delta::load(&self.path, name, None).await?;
            let mut keep: Vec<u64> = kept
                .iter()
                .filter_map(|v| v.tables.get(name))
                .filter_map(|at| u64::try_from(*at).ok())
                .collect();
            keep.sort_unstable();
            keep.dedup();
            let (_, metrics) = table
                .vacuum()
                .with_mode(VacuumMode::Full)
                .with_retention_period(Duration::zero())
                .with_enforce_retention_duration(false)
                .with_keep_versions(&keep)
                .with_dry_run(dry_run)
                .await
                .map_err(|e| LakeError::delta(name, &e))?;
            result.files.extend(
                metrics
                    .files_deleted
                    .into_iter()
                    .map(|file| format!("{name}/{file}")),
            );
            failpoint::pass(&format!("vacuum:table:{name}"));
        }
        Ok(result)
    }
}
