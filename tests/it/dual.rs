//! Dual runs against a small world that writes down every call it sees.

mod budget;
mod kills;
mod limits;
mod plans;
mod probes;
mod replays;

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Place, Ran, number, query};

/// A folder with a plan, trajectories, and what the worlds saw.
pub(crate) struct Bench {
    pub(crate) place: Place,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self {
            place: Place::new(),
        }
    }

    /// Writes the trajectories: (id, calls as (tool, arguments)).
    pub(crate) fn trajectories(&self, list: &[(&str, Vec<(&str, Value)>)]) {
        let mut text = String::new();
        for (id, calls) in list {
            let calls: Vec<Value> = calls
                .iter()
                .enumerate()
                .map(|(turn, (name, arguments))| json!({"turn": turn, "name": name, "arguments": arguments}))
                .collect();
            let run = json!({"fidelake": 1, "trajectory_id": id, "environment": "world", "arm": "sim", "calls": calls});
            writeln!(text, "{run}").unwrap();
        }
        self.place.write("tasks.jsonl", text);
    }

    /// Writes a plan; `sim` and `real` are further lines of these tables.
    pub(crate) fn plan(&self, head: &str, sim: &str, real: &str, tail: &str) {
        let world = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/dual/world.py");
        let python = std::env::var("FIDELAKE_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
        let environment = |arm: &str| {
            format!(
                "[environments.{arm}]\nkind = \"process\"\ncommand = [{python:?}, {world:?}]\n\
                 env = {{ SEEN = {:?}, DOWN = {:?}, SALT = {arm:?} }}\n",
                self.place.path(&format!("seen-{arm}")),
                self.place.path(&format!("down-{arm}")),
            )
        };
        let arm = |name: &str, lines: &str| match lines {
            "none" => String::new(),
            lines => format!("[{name}]\nenvironment = \"{name}\"\n{lines}\n"),
        };
        let text = format!(
            "version = 1\nname = \"trial\"\n{head}\n[trajectories]\nfile = \"tasks.jsonl\"\n{}{}{}{}{tail}\n",
            environment("sim"),
            environment("real"),
            arm("sim", sim),
            arm("real", real),
        );
        self.place.write("plan.toml", text);
    }

    /// The calls that a world saw, as (time, tool, arguments).
    pub(crate) fn seen(&self, arm: &str) -> Vec<(f64, String, Value)> {
        let text =
            std::fs::read_to_string(self.place.path(&format!("seen-{arm}"))).unwrap_or_default();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Runs a command; how far it was after a while is not a matter of what it says.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        let mut ran = self.place.run(args);
        let lines = ran
            .stderr
            .lines()
            .filter(|line| !line.contains(" done after "));
        ran.stderr = lines.map(|line| format!("{line}\n")).collect();
        ran
    }

    pub(crate) fn number(&self, sql: &str) -> i64 {
        number(&self.place.lake(), sql)
    }

    pub(crate) fn query(&self, sql: &str) -> Vec<Value> {
        query(&self.place.lake(), sql)
    }

    /// The status rows, by arm.
    pub(crate) fn status(&self) -> std::collections::HashMap<String, Value> {
        let ran = self
            .place
            .done(&["dual", "status", "trial", "--format", "ndjson"]);
        ran.stdout
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .map(|row| {
                (
                    format!(
                        "{}/{}",
                        row["plan_id"].as_str().unwrap(),
                        row["arm"].as_str().unwrap()
                    ),
                    row,
                )
            })
            .collect()
    }

    /// Nothing of a plan is left in the journal but small rows.
    pub(crate) fn assert_no_payload(&self) {
        let db =
            rusqlite::Connection::open(self.place.lake().join("_fidelake/catalog.sqlite")).unwrap();
        let sql = "SELECT (SELECT count(*) FROM dual_calls WHERE arguments IS NOT NULL OR answer IS NOT NULL)
                   + (SELECT count(*) FROM dual_trajectories WHERE task IS NOT NULL) + (SELECT count(*) FROM dual_catalogs)";
        let left: i64 = db.query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(left, 0);
        let spool = std::fs::read_dir(self.place.lake().join("_fidelake/dual")).unwrap();
        for entry in spool {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(name.ends_with(".lock"), "{name} was left behind");
        }
    }
}

/// Reads and writes of one key: five calls.
pub(crate) fn visit(key: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("get", json!({"key": key})),
        ("put", json!({"key": key, "value": 1})),
        ("add", json!({"key": key, "n": 2})),
        ("get", json!({"key": key})),
        ("find", json!({"name": key})),
    ]
}

#[test]
fn both_arms_repeat_every_trajectory_from_a_fresh_state() {
    let bench = Bench::new();
    bench.trajectories(&[("a", visit("a")), ("b", visit("b"))]);
    bench.plan(
        "seed = 3",
        "repeats = 2",
        "repeats = 2\nbudget = 20\nallow = [\"put\", \"add\"]",
        "",
    );
    let ran = bench.place.run(&["dual", "run", "plan.toml"]);
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
    assert_eq!(bench.number("SELECT count(*) FROM runs"), 8);
    assert_eq!(bench.number("SELECT count(*) FROM observations"), 40);
    // Fresh each time: the third call always answers 3.
    let answers = bench.query("SELECT DISTINCT content FROM observations WHERE turn = 2");
    assert_eq!(answers, [json!({"content": "3"})]);
    assert_eq!(bench.seen("real").len(), 20);
    assert_eq!(
        bench.number("SELECT count(*) FROM ledger WHERE arm = 'real' AND budgeted"),
        20
    );
    let joined = "SELECT count(*) FROM ledger l JOIN calls c ON c.run_id = l.run_id AND c.turn = l.position AND c.call_key = l.call_key";
    assert_eq!(bench.number(joined), 40);
    assert_eq!(bench.number("SELECT count(*) FROM runs WHERE origin = 'live' AND environment_version = 'world 1' AND termination = 'completed' AND catalog_hash IS NOT NULL"), 8);
    bench.assert_no_payload();
    // Of one trajectory: sim, real, real, sim.
    let order =
        bench.query("SELECT arm, repeat FROM runs WHERE trajectory_id = 'a' ORDER BY started_at");
    let order: Vec<String> = order
        .iter()
        .map(|row| format!("{}{}", row["arm"].as_str().unwrap(), row["repeat"]))
        .collect();
    assert_eq!(order, ["sim0", "real0", "real1", "sim1"]);
    // The answers of `find` hold a token: nowhere in clear.
    let found = bench.query("SELECT content FROM observations WHERE turn = 4 LIMIT 1");
    assert!(
        found[0]["content"].as_str().unwrap().contains("<masked:"),
        "{found:?}"
    );
    // Again: nothing to do, nothing called.
    let ran = bench.place.done(&["dual", "run", "plan.toml"]);
    assert!(
        ran.stderr.contains("everything was done before"),
        "{}",
        ran.stderr
    );
    assert_eq!(bench.seen("real").len(), 20);
    assert_eq!(bench.seen("sim").len(), 20);
}

#[test]
fn arguments_follow_the_live_results() {
    let bench = Bench::new();
    let run = json!({"fidelake": 1, "trajectory_id": "a", "environment": "world", "arm": "sim", "task": "look for mia", "calls": [
        {"turn": 0, "name": "find", "arguments": {"name": "mia"},
         "result": {"content": {"found": [{"id": "0001dead", "name": "mia"}]}}},
        {"turn": 1, "name": "get", "arguments": {"key": "0001dead"}, "result": {"content": null}}]});
    bench.place.write("tasks.jsonl", format!("{run}\n"));
    bench.plan("", "", "budget = 10", "");
    bench.place.done(&["dual", "run", "plan.toml", "--rebind"]);
    let key = |arm: &str| bench.seen(arm)[1].2["key"].as_str().unwrap().to_owned();
    assert_ne!(key("sim"), "0001dead");
    assert_ne!(key("sim"), key("real"), "each arm has ids of its own");
    let sent = bench.query("SELECT c.arm, c.arguments, o.extra FROM calls c JOIN observations o USING (run_id, turn) WHERE c.turn = 1 ORDER BY 1");
    assert!(
        sent[0]["arguments"]
            .as_str()
            .unwrap()
            .contains(&key("real")),
        "{sent:?}"
    );
    assert!(
        sent[0]["extra"]
            .as_str()
            .unwrap()
            .contains(r#""path":"$.found[0].id""#),
        "{sent:?}"
    );
    // Another way of running is another plan.
    let ran = bench.place.run(&["dual", "run", "plan.toml"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("begun with other contents"),
        "{}",
        ran.stderr
    );
}
