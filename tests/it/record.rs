//! `fidelake record`: every byte goes through, every finished call is kept once.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::generate::Chance;
use crate::support::{Place, Ran, assert_said, number, query, skipped, text};

/// A server that answers, and does odd things when a call asks for them.
const SERVER: &str = r#"
import json, os, signal, sys, time
def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    if isinstance(request, list):
        print(json.dumps([{"jsonrpc": "2.0", "id": r["id"], "result": {"content": [{"type": "text", "text": r["params"]["name"]}]}} for r in request]), flush=True)
        continue
    method = request.get("method")
    if method == "initialize":
        say(id=request["id"], result={"protocolVersion": "2025-06-18", "serverInfo": {"name": "toy", "version": "1"}, "capabilities": {}})
    elif method == "tools/list":
        say(id=request["id"], result={"tools": [{"name": "echo", "description": "Echo", "inputSchema": {"type": "object"}}]})
    elif method == "tools/call":
        arguments = request["params"]["arguments"]
        odd = arguments.get("odd")
        if odd == "noise":
            print("Server is warming up", flush=True)
            sys.stdout.buffer.write(b"\xff\xfe binary \x00\n"); sys.stdout.flush()
        if odd == "sample":
            say(id=1, method="sampling/createMessage", params={"messages": []})
            sys.stdin.readline()
        if odd == "unknown":
            say(id="nobody", result={"content": [{"type": "text", "text": "for nobody"}]})
        if odd == "hang":
            continue
        if odd == "bytes":
            sys.stdout.buffer.write(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"\xff"}]}}\n' % request["id"]); sys.stdout.flush()
            continue
        if odd == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        say(id=request["id"], result={"content": [{"type": "text", "text": json.dumps(arguments)}]})
sys.exit(7)
"#;

/// Passes what it gets to a file, writes other files to both of its outputs.
const PIPES: &str = r#"
import sys, threading
def send(name, stream):
    data = open(name, "rb").read()
    for at in range(0, len(data), 70001):
        stream.write(data[at:at + 70001]); stream.flush()
writers = [threading.Thread(target=send, args=a) for a in (("out", sys.stdout.buffer), ("err", sys.stderr.buffer))]
for w in writers: w.start()
with open("in.seen", "wb") as seen:
    while piece := sys.stdin.buffer.read1(1 << 16): seen.write(piece)
for w in writers: w.join()
"#;

fn call(id: u64, arguments: &Value) -> String {
    let params = json!({"name": "echo", "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

fn opening() -> String {
    [
        r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":"l","method":"tools/list"}"#,
    ]
    .map(|line| format!("{line}\n"))
    .concat()
}

/// A client that stands in the test.
struct Client {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Client {
    fn start(place: &Place, options: &[&str], command: &[&str]) -> Self {
        let mut args = vec!["record", "--environment", "toy"];
        args.extend(options);
        args.push("--");
        args.extend(command);
        let mut child = place
            .command(&args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            to: child.stdin.take(),
            from: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    fn say(&mut self, lines: &str) {
        let to = self.to.as_mut().unwrap();
        to.write_all(lines.as_bytes()).unwrap();
        to.flush().unwrap();
    }

    fn hear(&mut self) -> String {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        line
    }

    fn ask(&mut self, request: &str) -> String {
        self.say(&format!("{request}\n"));
        self.hear()
    }

    fn end(mut self) -> Ran {
        drop(self.to.take());
        let mut stdout = String::new();
        self.from.read_to_string(&mut stdout).unwrap();
        let output = self.child.wait_with_output().unwrap();
        Ran {
            code: output.status.code(),
            stdout,
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Runs the recorder with all of its input at hand.
fn record(
    place: &Place,
    options: &[&str],
    command: &[&str],
    input: &[u8],
) -> (Option<i32>, Vec<u8>, Vec<u8>) {
    let mut args = vec!["record", "--environment", "toy"];
    args.extend(options);
    args.push("--");
    args.extend(command);
    let mut child = place
        .command(&args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut to = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || to.write_all(&input));
    let output = child.wait_with_output().unwrap();
    let _ = writer.join().unwrap();
    (output.status.code(), output.stdout, output.stderr)
}

/// Files of runs in the journal of a lake.
fn journal(lake: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![lake.join("_fidelake/journal")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.to_str().unwrap().ends_with("lock") {
                found.push(path);
            }
        }
    }
    found
}

fn strings(lake: &Path, sql: &str) -> Vec<String> {
    let rows = query(lake, sql);
    let one = |row: &Value| {
        let value = row.as_object().unwrap().values().next().cloned();
        match value {
            Some(Value::String(text)) => text,
            other => other.unwrap_or_default().to_string(),
        }
    };
    rows.iter().map(one).collect()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < give_up, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn kill(pid: u32, signal: &str) {
    let status = Command::new("kill")
        .args([signal, &pid.to_string()])
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn every_byte_of_every_stream_goes_through() {
    let place = Place::new();
    place.write("pipes.py", PIPES);
    let mut chance = Chance::new(5);
    for case in 0..6 {
        let mut random = |most: u64| -> Vec<u8> {
            let size = if case == 0 { 0 } else { chance.below(most) };
            // Half of it looks like lines.
            let byte = |n: u64| {
                if n < 256 {
                    n as u8
                } else {
                    b"\n{}\"[]a,\r"[(n % 9) as usize]
                }
            };
            (0..size).map(|_| byte(chance.below(512))).collect()
        };
        let (input, out, err) = (random(300_000), random(300_000), random(20_000));
        place.write("out", &out);
        place.write("err", &err);
        let options = ["--no-fold", "--quiet"];
        let (code, stdout, stderr) = record(&place, &options, &["python3", "pipes.py"], &input);
        assert_eq!(code, Some(0));
        assert!(
            std::fs::read(place.path("in.seen")).unwrap() == input,
            "case {case}: input"
        );
        assert!(stdout == out, "case {case}: output");
        assert!(stderr == err, "case {case}: errors");
    }
    // None of it was a call; all of it can be folded.
    place.done(&["record", "--fold"]);
    assert_eq!(number(&place.lake(), "SELECT count(*) FROM calls"), 0);
    assert_eq!(number(&place.lake(), "SELECT count(*) FROM rejected"), 0);
}

#[test]
fn a_recording_becomes_a_trajectory_and_both_arms_pair() {
    let place = Place::new();
    place.write("server.py", SERVER);
    let input = format!(
        "{}{}\n{}\n",
        opening(),
        call(1, &json!({"a": 1, "password": "hunter22secret"})),
        call(2, &json!({"b": 2})),
    );
    let server = ["python3", "server.py"];
    let lake = place.lake();
    for arm in ["sim", "real", "real"] {
        let options = ["--arm", arm, "--trajectory", "task/1", "--no-fold"];
        let (code, _, said) = record(&place, &options, &server, input.as_bytes());
        // The server's own code.
        assert_eq!(code, Some(7), "{}", String::from_utf8_lossy(&said));
    }
    let files = journal(&lake);
    assert_eq!(files.len(), 3);
    for file in &files {
        let mode = std::fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let folded = place.run(&["record", "--fold"]);
    assert_said!(place, "record_fold", folded);
    assert_eq!(journal(&lake), Vec::<PathBuf>::new());
    assert_eq!(
        strings(
            &lake,
            "SELECT arm || ' ' || cast(repeat AS varchar) FROM runs ORDER BY 1"
        ),
        ["real 0", "real 1", "sim 0"]
    );
    assert_eq!(number(&lake, "SELECT count(*) FROM trajectories"), 1);
    assert_eq!(
        number(
            &lake,
            "SELECT count(*) FROM observations WHERE latency_ms >= 0"
        ),
        6
    );
    assert_eq!(number(&lake, "SELECT count(*) FROM catalogs"), 1);
    assert_eq!(
        strings(&lake, "SELECT DISTINCT termination FROM runs"),
        ["server exited with 7"]
    );
    // The secret stands nowhere any more.
    let clear = Command::new("grep")
        .args(["-r", "hunter22", text(&lake)])
        .output();
    assert_eq!(clear.unwrap().stdout, b"");
    let ran = place.done(&["profile"]);
    assert!(ran.stdout.contains('1'), "{}", ran.stdout);
    assert_eq!(number(&lake, "SELECT count(*) FROM profiles"), 1);
    // What is in the lake is not folded again.
    place.done(&["record", "--fold"]);
    assert_eq!(number(&lake, "SELECT count(*) FROM runs"), 3);
}

#[test]
fn names_come_from_the_client_the_options_and_the_session() {
    let place = Place::new();
    place.write("server.py", SERVER);
    let mut client = Client::start(
        &place,
        &["--trajectory", "first"],
        &["python3", "server.py"],
    );
    client.say(&opening());
    client.hear();
    client.hear();
    client.ask(&call(1, &json!({"n": 1})));
    let mut named = call(2, &json!({"n": 2}));
    named = named.replace(
        "\"params\":{",
        "\"params\":{\"_meta\":{\"fidelake/trajectory\":\"second\"},",
    );
    client.ask(&named);
    // A new opening begins a new trajectory, which nobody named.
    client.say(&opening());
    client.hear();
    client.hear();
    client.ask(&call(1, &json!({"n": 3})));
    client.end();
    let lake = place.lake();
    let found = strings(
        &lake,
        "SELECT trajectory_id || ' ' || arguments FROM calls ORDER BY arguments",
    );
    assert_eq!(found[..2], ["first {\"n\":1}", "second {\"n\":2}"]);
    assert!(found[2].starts_with("toy/"), "{found:?}");
    // Every run knows the tools and the server.
    assert_eq!(
        number(
            &lake,
            "SELECT count(*) FROM runs WHERE catalog_hash IS NOT NULL AND environment_version = 'toy 1'"
        ),
        3
    );
}

#[test]
fn odd_traffic_is_kept_as_what_it_is() {
    let place = Place::new();
    place.write("server.py", SERVER);
    let mut client = Client::start(&place, &["--trajectory", "odd"], &["python3", "server.py"]);
    client.say(&opening());
    client.hear();
    client.hear();
    client.say(&format!("{}\n", call(1, &json!({"odd": "noise"}))));
    let mut skipped = Vec::new();
    client.from.read_until(b'\n', &mut skipped).unwrap();
    client.from.read_until(b'\n', &mut skipped).unwrap();
    assert_eq!(skipped, b"Server is warming up\n\xff\xfe binary \x00\n");
    assert!(client.hear().contains("noise"));
    // A question of the server under the id of an open call.
    let question = client.ask(&call(1, &json!({"odd": "sample"})));
    assert!(question.contains("sampling/createMessage"));
    assert!(
        client
            .ask(r#"{"jsonrpc":"2.0","id":1,"result":{"role":"assistant"}}"#)
            .contains("sample")
    );
    assert!(
        client
            .ask(&call(2, &json!({"odd": "unknown"})))
            .contains("for nobody")
    );
    client.hear();
    client.say(&format!("{}\n", call(3, &json!({"odd": "hang"}))));
    client.say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":3}}\n");
    client.say(&format!(
        "[{},{}]\n",
        call(4, &json!({})),
        call(5, &json!({}))
    ));
    client.hear();
    client.say(&format!("{}\n", call(6, &json!({"odd": "bytes"}))));
    let mut bytes = Vec::new();
    client.from.read_until(b'\n', &mut bytes).unwrap();
    assert!(bytes.contains(&0xff));
    let large = "x".repeat(50 << 20);
    assert!(client.ask(&call(7, &json!({"large": large}))).len() > large.len());
    client.end();
    let lake = place.lake();
    let found = strings(
        &lake,
        "SELECT concat_ws(' ', coalesce(call_id, '-'), call_status, cast(turn AS varchar), cast(\"index\" AS varchar)) FROM calls ORDER BY turn, \"index\"",
    );
    assert_eq!(
        found,
        [
            "1 answered 0 0",
            "1 answered 1 0",
            "2 answered 2 0",
            "\"nobody\" orphan_result 2 1",
            "3 no_result 3 0",
            "4 answered 4 0",
            "5 answered 4 1",
            "6 answered 5 0",
            "7 answered 6 0",
        ]
    );
    assert_eq!(
        number(&lake, "SELECT count(*) FROM messages WHERE name = 'noise'"),
        2
    );
    assert_eq!(number(&lake, "SELECT count(*) FROM rejected"), 0);
    let longest = number(&lake, "SELECT max(octet_length(content)) FROM observations");
    assert!(longest > 50 << 20);
}

#[test]
fn the_ends_of_streams_are_passed_on_one_by_one() {
    let place = Place::new();
    // Closes its output, goes on reading, and tells what it got.
    place.write(
        "half.py",
        "import os, sys\nos.write(1, b'bye\\n')\nos.close(1)\nopen('got', 'w').write(sys.stdin.read())\nsys.exit(3)\n",
    );
    let mut client = Client::start(&place, &["--no-fold", "-q"], &["python3", "half.py"]);
    assert_eq!(client.hear(), "bye\n");
    assert_eq!(
        client.hear(),
        "",
        "the end of the output comes while the server lives"
    );
    client.say("still there");
    let ran = client.end();
    assert_eq!((ran.code, &*ran.stderr), (Some(3), ""));
    assert_eq!(
        std::fs::read_to_string(place.path("got")).unwrap(),
        "still there"
    );
    // Closes its input: the client is told by a broken pipe.
    place.write(
        "deaf.py",
        "import os, sys\nos.close(0)\nprint('deaf', flush=True)\nimport time\ntime.sleep(60)\n",
    );
    let mut client = Client::start(&place, &["--no-fold", "-q"], &["python3", "deaf.py"]);
    assert_eq!(client.hear(), "deaf\n");
    let broken = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        client.to.as_mut().unwrap().write_all(b"{}\n").is_err()
    });
    assert!(broken);
    kill(client.child.id(), "-TERM");
    // 128 and the signal, as a shell says it.
    assert_eq!(client.end().code, Some(143));
}

#[test]
fn signals_are_for_the_server() {
    let place = Place::new();
    place.write(
        "trap.py",
        "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *a: sys.exit(42))\nprint('ready', flush=True)\ntime.sleep(60)\n",
    );
    let mut client = Client::start(&place, &["--no-fold"], &["python3", "trap.py"]);
    assert_eq!(client.hear(), "ready\n");
    kill(client.child.id(), "-TERM");
    assert_eq!(client.end().code, Some(42));
}

#[test]
fn what_cannot_be_recorded_says_why() {
    let place = Place::new();
    place.write("full/file", "x");
    let cases: [(&str, &[&str]); 6] = [
        (
            "no_command",
            &["record", "--environment", "toy", "--", "no-such-server"],
        ),
        (
            "bad_environment",
            &["record", "--environment", " ", "--", "true"],
        ),
        (
            "no_lake",
            &[
                "--lake",
                "full",
                "record",
                "--environment",
                "toy",
                "--",
                "true",
            ],
        ),
        (
            "bad_url",
            &[
                "record",
                "--environment",
                "toy",
                "--listen",
                "127.0.0.1:0",
                "--to",
                "example.org",
            ],
        ),
        ("nothing_asked", &["record", "--environment", "toy"]),
        (
            "empty_name",
            &[
                "record",
                "--environment",
                "toy",
                "--trajectory",
                "",
                "--",
                "true",
            ],
        ),
    ];
    for (name, args) in cases {
        assert_said!(place, format!("record_{name}"), place.run(args));
    }
    assert_eq!(journal(&place.lake()), Vec::<PathBuf>::new());
}

#[test]
fn whoever_is_killed_no_finished_call_is_lost() {
    let place = Place::new();
    place.write("server.py", SERVER);
    let lake = place.lake();
    let mut chance = Chance::new(9);
    let mut answered = 0;
    // The recorder.
    for round in 0..4 {
        let name = format!("killed/{round}");
        let mut client = Client::start(&place, &["--trajectory", &name], &["python3", "server.py"]);
        for id in 0..1 + chance.below(30) {
            assert!(client.ask(&call(id, &json!({"n": id}))).contains("result"));
            answered += 1;
        }
        client.child.kill().unwrap();
        client.child.wait().unwrap();
    }
    place.done(&["record", "--fold"]);
    let count = "SELECT count(*) FROM calls WHERE call_status = 'answered'";
    assert_eq!(number(&lake, count), answered);
    // The server, in a call.
    let mut client = Client::start(
        &place,
        &["--trajectory", "server"],
        &["python3", "server.py"],
    );
    client.ask(&call(1, &json!({})));
    assert_eq!(client.ask(&call(2, &json!({"odd": "die"}))), "");
    let ran = client.end();
    assert_eq!(ran.code, Some(137), "{}", ran.stderr);
    assert_eq!(number(&lake, count), answered + 1);
    assert_eq!(
        strings(
            &lake,
            "SELECT termination FROM runs WHERE trajectory_id = 'server'"
        ),
        ["server was ended by signal 9"]
    );
    assert_eq!(
        number(
            &lake,
            "SELECT count(*) FROM calls WHERE call_status = 'no_result'"
        ),
        1
    );
    // The client.
    place.write(
        "client.py",
        format!(
            "import os, subprocess, sys\np = subprocess.Popen(sys.argv[1:], stdin=-1, stdout=-1)\nfor i in range(5):\n    p.stdin.write({:?}.encode() + b'\\n'); p.stdin.flush(); p.stdout.readline()\nos.kill(os.getpid(), 9)\n",
            call(1, &json!({}))
        ),
    );
    let status = Command::new("python3")
        .current_dir(place.path(""))
        .args([
            "client.py",
            env!("CARGO_BIN_EXE_fidelake"),
            "record",
            "--environment",
            "toy",
        ])
        .args(["--trajectory", "client", "--", "python3", "server.py"])
        .env_remove("FIDELAKE_LAKE")
        .status()
        .unwrap();
    assert_eq!(status.signal(), Some(9));
    wait_until("the recorder folds after its client is gone", || {
        number(&lake, count) == answered + 6
    });
}

#[test]
fn a_fold_that_is_killed_goes_on_and_nothing_stands_twice() {
    let place = Place::new();
    place.write("server.py", SERVER);
    let lake = place.lake();
    let input = format!("{}{}\n", opening(), call(1, &json!({"a": 1})));
    let mut chance = Chance::new(3);
    let mut recorded = 0;
    for _ in 0..4 {
        for _ in 0..2 {
            let options = ["--no-fold", "-q"];
            record(
                &place,
                &options,
                &["python3", "server.py"],
                input.as_bytes(),
            );
            recorded += 1;
        }
        let mut child = place
            .command(&["record", "--fold", "-q"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(chance.below(500)));
        let _ = child.kill();
        child.wait().unwrap();
    }
    place.done(&["record", "--fold"]);
    assert_eq!(number(&lake, "SELECT count(*) FROM runs"), recorded);
    assert_eq!(number(&lake, "SELECT count(*) FROM calls"), recorded);
    assert_eq!(journal(&lake), Vec::<PathBuf>::new());
}

#[test]
fn a_lake_that_is_taken_keeps_the_recording_in_the_journal() {
    let place = Place::new();
    place.write("server.py", SERVER);
    let lake = place.lake();
    let input = format!("{}\n", call(1, &json!({})));
    let options = ["--no-fold", "--trajectory", "t"];
    let (_, _, said) = record(
        &place,
        &options,
        &["python3", "server.py"],
        input.as_bytes(),
    );
    let said = Ran {
        code: None,
        stdout: String::new(),
        stderr: String::from_utf8(said).unwrap(),
    };
    assert_said!(place, "record_no_fold", said);
    let other = std::fs::File::create(lake.join("_fidelake/lock")).unwrap();
    other.lock().unwrap();
    assert_said!(place, "record_fold_taken", place.run(&["record", "--fold"]));
    assert_eq!(journal(&lake).len(), 1);
    drop(other);
    place.done(&["record", "--fold"]);
    assert_eq!(number(&lake, "SELECT count(*) FROM calls"), 1);
}

#[test]
fn several_recorders_end_at_once() {
    let place = Place::new();
    place.write("server.py", SERVER);
    let names: Vec<String> = (0..5).map(|n| format!("at-once/{n}")).collect();
    let mut clients: Vec<Client> = names
        .iter()
        .map(|name| Client::start(&place, &["--trajectory", name], &["python3", "server.py"]))
        .collect();
    for client in &mut clients {
        client.ask(&call(1, &json!({})));
    }
    let ends: Vec<_> = clients
        .into_iter()
        .map(|client| std::thread::spawn(|| client.end()))
        .collect();
    for end in ends {
        let ran = end.join().unwrap();
        assert_eq!(ran.code, Some(7), "{}", ran.stderr);
        assert!(
            !ran.stderr.contains("stays in the journal"),
            "{}",
            ran.stderr
        );
    }
    let found = strings(&place.lake(), "SELECT trajectory_id FROM runs ORDER BY 1");
    assert_eq!(found, names);
}

#[test]
fn a_real_server_is_recorded() {
    let Some(servers) = std::env::var_os("FIDELAKE_TEST_SERVERS") else {
        skipped("needs the servers that FIDELAKE_TEST_SERVERS names");
        return;
    };
    let server = Path::new(&servers).join("npm/node_modules/.bin/mcp-server-everything");
    let place = Place::new();
    let mut client = Client::start(&place, &["--trajectory", "everything"], &[text(&server)]);
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;
    assert!(client.ask(hello).contains("serverInfo"));
    client.say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    client.say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n");
    let answer = |client: &mut Client, id: u64| loop {
        let line = client.hear();
        assert_ne!(line, "", "the server has ended");
        let message: Value = serde_json::from_str(&line).unwrap();
        if message["id"] == id && message.get("method").is_none() {
            return message;
        }
    };
    let tools = answer(&mut client, 1)["result"]["tools"]
        .as_array()
        .unwrap()
        .len();
    let request = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"}}}"#;
    client.say(&format!("{request}\n"));
    let said = answer(&mut client, 2)["result"]["content"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(said.contains("hello"));
    client.end();
    let lake = place.lake();
    assert_eq!(number(&lake, "SELECT count(*) FROM catalogs"), tools as i64);
    assert_eq!(strings(&lake, "SELECT content FROM observations"), [said]);
}
