//! `kind = "http"`, and MCP over streamable HTTP, against an odd server.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fidelake::env::{Fault, Start};

use super::{build, call, call_within, environment, here, kinds, open, run};

struct Odd {
    child: Child,
    port: u16,
}

impl Odd {
    fn start() -> Self {
        let mut command = Command::new("python3");
        command
            .arg(here().join("hostile_http.py"))
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let port = line.trim().parse().unwrap();
        Self { child, port }
    }

    fn api(&self) -> String {
        let port = self.port;
        format!(
            "kind = 'http'\nopenapi = 'notes.openapi.json'\nbase_url = 'http://127.0.0.1:{port}/api'\n\
             max_body_bytes = 100000\nreset_tool = 'reset'\nstate_tool = 'list_notes'\n\
             [headers]\nAuthorization = 'Bearer ${{PATH}}'\n"
        )
    }

    fn mcp(&self) -> String {
        format!(
            "kind = 'mcp'\nurl = 'http://127.0.0.1:{}/mcp'\nstart_timeout_s = 10",
            self.port
        )
    }
}

impl Drop for Odd {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn operations_are_called_with_their_arguments_in_place() {
    let odd = Odd::start();
    run(async {
        let mut session = open(&odd.api()).await;
        assert_eq!(
            session.version().as_deref(),
            Some("Notes 1 (OpenAPI 3.0.3)")
        );
        let tools = session.tools().await.unwrap();
        let changing: Vec<&str> = tools
            .iter()
            .filter(|t| t.mutates == Some(true))
            .map(|t| t.name.as_str())
            .collect();
        assert_eq!(changing, ["echo_form", "moved_post", "put_note", "reset"]);

        let put = call(
            &mut session,
            "put_note",
            r#"{"id": "a/b c", "text": "x", "weight": 1.10}"#,
        )
        .await;
        assert_eq!(
            put.content.as_deref(),
            Some(r#"{"text":"x","weight":1.10}"#)
        );
        assert_eq!((put.status, put.fault), (Some(200), None));
        let got = call(&mut session, "get_note", r#"{"id": "a/b c"}"#).await;
        assert_eq!(got.content, put.content);
        let state = session.snapshot().await.unwrap().unwrap();
        assert_eq!(state.state.as_deref(), Some(r#"["a%2Fb%20c"]"#));
        session.reset(&Start::Fresh).await.unwrap();
        let gone = call(&mut session, "get_note", r#"{"id": "a/b c"}"#).await;
        assert_eq!((gone.status, gone.is_error), (Some(404), None));

        let arguments = r#"{"q": "ä&b", "tags": ["x", "y"], "ids": [1, 2.50], "where": {"k": true}, "X-Tag": "t", "seen": "s", "extra": 1}"#;
        let echo = call(&mut session, "echo", arguments).await;
        assert_eq!(kinds(&echo.notes), ["unknown_arguments"]);
        let seen: serde_json::Value = serde_json::from_str(&echo.content.unwrap()).unwrap();
        assert_eq!(
            seen["query"],
            "q=%C3%A4%26b&tags=x&tags=y&ids=1%2C2.50&where%5Bk%5D=true"
        );
        assert_eq!(
            (&seen["tag"], &seen["cookie"]),
            (&"t".into(), &"seen=s".into())
        );
        let path = std::env::var("PATH").unwrap();
        assert_eq!(seen["token"], format!("Bearer {path}"));
        let form = call(&mut session, "echo_form", r#"{"a": "x y", "b": 1.0}"#).await;
        assert!(form.content.unwrap().contains("\"body\": \"a=x+y&b=1.0\""));
        session.close().await;
    });
}

#[test]
fn what_an_api_does_wrong_is_told() {
    let odd = Odd::start();
    run(async {
        let mut session = open(&odd.api()).await;
        let exact = call(&mut session, "exact", "{}").await;
        let spelled = r#"{"b": 1.10, "a": 18446744073709551617, "n": NaN}"#;
        assert_eq!(exact.content.as_deref(), Some(spelled));
        let limited = call(&mut session, "limited", "{}").await;
        assert_eq!(limited.status, Some(429));
        assert_eq!(limited.retry_after, Some(Duration::from_secs(2)));
        assert_eq!(limited.content.as_deref(), Some("\"slow down\""));
        let broken = call(&mut session, "broken", "{}").await;
        assert_eq!((broken.status, broken.fault), (Some(500), None));
        let large = call(&mut session, "large", "{}").await;
        assert_eq!(
            (large.fault, kinds(&large.notes)),
            (Some(Fault::Malformed), vec!["body_too_long"])
        );
        let slow = call_within(&mut session, "slow", "{}", Duration::from_millis(200)).await;
        assert_eq!(slow.fault, Some(Fault::Late));
        let cut = call(&mut session, "cut", "{}").await;
        assert_eq!((cut.fault, cut.status), (Some(Fault::Lost), Some(200)));
        // Reads follow redirects on the same host; nothing follows them elsewhere, writes nowhere.
        let moved = call(&mut session, "moved", "{}").await;
        assert_eq!(
            (moved.status, moved.content.as_deref()),
            (Some(200), Some(spelled))
        );
        assert_eq!(
            call(&mut session, "moved_post", "{}").await.status,
            Some(302)
        );
        assert_eq!(call(&mut session, "away", "{}").await.status, Some(302));
        let unknown = call(&mut session, "nothing", "{}").await;
        assert_eq!(unknown.error_type.as_deref(), Some("unknown_tool"));
        let missing = call(&mut session, "get_note", "{}").await;
        assert_eq!(missing.fault, Some(Fault::Unsendable));
        let upwards = call(&mut session, "get_note", r#"{"id": ".."}"#).await;
        assert_eq!(upwards.fault, Some(Fault::Unsendable));
        session.close().await;

        let nobody =
            "kind = 'http'\nopenapi = 'notes.openapi.json'\nbase_url = 'http://127.0.0.1:1/'";
        let mut session = open(nobody).await;
        assert_eq!(
            call(&mut session, "exact", "{}").await.fault,
            Some(Fault::NotSent)
        );
    });
}

#[test]
fn a_description_of_an_api_that_cannot_be_used_says_why() {
    let why = |toml: &str| build(toml).unwrap_err().to_string();
    let absent = why("kind = 'http'\nopenapi = 'no.json'");
    assert!(absent.contains("no.json"), "{absent}");
    let relative = why("kind = 'http'\nopenapi = 'notes.openapi.json'");
    assert!(relative.contains("servers of the document"), "{relative}");
    let unset =
        why("kind = 'mcp'\nurl = 'http://127.0.0.1:1/'\nheaders = {A = '${FIDELAKE_NOT_SET}'}");
    assert!(unset.contains("FIDELAKE_NOT_SET is not set"), "{unset}");
}

#[test]
fn mcp_over_http_keeps_the_spelling_and_tells_what_http_said() {
    let odd = Odd::start();
    run(async {
        let mut session = open(&odd.mcp()).await;
        assert_eq!(session.version().as_deref(), Some("odd 1 (MCP 2025-11-25)"));
        assert_eq!(session.tools().await.unwrap().len(), 1);
        let spelled = Some(r#"{"b":1.10,"a":18446744073709551617,"n":NaN}"#);
        let exact = call(&mut session, "exact", "{}").await;
        assert_eq!((exact.structured.as_deref(), exact.fault), (spelled, None));
        let events = call(&mut session, "events", "{}").await;
        assert_eq!(
            (events.structured.as_deref(), events.fault),
            (spelled, None)
        );
        assert_eq!(kinds(&events.notes), ["unknown_id"]);
        let broken = call(&mut session, "broken_event", "{}").await;
        assert_eq!(broken.fault, Some(Fault::Malformed), "{broken:?}");
        let limited = call(&mut session, "limited", "{}").await;
        assert_eq!(limited.status, Some(429));
        assert_eq!(limited.retry_after, Some(Duration::from_secs(2)));
        let html = call(&mut session, "html", "{}").await;
        assert_eq!(html.fault, Some(Fault::Malformed), "{html:?}");
        assert_eq!(html.status, Some(200));
        let slow = call_within(&mut session, "slow", "{}", Duration::from_millis(200)).await;
        assert_eq!(slow.fault, Some(Fault::Late));
        let expired = call(&mut session, "expired", "{}").await;
        assert_eq!(
            (expired.status, expired.fault),
            (Some(404), None),
            "{expired:?}"
        );
        session.close().await;

        let nobody = environment("kind = 'mcp'\nurl = 'http://127.0.0.1:1/mcp'");
        let said = nobody.open(&Start::Fresh).await.unwrap_err().to_string();
        assert!(
            said.contains("http://127.0.0.1:1/mcp did not start"),
            "{said}"
        );
        assert!(said.to_lowercase().contains("refused"), "{said}");
    });
}
