//! `kind = "mcp"` over stdio against a server that does everything wrong.

use std::time::{Duration, Instant};

use fidelake::env::{EnvError, Fault, Session, Start};

use super::{call, call_within, environment, kinds, open, run};

fn hostile(mode: &str) -> String {
    format!(
        "kind = 'mcp'\ncommand = ['python3', 'hostile_mcp.py', '{mode}']\n\
         start_timeout_s = 5\nclose_timeout_s = 1\nmax_line_bytes = 1000000"
    )
}

async fn text(session: &mut Box<dyn Session>, name: &str, arguments: &str) -> String {
    let answer = call(session, name, arguments).await;
    let content: serde_json::Value = serde_json::from_str(&answer.content.unwrap()).unwrap();
    content[0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn answers_and_arguments_keep_their_spelling() {
    run(async {
        let mut session = open(&hostile("")).await;
        assert_eq!(
            session.version().as_deref(),
            Some("hostile 1 (MCP 2025-11-25)")
        );
        let answer = call(&mut session, "exact", "{}").await;
        assert_eq!(
            answer.content.as_deref(),
            Some(r#"[{"text":"a","type":"text"}]"#)
        );
        assert_eq!(
            answer.structured.as_deref(),
            Some(r#"{"b":1.10,"a":18446744073709551617,"n":NaN,"e":1e400,"s":"\ud83d"}"#)
        );
        assert_eq!((answer.fault, answer.is_error), (None, Some(false)));
        assert!(answer.latency_ms > 0.0);
        let said = text(
            &mut session,
            "echo",
            "{\"z\": 1.10,\n\"a\": 18446744073709551617}",
        )
        .await;
        let spelled = r#""arguments":{"z": 1.10, "a": 18446744073709551617}"#;
        assert!(said.contains(spelled), "{said}");
        // No arguments are no arguments, and what is no object goes as it is.
        assert!(
            !text(&mut session, "echo", "null")
                .await
                .contains("arguments")
        );
        assert!(
            text(&mut session, "echo", "[1]")
                .await
                .contains(r#""arguments":[1]"#)
        );
        let unsendable = call(&mut session, "echo", "{'a': 1").await;
        assert_eq!(unsendable.fault, Some(Fault::Unsendable));
        let closing = session.close().await;
        assert!(closing.notes.is_empty(), "{closing:?}");
    });
}

#[test]
fn each_misbehaviour_is_an_answer_with_evidence_and_the_session_goes_on() {
    run(async {
        let mut session = open(&hostile("")).await;
        let noisy = call(&mut session, "noise", "{}").await;
        assert_eq!(noisy.fault, None);
        let noise: Vec<_> = noisy
            .notes
            .iter()
            .filter(|n| n.kind == "noise_lines")
            .collect();
        assert!(
            noise.iter().any(|note| note.text.starts_with("2 lines")),
            "{noisy:?}"
        );

        let deep = call(&mut session, "deep", "{}").await;
        assert_eq!(deep.structured.unwrap().len(), 6000 + r#"{"deep":}"#.len());

        for (tool, kind) in [
            ("no_result", "no_result"),
            ("text_result", "no_content"),
            ("invalid", "broken_answer"),
            ("endless_line", "line_too_long"),
            ("anything", "no_content"),
        ] {
            let answer = call(&mut session, tool, "{}").await;
            assert_eq!(answer.fault, Some(Fault::Malformed), "{tool}: {answer:?}");
            assert_eq!(kinds(&answer.notes)[0], kind, "{tool}");
            assert!(answer.latency_ms < 5000.0);
        }

        let error = call(&mut session, "error", "{}").await;
        assert_eq!((error.rpc_code, error.is_error), (Some(-32602), Some(true)));
        assert_eq!(
            error.content.as_deref(),
            Some(r#"{"code": -32602, "message": "Unknown tool", "data": 1}"#)
        );
        let odd = call(&mut session, "odd_error", "{}").await;
        assert_eq!(odd.content.as_deref(), Some(r#""it broke""#));

        let wait = Duration::from_millis(300);
        let garbled = call_within(&mut session, "garbled", "{}", wait).await;
        assert_eq!(garbled.fault, Some(Fault::Malformed));
        assert_eq!(kinds(&garbled.notes)[0], "invalid_json");

        let unknown = call(&mut session, "unknown_id", "{}").await;
        assert_eq!(
            (unknown.fault, kinds(&unknown.notes)),
            (None, vec!["unknown_id"])
        );

        let batch = call(&mut session, "batch", "{}").await;
        assert_eq!(batch.content.as_deref(), Some("[]"));

        let progress = call(&mut session, "progress", "{}").await;
        assert_eq!(kinds(&progress.notes), ["progress"]);

        let asks = call(&mut session, "asks", "{}").await;
        assert_eq!(kinds(&asks.notes), ["server_request"]);
        assert!(asks.content.unwrap().contains("-32601"));

        let input = call(&mut session, "input", "{}").await;
        assert_eq!(input.error_type.as_deref(), Some("tool_error"));
        session.close().await;
    });
}

#[test]
fn what_is_late_is_cancelled_and_its_answer_is_told() {
    run(async {
        let mut session = open(&hostile("")).await;
        let wait = Duration::from_millis(200);
        let late = call_within(&mut session, "late", "{}", wait).await;
        assert_eq!(late.fault, Some(Fault::Late));
        let next = call(&mut session, "error", "{}").await;
        assert_eq!(kinds(&next.notes), ["late_answer"]);
        assert_eq!(next.rpc_code, Some(-32602));
        let said = text(&mut session, "cancelled", "{}").await;
        let ids: Vec<u64> = serde_json::from_str(&said).unwrap();
        assert_eq!(ids.len(), 1, "{said}");
        session.close().await;
    });
}

#[test]
fn five_thousand_tools_come_in_pages_and_may_change() {
    run(async {
        for mode in ["", "modern"] {
            let mut session = open(&hostile(mode)).await;
            let tools = session.tools().await.unwrap();
            assert_eq!(tools.len(), 5000);
            assert_eq!(
                tools[4999].declaration,
                r#"{"name": "t4999", "inputSchema": {"type": "object", "n": 1.1}}"#
            );
            let changed = call(&mut session, "change", "{}").await;
            assert!(
                kinds(&changed.notes).contains(&"tools_changed"),
                "{changed:?}"
            );
            let tools = session.tools().await.unwrap();
            assert_eq!((tools.len(), tools[0].name.as_str()), (1, "other"));
            session.close().await;
        }
        let mut session = open(&hostile("endless-list")).await;
        let endless = session.tools().await.unwrap_err().to_string();
        assert!(endless.contains("does not end"), "{endless}");
        session.close().await;
    });
}

#[test]
fn the_newest_revision_is_found_and_old_servers_are_served() {
    run(async {
        let mut modern = open(&hostile("modern")).await;
        assert_eq!(modern.version().as_deref(), Some("MCP 2026-07-28"));
        let said = text(&mut modern, "echo", "{\"a\": 1.10}").await;
        assert!(
            said.contains("io.modelcontextprotocol/protocolVersion"),
            "{said}"
        );
        assert!(said.contains(r#""arguments":{"a": 1.10}"#), "{said}");
        modern.close().await;

        // A server that does not answer what it does not know costs two seconds, not ten.
        let began = Instant::now();
        let silent = open(&hostile("silent")).await;
        assert!(began.elapsed() < Duration::from_secs(5));
        assert_eq!(
            silent.version().as_deref(),
            Some("hostile 1 (MCP 2025-11-25)")
        );
        silent.close().await;

        let mut restarted = open(&hostile("dies-on-discover")).await;
        let answer = call(&mut restarted, "exact", "{}").await;
        assert!(kinds(&answer.notes).contains(&"restarted"), "{answer:?}");
        restarted.close().await;

        for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
            let session = open(&format!("{}\nrevision = '{revision}'", hostile(""))).await;
            assert!(
                session
                    .version()
                    .unwrap()
                    .ends_with(&format!("(MCP {revision})"))
            );
            session.close().await;
        }
        let unknown = super::build(&format!("{}\nrevision = '2023'", hostile("")));
        let said = unknown.unwrap_err().to_string();
        assert!(said.contains("give auto or one of 2024-11-05"), "{said}");
    });
}

#[test]
fn the_end_of_a_server_is_told_with_its_status_and_stderr() {
    run(async {
        let mut session = open(&hostile("")).await;
        let answer = call(&mut session, "exit", "{}").await;
        assert_eq!(answer.fault, Some(Fault::Lost));
        let said = &answer.notes[0].text;
        assert!(
            said.contains('3') && said.contains("out of memory"),
            "{said}"
        );
        let next = call(&mut session, "exact", "{}").await;
        assert_eq!(next.fault, Some(Fault::NotSent));
        session.close().await;

        let mut session = open(&hostile("")).await;
        let flood = call(&mut session, "flood", "{}").await;
        assert_eq!(
            (flood.fault, kinds(&flood.notes)[0]),
            (Some(Fault::Lost), "flood")
        );
        session.close().await;

        let mut session = open(&hostile("")).await;
        let wait = Duration::from_millis(200);
        let hang = call_within(&mut session, "hang", "{}", wait).await;
        assert_eq!(hang.fault, Some(Fault::Late));
        session.close().await;
    });
}

#[test]
fn what_does_not_start_says_why() {
    run(async {
        let failed = |toml: String| async move {
            environment(&toml)
                .open(&Start::Fresh)
                .await
                .unwrap_err()
                .to_string()
        };
        let hung =
            failed(hostile("hang").replace("start_timeout_s = 5", "start_timeout_s = 0.5")).await;
        assert!(hung.contains("no answer within 0.5 s"), "{hung}");
        let refused = failed(hostile("refuses")).await;
        assert!(refused.contains("licence expired"), "{refused}");
        let given = environment(&hostile(""))
            .open(&Start::Given("{}".to_owned()))
            .await;
        assert!(matches!(given, Err(EnvError::Start { .. })), "{given:?}");
        let both = super::build("kind = 'mcp'\ncommand = ['x']\nurl = 'http://127.0.0.1:1/'");
        assert!(both.unwrap_err().to_string().contains("one of the two"));
    });
}
