//! One Delta table: create, load at a version, append once, restore.

use std::collections::BTreeSet;
use std::path::Path;

use arrow::record_batch::RecordBatch;
use deltalake::kernel::engine::arrow_conversion::TryIntoKernel as _;
use deltalake::kernel::transaction::CommitProperties;
use deltalake::kernel::{StructType, Transaction};
use deltalake::parquet::basic::{Compression, ZstdLevel};
use deltalake::parquet::file::properties::WriterProperties;
use deltalake::parquet::schema::types::ColumnPath;
use deltalake::protocol::SaveMode;
use deltalake::{DeltaTable, DeltaTableBuilder};
use url::Url;

use super::error::{LakeError, LakeResult};
use super::schema::TableSchema;

/// Columns that hold payloads: every value is different, so a dictionary only costs.
const PAYLOADS: &[&str] = &[
    "content",
    "structured",
    "structured_raw",
    "arguments",
    "arguments_raw",
    "state",
    "extra",
    "text",
    "tool",
    "parameters",
    "task",
    "gold",
];

fn folder_url(lake: &Path, table: &str) -> LakeResult<Url> {
    let folder = lake.join(table);
    Url::from_directory_path(&folder).map_err(|()| LakeError::NotALake {
        path: folder,
        why: "its path is not absolute".into(),
    })
}

/// Makes the table, or leaves it as it is.
pub(super) async fn create(lake: &Path, schema: &TableSchema) -> LakeResult<DeltaTable> {
    let fail = |e| LakeError::delta(schema.name, &e);
    let folder = lake.join(schema.name);
    std::fs::create_dir_all(&folder).map_err(|e| LakeError::io(&folder, e))?;
    let columns: StructType = schema.arrow().as_ref().try_into_kernel()?;
    let statistics = statistics_columns(schema);
    DeltaTable::try_from_url(folder_url(lake, schema.name)?)
        .await
        .map_err(fail)?
        .create()
        .with_columns(columns.fields().cloned())
        .with_partition_columns(schema.partition.iter())
        .with_table_name(schema.name)
        .with_comment(&schema.doc)
        .with_configuration([
            // Old logs are the lake's past: nobody but `fidelake vacuum` may remove them.
            ("delta.enableExpiredLogCleanup", Some("false")),
            ("delta.checkpointInterval", Some("50")),
            ("delta.dataSkippingStatsColumns", Some(statistics.as_str())),
        ])
        .with_save_mode(SaveMode::Ignore)
        .await
        .map_err(fail)
}

/// Statistics of payloads would put whole answers into the log.
fn statistics_columns(schema: &TableSchema) -> String {
    let mut columns: Vec<&str> = schema.sort.iter().map(String::as_str).collect();
    for key in &schema.key {
        if !schema.partition.contains(key) && !columns.contains(&key.as_str()) {
            columns.push(key);
        }
    }
    columns.join(",")
}

/// Loads the table at one Delta version, or the newest.
pub(super) async fn load(lake: &Path, table: &str, version: Option<i64>) -> LakeResult<DeltaTable> {
    let broken = |why: String| LakeError::Table {
        path: lake.to_owned(),
        table: table.to_owned(),
        why,
    };
    let folder = lake.join(table);
    if !folder.join("_delta_log").is_dir() {
        return Err(broken(format!(
            "its folder {} is gone or empty. Put it back from a copy; if there is none, import the sources that `fidelake log` names into a new lake",
            folder.display()
        )));
    }
    let mut builder = DeltaTableBuilder::from_url(folder_url(lake, table)?)
        .map_err(|e| LakeError::delta(table, &e))?;
    if let Some(version) = version {
        let version = u64::try_from(version).map_err(|_| broken(format!("version {version}")))?;
        builder = builder.with_version(version);
    }
    builder.load().await.map_err(|e| match LakeError::delta(table, &e) {
        LakeError::Delta { message, .. } => broken(format!(
            "{message}. Files of it may be missing or damaged: put its folder back from a copy, or import the sources that `fidelake log` names into a new lake"
        )),
        other => other,
    })
}

/// Loads several tables. Each is a handful of small files read one after the other, so they
/// are read side by side.
pub(super) async fn load_all(
    lake: &Path,
    wanted: &[(&str, Option<i64>)],
) -> LakeResult<Vec<DeltaTable>> {
    let loading: Vec<_> = wanted
        .iter()
        .map(|&(table, version)| {
            let (lake, name) = (lake.to_owned(), table.to_owned());
            let load = async move { load(&lake, &name, version).await };
            (table, tokio::spawn(load))
        })
        .collect();
    let mut tables = Vec::with_capacity(wanted.len());
    for (table, task) in loading {
        let loaded = task.await.map_err(|e| LakeError::Delta {
            table: table.to_owned(),
            message: e.to_string(),
        });
        // The others are waited for also if one fails: the library's threads panic if the
        // program ends under them.
        tables.push(loaded.and_then(|loaded| loaded));
    }
    tables.into_iter().collect()
}

/// The Delta version of a loaded table.
pub(super) fn version(table: &DeltaTable) -> i64 {
    table
        .version()
        .and_then(|v| i64::try_from(v).ok())
        .unwrap_or(-1)
}

/// The data files of a loaded table.
pub(super) fn files(name: &str, table: &DeltaTable) -> LakeResult<BTreeSet<String>> {
    let snapshot = table.snapshot().map_err(|e| LakeError::delta(name, &e))?;
    let files = snapshot.log_data().into_iter();
    Ok(files.map(|file| file.path().into_owned()).collect())
}

/// The last chunk of this application id that the table contains.
pub(super) async fn watermark(
    name: &str,
    table: &DeltaTable,
    app: &str,
) -> LakeResult<Option<i64>> {
    let fail = |e| LakeError::delta(name, &e);
    let snapshot = table.snapshot().map_err(fail)?;
    snapshot
        .transaction_version(&table.log_store(), app)
        .await
        .map_err(fail)
}

fn writer_properties() -> WriterProperties {
    let level = ZstdLevel::try_new(1).unwrap_or_default();
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_max_row_group_row_count(Some(256 * 1024))
        // Files are sorted by trajectory: with small pages a range of trajectories
        // unpacks its own part of a file and little else.
        .set_data_page_row_count_limit(1024);
    for column in PAYLOADS {
        properties = properties.set_column_dictionary_enabled(ColumnPath::from(*column), false);
    }
    properties.build()
}

/// Appends in one commit that says: everything up to `chunk` is in now.
pub(super) async fn append(
    name: &str,
    table: DeltaTable,
    batches: Vec<RecordBatch>,
    app: &str,
    chunk: i64,
) -> LakeResult<DeltaTable> {
    let commit =
        CommitProperties::default().with_application_transaction(Transaction::new(app, chunk));
    table
        .write(batches)
        .with_commit_properties(commit)
        .with_writer_properties(writer_properties())
        .await
        .map_err(|e| LakeError::delta(name, &e))
}

/// Puts the table back to what it held at `version`; a new Delta version says so.
pub(super) async fn restore(name: &str, table: DeltaTable, version: i64) -> LakeResult<DeltaTable> {
    let to = u64::try_from(version).unwrap_or_default();
    let (table, _) = table
        .restore()
        .with_version_to_restore(to)
        .await
        .map_err(|e| LakeError::delta(name, &e))?;
    Ok(table)
}
