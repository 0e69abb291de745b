//! Probes: what is made, what is refused, and that the plan runs.

use std::path::Path;

use serde_json::{Value, json};

use super::mined;
use crate::support::{Place, assert_said, number, query};

fn python() -> String {
    std::env::var("FIDELAKE_TEST_PYTHON").unwrap_or_else(|_| "python3".into())
}

/// The store of tests/it/perturb, real with a limit on reads; 20 trajectories of a write between reads.
fn store(place: &Place) {
    let tasks: Vec<String> = (0..20)
        .map(|n| {
            let read = json!({"turn": 0, "name": "get_entry", "arguments": {"key": format!("entry{n}")}});
            let mut again = read.clone();
            again["turn"] = json!(2);
            let write = json!({"turn": 1, "name": "put_entry", "arguments": {"key": format!("entry{n}"), "value": n}});
            json!({"fidelake": 1, "trajectory_id": format!("store/{n}"), "environment": "store", "arm": "sim", "calls": [read, write, again]}).to_string()
        })
        .collect();
    place.write("tasks.jsonl", tasks.join("\n"));
    let world = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/perturb/world.py");
    let plan = |allow: &str| {
        format!(
            "version = 1\nname = \"first\"\n[trajectories]\nfile = \"tasks.jsonl\"\n\
             [environments.store]\nkind = \"process\"\ncommand = [{:?}, {world:?}]\n\
             [environments.real]\nkind = \"perturb\"\nof = \"store\"\n\
             perturb = [{{ name = \"transition_rate_limit\", intensity = 0.8, times = 0, tools = [\"get_entry\"] }}]\n\
             [sim]\nenvironment = \"store\"\nrepeats = 2\n\
             [real]\nenvironment = \"real\"\nrepeats = 2\nbudget = 1000\nreads = [\"get_entry\"]\n{allow}",
            python()
        )
    };
    place.write("plan.toml", plan("allow = [\"put_entry\"]\n"));
    let replay = plan("").replace("of = \"store\"", "of = \"other\"");
    let replay = replay.replace(
        "[environments.real]",
        "[environments.other]\nkind = \"mcp\"\ncommand = [\"no-such-server\"]\n[environments.real]",
    );
    place.write("careful.toml", replay);
    let ran = place.run(&["dual", "run", "plan.toml"]);
    assert!(matches!(ran.code, Some(0 | 3)), "{}", ran.stderr);
    place.done(&["profile"]);
}

fn pattern(place: &Place) -> String {
    let (report, _) = mined(place, &[]);
    let patterns = report["patterns"].as_array().unwrap();
    let found = patterns
        .iter()
        .find(|p| p["family"] == "error masking")
        .unwrap();
    found["pattern_id"].as_str().unwrap().to_owned()
}

#[test]
fn probes_are_shown_planned_and_run() {
    let place = Place::new();
    store(&place);
    let id = pattern(&place);
    let shown = place.done(&["probe", &id, "--budget", "40", "--format", "ndjson"]);
    let rows: Vec<Value> = shown
        .stdout
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let sorts: std::collections::BTreeSet<&str> =
        rows.iter().map(|r| r["probe"].as_str().unwrap()).collect();
    for sort in ["boundary", "undeclared", "again"] {
        assert!(sorts.contains(sort), "{sorts:?}");
    }
    // What costs as much and tells less comes later: only a larger budget reaches it.
    let all = place.done(&["probe", &id, "--budget", "2000", "--format", "ndjson"]);
    assert!(
        all.stdout.contains("\"probe\":\"observed\""),
        "{}",
        all.stdout
    );
    let cost: i64 = rows.iter().map(|r| r["real_calls"].as_i64().unwrap()).sum();
    assert!(cost <= 40, "{cost}");
    assert!(
        shown.stderr.contains("give a TEMPLATE.toml"),
        "{}",
        shown.stderr
    );
    assert!(!place.path(&format!("probe-{id}.toml")).exists());
    // With the template: the plan, within the budget, and the same bytes again.
    let planned = place.done(&[
        "probe",
        &id,
        "plan.toml",
        "--budget",
        "60",
        "--name",
        "closer",
    ]);
    assert!(
        planned
            .stderr
            .contains("next: fidelake dual run closer.toml"),
        "{}",
        planned.stderr
    );
    let plan = std::fs::read_to_string(place.path("closer.toml")).unwrap();
    let tasks = std::fs::read_to_string(place.path("closer.tasks.jsonl")).unwrap();
    assert!(plan.contains("budget = ") && plan.contains("closer.tasks.jsonl"));
    assert!(tasks.contains("read_back"), "{tasks}");
    place.done(&[
        "probe",
        &id,
        "plan.toml",
        "--budget",
        "60",
        "--name",
        "closer",
    ]);
    assert_eq!(
        std::fs::read_to_string(place.path("closer.tasks.jsonl")).unwrap(),
        tasks
    );
    let ran = place.run(&["dual", "run", "closer.toml"]);
    assert!(matches!(ran.code, Some(0 | 3)), "{}", ran.stderr);
    let made = number(
        &place.lake(),
        "SELECT count(DISTINCT trajectory_id) FROM runs WHERE arm = 'real' AND trajectory_id LIKE '%#closer/%'",
    );
    assert_eq!(made as usize, tasks.lines().count());
    let spent = number(
        &place.lake(),
        "SELECT count(*) FROM ledger WHERE plan_id = 'closer' AND arm = 'real'",
    );
    assert!(spent <= 60, "{spent}");
    // What real has answered by now is not asked again.
    place.done(&["profile"]);
    let again = place.run(&[
        "probe",
        &id,
        "plan.toml",
        "--budget",
        "60",
        "--name",
        "next",
    ]);
    assert!(
        again.stderr.contains("answered by real before"),
        "{}",
        again.stderr
    );
    let next = std::fs::read_to_string(place.path("next.tasks.jsonl")).unwrap();
    let calls = |text: &str| -> std::collections::BTreeSet<String> {
        text.lines()
            .map(|l| serde_json::from_str::<Value>(l).unwrap()["calls"].to_string())
            .collect()
    };
    assert!(calls(&next).is_disjoint(&calls(&tasks)));
    let labels = query(
        &place.lake(),
        "SELECT labels FROM runs WHERE trajectory_id LIKE '%#closer/%' LIMIT 1",
    );
    assert!(
        labels[0]["labels"]
            .as_str()
            .unwrap()
            .contains(&format!("\"probe_pattern\":\"{id}\"")),
        "{labels:?}"
    );
}

#[test]
fn what_is_not_permitted_is_refused_and_said() {
    let place = Place::new();
    store(&place);
    let id = pattern(&place);
    // An MCP server declares nothing that counts: only reads are permitted, and every second
    // read comes after a write.
    let ran = place.run(&[
        "probe",
        &id,
        "careful.toml",
        "--budget",
        "60",
        "--name",
        "careful-probe",
    ]);
    assert!(
        ran.stderr
            .contains("the template does not permit put_entry on real"),
        "{}",
        ran.stderr
    );
    let tasks = std::fs::read_to_string(place.path("careful-probe.tasks.jsonl")).unwrap();
    assert!(!tasks.contains("put_entry"), "{tasks}");
    // Nothing at all is permitted.
    let bare = std::fs::read_to_string(place.path("careful.toml")).unwrap();
    place.write("bare.toml", bare.replace("reads = [\"get_entry\"]\n", ""));
    let ran = place.run(&["probe", &id, "bare.toml", "--name", "bare-probe"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("no probe is left to make"),
        "{}",
        ran.stderr
    );
    assert!(!place.path("bare-probe.toml").exists());
    assert_said!(
        place,
        "probe_no_template",
        place.run(&["probe", &id, "nowhere.toml"])
    );
    assert_eq!(
        place
            .run(&["probe", &id, "plan.toml", "--name", "a/b"])
            .code,
        Some(2)
    );
}

#[test]
fn calls_that_look_alike_on_sim_are_asked_first() {
    let place = Place::new();
    store(&place);
    let id = pattern(&place);
    // Five more trajectories that real was never asked.
    let plan = std::fs::read_to_string(place.path("plan.toml")).unwrap();
    let tasks = std::fs::read_to_string(place.path("tasks.jsonl")).unwrap();
    let more: Vec<&str> = tasks.lines().take(5).collect();
    place.write(
        "more.jsonl",
        more.join("\n")
            .replace("store/", "more/")
            .replace("entry", "other")
            .replace("get_other", "get_entry")
            .replace("put_other", "put_entry"),
    );
    let sim = plan.split("[real]\nenv").next().unwrap();
    let sim = sim
        .replace("\"first\"", "\"more\"")
        .replace("tasks.jsonl", "more.jsonl");
    place.write("more.toml", sim);
    let ran = place.run(&["dual", "run", "more.toml"]);
    assert!(matches!(ran.code, Some(0 | 3)), "{}", ran.stderr);
    let shown = place.done(&["probe", &id, "plan.toml", "--format", "ndjson"]);
    let rows: Vec<Value> = shown
        .stdout
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(rows[0]["probe"], "alike", "{rows:#?}");
    let alike: Vec<&Value> = rows.iter().filter(|r| r["probe"] == "alike").collect();
    assert!(
        alike
            .iter()
            .all(|r| r["of"].as_str().unwrap().starts_with("more/")),
        "{alike:#?}"
    );
    assert!(alike.len() >= 5, "{alike:#?}");
    // Once real has answered them they are alike no more.
    let ran = place.run(&["dual", "run", &format!("probe-{id}.toml")]);
    assert!(matches!(ran.code, Some(0 | 3)), "{}", ran.stderr);
    place.done(&["profile"]);
    let next = place.run(&[
        "probe",
        &id,
        "plan.toml",
        "--name",
        "next",
        "--format",
        "ndjson",
    ]);
    for row in &alike {
        let again = |line: &str| {
            let line: Value = serde_json::from_str(line).unwrap();
            line["probe"] == "alike" && line["of"] == row["of"]
        };
        assert!(!next.stdout.lines().any(again), "{}", next.stdout);
    }
}
