//! What each perturbation of calls does to the calls of a session of the store.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use fidelake::env::{
    Answer, Context, EnvResult, Environment, Fault, Place, Request, Session, Spec, Start,
};
use serde_json::{Value, json};

use super::command;

fn build(perturb: &str) -> EnvResult<std::sync::Arc<dyn Environment>> {
    let plan = format!(
        "[inner]\n{}[outer]\nkind = \"perturb\"\nof = \"inner\"\n{perturb}",
        command()
    );
    let specs: BTreeMap<String, Spec> = toml::from_str(&plan).unwrap();
    let context = Context {
        name: "outer",
        folder: Path::new("/"),
        lake: None,
    };
    specs["outer"].build_among(&context, &specs)
}

/// Makes calls in a session of the perturbed store: (tool, arguments).
fn made(perturb: &str, calls: &[(&str, Value)]) -> (Vec<Answer>, Value) {
    run(async {
        let mut session = build(perturb).unwrap().open(&Start::Fresh).await.unwrap();
        let mut answers = Vec::new();
        for (name, arguments) in calls {
            answers.push(call(&mut session, name, arguments).await);
        }
        let state = session.snapshot().await.unwrap().unwrap().state.unwrap();
        session.close().await;
        (answers, serde_json::from_str(&state).unwrap())
    })
}

fn run<T>(work: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(work)
}

async fn call(session: &mut Box<dyn Session>, name: &str, arguments: &Value) -> Answer {
    let request = Request {
        name,
        arguments: &arguments.to_string(),
        timeout: Duration::from_secs(20),
    };
    session.call(request).await
}

fn value(answer: &Answer) -> Value {
    serde_json::from_str(answer.content.as_ref().unwrap()).unwrap()
}

/// What the notes of perturbations say.
fn said(answer: &Answer) -> Vec<&str> {
    let notes = answer.notes.iter().filter(|note| note.kind == "perturbed");
    notes.map(|note| &*note.text).collect()
}

fn add(n: i64) -> (&'static str, Value) {
    ("add_to", json!({"key": "k", "n": n}))
}

fn get() -> (&'static str, Value) {
    ("get_entry", json!({"key": "k"}))
}

#[test]
fn a_struck_call_is_not_made_and_goes_through_when_made_again() {
    for (name, error_type, statuses) in [
        ("transition_timeout", "timeout", &[None][..]),
        ("transition_rate_limit", "rate_limited", &[Some(429)]),
        ("transition_auth", "auth", &[Some(401), Some(403)]),
        (
            "transition_server_error",
            "server_error",
            &[Some(500), Some(502), Some(503)],
        ),
    ] {
        let list = format!("perturb = [{{ name = \"{name}\", intensity = 1.0 }}]");
        let (answers, state) = made(&list, &[add(1), add(1), add(1)]);
        assert_eq!(state, json!({"k": 1}), "{name}");
        for struck in [&answers[0], &answers[2]] {
            assert_eq!(struck.error_type.as_deref(), Some(error_type));
            assert!(statuses.contains(&struck.status) && struck.is_error == Some(true));
            assert_eq!(
                (struck.fault, said(struck)),
                (None, vec![&*format!("{name}: not made")])
            );
        }
        assert_eq!(
            (value(&answers[1])["sum"].as_i64(), said(&answers[1])),
            (Some(1), vec![])
        );
    }
}

#[test]
fn strikes_can_last_be_the_first_only_and_take_effect() {
    let list = r#"perturb = [{ name = "transition_auth", intensity = 1.0, times = 0, tools = ["add_to"] }]"#;
    let (answers, _) = made(list, &[add(1), add(1), add(1), get()]);
    let types: Vec<_> = answers
        .iter()
        .map(|answer| answer.error_type.as_deref())
        .collect();
    assert_eq!(types, [Some("auth"), Some("auth"), Some("auth"), None]);
    let list = r#"perturb = [{ name = "transition_rate_limit", intensity = 1.0, first = 1, retry_after_s = 1.5 }]"#;
    let (answers, _) = made(list, &[add(1), add(2)]);
    assert_eq!(answers[0].retry_after, Some(Duration::from_millis(1500)));
    assert_eq!(answers[1].error_type, None);
    let list = r#"perturb = [{ name = "transition_timeout", intensity = 1.0, takes_effect = 1.0, ms = 30.0 }]"#;
    let (answers, state) = made(list, &[add(1), add(1)]);
    assert_eq!(
        said(&answers[0]),
        ["transition_timeout: made, its answer was lost"]
    );
    assert!(answers[0].latency_ms >= 30.0 && answers[0].error_type.as_deref() == Some("timeout"));
    assert_eq!(
        (state, value(&answers[1])["sum"].as_i64()),
        (json!({"k": 2}), Some(2))
    );
}

#[test]
fn answers_come_back_broken_or_in_another_shape() {
    let list = r#"perturb = [{ name = "transition_malformed", intensity = 1.0 }]"#;
    let (answers, state) = made(list, &[add(1), add(1)]);
    assert_eq!(answers[0].fault, Some(Fault::Malformed));
    let text = value(&answers[0]);
    assert!(
        serde_json::from_str::<Value>(text.as_str().unwrap()).is_err(),
        "{text}"
    );
    assert_eq!((state, said(&answers[1])), (json!({"k": 2}), vec![]));
    let list = r#"perturb = [{ name = "transition_schema_drift", intensity = 1.0 }]"#;
    let (answers, _) = made(list, &[get(), add(3), get()]);
    let (first, later) = (value(&answers[0]), value(&answers[2]));
    let inner = |value: &Value| value.get("data").unwrap_or(value).clone();
    assert!(
        inner(&first).get("entryKey").is_some() && first.get("entry_key").is_none(),
        "{first}"
    );
    // An interface changes once: all answers of a tool have one shape.
    let keys = |value: &Value| {
        inner(value)
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(keys(&first), keys(&later));
    assert_eq!(answers[0].error_type.as_deref(), Some("schema_drift"));
    let list = r#"perturb = [{ name = "truncated_output", intensity = 1.0, keep = 0.25 }]"#;
    let (answers, _) = made(list, &[get()]);
    assert_eq!(
        (value(&answers[0]), answers[0].truncated),
        (json!("{\"entry_"), Some(true))
    );
}

#[test]
fn lists_come_in_pages() {
    let list = r#"perturb = [{ name = "pagination", page = 2, tools = ["list_entries"] }]"#;
    run(async {
        let mut session = build(list).unwrap().open(&Start::Fresh).await.unwrap();
        let tools = session.tools().await.unwrap();
        let knows: Vec<_> = tools
            .iter()
            .filter(|tool| tool.declaration.contains("cursor"))
            .collect();
        assert!(knows.len() == 1 && knows[0].name == "list_entries");
        for key in ["a", "b", "c"] {
            call(&mut session, "put_entry", &json!({"key": key, "value": 1})).await;
        }
        let mut all = Vec::new();
        let mut cursor = json!({});
        for _ in 0..2 {
            let answer = call(&mut session, "list_entries", &cursor).await;
            assert_eq!(said(&answer), ["pagination: one page of it"]);
            let page = value(&answer);
            all.extend(page["entries"].as_array().unwrap().clone());
            cursor = page
                .get("next_cursor")
                .map_or(Value::Null, |next| json!({"cursor": next}));
        }
        assert_eq!(
            (all, cursor),
            (vec![json!("a"), json!("b"), json!("c")], Value::Null)
        );
        session.close().await;
    });
}

#[test]
fn delays_are_waited_for_up_to_the_timeout() {
    let list = r#"perturb = [{ name = "latency", ms = 80.0, sigma = 0.0 }]"#;
    let (answers, _) = made(list, &[get()]);
    assert!(answers[0].latency_ms >= 80.0 && value(&answers[0])["entry_key"] == "k");
    assert_eq!(said(&answers[0]), ["latency: delayed by 80.000 ms"]);
    let list = r#"perturb = [{ name = "latency", ms = 3600000.0, sigma = 0.0, sleep = false }]"#;
    let (answers, state) = made(list, &[add(1)]);
    // The call was made; nobody waited for its answer.
    assert_eq!(
        (answers[0].fault, state),
        (Some(Fault::Late), json!({"k": 1}))
    );
}

#[test]
fn reads_see_writes_late() {
    let sums = |perturb: &str, calls: &[(&str, Value)]| {
        let (answers, state) = made(perturb, calls);
        let read = |answer: &Answer| (value(answer)["value"].as_i64(), said(answer).len());
        let reads: Vec<_> = answers
            .iter()
            .filter(|a| value(a).get("entry_key").is_some())
            .map(read)
            .collect();
        // What a late read says of the state is the state itself.
        let hashes: Vec<_> = answers
            .iter()
            .map(|answer| answer.state_hash.is_some())
            .collect();
        assert!(hashes.iter().all(|known| *known));
        assert_eq!(
            answers[answers.len() - 1].state_hash,
            answers[1].state_hash,
            "{perturb}"
        );
        (reads, state)
    };
    let calls = [get(), add(1), get(), get(), get()];
    let list = "uncounted_calls = true\nperturb = [{ name = \"eventual_consistency\", calls = 2 }]";
    let (reads, state) = sums(list, &calls);
    assert_eq!(reads, [(None, 0), (None, 1), (None, 1), (Some(1), 0)]);
    assert_eq!(state, json!({"k": 1}));
    let list =
        "uncounted_calls = true\nperturb = [{ name = \"eventual_consistency\", ms = 600000.0 }]";
    assert_eq!(
        sums(list, &calls).0,
        [(None, 0), (None, 1), (None, 1), (None, 1)]
    );
    let list = "perturb = [{ name = \"stale_cache\" }]";
    assert_eq!(
        sums(list, &calls).0,
        [(None, 0), (None, 1), (None, 1), (None, 1)]
    );
    let list = "perturb = [{ name = \"stale_cache\", calls = 2 }]";
    assert_eq!(
        sums(list, &calls).0,
        [(None, 0), (None, 1), (Some(1), 0), (Some(1), 1)]
    );
}

#[test]
fn repeats_are_refused_or_take_effect_twice() {
    let put = ("put_entry", json!({"key": "p", "value": 5}));
    let (answers, state) = made(
        "perturb = [{ name = \"lost_idempotency\" }]",
        &[put.clone(), put.clone(), get(), get()],
    );
    assert_eq!(
        (answers[1].status, answers[1].error_type.as_deref()),
        (Some(409), Some("conflict"))
    );
    assert_eq!(
        said(&answers[1]),
        ["lost_idempotency: not made, it was made before"]
    );
    assert!(answers[3].is_error == Some(false) && state == json!({"p": 5}));
    let list =
        "uncounted_calls = true\nperturb = [{ name = \"lost_idempotency\", doubled = true }]";
    let (answers, state) = made(list, &[add(2), get()]);
    assert_eq!(
        (value(&answers[0])["sum"].as_i64(), state),
        (Some(2), json!({"k": 4}))
    );
    assert_eq!(answers[0].state_hash, answers[1].state_hash);
}

#[test]
fn other_tools_are_offered_and_their_calls_refused() {
    let list = r#"perturb = [{ name = "reward_cd_ab", tools = ["add_to"] }, { name = "action_c", tools = ["get_entry"] }]"#;
    run(async {
        let mut session = build(list).unwrap().open(&Start::Fresh).await.unwrap();
        let tools = session.tools().await.unwrap();
        let mut names: Vec<_> = tools
            .iter()
            .map(|tool| (tool.name.as_str(), tool.mutates))
            .collect();
        names.sort();
        let expected = [
            ("ADD_T", Some(true)),
            ("add_to_1", Some(false)),
            ("get_entry", Some(false)),
            ("get_entry", Some(false)),
            ("list_entries", Some(false)),
            ("put_entry", Some(true)),
        ];
        assert_eq!(names, expected);
        let arguments = json!({"key": "k", "n": 1});
        let mut seen = Vec::new();
        for name in ["ADD_T", "add_to_1", "add_to", "get_entry", "nothing"] {
            let answer = call(&mut session, name, &arguments).await;
            seen.push((answer.error_type.clone(), said(&answer).len()));
        }
        let of = |word: &str, notes| (Some(word.to_owned()), notes);
        let expected = [
            (None, 0),
            of("tool_error", 1),
            of("unknown_tool", 1),
            (None, 0),
            of("server_error", 0),
        ];
        assert_eq!(seen, expected);
        session.close().await;
    });
}

#[test]
fn the_first_of_a_list_stands_next_to_the_environment() {
    // The cache outside the failing layer keeps what that let through; inside it is never asked.
    let outside = r#"perturb = [{ name = "transition_server_error", intensity = 1.0, times = 0, tools = ["get_entry"] }, { name = "stale_cache" }]"#;
    let (answers, _) = made(outside, &[get(), get()]);
    assert_eq!(said(&answers[1]).len(), 1);
    assert!(
        said(&answers[1])[0].starts_with("stale_cache"),
        "{:?}",
        answers[1]
    );
    let inside = r#"perturb = [{ name = "stale_cache" }, { name = "transition_server_error", intensity = 1.0, times = 0, tools = ["get_entry"] }]"#;
    let (answers, _) = made(inside, &[get(), get()]);
    assert!(
        said(&answers[1])[0].starts_with("transition_server_error"),
        "{:?}",
        answers[1]
    );
}

#[test]
fn a_session_says_what_stands_around_it_and_begins_anew() {
    run(async {
        let list = r#"seed = 4
perturb = [{ name = "lost_idempotency" }, { name = "latency", intensity = 0.0 }]"#;
        let mut session = build(list).unwrap().open(&Start::Fresh).await.unwrap();
        // What has no intensity is not there at all.
        assert_eq!(
            session.version().as_deref(),
            Some("store 1 + lost_idempotency=1 seed 4")
        );
        for _ in 0..2 {
            let (name, arguments) = add(1);
            let place = Place {
                trajectory: "t",
                repeat: 0,
                position: 0,
            };
            session.place(place);
            assert_eq!(call(&mut session, name, &arguments).await.error_type, None);
            assert_eq!(call(&mut session, name, &arguments).await.status, Some(409));
            session.reset(&Start::Fresh).await.unwrap();
        }
        session.close().await;
    });
}

#[test]
fn descriptions_with_mistakes_say_what_would_be_right() {
    for (list, said) in [
        ("perturb = []", "no perturbation is given"),
        (
            "perturb = [{ name = \"obs_typos\" }]",
            "use `fidelake perturb --with obs_typos`",
        ),
        (
            "perturb = [{ name = \"eventual_consistency\" }]",
            "uncounted_calls = true",
        ),
        (
            "perturb = [{ name = \"lost_idempotency\", doubled = true }]",
            "uncounted_calls = true",
        ),
        (
            "uncounted_calls = true\nperturb = [{ name = \"latency\" }, { name = \"eventual_consistency\" }]",
            "must stand first",
        ),
        (
            "perturb = [{ name = \"latency\", page = 3 }]",
            "latency knows no `page`",
        ),
    ] {
        let error = build(list).unwrap_err().to_string();
        assert!(
            error.starts_with("environment outer: ") && error.contains(said),
            "{error}"
        );
    }
}
