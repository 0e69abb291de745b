//! What goes wrong gives one clear message, the right exit code, and loses nothing.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use fidelake::lake::{At, Lake};
use serde_json::json;

use crate::generate::{self, Chance};
use crate::support::{
    Counts, Place, Ran, assert_said, assert_same_rows, gzip, newest, number, query, skipped,
    zstd_long,
};

fn run(id: &str) -> String {
    json!({"fidelake": 1, "trajectory_id": id, "environment": "e", "arm": "sim"}).to_string()
}

/// The command fails and makes no lake.
fn refused(place: &Place, args: &[&str]) -> Ran {
    let ran = place.run(args);
    assert_eq!(ran.code, Some(1), "{args:?}: {}", ran.stderr);
    assert_eq!(ran.stdout, "", "{args:?}");
    assert!(!place.lake().exists(), "{args:?}");
    ran
}

#[test]
fn a_folder_that_is_no_lake() {
    let place = Place::new();
    assert_said!(place, "no_lake_missing", place.run(&["log"]));
    place.write("lake/mine.txt", "important");
    place.write("a.jsonl", run("t"));
    assert_said!(place, "no_lake_log", place.run(&["log"]));
    assert_said!(place, "no_lake_import", place.run(&["import", "a.jsonl"]));
    assert_eq!(
        std::fs::read(place.path("lake/mine.txt")).unwrap(),
        b"important"
    );
    for command in ["repair", "compact", "vacuum"] {
        assert_eq!(place.run(&[command]).code, Some(1), "{command}");
    }
    let names: Vec<_> = std::fs::read_dir(place.lake()).unwrap().collect();
    assert_eq!(names.len(), 1);
    // A file where the folder should be, and a folder that cannot be made.
    let file = place.run(&["import", "a.jsonl", "--lake", "a.jsonl"]);
    assert_said!(place, "no_lake_file", file);
    let below = place.run(&["import", "a.jsonl", "--lake", "a.jsonl/lake"]);
    assert_said!(place, "no_lake_below_file", below);
    place.write(
        "half/_fidelake/catalog.sqlite",
        "this is no database, just text",
    );
    assert_said!(
        place,
        "no_lake_damaged_catalog",
        place.run(&["log", "--lake", "half"])
    );
}

#[test]
fn files_that_cannot_be_imported() {
    let place = Place::new();
    let text = generate::file(0, 200, 5);
    let (gz, zst) = (gzip(text.as_bytes()), zstd_long(text.as_bytes(), 27));
    place.write("empty.jsonl", "");
    place.write("blank.jsonl", " \n\n  ");
    place.write("empty.jsonl.gz", gzip(b""));
    place.write("cut.jsonl.gz", &gz[..gz.len() / 2]);
    place.write("cut.jsonl.zst", &zst[..zst.len() / 2]);
    place.write("damaged.jsonl.gz", {
        let mut bytes = gz.clone();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x55;
        bytes
    });
    place.write("words.txt", "just words\n");
    place.write("table.csv", "a,b\n1,2\n");
    place.write("data.parquet", b"PAR1\0\0\0\0PAR1");
    place.write("archive.zip", b"PK\x03\x04rest");
    let utf16: Vec<u8> = "\u{feff}{\"fidelake\": 1}"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    place.write("utf16.jsonl", utf16);
    place.write("other.json", "{\"what\": 1, \"is\": 2, \"this\": 3}");
    place.write("array.json", "[1, 2, 3]");
    place.write("broken.json", "{\"what\" 1}");
    std::fs::create_dir(place.path("nothing")).unwrap();
    place.write("useless/words.txt", "just words\n");
    let mut said = String::new();
    for args in [
        &["missing.jsonl"][..],
        &["missing/*.jsonl"],
        &["nothing"],
        &["useless"],
        &["useless/*.txt"],
        &["[.jsonl"],
        &["empty.jsonl"],
        &["blank.jsonl"],
        &["empty.jsonl.gz"],
        &["cut.jsonl.gz"],
        &["cut.jsonl.zst"],
        &["damaged.jsonl.gz"],
        &["words.txt"],
        &["table.csv"],
        &["data.parquet"],
        &["archive.zip"],
        &["utf16.jsonl"],
        &["other.json"],
        &["array.json"],
        &["broken.json"],
        &["array.json", "--from", "native"],
        &["array.json", "--from", "tau2"],
        // One bad name stops all: nothing is half done.
        &["words.txt", "missing.jsonl", "empty.jsonl"],
    ] {
        let mut all = vec!["import"];
        all.extend(args);
        let ran = refused(&place, &all);
        said.push_str(&format!(
            "$ fidelake import {}\n{}",
            args.join(" "),
            ran.stderr
        ));
    }
    let all = Ran {
        code: Some(1),
        stdout: said,
        stderr: String::new(),
    };
    assert_said!(place, "files_refused", all);
}

#[test]
fn wrong_use() {
    let place = Place::new();
    place.write("a.jsonl", run("t"));
    let long = "x".repeat(129);
    let mut said = String::new();
    for args in [
        &["import"][..],
        &["import", "a.jsonl", "--environment", ""],
        &["import", "a.jsonl", "--environment", " "],
        &["import", "a.jsonl", "--environment", "a\nb"],
        &["import", "a.jsonl", "--environment", "u\u{308}"],
        &["import", "a.jsonl", "--environment", &long],
        &["import", "a.jsonl", "--arm", "both"],
        &["import", "a.jsonl", "--from", "csv"],
        &["schema", "nonsense"],
        &["nonsense"],
    ] {
        let ran = place.run(args);
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{args:?}");
        assert!(!place.lake().exists(), "{args:?}");
        said.push_str(&format!(
            "$ fidelake {}\n{}\n",
            args.join(" ").replace('\n', "\\n"),
            ran.stderr
        ));
    }
    let all = Ran {
        code: Some(2),
        stdout: said,
        stderr: String::new(),
    };
    assert_said!(place, "wrong_use", all);
}

#[test]
fn a_table_deleted_by_hand() {
    let place = Place::new();
    place.write("a.jsonl", generate::file(0, 10, 6));
    place.write("b.jsonl", generate::file(10, 10, 6));
    place.import(&["a.jsonl"]);
    std::fs::rename(place.path("lake/calls"), place.path("aside")).unwrap();
    assert_said!(
        place,
        "table_gone_import",
        place.run(&["import", "b.jsonl"])
    );
    assert_said!(place, "table_gone_repair", place.run(&["repair"]));
    assert_eq!(newest(&place.lake()), 1);
    std::fs::rename(place.path("aside"), place.path("lake/calls")).unwrap();
    // Put back, the same command goes on.
    place.import(&["b.jsonl"]);
    let wanted = Place::new();
    wanted.write("a.jsonl", generate::file(0, 10, 6));
    wanted.write("b.jsonl", generate::file(10, 10, 6));
    wanted.import(&["a.jsonl"]);
    wanted.import(&["b.jsonl"]);
    assert_same_rows(
        &place.lake(),
        &wanted.lake(),
        &[],
        "after a table was put back",
    );
    // A file of a table.
    let file = parquet_file(&place.path("lake/calls")).unwrap();
    std::fs::remove_file(&file).unwrap();
    let ran = place.run(&["repair"]);
    assert_eq!(ran.code, Some(1));
    let name = file.file_name().unwrap().to_str().unwrap();
    assert!(ran.stdout.contains(name), "{}", ran.stdout);
}

fn parquet_file(folder: &Path) -> Option<std::path::PathBuf> {
    std::fs::read_dir(folder).ok()?.find_map(|entry| {
        let path = entry.ok()?.path();
        match path.extension() {
            Some(extension) if extension == "parquet" => Some(path),
            _ if path.is_dir() && !path.ends_with("_delta_log") => parquet_file(&path),
            _ => None,
        }
    })
}

#[test]
fn two_writers_at_once() {
    let place = Place::new();
    place.write("a.jsonl", run("a"));
    place.write("b.jsonl", run("b"));
    place.import(&["a.jsonl"]);
    let lock = std::fs::File::options()
        .read(true)
        .write(true)
        .open(place.path("lake/_fidelake/lock"))
        .unwrap();
    lock.try_lock().unwrap();
    assert_said!(place, "locked", place.run(&["import", "b.jsonl"]));
    for command in [&["compact"][..], &["vacuum"], &["repair", "--drop", "x"]] {
        let ran = place.run(command);
        assert_eq!(ran.code, Some(1), "{command:?}");
        assert!(ran.stderr.contains("is being written by"), "{}", ran.stderr);
    }
    // Readers are not kept waiting.
    place.done(&["log"]);
    assert_eq!(number(&place.lake(), "SELECT count(*) FROM runs"), 1);
    // A writer that waits gets its turn.
    let release = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(1));
        lock.unlock().unwrap();
    });
    let counts = Counts::parse(
        &place
            .done(&["import", "b.jsonl", "--wait", "60", "--format", "json"])
            .stdout,
    );
    release.join().unwrap();
    assert_eq!(counts.imported, 1);
}

#[test]
fn the_holder_of_the_lock_is_named() {
    let place = Place::new();
    place.write("a.jsonl", run("a"));
    place.import(&["a.jsonl"]);
    // A pipe whose writer is slow keeps nobody: sources are read before the lock is taken.
    let text = generate::file(0, 3000, 11);
    place.write("long.jsonl", text);
    let mut child = place
        .command(&["import", "long.jsonl", "--wait", "60", "--quiet"])
        .spawn()
        .unwrap();
    let mut named = false;
    while child.try_wait().unwrap().is_none() {
        let ran = place.run(&["compact"]);
        if ran.code == Some(1) && ran.stderr.contains("`fidelake import long.jsonl ") {
            named = true;
            break;
        }
    }
    assert!(child.wait().unwrap().success());
    assert!(named, "the import ended before it was seen");
    assert_eq!(number(&place.lake(), "SELECT count(*) FROM runs"), 6001);
}

#[test]
fn a_lake_of_a_newer_schema_is_refused() {
    let place = Place::new();
    place.write("a.jsonl", run("a"));
    place.import(&["a.jsonl"]);
    let db = rusqlite::Connection::open(place.path("lake/_fidelake/catalog.sqlite")).unwrap();
    let sql = "UPDATE lake_versions SET schema_version = 99 WHERE version = 1";
    db.execute(sql, []).unwrap();
    drop(db);
    assert_said!(place, "newer_schema", place.run(&["import", "a.jsonl"]));
    for command in ["log", "repair", "compact", "vacuum"] {
        let ran = place.run(&[command]);
        assert_eq!(ran.code, Some(1), "{command}");
        assert!(ran.stderr.contains("schema version 99"), "{}", ran.stderr);
    }
}

#[test]
fn a_state_that_does_not_exist() {
    let place = Place::new();
    place.write("a.jsonl", run("a"));
    place.import(&["a.jsonl"]);
    let mut said = String::new();
    for (option, value, code) in [
        ("--version", "7", 1),
        ("--version", "-1", 1),
        ("--version", "new", 2),
        ("--at", "1999-12-31", 1),
        ("--at", "1999-12-31T12:00:00+02:00", 1),
        ("--at", "yesterday", 2),
        ("--at", "1999-12-31T12:00:00", 2),
    ] {
        let option = format!("{option}={value}");
        let ran = place.run(&["sql", &option, "SELECT count(*) FROM runs"]);
        assert_eq!(ran.code, Some(code), "{option}: {}", ran.stderr);
        said.push_str(&format!("$ fidelake sql {option} ...\n{}\n", ran.stderr));
    }
    let all = Ran {
        code: None,
        stdout: String::new(),
        stderr: said,
    };
    assert_said!(place, "no_such_state", all);
    for (option, runs) in [
        ("--version=0", 0),
        ("--version=1", 1),
        ("--at=2999-12-31", 1),
    ] {
        let sql = "SELECT count(*) AS n FROM runs";
        let ran = place.done(&["sql", option, sql, "--format", "ndjson"]);
        assert_eq!(ran.stdout, format!("{{\"n\":{runs}}}\n"), "{option}");
    }
    let lake = Lake::open(&place.lake()).unwrap();
    for (at, words) in [
        (
            At::Version(7),
            "there is no lake version 7: the newest lake version is 1; `fidelake log` lists them",
        ),
        (
            At::Version(-1),
            "there is no lake version -1: the newest lake version is 1; `fidelake log` lists them",
        ),
        (
            At::Time("1999-01-01T00:00:00.000Z".into()),
            "the lake did not exist at 1999-01-01T00:00:00.000Z: the newest lake version is 1; `fidelake log` lists them",
        ),
    ] {
        assert_eq!(lake.pin(&at).unwrap_err().to_string(), words);
    }
}

/// A small file system that is gone with the test.
struct SmallDisk<'p>(&'p Place);

impl<'p> SmallDisk<'p> {
    fn mount(place: &'p Place) -> Option<Self> {
        std::fs::create_dir(place.path("disk")).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=32m", "fidelake-test"])
            .arg(place.path("disk"))
            .output()
            .is_ok_and(|output| output.status.success());
        if !mounted {
            skipped("needs to mount a tmpfs, which root may");
            return None;
        }
        Some(Self(place))
    }

    fn resize(&self, size: &str) {
        let options = format!("remount,size={size}");
        let status = Command::new("mount")
            .args(["-o", &options])
            .arg(self.0.path("disk"))
            .status();
        assert!(status.unwrap().success());
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount")
            .arg("-l")
            .arg(self.0.path("disk"))
            .status();
    }
}

/// Runs whose answers cannot be compressed.
fn incompressible(bytes: usize) -> String {
    let mut chance = Chance::new(9);
    let mut text = String::with_capacity(bytes + (1 << 20));
    let mut id = 0;
    while text.len() < bytes {
        let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let mut content = String::with_capacity(1 << 16);
        for _ in 0..(1 << 16) / 10 {
            let bits = chance.next();
            for part in 0..10 {
                content.push(char::from(letters[(bits >> (6 * part)) as usize & 63]));
            }
            content.push(' ');
        }
        text.push_str(&format!(
            "{{\"fidelake\":1,\"trajectory_id\":\"big{id}\",\"environment\":\"e\",\"arm\":\"sim\",\"calls\":[{{\"name\":\"f\",\"arguments\":{{}},\"result\":{{\"content\":\"{content}\"}}}}]}}\n"
        ));
        id += 1;
    }
    text
}

#[test]
fn a_full_disk() {
    let place = Place::new();
    let Some(disk) = SmallDisk::mount(&place) else {
        return;
    };
    place.write("small.jsonl", generate::file(0, 10, 8));
    place.write("big.jsonl", incompressible(60 << 20));
    let lake = ["--lake", "disk/lake"];
    place.import(&["small.jsonl", lake[0], lake[1]]);
    let full = place.run(&["import", "big.jsonl", lake[0], lake[1]]);
    assert_said!(place, "disk_full", full);
    let path = place.path("disk/lake");
    assert_eq!(newest(&path), 1);
    assert_eq!(number(&path, "SELECT count(*) FROM runs"), 20);
    // With room, the same command ends, and nothing stands twice.
    disk.resize("256m");
    let counts = place.import(&["big.jsonl", lake[0], lake[1]]);
    let wanted = Place::new();
    wanted.write("small.jsonl", generate::file(0, 10, 8));
    wanted.write("big.jsonl", incompressible(60 << 20));
    wanted.import(&["small.jsonl"]);
    assert_eq!(wanted.import(&["big.jsonl"]), counts);
    assert_same_rows(&path, &wanted.lake(), &[], "after a full disk");
}

#[test]
fn a_disk_without_room_for_a_lake() {
    let place = Place::new();
    let Some(disk) = SmallDisk::mount(&place) else {
        return;
    };
    place.write("a.jsonl", run("a"));
    place.write("disk/filler", vec![0u8; (32 << 20) - (24 << 10)]);
    let full = place.run(&["import", "a.jsonl", "--lake", "disk/lake"]);
    assert_said!(place, "disk_full_at_once", full);
    disk.resize("64m");
    assert_eq!(
        place.import(&["a.jsonl", "--lake", "disk/lake"]).imported,
        1
    );
    let rows = query(&place.path("disk/lake"), "SELECT trajectory_id FROM runs");
    assert_eq!(rows, [json!({"trajectory_id": "a"})]);
}
