//! What a curation does not do: depend on chance or on cores, wait for mistakes until the
//! work is done, leave the folder that it was given.

use serde_json::{Value, json};

use crate::support::Place;

/// A run of one call of an API, whose real answer differs by so much.
fn run(id: &str, arm: &str, api: &str, fields: usize, task: &str) -> String {
    let answer: serde_json::Map<String, Value> = (0..10)
        .map(|n| {
            let other = arm == "real" && n < fields;
            (format!("f{n}"), json!(if other { n + 100 } else { n }))
        })
        .collect();
    let line = json!({
        "fidelake": 1, "trajectory_id": id, "environment": "e", "arm": arm, "task_id": task, "group_id": task,
        "calls": [{"turn": 0, "index": 0, "name": api, "arguments": {}, "result": {"content": answer, "latency_ms": 1.0}}],
        "verdicts": [{"judge": "j", "reward": f64::from(u8::from(fields.is_multiple_of(2)))}],
    });
    format!("{line}\n")
}

/// Sixty measured trajectories of twelve APIs, and as many that ran on sim only.
fn place() -> Place {
    let place = Place::new();
    let mut lines = String::new();
    for n in 0..60 {
        let api = format!("api{}", n % 12);
        for arm in ["sim", "real"] {
            lines += &run(
                &format!("both/{n}"),
                arm,
                &api,
                n % 7,
                &format!("t{}", n % 20),
            );
        }
        lines += &run(
            &format!("only/{n}"),
            "sim",
            &api,
            n % 5,
            &format!("t{}", n % 20),
        );
    }
    place.write("runs.jsonl", lines);
    place.done(&["import", "runs.jsonl"]);
    place.done(&["profile"]);
    place.write("r.toml", "version = 1\n");
    place
}

#[test]
fn the_same_bytes_whatever_the_cores_do() {
    let place = place();
    let manifest = |out: &str| {
        place.done(&["curate", "r.toml", "--out", out]);
        std::fs::read_to_string(place.path(out).join("manifest.json")).unwrap()
    };
    let first = manifest("out0");
    let held: Value = serde_json::from_str(&first).unwrap();
    assert!(
        held["rows_by_profile_source"]["predicted"].as_u64() > Some(10),
        "{first}"
    );
    for n in 1..6 {
        assert_eq!(manifest(&format!("out{n}")), first);
    }
    place.done(&["curate", "--verify", "out3", "--again"]);
}

#[test]
fn recipes_that_depend_on_chance_are_refused() {
    let place = place();
    for (recipe, words) in [
        (
            "version = 1\n[source]\nwhere = \"random() < 0.5\"\n",
            "random() gives another value each time",
        ),
        (
            "version = 1\n[source]\nwhere = \"now() > started_at\"\n",
            "now() gives another value each time",
        ),
        (
            "version = 1\n[[quota]]\nby = \"random()\"\nmax_rows = 3\n",
            "random() gives another value each time",
        ),
        (
            "version = 1\n[difficulty]\njoint = true\nstrata = 1000000000\n",
            "r.toml:4:10: strata = 1000000000: write a whole number from 1 to 1000",
        ),
    ] {
        place.write("r.toml", recipe);
        let ran = place.run(&["curate", "r.toml", "--out", "out"]);
        assert_eq!(ran.code, Some(1), "{recipe}");
        assert!(
            ran.stderr.contains("r.toml:") && ran.stderr.contains(words),
            "{}",
            ran.stderr
        );
        assert!(!place.path("out").exists());
    }
}

#[test]
fn rules_that_find_nothing_are_named() {
    let place = place();
    place.write(
        "held.jsonl",
        "{\"id\": \"t1\"}\n{\"calls\": [{\"name\": \"api1\", \"arguments\": {}}]}\n",
    );
    let recipe = "version = 1\n[[holdout]]\nfile = \"held.jsonl\"\nenvironment = \"ee\"\n[[holdout]]\nfile = \"held.jsonl\"\n\
                  [[quota]]\nby = \"api\"\nmax_rows = 100\nvalues = { api99 = 1 }\n";
    place.write("r.toml", recipe);
    let said = place.done(&["curate", "r.toml", "--explain"]).stderr;
    for words in [
        "checks nothing: no run is of environment \"ee\"",
        "checks nothing for 1 of its 2 records",
        "[[quota]] api: no run has api99",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn places_are_looked_at_before_the_work() {
    let place = place();
    std::fs::create_dir(place.path("real")).unwrap();
    std::os::unix::fs::symlink("real", place.path("link")).unwrap();
    let cases: [(&[&str], i32, &str); 3] = [
        (&["--out", "link"], 1, "link is a symbolic link"),
        (
            &["--out", "out", "--report", "out/page.html"],
            2,
            "put the page beside it",
        ),
        (
            &["--out", "out", "--report", "nowhere/page.html"],
            2,
            "no file in a folder that is there",
        ),
    ];
    for (args, code, words) in cases {
        let ran = place.run(&[&["curate", "r.toml"], args].concat());
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
        assert!(!place.path("out").exists());
    }
    let names = |folder: &str| -> Vec<String> {
        let entries = std::fs::read_dir(place.path(folder)).unwrap();
        entries
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect()
    };
    assert!(names("real").is_empty());
    assert!(
        !names("").iter().any(|name| name.ends_with(".part")),
        "{:?}",
        names("")
    );
    // The working folder is replaced; lake and recipe are found all the same.
    std::fs::create_dir(place.path("here")).unwrap();
    let mut command = place.command(&["--lake", "../lake", "curate", "../r.toml", "--out", "."]);
    let ran = crate::support::Ran::of(command.current_dir(place.path("here")));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    place.done(&["curate", "--verify", "here"]);
}

#[test]
fn a_manifest_leads_nowhere_else() {
    let place = place();
    place.done(&["curate", "r.toml", "--out", "out"]);
    let path = place.path("out").join("manifest.json");
    let mut manifest: Value =
        serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    manifest["files"][0]["path"] = json!("../runs.jsonl\u{1b}[31m");
    std::fs::write(&path, manifest.to_string()).unwrap();
    let ran = place.run(&["curate", "--verify", "out"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(
        ran.stdout.contains("names a file outside the folder"),
        "{}",
        ran.stdout
    );
    assert!(
        !ran.stdout.contains('\u{1b}') && !ran.stdout.contains("bytes, the manifest says"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_folder_of_several_formats_names_its_shards() {
    let place = place();
    place.write("r.toml", "version = 1\n[split]\ntest = 0.3\n[output]\nformats = [\"mds\", \"parquet\", \"verl-rl\"]\n");
    place.done(&["curate", "r.toml", "--out", "it's $(all)"]);
    let card = std::fs::read_to_string(place.path("it's $(all)").join("README.md")).unwrap();
    for line in [
        "- config_name: parquet\n  default: true\n",
        "- config_name: verl-rl\n  data_files:\n",
        "path: parquet/data/train-*.parquet\n",
        "path: verl-rl/data/test-*.parquet\n",
    ] {
        assert!(card.contains(line), "{line}: {card}");
    }
    assert!(!card.contains("config_name: mds"));
    // What is to be typed next is one word to a shell, whatever the folder is called.
    place.write("r.toml", "version = 1\n");
    let ran = place.done(&["curate", "r.toml", "--out", "it's $(one)"]);
    let next = ran
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("next: python "))
        .unwrap();
    let shell = std::process::Command::new("sh")
        .args([
            "-c",
            &format!("printf %s {}", next.strip_prefix("-c ").unwrap()),
        ])
        .output()
        .unwrap();
    let word = String::from_utf8(shell.stdout).unwrap();
    assert_eq!(
        word,
        "import datasets; print(datasets.load_dataset(\"it's $(one)\"))"
    );
}
