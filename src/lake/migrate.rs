//! Making a lake, and bringing an older one to today's schemas.
//!
//! Schemas only grow: new tables, and new columns that may be null. So one
//! procedure serves every step: make what is missing.

use std::collections::BTreeMap;
use std::path::Path;

use deltalake::kernel::engine::arrow_conversion::TryIntoKernel as _;
use deltalake::kernel::{StructField, StructType};

use super::catalog::{Catalog, LakeVersion, now};
use super::error::{LakeError, LakeResult};
use super::failpoint;
use super::schema::{SCHEMA_VERSION, TableSchema, tables};
use super::{Lake, delta};

/// Makes all tables and the first lake version. Safe to run again.
pub(super) async fn create_all(lake: &Path, catalog: &mut dyn Catalog) -> LakeResult<()> {
    let mut versions = BTreeMap::new();
    for schema in tables() {
        let table = delta::create(lake, schema).await?;
        versions.insert(schema.name.to_owned(), delta::version(&table));
        failpoint::pass(&format!("lake:table_made:{}", schema.name));
    }
    catalog.commit(&LakeVersion {
        version: 0,
        schema_version: SCHEMA_VERSION,
        operation: "create".into(),
        id: "create".into(),
        command: "create".into(),
        tables: versions,
        counts: serde_json::json!({}),
        time: now(),
        readable: true,
    })?;
    failpoint::pass("lake:created");
    Ok(())
}

/// Adds the tables and columns that `from` does not have yet.
pub(super) async fn migrate(lake: &mut Lake, from: &LakeVersion) -> LakeResult<()> {
    let mut versions = from.tables.clone();
    for schema in tables() {
        let table = match from.tables.get(schema.name) {
            Some(&at) => {
                // What a write left behind beyond the lake version is not part of it.
                delta::load(&lake.path, schema.name, Some(at)).await?;
                delta::load(&lake.path, schema.name, None).await?
            }
            None => delta::create(&lake.path, schema).await?,
        };
        let missing = missing_columns(schema, &table)?;
        let table = if missing.is_empty() {
            table
        } else {
            let fail = |e| LakeError::delta(schema.name, &e);
            table
                .add_columns()
                .with_fields(missing)
                .await
                .map_err(fail)?
        };
        versions.insert(schema.name.to_owned(), delta::version(&table));
        failpoint::pass(&format!("migrate:{}", schema.name));
    }
    lake.catalog.commit(&LakeVersion {
        version: from.version + 1,
        schema_version: SCHEMA_VERSION,
        operation: "migrate".into(),
        id: format!("migrate-{}-{SCHEMA_VERSION}", from.schema_version),
        command: "migrate".into(),
        tables: versions,
        counts: serde_json::json!({"from": from.schema_version, "to": SCHEMA_VERSION}),
        time: now(),
        readable: true,
    })
}

fn missing_columns(
    schema: &TableSchema,
    table: &deltalake::DeltaTable,
) -> LakeResult<Vec<StructField>> {
    let wanted: StructType = schema.arrow().as_ref().try_into_kernel()?;
    let snapshot = table
        .snapshot()
        .map_err(|e| LakeError::delta(schema.name, &e))?;
    let there = snapshot.schema();
    let missing = wanted
        .fields()
        .filter(|field| there.field(field.name()).is_none());
    Ok(missing
        .map(|field| StructField::nullable(field.name(), field.data_type().clone()))
        .collect())
}
