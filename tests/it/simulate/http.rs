//! Streamable HTTP: sessions, episodes by address, and who may ask.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use serde_json::Value;

use super::{call, shop_lake};
use crate::support::Place;

/// A simulator that listens; it ends with the test.
pub(crate) struct Listening {
    child: Child,
    address: String,
}

/// An answer over HTTP.
pub(crate) struct Heard {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Heard {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }

    pub(crate) fn text(&self) -> String {
        let json = self.json();
        json["result"]["content"][0]["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    fn session(&self) -> Option<String> {
        let line = self
            .head
            .lines()
            .find_map(|line| line.strip_prefix("mcp-session-id: "));
        line.map(str::to_owned)
    }
}

impl Listening {
    pub(crate) fn start(place: &Place, options: &[&str]) -> Self {
        let mut all = vec!["simulate", "--environment", "shop", "--http", "127.0.0.1:0"];
        all.extend(options);
        let mut child = place.command(&all).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        let address = loop {
            let mut line = String::new();
            assert!(stderr.read_line(&mut line).unwrap() > 0, "it ended: {said}");
            if let Some((_, rest)) = line.split_once("http://") {
                break rest.trim().trim_end_matches("/mcp").to_owned();
            }
            said.push_str(&line);
        };
        // Whatever it says later is read, so that it never waits for us.
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        Self { child, address }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub(crate) fn ask(&self, head: &str, headers: &str, body: &str) -> Heard {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let host = match headers.to_ascii_lowercase().starts_with("host:") {
            true => String::new(),
            false => format!("Host: {}\r\n", self.address),
        };
        let kind = match headers.to_ascii_lowercase().contains("content-type:") {
            true => "",
            false => "Content-Type: application/json\r\n",
        };
        write!(
            stream,
            "{head} HTTP/1.1\r\n{host}{headers}{kind}Accept: application/json, text/event-stream\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        Heard {
            status: head[9..12].parse().unwrap(),
            head: head.to_ascii_lowercase(),
            body: body.to_owned(),
        }
    }

    pub(crate) fn post(&self, path: &str, session: Option<&str>, body: &str) -> Heard {
        let session = session.map(|id| format!("Mcp-Session-Id: {id}\r\n"));
        self.ask(&format!("POST {path}"), &session.unwrap_or_default(), body)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#;

#[test]
fn a_session_is_an_episode() {
    let place = shop_lake();
    let server = Listening::start(&place, &[]);
    let (get, set) = (
        call("get", r#"{"id":"R1"}"#),
        call("set", r#"{"id":"R1","cabin":"biz"}"#),
    );
    let sessions: Vec<String> = (0..2)
        .map(|_| server.post("/mcp", None, HELLO).session().unwrap())
        .collect();
    assert_ne!(sessions[0], sessions[1]);
    let (a, b) = (Some(&*sessions[0]), Some(&*sessions[1]));
    assert_eq!(
        server
            .post(
                "/mcp",
                a,
                r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#
            )
            .status,
        202
    );
    assert!(server.post("/mcp", a, &set).text().contains("biz"));
    assert!(server.post("/mcp", a, &get).text().contains("biz"));
    // The other one wrote nothing.
    assert!(server.post("/mcp", b, &get).text().contains("old"));
    let gone = server.ask(
        "DELETE /mcp",
        &format!("Mcp-Session-Id: {}\r\n", sessions[0]),
        "",
    );
    assert_eq!(gone.status, 204);
    let after = server.post("/mcp", a, &get);
    assert_eq!(
        (after.status, after.json()["error"]["code"].as_i64()),
        (404, Some(-32600))
    );
    // Without a session nobody knows which state is meant.
    let none = server.post("/mcp", None, &get);
    assert_eq!(none.status, 400);
    assert!(none.body.contains("/mcp/NAME"), "{}", none.body);
}

#[test]
fn an_address_is_an_episode_too() {
    let place = shop_lake();
    let server = Listening::start(&place, &[]);
    let meta = r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}"#;
    let stateless = |name: &str, arguments: &str| {
        let whole = call(name, arguments);
        format!("{}{meta}}}", &whole[..whole.len() - 2])
    };
    let (get, set) = (
        stateless("get", r#"{"id":"R1"}"#),
        stateless("set", r#"{"id":"R1","cabin":"biz"}"#),
    );
    let written = server.post("/mcp/e1", None, &set).json();
    assert_eq!(written["result"]["resultType"], "complete", "{written}");
    assert!(server.post("/mcp/e1", None, &get).text().contains("biz"));
    assert!(server.post("/mcp/e2", None, &get).text().contains("old"));
    // Reset: the name begins anew.
    assert_eq!(server.ask("DELETE /mcp/e1", "", "").status, 204);
    assert!(server.post("/mcp/e1", None, &get).text().contains("old"));
    assert_eq!(server.ask("DELETE /mcp/never", "", "").status, 404);
    let listed = server.post(
        "/mcp",
        None,
        &format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{}}}"#,
            &meta[1..]
        ),
    );
    assert_eq!(
        listed.json()["result"]["cacheScope"],
        "private",
        "{}",
        listed.body
    );
    // Two clients in one episode: the one that holds it is told from others.
    let held = server.post("/mcp/mine", None, HELLO);
    assert_eq!(held.status, 200);
    let session = held.session().unwrap();
    for other in [
        server.post("/mcp/mine", None, HELLO),
        server.post("/mcp/mine", None, &get),
    ] {
        assert_eq!(other.status, 409);
        assert!(
            other.body.contains("another client holds this episode"),
            "{}",
            other.body
        );
    }
    assert!(
        server
            .post("/mcp/mine", Some(&session), &get)
            .text()
            .contains("old")
    );
    assert_eq!(server.post("/mcp/other", Some(&session), &get).status, 404);
}

#[test]
fn strangers_and_wrong_requests_are_refused() {
    let place = shop_lake();
    let server = Listening::start(
        &place,
        &[
            "--max-body",
            "2000",
            "--episodes",
            "2",
            "--allow-origin",
            "https://lab.example",
        ],
    );
    let get = &*call("get", r#"{"id":"R1"}"#);
    let large = &*call("get", &format!("{{\"id\":\"{}\"}}", "x".repeat(3000)));
    for (head, headers, body, status, said) in [
        (
            "POST /mcp/a",
            "Origin: https://evil.example\r\n",
            get,
            403,
            "web pages of other machines",
        ),
        ("POST /mcp/a", "Origin: null\r\n", get, 403, "web pages"),
        (
            "POST /mcp/a",
            "Origin: https://lab.example\r\n",
            get,
            200,
            "old",
        ),
        (
            "POST /mcp/a",
            "Origin: http://localhost:3000\r\n",
            get,
            200,
            "old",
        ),
        (
            "POST /mcp/a",
            "Host: evil.example\r\n",
            get,
            403,
            "another name",
        ),
        (
            "POST /mcp/a",
            "Content-Type: text/plain\r\n",
            get,
            415,
            "application/json",
        ),
        (
            "POST /mcp/a",
            "Mcp-Method: tools/list\r\n",
            get,
            400,
            "two methods",
        ),
        ("POST /mcp/a", "", large, 413, "2000 bytes"),
        ("POST /mcp/a", "", "{", 400, "no JSON"),
        ("POST /mcp/a%20b", "", get, 400, "letters"),
        ("POST /mcp/a?seed=x", "", get, 400, "seed"),
        ("POST /other", "", get, 404, "/mcp"),
        ("GET /mcp", "", "", 405, "POST"),
        ("DELETE /mcp", "", "", 400, "Mcp-Session-Id"),
        ("POST /mcp/b", "", get, 200, "old"),
        ("POST /mcp/c", "", get, 503, "too many episodes"),
    ] {
        let heard = server.ask(head, headers, body);
        assert_eq!(heard.status, status, "{head} {headers} {}", heard.body);
        assert!(heard.body.contains(said), "{head} {headers} {}", heard.body);
    }
}

#[test]
fn calls_of_one_episode_wait_for_each_other() {
    let place = shop_lake();
    let server = Listening::start(&place, &[]);
    let set = call("set", r#"{"id":"R1","cabin":"biz"}"#);
    let get = call("get", r#"{"id":"R1"}"#);
    std::thread::scope(|scope| {
        for at in 0..4 {
            let (server, set, get) = (&server, &set, &get);
            scope.spawn(move || {
                for _ in 0..10 {
                    let path = format!("/mcp/shared-{}", at % 2);
                    assert_eq!(server.post(&path, None, set).status, 200);
                    assert!(server.post(&path, None, get).text().contains("biz"));
                }
            });
        }
    });
}
