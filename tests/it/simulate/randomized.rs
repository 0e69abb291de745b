//! `fidelake randomize`: targeted against uniform, predicted and then measured.

use serde_json::{Value, json};

use super::project_file;
use crate::support::{Place, text};

const TASKS: usize = 40;

fn tasks() -> String {
    let tools = ["one", "two", "three", "four"];
    let lines = (0..TASKS).map(|task| {
        let calls: Vec<Value> = (0..8)
            .map(|turn| json!({"turn": turn, "index": 0, "name": tools[turn % 4], "arguments": {"n": task * 8 + turn}}))
            .collect();
        json!({"fidelake": 1, "trajectory_id": format!("t{task}"), "environment": "world", "arm": "sim", "calls": calls})
    });
    lines.map(|line| format!("{line}\n")).collect()
}

/// The real world is busy in one tool and fails in another.
const BUSY: &str = "[environments.busy]\nkind = \"perturb\"\nof = \"world\"\nseed = 7\nrepeats = \"own\"\nperturb = [\n\
    { name = \"transition_rate_limit\", intensity = 0.5, tools = [\"one\"], times = 0 },\n\
    { name = \"transition_server_error\", intensity = 0.4, tools = [\"three\"], times = 0 },\n]\n";

/// Runs the tasks with a perturbed simulator, stored as `world--NAME`.
fn run(place: &Place, name: &str, perturb: &str) {
    let (sim, environment) = match perturb {
        "" => ("world", "world".to_owned()),
        _ => ("tried", format!("world--{name}")),
    };
    let tried = match perturb {
        "" => String::new(),
        list => format!(
            "[environments.tried]\nkind = \"perturb\"\nof = \"world\"\nseed = 3\nrepeats = \"own\"\n{list}\n"
        ),
    };
    let plan = format!(
        "version = 1\nname = \"{name}\"\nenvironment = \"{environment}\"\n[trajectories]\nfile = \"tasks.jsonl\"\n\
         [environments.world]\nkind = \"process\"\ncommand = [\"python3\", {:?}]\n{BUSY}{tried}\
         [sim]\nenvironment = \"{sim}\"\nrepeats = 2\nreuse = true\nconcurrency = 4\n\
         [real]\nenvironment = \"busy\"\nrepeats = 2\nreuse = true\nconcurrency = 4\nbudget = 100000\nallow = [\"*\"]\nrepeatable = [\"*\"]\n",
        text(&project_file("tests/it/simulate/world.py"))
    );
    place.write("plan.toml", plan);
    let ran = place.run(&["dual", "run", "plan.toml"]);
    // Broken answers are part of it: 3 says so.
    assert!(matches!(ran.code, Some(0 | 3)), "{ran:?}");
}

/// The gap that is visited, summed over dimensions, in one world.
fn visited(place: &Place, environment: &str) -> f64 {
    let sql = format!(
        "SELECT sum(calls * (obs + trans)) / sum(calls) AS gap FROM (
            SELECT api, count(*) AS calls, coalesce(gap_ratio(weight, obs_raw, obs_reliability), 0) AS obs,
                1 - (1 - coalesce(gap_ratio(weight, act_raw, act_reliability), 0)) * (1 - coalesce(gap_ratio(weight, outcome_raw, outcome_reliability), 0)) AS trans
            FROM call_gaps_now WHERE environment = '{environment}' GROUP BY api)"
    );
    let ran = place.done(&["sql", &sql, "--format", "ndjson"]);
    let row: Value = serde_json::from_str(&ran.stdout).unwrap();
    row["gap"].as_f64().unwrap()
}

#[test]
fn targeted_covers_more_than_uniform() {
    let place = Place::new();
    place.write("tasks.jsonl", tasks());
    run(&place, "plain", "");
    for (kind, at) in [
        ("transition_rate_limit", [0.25, 0.5]),
        ("transition_server_error", [0.2, 0.4]),
    ] {
        for intensity in at {
            let list =
                format!("perturb = [{{ name = \"{kind}\", intensity = {intensity}, times = 0 }}]");
            run(
                &place,
                &format!("{kind}-{}", (intensity * 100.0) as u32),
                &list,
            );
        }
    }
    place.done(&["profile"]);
    let ran = place.done(&[
        "randomize",
        "--environment",
        "world",
        "--budget",
        "0.9",
        "--uniform",
        "--format",
        "ndjson",
    ]);
    eprintln!("{}{}", ran.stdout, ran.stderr);
    let told: Value =
        serde_json::from_str(&std::fs::read_to_string(place.path("randomization.json")).unwrap())
            .unwrap();
    let covered = |of: &str| told[of]["covered"].as_f64().unwrap();
    assert!(covered("targeted") >= 1.3 * covered("uniform"), "{told}");
    assert!(
        told["targeted"]["noise"].as_f64() < told["uniform"]["noise"].as_f64(),
        "{told}"
    );
    // What was predicted, measured: both spreads around the simulator, run again.
    for name in ["targeted", "uniform"] {
        let file = if name == "targeted" {
            "randomization.toml"
        } else {
            "randomization.uniform.toml"
        };
        let text = std::fs::read_to_string(place.path(file)).unwrap();
        let (_, items) = text.split_once("\n[[perturb]]").unwrap();
        let items = format!(
            "[[environments.tried.perturb]]{}",
            items.replace("[[perturb]]", "[[environments.tried.perturb]]")
        );
        run(&place, name, &items);
    }
    place.done(&["profile"]);
    let before = visited(&place, "world");
    let share = |name: &str| 1.0 - visited(&place, &format!("world--{name}")) / before;
    let (targeted, uniform) = (share("targeted"), share("uniform"));
    eprintln!(
        "visited gap {before:.4}; measured cover: targeted {:.1} %, uniform {:.1} %",
        targeted * 100.0,
        uniform * 100.0
    );
    assert!(
        targeted >= 1.3 * uniform.max(0.0) && targeted > 0.5,
        "{targeted} {uniform}"
    );
    // The simulator serves with it.
    let mut child = place
        .command(&[
            "simulate",
            "--environment",
            "world",
            "--stdio",
            "--randomization",
            "randomization.toml",
        ])
        .stdin(std::process::Stdio::null())
        .spawn()
        .unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn what_gradients_need_is_said() {
    let place = super::shop_lake();
    let mut told = String::new();
    for options in [
        &["--environment", "shop", "--budget", "1"][..],
        &["--environment", "shop", "--budget", "-1"],
        &["--environment", "shop", "--budget", "1", "--out", "r.json"],
    ] {
        let mut all = vec!["randomize"];
        all.extend(options);
        told.push_str(&format!(
            "$ {}\n{}\n",
            all.join(" "),
            place.said(&place.run(&all))
        ));
    }
    place.done(&["profile"]);
    let ran = place.run(&[
        "randomize",
        "--environment",
        "shop",
        "--budget",
        "1",
        "--least-calls",
        "1",
    ]);
    told.push_str(&format!("$ after profile\n{}\n", place.said(&ran)));
    insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("randomize_wrong_use", told);
    });
}
