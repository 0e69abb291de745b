//! The decision gap in a lake, and whether it predicts what happened to agents.

use serde_json::{Value, json};

use crate::support::{Place, assert_said, shared, skipped, text};

fn ask(place: &Place, sql: &str) -> Vec<Value> {
    let ran = place.done(&["sql", "--format", "ndjson", sql]);
    let lines = ran.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn profiled(place: &Place) -> Value {
    let ran = place.done(&["profile", "--format", "json"]);
    serde_json::from_str(&ran.stdout).unwrap()
}

fn tool(name: &str, description: &str, parameters: &[&str]) -> Value {
    let properties = parameters
        .iter()
        .map(|name| ((*name).to_owned(), json!({"type": "string"})));
    let properties: serde_json::Map<String, Value> = properties.collect();
    json!({"name": name, "description": description,
           "parameters": {"type": "object", "properties": properties}})
}

const CITIES: [&str; 12] = [
    "Rome", "Oslo", "Lima", "Cairo", "Quito", "Seoul", "Paris", "Delhi", "Tunis", "Accra", "Riga",
    "Baku",
];

fn catalog() -> Vec<Value> {
    vec![
        tool("getWeather", "Tells the weather of a city.", &["city"]),
        tool(
            "bookHotel",
            "Books a hotel room in a city.",
            &["city", "nights"],
        ),
        tool("findUser", "Finds a user by name.", &["name"]),
    ]
}

/// One run; `right` says which of two agents got it right.
fn run(
    label: &str,
    item: usize,
    arm: &str,
    task: &str,
    catalog: &[Value],
    gold: &Value,
    right: [bool; 2],
) -> String {
    let verdict = |agent: &str, right: bool| json!({"judge": "bench", "agent": agent, "reward": f64::from(u8::from(right)), "success": right});
    json!({
        "fidelake": 1, "trajectory_id": format!("{label}/{item}"), "environment": "town", "arm": arm,
        "task_id": item.to_string(), "task": task, "catalog": catalog, "gold": [gold], "calls": [],
        "verdicts": [verdict("a", right[0]), verdict("b", right[1])], "labels": {"change": label},
    })
    .to_string()
}

/// A world of five changes, each worse than the one before it, and one that is none.
fn town() -> String {
    let mut lines = Vec::new();
    for (item, city) in CITIES.iter().enumerate() {
        let task = format!("What is the weather in the city of {city}?");
        let gold = json!({"name": "getWeather", "arguments": {"city": city}});
        let mut twins = catalog();
        twins.insert(0, tool("getWeather", "", &[]));
        let mut renamed = catalog();
        renamed[0] = tool("gw", "Tells the weather of a city.", &["city"]);
        let mut noted = catalog();
        noted[1]["description"] = "Books a hotel room in a city. Cost per call: 1 USD.".into();
        let own_name = json!({"name": "gw", "arguments": {"city": city}});
        let misspelt = task.replace(city, &city[1..].to_uppercase());
        let odd = |n: usize| item % n == 0;
        let changes = [
            (
                "none",
                task.clone(),
                catalog(),
                gold.clone(),
                [odd(12), false],
            ),
            ("note", task.clone(), noted, gold.clone(), [false, false]),
            ("twin", task.clone(), twins, gold.clone(), [odd(6), false]),
            ("rename", task.clone(), renamed, own_name, [odd(4), odd(6)]),
            ("typo", misspelt, catalog(), gold.clone(), [odd(2), odd(3)]),
        ];
        for (label, told, offered, right_call, broken) in changes {
            lines.push(run(
                label,
                item,
                "sim",
                &task,
                &catalog(),
                &gold,
                [true, true],
            ));
            let right = broken.map(|broken| !broken);
            lines.push(run(
                label,
                item,
                "real",
                &told,
                &offered,
                &right_call,
                right,
            ));
        }
    }
    lines.join("\n")
}

fn validated(place: &Place, more: &[&str]) -> Value {
    let mut args = vec![
        "validate",
        "--by",
        "change",
        "--format",
        "json",
        "--resamples",
        "200",
    ];
    args.extend(more);
    serde_json::from_str(&place.done(&args).stdout).unwrap()
}

#[test]
fn changes_of_a_small_town_are_ranked_by_what_they_do() {
    let place = Place::new();
    place.write("town.jsonl", town());
    place.import(&["town.jsonl"]);
    profiled(&place);
    let rows = ask(
        &place,
        "SELECT split_part(trajectory_id, '/', 1) AS change, min(gold_source) AS source, avg(decision_signed) AS gap, \
         max(abs(decision_signed - decision_obs - decision_act - decision_rew)) AS rest, \
         avg(decision_obs) AS obs, avg(decision_act) AS act, avg(decision_rew) AS rew, min(obs_parts) AS parts \
         FROM profiles_now GROUP BY ALL ORDER BY gap",
    );
    let of = |change: &str| rows.iter().find(|row| row["change"] == change).unwrap();
    let part = |change: &str, name: &str| of(change)[name].as_f64().unwrap();
    for row in &rows {
        assert_eq!(
            (&row["source"], &row["parts"]),
            (&json!("gold"), &json!("told"))
        );
        assert!(row["rest"].as_f64().unwrap() < 1e-12, "{row}");
    }
    assert_eq!(part("none", "gap"), 0.0);
    assert_eq!(part("typo", "obs"), part("typo", "gap"));
    assert!(part("twin", "act") > 0.0 && part("twin", "obs").abs() < 1e-12);
    assert!(part("rename", "rew") > 0.0 && part("rename", "act").abs() < 1e-12);
    let found = validated(&place, &["--families", "told=typo,offered=twin", "--fit"]);
    assert_eq!(found["spearman_decision"], 1.0, "{found}");
    assert_eq!(found["floor"]["groups"], json!(["none"]));
    let harms: Vec<f64> = found["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|g| g["harm"].as_f64().unwrap())
        .collect();
    assert_eq!(harms[0], 0.0);
    assert!((harms[4] - 10.0 / 24.0).abs() < 1e-12, "{harms:?}");
    assert_eq!(found["leave_one_out"].as_array().unwrap().len(), 4);
    assert_eq!(found["leave_one_family_out"].as_array().unwrap().len(), 2);
    assert!(found["auc"]["decision"].as_f64().unwrap() > 0.6);
    let pairs: i64 = found["reliability"]
        .as_array()
        .unwrap()
        .iter()
        .map(|b| b["pairs"].as_i64().unwrap())
        .sum();
    assert_eq!(pairs, 4 * 24);
    assert!(
        found["fitted"]["weights"]
            .as_object()
            .unwrap()
            .values()
            .all(|w| w.as_f64().unwrap() >= 0.0)
    );
    // The same numbers from the same seed.
    assert_eq!(
        found,
        validated(&place, &["--families", "told=typo,offered=twin", "--fit"])
    );
}

#[test]
fn validate_tells_people_what_it_found() {
    let place = Place::new();
    place.write("town.jsonl", town());
    place.import(&["town.jsonl"]);
    assert_said!(
        place,
        "validate_no_profile",
        place.run(&["validate", "--by", "change"])
    );
    profiled(&place);
    let ran = place.run(&[
        "validate",
        "--by",
        "change",
        "--resamples",
        "200",
        "--plot",
        "plot.svg",
    ]);
    assert_said!(place, "validate", ran);
    let svg = std::fs::read_to_string(place.path("plot.svg")).unwrap();
    assert_eq!(svg.matches("<circle").count(), 5);
    assert_said!(
        place,
        "validate_no_label",
        place.run(&["validate", "--by", "colour"])
    );
    assert_said!(
        place,
        "validate_no_agent",
        place.run(&["validate", "--by", "change", "--agents", "c"])
    );
    assert_said!(
        place,
        "validate_family",
        place.run(&["validate", "--by", "change", "--families", "x=z*"])
    );
    let csv = place
        .done(&[
            "validate",
            "--by",
            "change",
            "--format",
            "csv",
            "--resamples",
            "0",
        ])
        .stdout;
    assert!(
        csv.starts_with("label,n,harm,harm_se,net,decision"),
        "{csv}"
    );
}

#[test]
fn term_weights_are_pinned_until_they_are_learned_anew() {
    let place = Place::new();
    place.write("town.jsonl", town());
    place.import(&["town.jsonl"]);
    profiled(&place);
    let kept = "SELECT trajectory_id, generation, decision_signed, inputs FROM profiles_now \
                WHERE environment = 'town' ORDER BY trajectory_id";
    let before = ask(&place, kept);
    let weights = ask(
        &place,
        "SELECT max(tools_all) AS n, count(DISTINCT artefact_id) AS artefacts FROM term_weights_now",
    );
    assert_eq!(
        (&weights[0]["n"], &weights[0]["artefacts"]),
        (&json!(3), &json!(1))
    );
    // Other tools come, and weather is everywhere.
    let others: Vec<String> = (0..9)
        .map(|n| tool(&format!("weather{n}"), "weather city", &["city"]).to_string())
        .collect();
    let other = |arm: &str| {
        json!({"fidelake": 1, "trajectory_id": "o", "environment": "else", "arm": arm, "task": "weather",
               "catalog": others.iter().map(|t| serde_json::from_str::<Value>(t).unwrap()).collect::<Vec<_>>(),
               "gold": [{"name": "weather0", "arguments": {}}], "calls": []})
    };
    place.write("else.jsonl", format!("{}\n{}", other("sim"), other("real")));
    place.import(&["else.jsonl"]);
    let report = profiled(&place);
    assert_eq!(
        (&report["trajectories"], &report["unchanged"]),
        (&json!(1), &json!(60))
    );
    assert_eq!(ask(&place, kept), before);
    let learned = place.done(&["learn", "--format", "json"]).stdout;
    assert!(learned.contains("term_weights"), "{learned}");
    assert_eq!(profiled(&place)["trajectories"], 61);
    let after = ask(&place, kept);
    assert!(
        before
            .iter()
            .zip(&after)
            .any(|(a, b)| a["decision_signed"] != b["decision_signed"])
    );
    assert_eq!(profiled(&place)["trajectories"], 0);
}

#[test]
fn recorded_calls_are_right_where_no_gold_is_given() {
    let place = Place::new();
    let line = |arm: &str, answer: &str| {
        let call = |turn: i32, name: &str, arguments: Value, answer: &str| json!({"turn": turn, "index": 0, "name": name, "arguments": arguments, "result": {"content": answer}});
        json!({"fidelake": 1, "trajectory_id": "t", "environment": "town", "arm": arm, "task": "weather for the user Ann",
               "catalog": catalog(), "calls": [
                   call(0, "findUser", json!({"name": "Ann"}), answer),
                   call(1, "getWeather", json!({"city": "Oslo"}), "rain")]})
    };
    let lines = [
        line("sim", "lives in Oslo"),
        line("real", "lives in Bergen"),
    ];
    place.write("t.jsonl", lines.map(|l| l.to_string()).join("\n"));
    place.import(&["t.jsonl"]);
    profiled(&place);
    let rows = ask(
        &place,
        "SELECT gold_source, decision_calls, decision_flow, gap_decision, decision_obs, obs_parts FROM profiles_now",
    );
    let row = &rows[0];
    assert_eq!(
        (
            &row["gold_source"],
            &row["decision_calls"],
            &row["obs_parts"]
        ),
        (&json!("recorded"), &json!(2), &json!("told,run"))
    );
    assert_eq!(row["decision_flow"], 1.0);
    assert_eq!(row["gap_decision"], row["decision_obs"]);
    let calls = ask(
        &place,
        "SELECT api, ground_sim, ground_real, decision FROM call_gaps_now ORDER BY slot",
    );
    let grounds = |at: usize| [&calls[at]["ground_sim"], &calls[at]["ground_real"]];
    assert_eq!(
        (grounds(0), grounds(1)),
        ([&json!(1.0), &json!(1.0)], [&json!(1.0), &json!(0.0)])
    );
    assert!(calls[1]["decision"].as_f64().unwrap() > 0.0);
}

/// The figures of docs/validation.md.
#[test]
fn harm_of_sixteen_kinds_of_change_is_predicted() {
    let Some(file) = shared("acebench17/dev.jsonl.zst") else {
        return skipped("no shared data");
    };
    let place = Place::new();
    place.import(&[text(&file)]);
    assert_eq!(profiled(&place)["trajectories"], 6953);
    let args = [
        "validate",
        "--by",
        "perturbation",
        "--format",
        "json",
        "--resamples",
        "500",
    ];
    let found: Value = serde_json::from_str(&place.done(&args).stdout).unwrap();
    let number = |value: &Value| value.as_f64().unwrap();
    assert!(number(&found["spearman_decision"]) >= 0.80, "{found}");
    assert!(
        number(&found["spearman_decision_interval"][0]) >= 0.70,
        "{found}"
    );
    assert_eq!(found["floor"]["groups"], json!(["transition_timeout"]));
    let best = found["rivals"]
        .as_array()
        .unwrap()
        .iter()
        .find(|r| r["name"] == found["best_rival"])
        .unwrap();
    assert!(number(&best["difference_interval"][0]) > 0.0, "{best}");
}

#[test]
fn fitted_weights_are_kept_with_their_evidence_and_used_by_nothing() {
    let place = Place::new();
    place.write("town.jsonl", town());
    place.import(&["town.jsonl"]);
    profiled(&place);
    let fit = ["--families", "told=typo,offered=twin", "--fit"];
    let before = validated(&place, &fit);
    let ran = place.run(&["validate", "stored"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    assert!(
        ran.stderr.contains("no weights are stored"),
        "{}",
        ran.stderr
    );
    let store = ["--families", "told=typo,offered=twin", "--fit", "--store"];
    assert_eq!(validated(&place, &store), before);
    let listed = || -> Value {
        let ran = place.done(&["validate", "stored", "--format", "json"]);
        serde_json::from_str(&ran.stdout).unwrap()
    };
    let stored = listed();
    assert_eq!(stored.as_array().unwrap().len(), 1);
    let found = &stored[0]["found"];
    assert_eq!(found["fitted"], before["fitted"]);
    assert_eq!(found["by"], json!(["change"]));
    assert_eq!(
        found["fitted"]["families"],
        json!(["told=typo", "offered=twin"])
    );
    assert_eq!(stored[0]["from_version"], before["lake_version"]);
    // The floor is what was measured where nothing differs.
    assert_eq!(found["fitted"]["bias"], before["floor"]["harm"]);
    let rows = ask(
        &place,
        "SELECT artefact_id, kind FROM learned WHERE kind = 'dimension_weights'",
    );
    assert_eq!(rows[0]["artefact_id"], stored[0]["artefact_id"]);
    assert_eq!(rows.len(), 1);
    // No profile is computed anew, and people can read what is kept.
    assert_eq!(profiled(&place)["trajectories"], 0);
    let shown = place.done(&["validate", "stored"]).stdout;
    assert!(
        shown.contains("each group predicted without itself") && shown.contains("change"),
        "{shown}"
    );
    let ran = place.run(&["validate", "--by", "change", "--store"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
}

#[test]
fn logged_decisions_stand_in_the_place_of_the_probe() {
    let place = Place::new();
    let gold = json!({"name": "getWeather", "arguments": {"city": "Rome"}});
    let with = |id: &str, arm: &str, decisions: Value| {
        let line = run(
            "log",
            0,
            arm,
            "Weather in Rome?",
            &catalog(),
            &gold,
            [true, true],
        );
        let mut line: Value = serde_json::from_str(&line).unwrap();
        line["trajectory_id"] = id.into();
        line["decisions"] = decisions;
        line.to_string()
    };
    let lines = [
        with("both", "sim", json!([{"call": 0, "probability": 0.9}])),
        with(
            "both",
            "real",
            json!([{"call": 0, "correct": true}, {"call": 0, "correct": false}]),
        ),
        with("one", "sim", json!([{"call": 0, "probability": 0.9}])),
        with("one", "real", Value::Null),
        with("wrong", "sim", json!([{"call": 0, "probability": 9}])),
    ];
    place.write("logged.jsonl", lines.join("\n"));
    let counts = place.import(&["logged.jsonl"]);
    assert_eq!((counts.runs, counts.rejected), (4, 1));
    let why = ask(&place, "SELECT message FROM rejected");
    let why = why[0]["message"].as_str().unwrap();
    assert!(
        why.contains("decisions") && why.contains("probability"),
        "{why}"
    );
    profiled(&place);
    let rows = ask(
        &place,
        "SELECT trajectory_id, gold_source, gap_decision, decision_sim, decision_real, decision_act, decision_calls FROM profiles_now ORDER BY trajectory_id",
    );
    let near = |value: &Value, wanted: f64| {
        assert!((value.as_f64().unwrap() - wanted).abs() < 1e-12, "{rows:?}")
    };
    assert_eq!(rows[0]["gold_source"], "logged");
    near(&rows[0]["gap_decision"], 0.4);
    near(&rows[0]["decision_sim"], 0.9);
    near(&rows[0]["decision_real"], 0.5);
    // A log does not say where a difference comes from.
    assert_eq!(rows[0]["decision_act"], Value::Null);
    assert_eq!(rows[1]["gold_source"], "gold");
    near(&rows[1]["gap_decision"], 0.0);
}
