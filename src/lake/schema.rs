//! The tables, read from `schemas/`: the only place where a table is described.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use serde::Deserialize;

/// Version of all table schemas together. A lake of a newer one is refused, an
/// older one is migrated when it is opened for writing.
pub const SCHEMA_VERSION: i64 = 4;

macro_rules! tables {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../schemas/", $name, ".toml")))),*]
    };
}

/// Sources of all tables, in the order in which a write commits them.
const SOURCES: &[(&str, &str)] = tables![
    "catalogs",
    "messages",
    "calls",
    "observations",
    "verdicts",
    "runs",
    "trajectories",
    "rejected",
    "imports",
    "call_gaps",
    "profiles",
    "evidence",
    "learned_noise",
    "volatile_paths",
    "term_weights",
    "learned",
    "patterns",
    "pattern_members",
    "curations",
    "curation_rows",
    "ledger",
];

/// A table as `schemas/NAME.toml` describes it.
#[derive(Debug)]
pub struct TableSchema {
    /// Name of the table and of its folder.
    pub name: &'static str,
    /// What it holds.
    pub doc: String,
    /// Partition columns; empty for small tables.
    pub partition: Vec<String>,
    /// Columns that name a row.
    pub key: Vec<String>,
    /// Column by which files are sorted.
    pub sort: Option<String>,
    /// Columns in order.
    pub columns: Vec<Column>,
    arrow: SchemaRef,
}

/// A column as `schemas/NAME.toml` describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Type in the words of the schema files.
    #[serde(rename = "type")]
    pub data_type: String,
    /// Whether null can stand there.
    pub nullable: bool,
    /// Unit or inner format.
    #[serde(default)]
    pub unit: String,
    /// What it means.
    pub doc: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    doc: String,
    partition: Vec<String>,
    key: Vec<String>,
    sort: Option<String>,
    columns: Vec<Column>,
}

impl TableSchema {
    /// The Arrow schema, columns in the order of the file.
    #[must_use]
    pub fn arrow(&self) -> SchemaRef {
        Arc::clone(&self.arrow)
    }

    fn parse(name: &'static str, text: &str) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|e| format!("schemas/{name}.toml: {e}"))?;
        if file.name != name {
            return Err(format!("schemas/{name}.toml names the table {}", file.name));
        }
        let mut fields = Vec::with_capacity(file.columns.len());
        for column in &file.columns {
            let data_type = arrow_type(&column.data_type)
                .ok_or_else(|| format!("schemas/{name}.toml: unknown type {}", column.data_type))?;
            fields.push(Field::new(&column.name, data_type, column.nullable));
        }
        Ok(Self {
            name,
            doc: file.doc,
            partition: file.partition,
            key: file.key,
            sort: file.sort,
            columns: file.columns,
            arrow: Arc::new(Schema::new(fields)),
        })
    }
}

/// The types that every reader of Delta tables agrees on.
fn arrow_type(text: &str) -> Option<DataType> {
    let list = |item: DataType| DataType::List(Arc::new(Field::new("element", item, true)));
    Some(match text {
        "utf8" => DataType::Utf8,
        "int32" => DataType::Int32,
        "int64" => DataType::Int64,
        "float64" => DataType::Float64,
        "boolean" => DataType::Boolean,
        "timestamp" => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        _ => {
            if let Some(inner) = text.strip_prefix("list<").and_then(|t| t.strip_suffix('>')) {
                return Some(list(arrow_type(inner)?));
            }
            let inner = text.strip_prefix("struct<")?.strip_suffix('>')?;
            let fields: Option<Fields> = inner
                .split(',')
                .map(|part| {
                    let (name, kind) = part.split_once(':')?;
                    Some(Field::new(name, arrow_type(kind)?, true))
                })
                .collect();
            DataType::Struct(fields?)
        }
    })
}

type Parsed = Result<Vec<TableSchema>, String>;

static TABLES: LazyLock<Parsed> = LazyLock::new(|| {
    SOURCES
        .iter()
        .map(|(name, text)| TableSchema::parse(name, text))
        .collect()
});

static BY_NAME: LazyLock<HashMap<&'static str, usize>> = LazyLock::new(|| {
    SOURCES
        .iter()
        .enumerate()
        .map(|(at, (name, _))| (*name, at))
        .collect()
});

/// All tables, in the order in which a write commits them. The schema files are
/// part of the program; that they all parse is tested.
#[must_use]
pub fn tables() -> &'static [TableSchema] {
    TABLES.as_deref().unwrap_or_default()
}

/// One table by name.
#[must_use]
pub fn table(name: &str) -> Option<&'static TableSchema> {
    tables().get(*BY_NAME.get(name)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_file_parses_and_is_whole() {
        assert_eq!(TABLES.as_ref().map(Vec::len), Ok(SOURCES.len()));
        for table in tables() {
            let has = |name: &String| table.columns.iter().any(|c| &c.name == name);
            assert!(table.key.iter().all(has), "{}: key", table.name);
            assert!(table.partition.iter().all(has), "{}: partition", table.name);
            assert!(table.sort.iter().all(has), "{}: sort", table.name);
            assert!(
                table.columns.iter().all(|c| c.doc.len() > 3),
                "{}: docs",
                table.name
            );
        }
    }
}
