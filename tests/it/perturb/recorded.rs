//! `fidelake perturb`: what there is, and recorded runs in another world.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::support::{Place, assert_said, gzip, query, shared, text};

fn tool(name: &str, says: &str, parameters: &[&str]) -> Value {
    let properties: serde_json::Map<String, Value> = parameters
        .iter()
        .map(|name| {
            (
                (*name).to_owned(),
                json!({"type": "string", "description": format!("The name of the {name}")}),
            )
        })
        .collect();
    json!({"name": name, "description": says, "parameters": {"type": "object", "properties": properties}})
}

fn run(id: &str) -> Value {
    json!({"fidelake": 1, "trajectory_id": id, "environment": "travel", "arm": "sim", "repeat": 0,
        "task": "Please find the next flight from Rome to Oslo and make sure that it is cheap.",
        "catalog": [tool("search_flights", "Searches flights.", &["origin", "destination"]), tool("book_hotel", "Books a hotel.", &["city", "nights"])],
        "gold": [{"name": "search_flights", "arguments": {"origin": "Rome", "destination": "Oslo"}}],
        "calls": [{"turn": 0, "name": "search_flights", "arguments": {"origin": "Rome", "destination": "Oslo"}, "result": {"content": 1.10}}],
        "verdicts": [{"judge": "j", "success": true}], "labels": {"set": "one"}, "own_key": 1.50})
}

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn the_list_says_what_each_does() {
    let place = Place::new();
    assert_said!(place, "perturb_list", place.run(&["perturb", "--list"]));
    let ran = place.done(&["perturb", "--list", "--format", "json"]);
    let list: Vec<Value> = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(list.len(), 28);
    let row = list
        .iter()
        .find(|row| row["name"] == "transition_rate_limit")
        .unwrap();
    assert_eq!(
        (&row["dimension"], &row["acts_on"]),
        (&json!("trans"), &json!("calls"))
    );
}

#[test]
fn both_arms_are_written_and_the_real_one_is_perturbed() {
    let place = Place::new();
    // Spelled by hand: what is not perturbed stays as it is spelled.
    let line = run("a")
        .to_string()
        .replace("\"own_key\":1.5", "\"own_key\":1.50");
    place.write("runs.jsonl", format!("{line}\n"));
    let ran = place.run(&[
        "perturb",
        "runs.jsonl",
        "--with",
        "obs_paraphrase,reward_cd_ab",
        "--seed",
        "7",
    ]);
    assert_said!(place, "perturb_runs", ran);
    assert!(ran.stdout.contains("\"own_key\":1.50"), "{}", ran.stdout);
    let runs = lines(&ran.stdout);
    let (sim, real) = (&runs[0], &runs[1]);
    assert_eq!(sim["trajectory_id"], "a/obs_paraphrase+reward_cd_ab");
    for key in ["task", "catalog", "gold", "verdicts"] {
        assert_eq!(sim[key], run("a")[key]);
    }
    assert_eq!(
        (&real["arm"], &real["task_id"]),
        (&json!("real"), &json!("a"))
    );
    assert!(real.get("verdicts").is_none() && real["own_key"] == 1.5);
    assert_ne!(real["task"], sim["task"]);
    assert_eq!(real["gold"][0]["name"], "SRCH_FLGH");
    assert_eq!(real["catalog"].as_array().unwrap().len(), 3);
    for run in &runs {
        assert_eq!(run["labels"]["perturbation"], "obs_paraphrase+reward_cd_ab");
        assert_eq!(
            (
                &run["labels"]["set"],
                &run["labels"]["perturbation_changed"]
            ),
            (&json!("one"), &json!(true))
        );
    }
}

/// Answers that only one arm has would pass for a difference of the worlds.
#[test]
fn without_intensity_the_profile_finds_no_gap_and_calls_stand_for_gold() {
    let place = Place::new();
    let mut given = run("a");
    given.as_object_mut().unwrap().remove("gold");
    place.write("runs.jsonl", format!("{given}\n"));
    let none = place.done(&[
        "perturb",
        "runs.jsonl",
        "--with",
        "obs_typos=0,reward_td_ab=0",
    ]);
    let some = place.done(&["perturb", "runs.jsonl", "--with", "reward_td_ab"]);
    for run in lines(&some.stdout) {
        let name = if run["arm"] == "sim" {
            "search_flights"
        } else {
            "SRCH_FLGH"
        };
        let right = json!([{"name": name, "arguments": run_arguments()}]);
        assert_eq!((&run["gold"], &run["calls"]), (&right, &json!([])));
        assert_eq!(run["labels"]["perturbation_gold"], "calls");
    }
    let file = place.write("none.jsonl", none.stdout);
    place.import(&[text(&file)]);
    place.done(&["profile"]);
    let rows = query(
        &place.lake(),
        "SELECT decision_signed AS decision, surface_obs AS obs, surface_act AS act, surface_rew AS rew, fidelity_mean AS fidelity FROM profiles",
    );
    assert_eq!(
        rows,
        [json!({"decision": 0.0, "obs": 0.0, "act": 0.0, "rew": 0.0, "fidelity": 1.0})]
    );
}

fn run_arguments() -> Value {
    run("a")["calls"][0]["arguments"].clone()
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_intensity_nought_the_same_world() {
    let place = Place::new();
    let all: String = (0..30)
        .map(|n| format!("{}\n", run(&n.to_string())))
        .collect();
    place.write("runs.jsonl", &all);
    place.write("runs.jsonl.gz", gzip(all.as_bytes()));
    let with = |list: &str, seed: &str, file: &str| {
        place
            .done(&["perturb", file, "--with", list, "--each", "--seed", seed])
            .stdout
    };
    let list = "obs_typos,obs_tool_desc=0.5,action_redundant=0.5,reward_td";
    let made = with(list, "1", "runs.jsonl");
    assert_eq!(made.lines().count(), 30 * 4 * 2);
    assert_eq!(made, with(list, "1", "runs.jsonl.gz"));
    assert_ne!(made, with(list, "2", "runs.jsonl"));
    for pair in lines(&with("obs_typos=0,action_e=0", "1", "runs.jsonl")).chunks(2) {
        for key in ["task", "catalog", "gold"] {
            assert_eq!(pair[0][key], pair[1][key]);
        }
        assert_eq!(pair[1]["labels"]["perturbation_changed"], false);
    }
}

#[test]
fn mistakes_say_what_to_do_and_lose_nothing() {
    let place = Place::new();
    place.write(
        "runs.jsonl",
        format!(
            "{}\n\n{{\"fidelake\": 1}}\n{}\nnothing\n",
            run("a"),
            run("b").to_string().replace("\"sim\"", "\"real\"")
        ),
    );
    assert_said!(
        place,
        "perturb_wrong_lines",
        place.run(&["perturb", "runs.jsonl", "--with", "action_a", "--seed", "1"])
    );
    for (list, said) in [
        ("transition_timeout", "kind = \"perturb\""),
        ("obs_typo", "--list"),
        ("obs_typos=2", "from 0 to 1"),
    ] {
        let ran = place.run(&["perturb", "runs.jsonl", "--with", list]);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(2), ""),
            "{}",
            ran.stderr
        );
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
    assert_eq!(place.run(&["perturb", "runs.jsonl"]).code, Some(2));
    assert_eq!(
        place
            .run(&["perturb", "none.jsonl", "--with", "action_a"])
            .code,
        Some(1)
    );
}

#[test]
fn a_lake_takes_them_and_its_profiles_know_the_dimension() {
    let place = Place::new();
    let all: String = (0..4)
        .map(|n| format!("{}\n", run(&n.to_string())))
        .collect();
    place.write("runs.jsonl", all);
    let static_ones = fidelake_core::perturb::Perturbation::ALL
        .iter()
        .filter(|kind| kind.is_static());
    let list: Vec<&str> = static_ones.map(|kind| kind.as_str()).collect();
    let made = place.done(&[
        "perturb",
        "runs.jsonl",
        "--with",
        &list.join(",").replace("obs_typos", "obs_typos=1"),
        "--each",
    ]);
    let file = place.write("made.jsonl", made.stdout);
    let counts = place.import(&[text(&file)]);
    assert_eq!((counts.runs, counts.rejected), (4 * 16 * 2, 0));
    place.done(&["profile"]);
    let rows = query(
        &place.lake(),
        "SELECT p.trajectory_id AS id, p.decision_obs AS obs, p.decision_act AS act, p.decision_rew AS rew FROM profiles p",
    );
    assert_eq!(rows.len(), 64);
    let mut moved: HashMap<String, [bool; 3]> = HashMap::new();
    for row in &rows {
        let label = row["id"].as_str().unwrap().split_once('/').unwrap().1;
        let of = moved.entry(label.to_owned()).or_default();
        for (at, key) in ["obs", "act", "rew"].into_iter().enumerate() {
            of[at] |= row[key].as_f64().is_some_and(|gap| gap.abs() > 1e-9);
        }
    }
    for (label, [obs, act, rew]) in moved {
        // Nothing is put down to a dimension that was not touched.
        match label.split_once('_').unwrap().0 {
            "obs" => assert!(!act && !rew, "{label}"),
            "action" => assert!(act && !obs && !rew, "{label}"),
            _ => assert!((rew || act) && !obs, "{label}"),
        }
    }
}

/// Over real items, every static type changes most of what it is applied to.
#[test]
fn real_items_are_changed() {
    let Some(file) = shared("acebench17/dev.jsonl.zst") else {
        return;
    };
    let place = Place::new();
    let decoded = crate::support::decoded(&file);
    let clean: Vec<&[u8]> = decoded
        .split(|byte| *byte == b'\n')
        .filter(|line| {
            let head = String::from_utf8_lossy(&line[..line.len().min(200)]);
            head.contains("/obs_typos\"") && head.contains("\"sim\"")
        })
        .collect();
    assert!(clean.len() > 300);
    place.write("runs.jsonl", clean.join(&b'\n'));
    let list = "obs_typos,obs_paraphrase,obs_tool_desc,obs_param_desc,action_a,action_e,action_redundant,reward_cd,reward_td_ab";
    let ran = place.done(&["perturb", "runs.jsonl", "--with", list, "--each"]);
    let mut counts: HashMap<String, [u32; 2]> = HashMap::new();
    for pair in lines(&ran.stdout).chunks(2) {
        let (sim, run) = (&pair[0], &pair[1]);
        // Who stands alone has nobody to borrow from.
        if sim["catalog"].as_array().unwrap().len() < 2 {
            continue;
        }
        let label = run["labels"]["perturbation"].as_str().unwrap().to_owned();
        let changed = run["labels"]["perturbation_changed"] == true;
        counts.entry(label).or_default()[usize::from(changed)] += 1;
    }
    for (label, [same, changed]) in counts {
        assert!(changed > 9 * same, "{label}: {changed} changed, {same} not");
    }
}
