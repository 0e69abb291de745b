//! One server on both arms: no gap, but for what a clock or chance decides, and that is noise.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use super::{rows, servers};
use crate::support::Place;

/// A server, and calls of one trajectory.
struct World {
    /// The environment's lines in the plan.
    environment: String,
    calls: Vec<(&'static str, Value)>,
    /// Tools whose answers differ from session to session.
    vary: &'static [&'static str],
}

impl World {
    /// Runs the calls twice on each arm, profiles, and looks at every gap.
    fn check(&self, place: &Place) {
        let calls = self.calls.iter().enumerate();
        let calls: Vec<Value> = calls
            .map(|(turn, (name, arguments))| {
                json!({"turn": turn, "name": name, "arguments": arguments})
            })
            .collect();
        let run = json!({"fidelake": 1, "trajectory_id": "t", "environment": "world", "arm": "sim", "calls": calls});
        place.write("tasks.jsonl", format!("{run}\n"));
        place.write("plan.toml", self.plan());
        place.done(&["dual", "run", "plan.toml"]);
        place.done(&["profile"]);

        let runs = rows(
            place,
            "SELECT arm, repeat, termination FROM runs ORDER BY 1, 2",
        );
        assert_eq!(runs.len(), 4, "{runs:?}");
        for run in &runs {
            assert_eq!(run["termination"], "completed", "{run}");
        }
        let failed = rows(
            place,
            "SELECT c.name, o.outcome, substr(o.content, 1, 200) AS said FROM observations o JOIN calls c USING (run_id, turn, index)
             WHERE o.outcome <> 'ok' AND c.name NOT LIKE '%missing%' AND NOT coalesce(c.arguments LIKE '%missing%', false)",
        );
        assert_eq!(failed, [] as [Value; 0]);

        let profile = rows(
            place,
            "SELECT noise, calls, pairs, delta_obs, delta_act, delta_trans, trans_parts, surface_obs, surface_act,
                    tools_added, tools_removed, tools_changed FROM profiles_now",
        );
        let [profile] = profile.as_slice() else {
            panic!("{profile:?}")
        };
        eprintln!("{profile}");
        assert_eq!(profile["noise"], "measured", "{profile}");
        assert_eq!(profile["pairs"], self.calls.len(), "{profile}");
        for gap in ["delta_obs", "delta_act", "surface_obs", "surface_act"] {
            assert_eq!(profile[gap].as_f64(), Some(0.0), "{gap} of {profile}");
        }
        let gaps = rows(
            place,
            "SELECT slot, api, obs_distance, obs_noise_sim, obs_noise_real, obs_raw, act_raw, outcome_raw, state_raw, idempotency_raw
             FROM call_gaps_now ORDER BY slot",
        );
        let mut varied = BTreeSet::new();
        let mut states = 0;
        for gap in &gaps {
            let number = |name: &str| gap[name].as_f64();
            if number("obs_distance") > Some(0.0)
                || number("obs_noise_sim") > Some(0.0)
                || number("obs_noise_real") > Some(0.0)
            {
                varied.insert(gap["api"].as_str().unwrap());
            }
            // What is left of the distance when the noise is taken off.
            assert!(number("obs_raw") <= Some(1e-9), "{gap}");
            for name in ["act_raw", "outcome_raw", "state_raw", "idempotency_raw"] {
                assert!(number(name).is_none_or(|raw| raw == 0.0), "{name} of {gap}");
            }
            states += usize::from(number("state_raw").is_some());
        }
        assert_eq!(varied, self.vary.iter().copied().collect(), "{gaps:#?}");
        let with_state =
            self.environment.contains("workspace") || self.environment.contains("state_tool");
        assert_eq!(states, if with_state { gaps.len() } else { 0 }, "{gaps:#?}");
    }

    /// Clocks have seconds: the same call of two runs of one arm is made more than one apart.
    fn plan(&self) -> String {
        let rate = (self.calls.len() as f64 / 1.3).max(0.5);
        let mut plan = String::from(
            "version = 1\nname = \"same\"\n[trajectories]\nfile = \"tasks.jsonl\"\n[environments.world]\n",
        );
        writeln!(plan, "{}", self.environment).unwrap();
        for arm in ["sim", "real"] {
            write!(
                plan,
                "[{arm}]\nenvironment = \"world\"\nrepeats = 2\nrate = {rate}\nsnapshots = true\n"
            )
            .unwrap();
        }
        write!(plan, "budget = 1000\nallow = [\"*\"]\n").unwrap();
        plan
    }
}

fn mcp(program: &Path, arguments: &[&str], more: &str) -> String {
    let mut command = vec![program.to_str().unwrap()];
    command.extend(arguments);
    format!("kind = \"mcp\"\ncommand = {command:?}\n{more}")
}

fn npm(servers: &Path, name: &str) -> std::path::PathBuf {
    servers.join("npm/node_modules/.bin").join(name)
}

#[test]
fn everything() {
    let Some(servers) = servers() else { return };
    let world = World {
        environment: mcp(&npm(&servers, "mcp-server-everything"), &["stdio"], ""),
        calls: vec![
            ("echo", json!({"message": "hé"})),
            ("get-sum", json!({"a": 1.5, "b": 2})),
            ("get-structured-content", json!({"location": "Chicago"})),
            (
                "get-annotated-message",
                json!({"messageType": "debug", "includeImage": true}),
            ),
            ("get-tiny-image", json!({})),
            ("get-resource-links", json!({"count": 2})),
            // Says when it was made.
            (
                "get-resource-reference",
                json!({"resourceType": "Text", "resourceId": 1}),
            ),
            (
                "trigger-long-running-operation",
                json!({"duration": 0.2, "steps": 2}),
            ),
            ("get-sum", json!({"a": "missing"})),
        ],
        vary: &["get-resource-reference"],
    };
    world.check(&Place::new());
}

#[test]
fn filesystem() {
    let Some(servers) = servers() else { return };
    let place = Place::new();
    place.write("files/notes/a.txt", "one\ntwo\n");
    place.write("files/notes/b.txt", "three\n");
    let program = npm(&servers, "mcp-server-filesystem");
    let world = World {
        environment: mcp(&program, &["${workspace}"], "workspace = \"files\""),
        calls: vec![
            ("list_allowed_directories", json!({})),
            ("directory_tree", json!({"path": "${workspace}"})),
            (
                "read_text_file",
                json!({"path": "${workspace}/notes/a.txt"}),
            ),
            (
                "write_file",
                json!({"path": "${workspace}/notes/c.txt", "content": "four\n"}),
            ),
            (
                "edit_file",
                json!({"path": "${workspace}/notes/a.txt", "edits": [{"oldText": "two", "newText": "2"}]}),
            ),
            (
                "move_file",
                json!({"source": "${workspace}/notes/b.txt", "destination": "${workspace}/b.txt"}),
            ),
            (
                "search_files",
                json!({"path": "${workspace}", "pattern": "**/*.txt"}),
            ),
            (
                "list_directory_with_sizes",
                json!({"path": "${workspace}/notes"}),
            ),
            // Has the times of the file.
            ("get_file_info", json!({"path": "${workspace}/notes/c.txt"})),
            (
                "read_text_file",
                json!({"path": "${workspace}/missing.txt"}),
            ),
        ],
        vary: &["get_file_info"],
    };
    world.check(&place);
    // The folder of each session is another one, and answers say so by its name.
    let answers = rows(
        &place,
        "SELECT content, o.extra FROM observations o WHERE turn = 0",
    );
    for answer in answers {
        let (content, extra) = (
            answer["content"].as_str().unwrap(),
            answer["extra"].as_str().unwrap(),
        );
        assert!(content.contains("${workspace}"), "{content}");
        assert!(extra.contains(r#""kind":"workspace""#), "{extra}");
    }
}

#[test]
fn memory() {
    let Some(servers) = servers() else { return };
    let more = "workspace = true\nenv = { MEMORY_FILE_PATH = \"${workspace}/memory.jsonl\" }\nstate_tool = \"read_graph\"";
    let world = World {
        environment: mcp(&npm(&servers, "mcp-server-memory"), &[], more),
        calls: vec![
            (
                "create_entities",
                json!({"entities": [
                {"name": "Ada", "entityType": "person", "observations": ["likes tea"]},
                {"name": "Tea", "entityType": "thing", "observations": []}]}),
            ),
            (
                "create_relations",
                json!({"relations": [{"from": "Ada", "to": "Tea", "relationType": "drinks"}]}),
            ),
            (
                "add_observations",
                json!({"observations": [{"entityName": "Ada", "contents": ["is 36"]}]}),
            ),
            ("search_nodes", json!({"query": "tea"})),
            ("delete_entities", json!({"entityNames": ["Tea"]})),
            ("read_graph", json!({})),
            (
                "add_observations",
                json!({"observations": [{"entityName": "missing", "contents": ["x"]}]}),
            ),
        ],
        vary: &[],
    };
    world.check(&Place::new());
}

#[test]
fn sequential_thinking() {
    let Some(servers) = servers() else { return };
    let thought = |number: u32, more: bool| json!({"thought": format!("step {number}"), "nextThoughtNeeded": more, "thoughtNumber": number, "totalThoughts": 2});
    let world = World {
        environment: mcp(&npm(&servers, "mcp-server-sequential-thinking"), &[], ""),
        calls: vec![
            ("sequentialthinking", thought(1, true)),
            ("sequentialthinking", thought(2, false)),
            ("sequentialthinking", json!({"thought": "missing numbers"})),
        ],
        vary: &[],
    };
    world.check(&Place::new());
}

#[test]
fn time() {
    let Some(servers) = servers() else { return };
    let program = servers.join("mcp2/bin/mcp-server-time");
    let world = World {
        environment: mcp(&program, &["--local-timezone", "UTC"], ""),
        calls: vec![
            ("get_current_time", json!({"timezone": "Asia/Tokyo"})),
            ("get_current_time", json!({"timezone": "missing/zone"})),
        ],
        vary: &["get_current_time"],
    };
    world.check(&Place::new());
}

#[test]
fn git() {
    let Some(servers) = servers() else { return };
    let place = Place::new();
    place.write("repository/a.txt", "one\n");
    let git = |arguments: &[&str]| {
        let mut command = std::process::Command::new("git");
        command
            .current_dir(place.path("repository"))
            .args(arguments);
        let ran = command.output().unwrap();
        assert!(ran.status.success(), "git {arguments:?}: {ran:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["config", "user.name", "Ada"]);
    git(&["config", "user.email", "ada@example.org"]);
    git(&["add", "a.txt"]);
    git(&["commit", "-q", "-m", "first"]);
    place.write("repository/a.txt", "one\ntwo\n");
    let program = servers.join("mcp2/bin/mcp-server-git");
    let at = |more: Value| {
        let mut arguments = json!({"repo_path": "${workspace}"});
        arguments
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        arguments
    };
    let world = World {
        environment: mcp(
            &program,
            &["--repository", "${workspace}"],
            "workspace = \"repository\"",
        ),
        calls: vec![
            ("git_status", at(json!({}))),
            ("git_diff_unstaged", at(json!({}))),
            ("git_add", at(json!({"files": ["a.txt"]}))),
            // Has the new hash.
            ("git_commit", at(json!({"message": "second"}))),
            // Has both hashes and their times.
            ("git_log", at(json!({"max_count": 5}))),
            ("git_branch", at(json!({"branch_type": "local"}))),
            ("git_show", at(json!({"revision": "missing"}))),
        ],
        vary: &["git_commit", "git_log"],
    };
    world.check(&place);
}

#[test]
fn sqlite() {
    let Some(servers) = servers() else { return };
    let program = servers.join("mcp1/bin/mcp-server-sqlite");
    let query = |sql: &str| json!({"query": sql});
    let world = World {
        environment: mcp(
            &program,
            &["--db-path", "${workspace}/t.db"],
            "workspace = true",
        ),
        calls: vec![
            ("create_table", query("CREATE TABLE t (a INTEGER, b TEXT)")),
            (
                "write_query",
                query("INSERT INTO t VALUES (7, 'x'), (8, NULL)"),
            ),
            ("read_query", query("SELECT a, b FROM t ORDER BY a")),
            ("describe_table", json!({"table_name": "t"})),
            ("list_tables", json!({})),
            ("append_insight", json!({"insight": "two rows"})),
            ("read_query", query("SELECT * FROM missing")),
        ],
        vary: &[],
    };
    world.check(&Place::new());
}

#[test]
fn calculator() {
    let Some(servers) = servers() else { return };
    let world = World {
        environment: mcp(&servers.join("mcp1/bin/mcp-server-calculator"), &[], ""),
        calls: vec![
            ("calculate", json!({"expression": "2+3*4"})),
            ("calculate", json!({"expression": "1/3"})),
            ("calculate", json!({"expression": "missing("})),
        ],
        vary: &[],
    };
    world.check(&Place::new());
}
