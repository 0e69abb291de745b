//! What a curation did to the data: the lines that are printed, and the page.

use serde_json::{Value, json};

use crate::support::{Place, assert_said};

/// A run of one call that is right or wrong, and differs or not on the other arm.
fn run(trajectory: &str, task: &str, arm: &str, api: &str, answer: &str, reward: f64) -> String {
    let line = json!({
        "fidelake": 1, "trajectory_id": trajectory, "environment": "e", "arm": arm, "task_id": task, "group_id": task,
        "calls": [{"turn": 0, "index": 0, "name": api, "arguments": {}, "result": {"content": answer}}],
        "verdicts": [{"judge": "j", "reward": reward, "success": reward >= 1.0}],
    });
    format!("{line}\n")
}

const HOSTILE: &str = "<script>alert(1)</script>";

/// Ten tasks of two runs. The runs of `good` agree with the real world, those of
/// the hostile name answer otherwise.
fn place() -> Place {
    let place = Place::new();
    let mut lines = String::new();
    for task in 0..10 {
        let name = format!("t{task}");
        for (trial, reward) in [(0, 1.0), (1, f64::from(task % 2))] {
            let id = format!("{name}/{trial}");
            let (api, real) = match trial {
                0 => ("good", "{\"a\": 1}"),
                _ => (HOSTILE, "{\"b\": 2}"),
            };
            lines += &run(&id, &name, "sim", api, "{\"a\": 1}", reward);
            lines += &run(&id, &name, "real", api, real, reward);
        }
    }
    place.write("runs.jsonl", lines);
    place.write("r.toml", "version = 1\n[groups]\nby = \"task_id\"\n");
    place.done(&["import", "runs.jsonl"]);
    place.done(&["profile"]);
    place
}

fn rows(place: &Place) -> Vec<Value> {
    let ran = place.done(&["report", "curation", "--format", "json"]);
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn the_numbers_are_those_of_the_rows() {
    let place = place();
    place.done(&["curate", "r.toml", "--out", "out", "--report", "page.html"]);
    let rows = rows(&place);
    let find = |part: &str, label: &str| {
        let found = rows
            .iter()
            .find(|r| r["part"] == part && r["label"] == label);
        let found = found.unwrap_or_else(|| panic!("{part}, {label}: {rows:#?}"));
        ["all", "right", "kept", "weighted"].map(|way| found[way].as_f64())
    };
    let [all, right, kept, _] = find("Runs", "runs");
    // Of each task one run is right, and of every second both.
    assert_eq!([all, right, kept], [Some(20.0), Some(15.0), Some(20.0)]);
    // Low fidelity: the runs that the hostile name stands in; five of the right ones.
    let [all, right, kept, weighted] = find("Fidelity by dimension", "low fidelity (f below .7)");
    assert_eq!([all, kept], [Some(0.5), Some(0.5)]);
    assert_eq!(right, Some(5.0 / 15.0));
    let sql = "SELECT sum(CASE WHEN r.trajectory_id LIKE '%/1' THEN fidelity_weight END) / sum(fidelity_weight) AS low \
               FROM curation_rows AS r";
    let asked = place.done(&["sql", sql, "--format", "json"]);
    let asked: Value = serde_json::from_str(&asked.stdout).unwrap();
    let low = asked[0]["low"].as_f64().unwrap();
    assert!((weighted.unwrap() - low).abs() < 1e-9 && low < 0.5, "{low}");
    // Shares add up, per way.
    for part in [
        "Fidelity",
        "Difficulty",
        "APIs",
        "Outcomes",
        "Lengths",
        "Environments",
    ] {
        for way in ["all", "right", "kept", "weighted"] {
            let shares = rows.iter().filter(|r| r["part"] == part);
            let sum: f64 = shares.filter_map(|r| r[way].as_f64()).sum();
            assert!((sum - 1.0).abs() < 1e-9, "{part}, {way}: {sum}");
        }
    }
    let [all, ..] = find("APIs", HOSTILE);
    assert_eq!(all, Some(0.5));
}

#[test]
fn the_page_stands_alone_and_shows_hostile_names_as_text() {
    let place = place();
    place.done(&["curate", "r.toml", "--out", "out", "--report", "page.html"]);
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
    assert!(page.contains("&lt;script&gt;alert(1)"), "the name is shown");
    for word in ["<script", "<link", "@import", "src=", "url("] {
        assert!(!page.contains(word), "{word}");
    }
    // The only addresses are names of XML vocabularies.
    for (at, _) in page.match_indices("http") {
        assert!(
            page[at..].starts_with("http://www.w3.org/2000/svg"),
            "{}",
            &page[at..at + 40]
        );
    }
    assert!(page.matches("<svg").count() >= 7);
    // Again: the same page.
    place.done(&["report", "curation", "--out", "again.html"]);
    assert_eq!(
        page,
        std::fs::read_to_string(place.path("again.html")).unwrap()
    );
}

#[test]
fn what_is_printed() {
    let place = place();
    assert_said!(
        place,
        "report_no_curation",
        place.run(&["report", "curation"])
    );
    place.done(&["curate", "r.toml", "--out", "out"]);
    assert_said!(place, "report_curation", place.run(&["report", "curation"]));
    assert_said!(
        place,
        "report_unknown_curation",
        place.run(&["report", "curation", "nope"])
    );
}
