//! Perturbations around a real MCP server, whose answers come in content parts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fidelake::env::{Answer, Context, Fault, Request, Spec, Start};
use serde_json::{Value, json};

/// Calls `echo` of server-everything with a perturbation around it.
fn echoed(servers: &Path, perturb: &str, tool: &str) -> Answer {
    let program = servers.join("npm/node_modules/.bin/mcp-server-everything");
    let plan = format!(
        "[inner]\nkind = \"mcp\"\ncommand = [{program:?}, \"stdio\"]\n\
         [outer]\nkind = \"perturb\"\nof = \"inner\"\nperturb = [{perturb}]"
    );
    let specs: BTreeMap<String, Spec> = toml::from_str(&plan).unwrap();
    let context = Context {
        name: "outer",
        folder: Path::new("/"),
        lake: None,
    };
    let environment = specs["outer"].build_among(&context, &specs).unwrap();
    // What is permitted is decided by what stands inside.
    assert_eq!(environment.kind(), "mcp");
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let mut session = environment.open(&Start::Fresh).await.unwrap();
        let request = Request {
            name: tool,
            arguments: r#"{"message": "one two three"}"#,
            timeout: Duration::from_secs(30),
        };
        let answer = session.call(request).await;
        session.close().await;
        answer
    })
}

fn parts(answer: &Answer) -> Value {
    serde_json::from_str(answer.content.as_ref().unwrap()).unwrap()
}

#[test]
fn the_parts_of_an_answer_stay_and_their_texts_are_perturbed() {
    let Some(servers) = std::env::var_os("FIDELAKE_TEST_SERVERS").map(PathBuf::from) else {
        eprintln!("SKIPPED: perturb: set FIDELAKE_TEST_SERVERS=$(tools/servers.sh)");
        return;
    };
    let part = |text: &str| json!([{"type": "text", "text": text}]);
    let cut = r#"{ name = "truncated_output", intensity = 1.0, keep = 0.5 }"#;
    let answer = echoed(&servers, cut, "echo");
    assert_eq!(parts(&answer), part("Echo: one"));
    assert_eq!(answer.truncated, Some(true));
    let drift = r#"{ name = "transition_schema_drift", intensity = 1.0 }"#;
    let answer = echoed(&servers, drift, "echo");
    assert_eq!(
        parts(&answer),
        part(r#"{"data":{"value":"Echo: one two three"}}"#)
    );
    let broken = r#"{ name = "transition_malformed", intensity = 1.0 }"#;
    let answer = echoed(&servers, broken, "echo");
    let text = parts(&answer)[0]["text"].as_str().unwrap().to_owned();
    assert!(serde_json::from_str::<Value>(&text).is_err(), "{text}");
    assert_eq!(answer.fault, Some(Fault::Malformed));
    let limited = r#"{ name = "transition_rate_limit", intensity = 1.0 }"#;
    let answer = echoed(&servers, limited, "echo");
    assert!(parts(&answer)[0]["text"].as_str().unwrap().contains("429"));
    // A tool by another name, found behind it.
    let renamed = r#"{ name = "reward_cd_ab", tools = ["echo"] }"#;
    assert_eq!(
        parts(&echoed(&servers, renamed, "ECH")),
        part("Echo: one two three")
    );
    let gone = echoed(&servers, renamed, "echo");
    assert_eq!(gone.error_type.as_deref(), Some("unknown_tool"));
}
