//! Real files: the counts, every result on the right call, and a clear refusal
//! of what cannot be read. The files are read a second time here, with another
//! JSON reader and without the importer's rules.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use serde_json::Value;

use crate::support::{Counts, Place, assert_said, decoded, number, query, sample, shared, text};

/// (name, arguments, id, answer) of a call.
type Call = (
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
);

fn string(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// The calls of a conversation: the answers of a message follow it at once, in
/// any order, and the id tells them apart there and nowhere else.
fn calls(messages: &[Value]) -> Vec<Call> {
    let mut found = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let Some(made) = message["tool_calls"].as_array() else {
            continue;
        };
        let answers: Vec<&Value> = messages[at + 1..]
            .iter()
            .take_while(|message| message["role"] == "tool")
            .collect();
        assert_eq!(answers.len(), made.len(), "message {at}");
        for call in made {
            let inner = call.get("function").unwrap_or(call);
            let id = |answer: &&&Value| {
                answer.get("tool_call_id").or(answer.get("id")) == call.get("id")
            };
            let answer = answers.iter().find(id).expect("an answer with the id");
            found.push((
                string(&inner["name"]),
                string(&inner["arguments"]),
                string(&call["id"]),
                string(&answer["content"]),
            ));
        }
    }
    found
}

/// Calls per record of the newest lake version, in their order.
fn imported(lake: &Path) -> HashMap<i64, Vec<Call>> {
    let rows = query(
        lake,
        "SELECT r.record, c.name, c.arguments_raw, c.call_id, o.content
         FROM calls c JOIN runs r ON c.run_id = r.run_id
         LEFT JOIN observations o
         ON c.run_id = o.run_id AND c.turn = o.turn AND c.index = o.index
         ORDER BY r.record, c.turn, c.index",
    );
    let mut found: HashMap<i64, Vec<Call>> = HashMap::new();
    for row in rows {
        found
            .entry(row["record"].as_i64().unwrap())
            .or_default()
            .push((
                string(&row["name"]),
                string(&row["arguments_raw"]),
                string(&row["call_id"]),
                string(&row["content"]),
            ));
    }
    found
}

/// Arguments of a call are the same JSON: serde_json writes it in its own way.
fn assert_same_calls(lake: &Path, wanted: &[Vec<Call>]) {
    let found = imported(lake);
    let mut compared = 0;
    for (at, wanted) in wanted.iter().enumerate() {
        let empty = Vec::new();
        let found = found.get(&(at as i64 + 1)).unwrap_or(&empty);
        assert_eq!(found.len(), wanted.len(), "record {}", at + 1);
        for (found, wanted) in found.iter().zip(wanted) {
            assert_eq!(found.0, wanted.0, "record {}", at + 1);
            let json = |text: &Option<String>| {
                serde_json::from_str::<Value>(text.as_deref().unwrap()).unwrap()
            };
            assert_eq!(json(&found.1), json(&wanted.1), "record {}", at + 1);
            assert_eq!(found.2, wanted.2, "record {}", at + 1);
            assert_eq!(found.3, wanted.3, "record {}", at + 1);
            compared += 1;
        }
    }
    let all: usize = imported(lake).values().map(Vec::len).sum();
    assert_eq!(compared, all, "calls of records that do not exist");
}

#[test]
fn tau_bench_results_stand_on_their_calls_although_ids_repeat() {
    let Some(file) = shared("tau/tau_bench_gpt-4o-airline.json.zst") else {
        return;
    };
    let place = Place::new();
    let counts = place.import(&[text(&file)]);
    assert_eq!(
        counts,
        Counts {
            files: 1,
            records: 200,
            imported: 200,
            trajectories: 200,
            runs: 200,
            messages: 5308,
            calls: 1164,
            observations: 1164,
            verdicts: 200,
            duplicates: 0,
            rejected: 0,
        }
    );
    let raw: Vec<Value> = serde_json::from_slice(&decoded(&file)).unwrap();
    let wanted: Vec<Vec<Call>> = raw
        .iter()
        .map(|run| calls(run["traj"].as_array().unwrap()))
        .collect();
    assert_same_calls(&place.lake(), &wanted);
    let ids = number(&place.lake(), "SELECT count(DISTINCT call_id) FROM calls");
    assert_eq!(ids, 134);
    let sure = "SELECT count(*) FROM calls WHERE call_status = 'answered' AND pairing = 'id'";
    assert_eq!(number(&place.lake(), sure), 1164);
    let messages: usize = raw
        .iter()
        .map(|r| r["traj"].as_array().unwrap().len())
        .sum();
    assert_eq!(messages, 5308);
}

#[test]
fn tau2_results_stand_on_their_calls() {
    let Some(file) = shared("tau/tau2_airline_run1.results.json.zst") else {
        return;
    };
    let place = Place::new();
    let counts = place.import(&[text(&file)]);
    assert_eq!(
        (counts.records, counts.imported, counts.trajectories),
        (50, 50, 50)
    );
    assert_eq!((counts.calls, counts.observations), (265, 265));
    let raw: Value = serde_json::from_slice(&decoded(&file)).unwrap();
    let simulations = raw["simulations"].as_array().unwrap();
    let wanted: Vec<Vec<Call>> = simulations
        .iter()
        .map(|run| calls(run["messages"].as_array().unwrap()))
        .collect();
    assert_same_calls(&place.lake(), &wanted);
    // Its times have no zone: kept, marked, and no latency is computed from them.
    let marked = "SELECT count(*) FROM runs WHERE array_has(flags, 'zone_unknown')
                  AND started_at IS NULL AND started_at_raw IS NOT NULL";
    assert_eq!(number(&place.lake(), marked), 50);
    let latencies = "SELECT count(latency_ms) FROM observations";
    assert_eq!(number(&place.lake(), latencies), 0);
}

/// Records of a file in the native form as serde_json reads them.
fn native(file: &Path) -> Vec<Value> {
    decoded(file)
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.trim_ascii().is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

fn native_calls(runs: &[Value]) -> Vec<Vec<Call>> {
    runs.iter()
        .map(|run| {
            let calls = run["calls"].as_array().into_iter().flatten();
            calls
                .map(|call| {
                    let arguments = call.get("arguments_raw").or(call.get("arguments"));
                    (
                        string(&call["name"]),
                        arguments.and_then(string),
                        string(&call["id"]),
                        string(&call["result"]["content"]),
                    )
                })
                .collect()
        })
        .collect()
}

#[test]
fn a_dual_execution_has_both_arms() {
    let Some(file) = shared("tau/airline_dual.jsonl") else {
        return;
    };
    let place = Place::new();
    let counts = place.import(&[text(&file)]);
    assert_eq!(
        (counts.trajectories, counts.runs, counts.observations),
        (45, 90, 564)
    );
    assert_same_calls(&place.lake(), &native_calls(&native(&file)));
    let arms = query(
        &place.lake(),
        "SELECT arm, count(*) AS n FROM calls GROUP BY arm ORDER BY arm",
    );
    assert_eq!(
        serde_json::json!(arms),
        serde_json::json!([{"arm": "real", "n": 282}, {"arm": "sim", "n": 282}])
    );
}

#[test]
fn no_answer_of_mirrorapi_is_lost_however_broken() {
    let Some(file) = shared("mirrorapi/pairs.jsonl.zst") else {
        return;
    };
    let place = Place::new();
    let counts = place.import(&[text(&file), "--mask", "off"]);
    assert_eq!((counts.records, counts.rejected), (600, 0));
    assert_eq!((counts.trajectories, counts.observations), (300, 600));
    let raw = native(&file);
    let found = imported(&place.lake());
    for (at, wanted) in native_calls(&raw).iter().enumerate() {
        assert_eq!(&found[&(at as i64 + 1)], wanted, "record {}", at + 1);
    }
    // Each kind of payload is recognised, and none is taken for another.
    let rules = query(
        &place.lake(),
        "SELECT coalesce(structured_rule, 'text') AS rule, count(*) AS n FROM observations
         GROUP BY 1 ORDER BY 1",
    );
    for rule in ["json", "python_repr", "text"] {
        assert!(rules.iter().any(|row| row["rule"] == rule), "{rules:?}");
    }
    let pairs = "SELECT count(*) FROM (SELECT trajectory_id FROM observations
                 GROUP BY trajectory_id HAVING count(DISTINCT arm) = 2)";
    assert_eq!(number(&place.lake(), pairs), 300);
}

#[test]
fn catalogs_of_acebench_stand_once_by_content() {
    let Some(file) = shared("acebench17/dev.jsonl.zst") else {
        return;
    };
    let place = Place::new();
    let counts = place.import(&[text(&file)]);
    assert_eq!((counts.runs, counts.rejected), (13_906, 0));
    let mut catalogs = BTreeSet::new();
    let (mut tools, mut under) = (0, BTreeSet::new());
    for run in native(&file) {
        // serde_json sorts keys, so equal contents have equal texts.
        let list = run["catalog"].as_array().unwrap();
        if catalogs.insert(run["catalog"].to_string()) {
            tools += list.len().max(1);
            under.extend(list.iter().filter_map(|tool| {
                let known = ["parameters", "inputSchema", "input_schema", "arguments"];
                known.into_iter().find(|key| !tool[*key].is_null())
            }));
        }
    }
    assert!(catalogs.len() > 1000, "{}", catalogs.len());
    let lake = place.lake();
    let stored = number(&lake, "SELECT count(DISTINCT catalog_hash) FROM catalogs");
    assert_eq!(stored, catalogs.len() as i64);
    assert_eq!(number(&lake, "SELECT count(*) FROM catalogs"), tools as i64);
    assert!(under.contains("arguments") && under.contains("parameters"));
    let found = query(
        &lake,
        "SELECT DISTINCT parameters_under AS u FROM catalogs
         WHERE parameters IS NOT NULL ORDER BY 1",
    );
    let found: BTreeSet<_> = found.iter().map(|row| row["u"].as_str().unwrap()).collect();
    assert_eq!(found, under);
    let dangling = "SELECT count(*) FROM runs WHERE catalog_hash IS NULL
                    OR catalog_hash NOT IN (SELECT catalog_hash FROM catalogs)";
    assert_eq!(number(&lake, dangling), 0);
    // The same catalogs again, in other files, add no row.
    place.write("again.jsonl", {
        let mut lines = String::new();
        for run in native(&file).iter().take(5) {
            let mut run = run.clone();
            run["trajectory_id"] = "again".into();
            run["repeat"] = (lines.len() as i64).into();
            lines.push_str(&run.to_string());
            lines.push('\n');
        }
        lines
    });
    assert_eq!(place.import(&["again.jsonl"]).imported, 5);
    assert_eq!(number(&lake, "SELECT count(*) FROM catalogs"), tools as i64);
}

#[test]
fn a_wire_capture_has_a_call_for_each_line_of_tools_call() {
    let Some(folder) = shared("samples/mcp-wire") else {
        return;
    };
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        let lines: Vec<Value> = native(&file);
        let inner: Vec<Value> = lines
            .iter()
            .filter_map(|line| serde_json::from_str(line["raw"].as_str()?).ok())
            .collect();
        let asked: Vec<&Value> = inner
            .iter()
            .filter(|message| message["method"] == "tools/call")
            .collect();
        let place = Place::new();
        let counts = place.import(&[text(&file)]);
        assert_eq!(counts.calls, asked.len() as u64, "{}", file.display());
        assert_eq!(counts.records, asked.len() as u64, "{}", file.display());
        let found = query(
            &place.lake(),
            "SELECT c.call_id, c.name, c.arguments_raw, c.call_status, o.content, o.is_error
             FROM calls c LEFT JOIN observations o
             ON c.run_id = o.run_id AND c.turn = o.turn AND c.index = o.index
             ORDER BY c.turn, c.index",
        );
        for (row, call) in found.iter().zip(&asked) {
            assert_eq!(row["call_id"], call["id"].to_string());
            assert_eq!(row["name"], call["params"]["name"]);
            let raw = row["arguments_raw"].as_str().unwrap();
            let raw: Value = serde_json::from_str(raw).unwrap();
            assert_eq!(raw, call["params"]["arguments"]);
            let answer = inner
                .iter()
                .find(|m| m["id"] == call["id"] && m["method"].is_null());
            let Some(answer) = answer else {
                assert_eq!(row["call_status"], "no_result");
                continue;
            };
            assert_eq!(row["call_status"], "answered");
            let is_error = match answer.get("error") {
                Some(_) => true.into(),
                None => answer["result"]["isError"].clone(),
            };
            assert_eq!(row["is_error"], is_error);
            if let Some(said) = answer["result"]["content"][0]["text"].as_str() {
                let content = row["content"].as_str().unwrap();
                let parts = serde_json::from_str::<Value>(content);
                let kept = content == said || parts.is_ok_and(|p| p[0]["text"] == said);
                assert!(kept, "{said}\n{content}");
            }
        }
        // Every line is there: what is no call and no answer is a message with its text.
        assert_eq!(counts.messages, lines.len() as u64, "{}", file.display());
        files += 1;
    }
    assert_eq!(files, 7);
}

#[test]
fn other_formats_are_refused_by_name_and_nothing_is_made() {
    fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("mcp-wire") {
                files(&path, found);
            } else if path.is_file() {
                found.push(path);
            }
        }
    }
    let Some(folder) = shared("samples") else {
        return;
    };
    let mut found = Vec::new();
    files(&folder, &mut found);
    found.sort();
    assert!(found.len() >= 40, "{}", found.len());
    let place = Place::new();
    let mut said = String::new();
    for file in &found {
        let ran = place.run(&["import", text(file)]);
        assert_eq!(ran.code, Some(1), "{}", file.display());
        assert_eq!(ran.stdout, "");
        assert!(ran.stderr.contains(text(file)), "{}", ran.stderr);
        assert!(!place.lake().exists(), "{}", file.display());
        said.push_str(&ran.stderr.replace(text(&folder), "samples"));
    }
    let all = crate::support::Ran {
        code: Some(1),
        stdout: String::new(),
        stderr: said,
    };
    assert_said!(place, "samples_refused", all);
}

#[test]
fn the_sample_data_imports() {
    let place = Place::new();
    let counts = place.import(&[
        text(&sample("airline_gold.jsonl")),
        text(&sample("airline_probe.jsonl")),
    ]);
    assert_eq!(
        (counts.files, counts.rejected, counts.duplicates),
        (2, 0, 0)
    );
    assert_eq!(counts.runs, 112);
    for name in ["airline_gold.jsonl", "airline_probe.jsonl"] {
        let place = Place::new();
        place.import(&[text(&sample(name))]);
        assert_same_calls(&place.lake(), &native_calls(&native(&sample(name))));
    }
}
