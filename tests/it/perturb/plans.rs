//! Perturbed environments on an arm of a plan: outcomes, labels, and what the profile sees.

use serde_json::{Value, json};

use super::command;
use crate::support::{Place, query};

/// Runs one trajectory of calls of the store on `sim` and on the perturbed `real`.
fn dual(place: &Place, perturb: &str, calls: &[(&str, Value)], arms: &str) {
    let calls: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(
            |(turn, (name, arguments))| json!({"turn": turn, "name": name, "arguments": arguments}),
        )
        .collect();
    let run = json!({"fidelake": 1, "trajectory_id": "t", "environment": "store", "arm": "sim", "calls": calls});
    place.write("tasks.jsonl", format!("{run}\n"));
    let plan = format!(
        "version = 1\nname = \"trial\"\n[trajectories]\nfile = \"tasks.jsonl\"\n\
         [environments.store]\n{}env = {{ SEEN = {:?} }}\n\
         [environments.other]\nkind = \"perturb\"\nof = \"store\"\n{perturb}\n\
         [sim]\nenvironment = \"store\"\n{arms}\n[real]\nenvironment = \"other\"\nbudget = 200\nallow = [\"*\"]\n{arms}\n",
        command(),
        place.path("seen"),
    );
    place.write("plan.toml", plan);
    // 3: done, with calls that got no answer.
    let ran = place.run(&["dual", "run", "plan.toml"]);
    assert!(matches!(ran.code, Some(0 | 3)), "{}", ran.stderr);
}

fn calls() -> Vec<(&'static str, Value)> {
    vec![
        ("put_entry", json!({"key": "k", "value": 1})),
        ("get_entry", json!({"key": "k"})),
    ]
}

#[test]
fn each_transition_is_the_outcome_that_it_should_be() {
    for (name, outcome, made) in [
        ("transition_timeout", "timeout", 2),
        ("transition_rate_limit", "rate_limited", 2),
        ("transition_auth", "auth", 2),
        ("transition_server_error", "server_error", 2),
        ("transition_malformed", "malformed_response", 4),
        ("transition_schema_drift", "schema_drift", 4),
    ] {
        let place = Place::new();
        let list = format!("seed = 5\nperturb = [{{ name = \"{name}\", intensity = 1.0 }}]");
        dual(&place, &list, &calls(), "");
        let rows = query(
            &place.lake(),
            "SELECT r.arm AS arm, o.outcome AS outcome, o.extra AS extra, r.labels AS labels, r.environment_version AS version
             FROM observations o JOIN runs r ON r.run_id = o.run_id ORDER BY arm DESC, o.turn",
        );
        let of = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let outcomes: Vec<String> = rows.iter().map(|row| of(row, "outcome")).collect();
        assert_eq!(outcomes, ["ok", "ok", outcome, outcome], "{name}");
        for row in &rows[2..] {
            assert!(
                of(row, "extra").contains(&format!("{{\"kind\":\"perturbed\",\"text\":\"{name}: ")),
                "{row}"
            );
            assert!(
                of(row, "labels").contains(&format!("\"perturbation\":\"{name}\"")),
                "{row}"
            );
            assert_eq!(of(row, "version"), format!("store 1 + {name}=1 seed 5"));
        }
        assert!(!of(&rows[0], "labels").contains("perturbation"));
        let seen = std::fs::read_to_string(place.path("seen")).unwrap();
        assert_eq!(seen.lines().count(), made, "{name}");
    }
}

/// Components of `trans` that the profile found to differ.
fn differing(perturb: &str, calls: &[(&str, Value)]) -> Vec<&'static str> {
    let place = Place::new();
    dual(&place, perturb, calls, "repeats = 2");
    place.write(
        "lake/_fidelake/rules.toml",
        "version = 1\n[[environment]]\nname = \"*\"\nreads = [\"get_*\", \"list_*\"]\n",
    );
    place.done(&["profile"]);
    let found = query(
        &place.lake(),
        "SELECT max(idempotency_raw) AS idempotency, max(read_after_write_raw) AS read_after_write,
                max(state_raw) AS state FROM call_gaps",
    );
    let names = ["idempotency", "read_after_write", "state"];
    let differs = |name: &&'static str| found[0][*name].as_f64().is_some_and(|gap| gap > 0.0);
    names.into_iter().filter(differs).collect()
}

#[test]
fn the_profile_sees_what_became_of_consistency() {
    let (get, put) = (
        ("get_entry", json!({"key": "k"})),
        ("put_entry", json!({"key": "k", "value": 1})),
    );
    let add = ("add_to", json!({"key": "k", "n": 1}));
    let read_write_read = [get.clone(), put.clone(), get.clone()];
    let nothing = "perturb = [{ name = \"stale_cache\", intensity = 0.0 }]";
    assert!(
        differing(
            nothing,
            &[get.clone(), put.clone(), put.clone(), get.clone()]
        )
        .is_empty()
    );
    for perturb in [
        "perturb = [{ name = \"stale_cache\" }]",
        "uncounted_calls = true\nperturb = [{ name = \"eventual_consistency\", calls = 5 }]",
    ] {
        assert_eq!(
            differing(perturb, &read_write_read),
            ["read_after_write"],
            "{perturb}"
        );
    }
    let refused = "perturb = [{ name = \"lost_idempotency\" }]";
    assert_eq!(differing(refused, &[put.clone(), put]), ["idempotency"]);
    let doubled =
        "uncounted_calls = true\nperturb = [{ name = \"lost_idempotency\", doubled = true }]";
    // States are compared once both arms were seen to hash one alike.
    assert_eq!(differing(doubled, &[get, add]), ["state"]);
}

#[test]
fn a_plan_is_run_to_its_end_twice_with_the_same_answers() {
    let calls: Vec<(&str, Value)> = (0..12)
        .map(|n| ("add_to", json!({"key": "k", "n": n % 3})))
        .collect();
    let list = "seed = 9\nperturb = [{ name = \"transition_server_error\", intensity = 0.4 }, { name = \"truncated_output\", intensity = 0.4 }]";
    let answers = |place: &Place| {
        query(
            &place.lake(),
            "SELECT r.repeat AS repeat, o.turn AS turn, o.content AS content, o.status AS status FROM observations o
             JOIN runs r ON r.run_id = o.run_id WHERE r.arm = 'real' ORDER BY repeat, turn",
        )
    };
    let (one, other) = (Place::new(), Place::new());
    dual(&one, list, &calls, "repeats = 2\nconcurrency = 2");
    dual(&other, list, &calls, "repeats = 2\nreuse = true");
    let found = answers(&one);
    assert_eq!(found, answers(&other));
    let struck = found.iter().filter(|row| row["status"].is_i64()).count();
    assert!(struck > 2 && struck < 20, "{struck}");
    // Repeats meet the same.
    assert_eq!(
        found[..12]
            .iter()
            .map(|row| &row["content"])
            .collect::<Vec<_>>(),
        found[12..]
            .iter()
            .map(|row| &row["content"])
            .collect::<Vec<_>>()
    );
}

#[test]
fn plans_with_mistakes_are_refused_before_anything_is_called() {
    let place = Place::new();
    let plan = |environments: &str| {
        let text = format!(
            "version = 1\nname = \"trial\"\n[trajectories]\nfile = \"tasks.jsonl\"\n{environments}\n[sim]\nenvironment = \"a\"\n"
        );
        place.write("plan.toml", text);
        let ran = place.run(&["dual", "run", "plan.toml", "--dry-run"]);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        ran.stderr
    };
    let perturb = |of: &str, list: &str| {
        format!("kind = \"perturb\"\nof = {of:?}\nperturb = [{{ name = {list:?} }}]\n")
    };
    let store = format!("[environments.store]\n{}", command());
    for (environments, said) in [
        (
            format!("[environments.a]\n{}", perturb("b", "latency")),
            "no [environments.b]",
        ),
        (
            format!("[environments.a]\n{}", perturb("a", "latency")),
            "perturbed itself",
        ),
        (
            format!("{store}[environments.a]\n{}", perturb("store", "lateness")),
            "no perturbation \"lateness\"",
        ),
        (
            format!("{store}[environments.a]\n{}", perturb("store", "obs_typos")),
            "an environment never sees",
        ),
        (
            format!(
                "{store}[environments.a]\n{}",
                perturb("store", "eventual_consistency")
            ),
            "uncounted_calls",
        ),
    ] {
        let stderr = plan(&environments);
        assert!(
            stderr.contains(said) && stderr.contains("environment a: "),
            "{stderr}"
        );
    }
    assert!(!place.lake().exists());
}
