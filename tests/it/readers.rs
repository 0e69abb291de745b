//! Other readers of the tables see the rows that fidelake sees.

use std::path::{Path, PathBuf};
use std::process::Command;

use fidelake::lake::{At, Lake};

use crate::generate;
use crate::support::{Place, Ran, json_lines, query_at, sample, shared, skipped, tables, text};

/// A Python with DuckDB and deltalake, as `tools/python-env.sh` makes it.
pub(crate) fn python() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("FIDELAKE_TEST_PYTHON") {
        return Some(path.into());
    }
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?;
    let path = std::env::var_os("FIDELAKE_VENV")
        .map_or_else(|| cache.join("fidelake/venv"), PathBuf::from)
        .join("bin/python");
    if path.exists() {
        return Some(path);
    }
    skipped("needs the Python that tools/python-env.sh makes");
    None
}

/// Compares every table of a lake at one version, row by row without order.
fn compare(python: &Path, place: &Place, lake: &Path, at: &At) {
    let open = Lake::open(lake).unwrap();
    let versions = open.pin(at).unwrap().version().tables.clone();
    let mut arguments = Vec::new();
    for table in tables() {
        let batches = query_at(lake, at, &format!("SELECT * FROM {table}"));
        let mut lines = String::new();
        for line in json_lines(&batches) {
            lines.push_str(&line);
            lines.push('\n');
        }
        let file = place.write(&format!("rows/{table}.jsonl"), lines);
        arguments.push(format!("{table}:{}:{}", versions[table], file.display()));
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/readers.py");
    let ran = Ran::of(Command::new(python).arg(script).arg(lake).args(arguments));
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
    eprint!("{}", ran.stdout);
}

#[test]
fn duckdb_and_deltalake_see_the_same_rows() {
    let Some(python) = python() else {
        return;
    };
    let place = Place::new();
    place.write("made.jsonl", generate::file(0, 60, 7));
    place.import(&["made.jsonl", text(&sample("airline_gold.jsonl"))]);
    let chat = r#"{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"n\":12345678901234567890}"}}]},{"role":"tool","tool_call_id":"a","content":"NaN \ud83d\ude00 \ud800"}],"created":1700000000.5}"#;
    place.write("chat.jsonl", chat);
    place.import(&["chat.jsonl", "--environment", "a b/ü=1"]);
    compare(&python, &place, &place.lake(), &At::Newest);
    compare(&python, &place, &place.lake(), &At::Version(1));
    // The same after files were merged and old ones removed.
    place.done(&["compact"]);
    place.done(&["vacuum", "--keep-days", "0"]);
    compare(&python, &place, &place.lake(), &At::Newest);
}

#[test]
fn duckdb_and_deltalake_see_the_same_rows_of_real_files() {
    let (Some(python), Some(tau), Some(mirror), Some(wire)) = (
        python(),
        shared("tau"),
        shared("mirrorapi/pairs.jsonl.zst"),
        shared("samples/mcp-wire"),
    ) else {
        return;
    };
    let place = Place::new();
    place.import(&[text(&tau), text(&mirror), text(&wire)]);
    compare(&python, &place, &place.lake(), &At::Newest);
}
