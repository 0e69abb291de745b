//! `fidelake validate live`: agents in perturbed worlds, from a plan to the rank correlation.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fidelake::env::{Context, Environment, Kept, Request, Spec, Start};
use serde_json::{Value, json};

use crate::support::{Place, skipped, text};

fn python() -> String {
    std::env::var("FIDELAKE_TEST_PYTHON").unwrap_or_else(|_| "python3".into())
}

fn world() -> String {
    let world = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/perturb/world.py");
    format!(
        "kind = \"process\"\ncommand = [{:?}, {world:?}]\n",
        python()
    )
}

fn gold(name: &str, arguments: Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

/// Five tasks that change the store, and one that only reads.
fn tasks() -> String {
    let names = ["alpha", "beta", "gamma", "delta", "omega"];
    let writes = names.iter().enumerate().map(|(n, name)| {
        let told = format!(
            "Please increase the entry {name} carefully twice, then show what stands there."
        );
        json!({"trajectory_id": format!("store/{name}"), "task": told, "gold": [
            gold("add_to", json!({"key": name, "n": n + 2})),
            gold("get_entry", json!({"key": name})),
            gold("add_to", json!({"key": name, "n": 1})),
        ]})
    });
    let reads = json!({"trajectory_id": "store/reads", "task": "List it.", "gold": [gold("list_entries", json!({}))]});
    let lines: Vec<String> = writes.chain([reads]).map(|task| task.to_string()).collect();
    lines.join("\n")
}

fn planned(place: &Place) -> PathBuf {
    place.write("tasks.jsonl", tasks());
    let plan = format!(
        "version = 1\n[[benchmarks]]\nname = \"store\"\ntasks = [\"tasks.jsonl\"]\n[benchmarks.environment]\n{}[benchmarks.read_back]\nadd_to = \"get_entry\"\n",
        world()
    );
    place.write("live.toml", plan)
}

const SMALL: [&str; 12] = [
    "--types",
    "obs_typos,action_b,action_redundant,reward_cd_ab,transition_timeout,transition_auth",
    "--agents",
    "gold,gold+retry,rebinding,strict,reader,picker",
    "--seeds",
    "2",
    "--resamples",
    "50",
    "--workers",
    "1",
    "--format",
    "json",
];

fn live(place: &Place, lake: &str) -> Value {
    let mut words = vec!["validate", "live", "live.toml", "--lake", lake];
    words.extend(SMALL);
    serde_json::from_str(&place.done(&words).stdout).unwrap()
}

#[test]
fn what_agents_lose_is_measured_and_ranked() {
    let place = Place::new();
    planned(&place);
    let found = live(&place, "lake");
    assert_eq!(
        found["benchmarks"],
        json!([{"name": "store", "drawn": 6, "used": 5, "left_out":
            {"it is done by doing nothing: the right calls change no state": 1}}])
    );
    let kinds = found["types"].as_array().unwrap();
    let of = |label: &str| kinds.iter().find(|kind| kind["label"] == label).unwrap();
    // Renamed tools stop all who go by the name; two of three agents that replay are gold.
    let renamed = of("reward_cd_ab");
    assert_eq!(
        (&renamed["harm"], &renamed["tied"]),
        (&json!(1.0), &json!(false))
    );
    assert_eq!(renamed["by_mind"]["picker"], 0.0);
    assert!(renamed["loss"].as_f64().unwrap() > 0.9, "{renamed}");
    // A twin without parameters stops who takes the first tool of a name.
    let twin = of("action_b");
    assert_eq!((&twin["harm"], &twin["tied"]), (&json!(0.0), &json!(true)));
    assert_eq!(twin["by_mind"]["strict"], 1.0);
    // 5 tasks x 2 seeds x 3 agents.
    assert_eq!(twin["n"], 30);
    // Strict is one of five agents that share no code with the probe.
    assert!(
        (twin["harm_all"].as_f64().unwrap() - 0.2).abs() < 1e-12,
        "{twin}"
    );
    assert_eq!(of("obs_typos")["by_mind"]["gold"], 0.0);
    assert!(of("obs_typos")["by_mind"]["reader"].as_f64().unwrap() > 0.0);
    assert_eq!(found["unfelt_by_all"], json!(["action_redundant"]));
    let ranks = found["replay"].as_array().unwrap();
    let seeds: Vec<&Value> = ranks.iter().map(|rank| &rank["seed"]).collect();
    assert_eq!(seeds, [&json!(1), &json!(2), &Value::Null]);
    assert!(ranks[2]["spearman"].as_f64().unwrap() <= ranks[2]["attainable"].as_f64().unwrap());
    let paper: Vec<&Value> = found["ordering"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["paper"])
        .collect();
    assert_eq!(
        paper,
        [&json!(0.05), &json!(0.15), &json!(0.3), &json!(0.4)]
    );
    // The runs are in the lake with their labels, verdicts of all agents and no latencies.
    let sql =
        "SELECT count(DISTINCT trajectory_id) AS n FROM runs WHERE labels LIKE '%\"seed\":\"2\"%'";
    let ran = place.done(&["sql", "--lake", "lake", "--format", "ndjson", sql]);
    assert_eq!(ran.stdout.trim(), r#"{"n":30}"#);
    let ran = place.done(&[
        "sql",
        "--lake",
        "lake",
        "--format",
        "ndjson",
        "SELECT count(*) AS n, count(DISTINCT agent) AS agents FROM verdicts",
    ]);
    assert_eq!(ran.stdout.trim(), r#"{"n":720,"agents":6}"#);
    // Again: nothing is played, and the same is said.
    assert_eq!(live(&place, "lake"), found);
    // A smaller one is another experiment in the same lake.
    let fewer = place.done(&[
        "validate",
        "live",
        "live.toml",
        "--lake",
        "lake",
        "--tasks",
        "2",
        "--types",
        "reward_cd_ab,action_b,transition_auth",
        "--seeds",
        "1",
        "--agents",
        "gold,picker",
        "--resamples",
        "10",
    ]);
    assert!(
        fewer.stdout.contains("2 of 2 tasks") || fewer.stdout.contains("1 of 2 tasks"),
        "{}",
        fewer.stdout
    );
    assert_eq!(live(&place, "lake")["types"], found["types"]);
}

#[test]
fn a_killed_experiment_goes_on() {
    let place = Place::new();
    planned(&place);
    let whole = live(&place, "whole");
    let mut words = vec!["validate", "live", "live.toml", "--lake", "killed"];
    words.extend(SMALL);
    let mut child = place.command(&words).spawn().unwrap();
    let began = Instant::now();
    let parts = place.path("killed/_fidelake/live");
    let first_is_done = || {
        let folders = std::fs::read_dir(&parts).into_iter().flatten().flatten();
        folders
            .into_iter()
            .any(|folder| folder.path().join("00000.json").exists())
    };
    while !first_is_done() {
        assert!(
            began.elapsed() < Duration::from_secs(120),
            "no task was done"
        );
        std::thread::sleep(Duration::from_millis(3));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let ran = place.done(&words);
    assert!(ran.stderr.contains("going on: "), "{}", ran.stderr);
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    for key in [
        "id",
        "types",
        "replay",
        "all",
        "benchmarks",
        "ordering",
        "plays",
    ] {
        assert_eq!(found[key], whole[key], "{key}");
    }
}

#[test]
fn what_cannot_be_played_is_told() {
    let place = Place::new();
    planned(&place);
    let fails = |words: &[&str], code: i32, said: &str| {
        let mut all = vec!["validate", "live"];
        all.extend(words);
        let ran = place.run(&all);
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
    };
    fails(&["none.toml"], 2, "none.toml");
    fails(&["live.toml", "--types", "typos"], 2, "obs_typos");
    fails(&["live.toml", "--types", "latency"], 2, "is none of");
    fails(&["live.toml", "--agents", "picker"], 2, "gold");
    fails(&["live.toml", "--seeds", "0"], 2, "from 1 on");
    place.write("other.toml", "version = 1\nbenchmarks = []\n");
    fails(&["other.toml"], 2, "at least one");
    let broken = format!(
        "version = 1\n[[benchmarks]]\nname = \"store\"\ntasks = [\"/nowhere/python\", \"x\"]\n[benchmarks.environment]\n{}",
        world()
    );
    place.write("broken.toml", broken);
    fails(&["broken.toml"], 1, "/nowhere/python");
    place.write("odd.jsonl", "{\"trajectory_id\":\"a\",\"gold\":[{}]}\n");
    let odd = format!(
        "version = 1\n[[benchmarks]]\nname = \"store\"\ntasks = [\"odd.jsonl\"]\n[benchmarks.environment]\n{}",
        world()
    );
    place.write("odd.toml", odd);
    fails(&["odd.toml"], 1, "without name");
    let dead = "version = 1\n[[benchmarks]]\nname = \"store\"\ntasks = [\"tasks.jsonl\"]\n[benchmarks.environment]\nkind = \"process\"\ncommand = [\"false\"]\n";
    place.write("dead.toml", dead);
    fails(&["dead.toml"], 1, "benchmark store, task store/");
}

async fn called(session: &mut dyn fidelake::env::Session, name: &str, arguments: &str) -> String {
    let request = Request {
        name,
        arguments,
        timeout: Duration::from_secs(20),
    };
    session.call(request).await.content.unwrap()
}

#[test]
fn a_kept_world_answers_as_it_did_and_knows_its_states() {
    let place = Place::new();
    let seen = place.path("seen");
    let spec: Spec = toml::from_str(&format!("{}env = {{ SEEN = {seen:?} }}\n", world())).unwrap();
    let context = Context {
        name: "store",
        folder: Path::new("/"),
        lake: None,
    };
    let kept = Kept::new(spec.build(&context).unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let world: Arc<dyn Environment> = Arc::new(kept.clone());
        let mut shown = Vec::new();
        for extra in [false, true, false] {
            let mut session = world.open(&Start::Fresh).await.unwrap();
            let mut said = vec![called(session.as_mut(), "add_to", r#"{"key":"k","n":2}"#).await];
            if extra {
                called(session.as_mut(), "add_to", r#"{"key":"k","n":5}"#).await;
            }
            said.push(called(session.as_mut(), "get_entry", r#"{"key":"k"}"#).await);
            said.push(session.snapshot().await.unwrap().unwrap().state.unwrap());
            session.close().await;
            shown.push(said);
        }
        assert_eq!(shown[0], shown[2]);
        assert!(
            shown[0][1].contains("2") && shown[1][1].contains("7"),
            "{shown:?}"
        );
        // Add, get; the way back with both adds, and get. The third time nothing is asked.
        let calls = std::fs::read_to_string(&seen).unwrap();
        assert_eq!(kept.calls()[0], calls.lines().count() as u64);
        assert!(kept.calls()[0] <= 6, "{calls}");
        let made = kept.calls()[0];
        kept.forget();
        let mut session = world.open(&Start::Fresh).await.unwrap();
        called(session.as_mut(), "add_to", r#"{"key":"k","n":2}"#).await;
        assert_eq!(kept.calls()[0], made + 1);
        assert_eq!(kept.unsteady(), None);
        kept.close().await;
    });
}

/// The shipped plan, with the virtual environments that the tests have.
#[test]
fn the_benchmarks_themselves() {
    let Some(servers) = std::env::var_os("FIDELAKE_TEST_SERVERS").map(PathBuf::from) else {
        skipped("needs the benchmarks that FIDELAKE_TEST_SERVERS names");
        return;
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let plan = std::fs::read_to_string(root.join("sample_data/plans/live.toml")).unwrap();
    let adapters = root.join("adapters");
    let plan = plan
        .replace(
            "\"tau2/bin/python\"",
            &format!("{:?}", servers.join("tau2/bin/python")),
        )
        .replace(
            "\"bfcl/bin/python\"",
            &format!("{:?}", servers.join("bfcl/bin/python")),
        )
        .replace("../../adapters", text(&adapters));
    let place = Place::new();
    place.write("live.toml", plan);
    let ran = place.done(&[
        "validate",
        "live",
        "live.toml",
        "--tasks",
        "6",
        "--seeds",
        "1",
        "--resamples",
        "20",
        "--types",
        "action_a,reward_td_ab,transition_server_error,obs_tool_desc",
        "--agents",
        "gold,gold+retry,strict,picker",
        "--format",
        "json",
    ]);
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    let drawn: Vec<u64> = found["benchmarks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["drawn"].as_u64().unwrap())
        .collect();
    assert_eq!(drawn, [2, 2, 2]);
    let kinds = found["types"].as_array().unwrap();
    let of = |label: &str| kinds.iter().find(|kind| kind["label"] == label).unwrap();
    assert_eq!(of("reward_td_ab")["harm"], 1.0);
    assert_eq!(of("obs_tool_desc")["harm"], 0.0);
    assert_eq!(of("action_a")["by_mind"]["gold"], 0.0);
}
