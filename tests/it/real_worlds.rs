//! Dual runs against real servers from npm and PyPI: tools/servers.sh installs them.

mod airline;
mod same_world;

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Place, skipped};

/// The folder of the servers, or a skip that is heard.
fn servers() -> Option<PathBuf> {
    let folder = std::env::var_os("FIDELAKE_TEST_SERVERS").map(PathBuf::from);
    if folder.is_none() {
        skipped("needs FIDELAKE_TEST_SERVERS=$(tools/servers.sh)");
    }
    folder
}

/// A folder of the project.
fn project(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Rows of a query over the tables and views of a lake.
fn rows(place: &Place, sql: &str) -> Vec<Value> {
    let ran = place.done(&["sql", sql, "--format", "ndjson"]);
    let rows = ran.stdout.lines().map(serde_json::from_str);
    rows.collect::<Result<_, _>>().unwrap()
}
