//! `fidelake record --listen`: the same answers as from the server, and a copy of them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Place, Ran, number, query};

/// Streamable HTTP with sessions; answers in JSON or, as the call asks, as events.
const SERVER: &str = r#"
import json, socket, sys, time, uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *a): pass
    def date_time_string(self, timestamp=None): return "now"
    def empty(self, status):
        self.send_response(status); self.send_header("Content-Length", "0"); self.end_headers()
    def do_DELETE(self): self.empty(200)
    def do_GET(self):
        body = json.dumps({"path": self.path, "headers": sorted(k.lower() for k in self.headers)}).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers()
        self.wfile.write(body)
    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data)); self.wfile.flush()
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in request: return self.empty(202)
        session = self.headers.get("Mcp-Session-Id")
        arguments = request.get("params", {}).get("arguments", {})
        if request["method"] == "initialize":
            session = uuid.UUID(int=7).hex
            result = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "toy", "version": "1"}, "capabilities": {}}
        else:
            result = {"content": [{"type": "text", "text": json.dumps(arguments)}]}
        body = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode()
        status = arguments.get("status", 200)
        if status != 200: body = b"no service"
        self.send_response(status)
        if session: self.send_header("Mcp-Session-Id", session)
        if arguments.get("events"):
            self.send_header("Content-Type", "text/event-stream"); self.send_header("Transfer-Encoding", "chunked"); self.end_headers()
            self.chunk(b'id: 1\r\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}\r\n\r\n')
            time.sleep(1.5)
            self.chunk(b"id: 2\ndata: " + body[:20]); self.chunk(body[20:] + b"\n\n")
            if arguments.get("again"): self.chunk(b"id: 2\ndata: " + body + b"\n\n")
            return self.chunk(b"")
        self.send_header("Content-Type", "application/json" if status == 200 else "text/plain")
        self.send_header("Content-Length", str(len(body))); self.end_headers()
        self.wfile.write(body)
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
"#;

/// A process that says its address first, and ends with the test.
struct Running {
    child: Child,
    address: String,
}

impl Running {
    fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut address).unwrap();
        let address = address.trim().to_owned();
        assert!(!address.is_empty(), "it did not start");
        Self { child, address }
    }

    fn server(place: &Place) -> Self {
        place.write("server.py", SERVER);
        let mut command = Command::new("python3");
        Self::start(command.arg(place.path("server.py")))
    }

    fn recorder(place: &Place, to: &str, options: &[&str]) -> Self {
        let mut args = vec!["record", "--environment", "toy", "--listen", "127.0.0.1:0"];
        args.extend(["--to", to]);
        args.extend(options);
        Self::start(&mut place.command(&args))
    }

    fn stop(mut self, signal: &str) -> Ran {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status();
        assert!(sent.unwrap().success());
        let mut stderr = String::new();
        let mut talk = self.child.stderr.take().unwrap();
        talk.read_to_string(&mut stderr).unwrap();
        let status = self.child.wait().unwrap();
        Ran {
            code: status.code(),
            stdout: String::new(),
            stderr,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where the parts of an answer came, and when.
struct Answer {
    head: String,
    body: Vec<u8>,
    first: Duration,
    whole: Duration,
}

fn ask(authority: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let started = Instant::now();
    let mut stream = TcpStream::connect(authority).unwrap();
    let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "Host") {
        request.push_str(&format!("Host: {authority}\r\n"));
    }
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    if method == "POST" {
        request.push_str(
            "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n",
        );
        request.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    write!(stream, "{request}\r\n{body}").unwrap();
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    let mut first = None;
    loop {
        let got = stream.read(&mut piece).unwrap();
        if got == 0 {
            break;
        }
        bytes.extend_from_slice(&piece[..got]);
        let text = String::from_utf8_lossy(&bytes);
        if text
            .split_once("\r\n\r\n")
            .is_some_and(|(_, body)| !body.is_empty())
        {
            first.get_or_insert(started.elapsed());
        }
    }
    let at = bytes.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
    let mut body = bytes.split_off(at + 4);
    let head = String::from_utf8(bytes).unwrap().to_ascii_lowercase();
    if head.contains("transfer-encoding: chunked") {
        body = unchunked(&body);
    }
    Answer {
        head,
        body,
        first: first.unwrap_or_default(),
        whole: started.elapsed(),
    }
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    loop {
        let end = bytes.windows(2).position(|w| w == b"\r\n").unwrap();
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        if size == 0 {
            return whole;
        }
        whole.extend_from_slice(&bytes[end + 2..end + 2 + size]);
        bytes = &bytes[end + 4 + size..];
    }
}

fn authority(address: &str) -> &str {
    let rest = address.strip_prefix("http://").unwrap();
    rest.split('/').next().unwrap()
}

fn call(id: u64, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{arguments}}}}}"#
    )
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;

#[test]
fn answers_pass_through_and_become_trajectories() {
    let place = Place::new();
    let server = Running::server(&place);
    let direct = format!("127.0.0.1:{}", server.address);
    let recorder = Running::recorder(&place, &format!("http://{direct}/mcp"), &[]);
    assert!(recorder.address.ends_with("/mcp"));
    let through = authority(&recorder.address).to_owned();
    let session = "00000000000000000000000000000007";
    let within = [
        ("Mcp-Session-Id", session),
        ("Authorization", "Bearer very-secret-token"),
    ];
    let named = [within[0], ("Fidelake-Trajectory", "named/1")];
    let cases: [(&[(&str, &str)], String); 6] = [
        (&[], INITIALIZE.to_owned()),
        (
            &within,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
        ),
        (&within, call(1, r#"{"n":1}"#)),
        (&within, call(2, r#"{"events":true,"again":true}"#)),
        (&named, call(3, r#"{"n":3}"#)),
        (&within, call(4, r#"{"status":503}"#)),
    ];
    for (headers, body) in &cases {
        let wanted = ask(&direct, "POST", "/mcp", headers, body);
        let got = ask(&through, "POST", "/mcp", headers, body);
        assert_eq!(
            got.head.lines().next(),
            wanted.head.lines().next(),
            "{body}"
        );
        assert!(got.body == wanted.body, "{body}");
        assert_eq!(
            got.head.contains("mcp-session-id"),
            wanted.head.contains("mcp-session-id")
        );
        if body.contains("events") {
            // The first event comes when it is sent, not when the answer ends.
            assert!(
                got.whole - got.first > Duration::from_secs(1),
                "{:?} {:?}",
                got.first,
                got.whole
            );
        }
    }
    // Other paths go to the same server; what is for the recorder does not.
    let other = ask(
        &through,
        "GET",
        "/other?a=b",
        &[named[1], ("Accept-Encoding", "gzip")],
        "",
    );
    let seen = String::from_utf8(other.body).unwrap();
    assert!(
        seen.contains("\"/other?a=b\"") && !seen.contains("fidelake"),
        "{seen}"
    );
    // A web page that resolves its own name to this machine.
    let evil = ask(
        &through,
        "POST",
        "/mcp",
        &[("Host", "evil.example")],
        &call(5, "{}"),
    );
    assert!(evil.head.starts_with("http/1.1 403"), "{}", evil.head);
    ask(&through, "DELETE", "/mcp", &within, "");
    drop(server);
    // Nobody there any more.
    let gone = ask(&through, "POST", "/mcp", &[], &call(6, "{}"));
    assert!(gone.head.starts_with("http/1.1 502"), "{}", gone.head);
    let ran = recorder.stop("-INT");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("recorded 5 calls in 3 trajectory runs"),
        "{}",
        ran.stderr
    );
    let lake = place.lake();
    let rows = query(
        &lake,
        "SELECT c.arguments, c.call_status, o.outcome, o.status FROM calls c \
         JOIN observations o ON o.run_id = c.run_id AND o.turn = c.turn AND o.index = c.index \
         ORDER BY c.arguments",
    );
    let found: Vec<String> = rows
        .iter()
        .map(|row| {
            let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
            format!(
                "{} {} {} {}",
                text("arguments"),
                text("call_status"),
                text("outcome"),
                row["status"]
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            r#"{"again":true,"events":true} answered ok null"#,
            r#"{"n":1} answered ok null"#,
            r#"{"n":3} answered ok null"#,
            r#"{"status":503} answered server_error 503"#,
            "{} answered transport null",
        ]
    );
    assert_eq!(
        number(
            &lake,
            "SELECT count(*) FROM runs WHERE trajectory_id = 'named/1'"
        ),
        1
    );
    assert_eq!(
        number(
            &lake,
            "SELECT count(*) FROM runs WHERE termination = 'client ended the session'"
        ),
        2
    );
    // Headers are stored nowhere.
    let clear = Command::new("grep")
        .arg("-r")
        .arg("very-secret")
        .arg(&lake)
        .output();
    assert_eq!(clear.unwrap().stdout, b"");
}

#[test]
fn a_recorder_that_is_killed_has_what_was_answered() {
    let place = Place::new();
    let server = Running::server(&place);
    let to = format!("http://127.0.0.1:{}/mcp", server.address);
    let recorder = Running::recorder(&place, &to, &["--trajectory", "killed"]);
    let through = authority(&recorder.address).to_owned();
    for id in 1..8 {
        let answer = ask(&through, "POST", "/", &[], &call(id, "{}"));
        assert!(answer.head.starts_with("http/1.1 200"));
    }
    let ran = recorder.stop("-KILL");
    assert_eq!(ran.code, None);
    place.done(&["record", "--fold"]);
    let lake = place.lake();
    assert_eq!(
        number(
            &lake,
            "SELECT count(*) FROM calls WHERE call_status = 'answered'"
        ),
        7
    );
    assert_eq!(
        number(
            &lake,
            "SELECT count(*) FROM runs WHERE trajectory_id = 'killed'"
        ),
        1
    );
}

#[test]
fn a_running_recorder_gives_what_has_ended() {
    let place = Place::new();
    let server = Running::server(&place);
    let to = format!("http://127.0.0.1:{}/mcp", server.address);
    let recorder = Running::recorder(&place, &to, &[]);
    let through = authority(&recorder.address).to_owned();
    let one = [("Mcp-Session-Id", "one")];
    let two = [("Mcp-Session-Id", "two")];
    ask(&through, "POST", "/mcp", &one, &call(1, "{}"));
    ask(&through, "POST", "/mcp", &two, &call(1, "{}"));
    ask(&through, "DELETE", "/mcp", &one, "");
    let ran = place.done(&["record", "--fold"]);
    assert!(
        ran.stderr.contains("1 recorder still at work"),
        "{}",
        ran.stderr
    );
    let count = "SELECT count(*) FROM runs";
    assert_eq!(number(&place.lake(), count), 1);
    assert_eq!(recorder.stop("-TERM").code, Some(0));
    assert_eq!(number(&place.lake(), count), 2);
    let ends = "SELECT count(DISTINCT termination) FROM runs WHERE termination IS NOT NULL";
    assert_eq!(number(&place.lake(), ends), 2);
    // A recorder with nothing but sessions that its clients left open.
    let recorder = Running::recorder(&place, &to, &[]);
    let through = authority(&recorder.address).to_owned();
    ask(&through, "POST", "/mcp", &two, &call(1, "{}"));
    assert_eq!(recorder.stop("-TERM").code, Some(0));
    assert_eq!(number(&place.lake(), count), 3);
}
