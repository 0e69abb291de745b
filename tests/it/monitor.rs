//! `fidelake monitor`: what trainers ask, what workers send, what is never forgotten.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Place, Ran, assert_said, listening, sample, text};

/// A monitor that listens, and ends with its test.
struct Monitor {
    child: Child,
    address: String,
    token: String,
}

struct Answer {
    status: u16,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }
}

impl Monitor {
    fn start(place: &Place, options: &[&str]) -> Self {
        let mut args = vec![
            "monitor",
            "--http",
            "127.0.0.1:0",
            "--state",
            "state.sqlite",
        ];
        args.extend(options);
        let (child, address) = listening(&mut place.command(&args), "http://");
        let token = std::fs::read_to_string(place.path("state.sqlite.token")).unwrap();
        Self {
            child,
            address,
            token: token.trim().to_owned(),
        }
    }

    fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        // It may refuse before it has read all.
        let _ = stream.write_all(request);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let whole = String::from_utf8(bytes).unwrap();
        let (head, body) = whole.split_once("\r\n\r\n").unwrap_or((&whole, ""));
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        Answer {
            status: status.unwrap_or_else(|| panic!("no answer: {whole:?}")),
            body: body.to_owned(),
        }
    }

    fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let host = if headers.contains("Host:") {
            ""
        } else {
            "Host: localhost\r\n"
        };
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{host}{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        self.raw(request.as_bytes())
    }

    fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "", "")
    }

    fn post(&self, path: &str, body: &str) -> Answer {
        let bearer = format!("Authorization: Bearer {}\r\n", self.token);
        self.ask("POST", path, &bearer, body)
    }

    fn state(&self) -> Value {
        self.get("/v1/state").json()
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn stop(mut self) -> Ran {
        let pid = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &pid])
                .status()
                .unwrap()
                .success()
        );
        let mut stderr = String::new();
        let mut talk = self.child.stderr.take().unwrap();
        talk.read_to_string(&mut stderr).unwrap();
        Ran {
            code: self.child.wait().unwrap().code(),
            stdout: String::new(),
            stderr,
        }
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Gaps that go up and down around a level; numbers `from..to`.
fn lines(api: &str, from: usize, to: usize, level: f64) -> String {
    let mut out = String::new();
    for at in from..to {
        // Even, and the same on every machine: the fractions of multiples of the golden ratio.
        let wave = (at as f64 * 0.618_033_988_749_895).fract() - 0.5;
        let gap = level + 0.1 * wave;
        let line = json!({ "id": format!("{api}/{at}"), "environment": "e", "api": api, "outcome": "ok", "gaps": { "obs": gap } });
        let _ = writeln!(out, "{line}");
    }
    out
}

fn wait_for(path: &Path) -> String {
    let give_up = Instant::now() + Duration::from_secs(30);
    loop {
        match std::fs::read_to_string(path) {
            Ok(text) if !text.is_empty() => return text,
            _ if Instant::now() > give_up => panic!("{} never came", path.display()),
            _ => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

#[test]
fn a_training_loop_stops_within_ten_steps_of_a_planted_drift() {
    let place = Place::new();
    let monitor = Monitor::start(&place, &[]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/training_loop.py");
    let ran = Ran::of(
        Command::new("python3")
            .arg(script)
            .arg(format!("http://{}", monitor.address))
            .arg(place.path("state.sqlite.token")),
    );
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    let stopped = told["stopped_at"].as_i64().unwrap();
    assert!((41..=50).contains(&stopped), "{told}");
    let paused = &told["state"]["paused"];
    assert!(
        paused
            .as_array()
            .unwrap()
            .iter()
            .all(|p| p["api"] == "get_order"),
        "{told}"
    );
    // What the loop leaves with: 3, a gate says no.
    assert_eq!(monitor.stop().code, Some(3));
}

#[test]
fn killed_it_forgets_nothing() {
    let place = Place::new();
    let mut monitor = Monitor::start(&place, &[]);
    let other = Place::new();
    let expected = Monitor::start(&other, &[]);
    let all = lines("a", 0, 700, 0.2) + &lines("a", 700, 705, 0.26);
    let all: Vec<&str> = all.lines().collect();
    for (part, some) in all.chunks(47).enumerate() {
        let body = some.join("\n");
        let answer = monitor.post("/v1/observations", &body).json();
        assert_eq!(answer["accepted"], some.len(), "{answer}");
        assert_eq!(expected.post("/v1/observations", &body).status, 200);
        if part % 4 == 1 {
            monitor.kill();
            monitor = Monitor::start(&place, &[]);
            // The client did not see the answer: it sends again.
            let again = monitor.post("/v1/observations", &body).json();
            assert_eq!(
                (&again["accepted"], &again["duplicates"]),
                (&json!(0), &json!(some.len()))
            );
        }
    }
    assert_eq!(monitor.state(), expected.state());
    assert_eq!(
        monitor.get("/v1/streams").json(),
        expected.get("/v1/streams").json()
    );
    assert_eq!(monitor.state()["accepted"], 705);
    // An alarm, and its latch, too.
    let answer = monitor
        .post("/v1/observations", &lines("a", 705, 740, 0.5))
        .json();
    assert_eq!(answer["state"], "pause");
    let before = monitor.state();
    monitor.kill();
    monitor = Monitor::start(&place, &[]);
    assert_eq!(monitor.state(), before);
    let done = monitor.post("/v1/acknowledge", r#"{"api": "a"}"#).json();
    assert_eq!(done, json!({ "changed": 1, "state": "ok" }));
    monitor.kill();
    monitor = Monitor::start(&place, &[]);
    assert_eq!(monitor.state()["state"], "ok");
    let done = monitor.post("/v1/recalibrate", r#"{"all": true}"#).json();
    assert_eq!(done, json!({ "changed": 1, "state": "unknown" }));
    monitor.kill();
    monitor = Monitor::start(&place, &[]);
    assert_eq!(monitor.state()["state"], "unknown");
}

#[test]
fn two_monitors_do_not_share_a_state() {
    let place = Place::new();
    let monitor = Monitor::start(&place, &[]);
    let ran = place.run(&["monitor", "--stdin", "--state", "state.sqlite"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr
            .contains("another monitor uses the state state.sqlite"),
        "{}",
        ran.stderr
    );
    drop(monitor);
    place.write(
        "other.sqlite",
        "no database, but long enough to look like a file of something",
    );
    let ran = place.run(&["monitor", "--stdin", "--state", "other.sqlite"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("other.sqlite"), "{}", ran.stderr);
}

#[test]
fn malformed_late_and_twice() {
    let place = Place::new();
    let monitor = Monitor::start(&place, &["--max-streams", "2"]);
    let one = |id: &str, rest: &str| {
        format!(r#"{{"id": "{id}", "environment": "e", "api": "a", "gaps": {{"obs": 0.1}}{rest}}}"#)
    };
    let body = [
        one("1", r#", "time": "2026-07-31T12:00:00Z""#),
        one("1", r#", "time": "2026-07-31T12:00:00Z""#),
        "{".into(),
        one("2", r#", "time": "2026-07-31T11:00:00Z""#),
        // Another clock, an hour behind: compared with itself only.
        one("3", r#", "time": "2026-07-31T11:00:00Z", "source": "slow""#),
        one("4", r#", "time": "yesterday""#),
        one("5", r#", "time": "2026-07-31T12:00:00""#),
        r#"{"environment": "e", "api": "a", "gaps": {"obs": 2}}"#.into(),
        r#"{"environment": "e", "api": "b", "gaps": {"obs": 0, "act": 0}}"#.into(),
        String::new(),
        "[1, 2]".into(),
    ];
    let answer = monitor.post("/v1/observations", &body.join("\n"));
    let told = answer.json();
    assert_eq!(answer.status, 200);
    let counts =
        ["accepted", "duplicates", "late", "rejected"].map(|name| told[name].as_u64().unwrap());
    assert_eq!(counts, [2, 1, 1, 6], "{told}");
    let refused: Vec<String> = told["refused"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            format!(
                "{}: {}",
                one["line"],
                one["why"].as_str().unwrap().split(';').next().unwrap()
            )
        })
        .collect();
    insta::assert_snapshot!("monitor_refused", refused.join("\n"));
    // All of it refused: the sender must notice. Streams that were too many may come later.
    let answer = monitor.post("/v1/observations", "nonsense\n\u{1}\n");
    assert_eq!(
        (answer.status, answer.json()["rejected"].as_u64()),
        (400, Some(2))
    );
    let metrics = monitor.get("/metrics").body;
    for line in [
        "fidelake_monitor_observations_total{result=\"accepted\"} 2",
        "fidelake_monitor_observations_total{result=\"rejected\"} 8",
        "fidelake_monitor_streams{state=\"unknown\"} 1",
        "fidelake_monitor_samples{environment=\"e\",api=\"a\",outcome=\"-\",dimension=\"obs\"} 2",
    ] {
        assert!(
            metrics.lines().any(|found| found == line),
            "{line}\n{metrics}"
        );
    }
}

#[test]
fn who_may_ask_and_who_may_change() {
    let place = Place::new();
    let monitor = Monitor::start(&place, &[]);
    let status = |method: &str, path: &str, headers: &str, body: &str| {
        monitor.ask(method, path, headers, body).status
    };
    let bearer = format!("Authorization: Bearer {}\r\n", monitor.token);
    assert_eq!(status("GET", "/v1/state", "", ""), 200);
    assert_eq!(
        status("GET", "/v1/state", "Host: evil.example\r\n", ""),
        403
    );
    assert_eq!(
        status("GET", "/v1/state", "Origin: http://evil.example\r\n", ""),
        403
    );
    assert_eq!(
        status("GET", "/v1/state", "Origin: http://localhost\r\n", ""),
        200
    );
    for path in ["/v1/observations", "/v1/acknowledge", "/v1/recalibrate"] {
        assert_eq!(status("POST", path, "", "{}"), 401);
        assert_eq!(
            status("POST", path, "Authorization: Bearer wrong\r\n", "{}"),
            401
        );
        assert_eq!(status("GET", path, &bearer, ""), 405);
        assert_eq!(
            status(
                "POST",
                path,
                &format!("{bearer}Origin: http://evil.example\r\n"),
                "{}"
            ),
            403
        );
    }
    for body in ["", "{}", r#"{"apis": "a"}"#, r#"{"api": 1}"#] {
        let answer = monitor.post("/v1/recalibrate", body);
        assert_eq!(answer.status, 400, "{body}");
        assert!(
            answer.json()["error"]
                .as_str()
                .unwrap()
                .contains("name streams by")
        );
    }
    assert_eq!(status("GET", "/v1/next?n=x", "", ""), 400);
    assert_eq!(status("GET", "/../etc/passwd", "", ""), 404);
    let long = format!(
        "POST /v1/observations HTTP/1.1\r\nHost: localhost\r\n{bearer}Content-Length: 9000000\r\n\r\n{}",
        "x".repeat(9_000_000)
    );
    assert_eq!(monitor.raw(long.as_bytes()).status, 413);
    // The state and the token are their owner's only.
    use std::os::unix::fs::PermissionsExt as _;
    for name in ["state.sqlite", "state.sqlite.token"] {
        let mode = place.path(name).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn an_alarm_calls_once_and_its_output_is_kept() {
    let place = Place::new();
    let command =
        "cat >> alarm.json; echo \"$FIDELAKE_API $FIDELAKE_CAUSE\" >> alarm.txt; echo said";
    let options = ["--on-pause", command];
    let monitor = Monitor::start(&place, &options);
    monitor.post("/v1/observations", &lines("a", 0, 300, 0.2));
    monitor.post("/v1/observations", &lines("a", 300, 340, 0.5));
    monitor.post("/v1/observations", &lines("a", 340, 400, 0.5));
    let said = wait_for(&place.path("alarm.txt"));
    assert!(said == "a jump\n" || said == "a drift\n", "{said}");
    let alarm: Value = serde_json::from_str(&wait_for(&place.path("alarm.json"))).unwrap();
    assert_eq!(
        (&alarm["environment"], &alarm["dimension"]),
        (&json!("e"), &json!("obs"))
    );
    let give_up = Instant::now() + Duration::from_secs(30);
    while !monitor
        .get("/metrics")
        .body
        .contains("actions_total{status=\"done\"} 1")
    {
        assert!(Instant::now() < give_up);
        std::thread::sleep(Duration::from_millis(50));
    }
    monitor.kill();
    let monitor = Monitor::start(&place, &options);
    monitor.post("/v1/observations", &lines("a", 400, 500, 0.5));
    assert_eq!(
        std::fs::read_to_string(place.path("alarm.txt")).unwrap(),
        said
    );
    // Acknowledged, and still wrong: it is a new alarm.
    monitor.post("/v1/acknowledge", r#"{"all": true}"#);
    monitor.post("/v1/observations", &lines("a", 500, 600, 0.5));
    let give_up = Instant::now() + Duration::from_secs(30);
    while std::fs::read_to_string(place.path("alarm.txt"))
        .unwrap()
        .lines()
        .count()
        < 2
    {
        assert!(Instant::now() < give_up);
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn standard_input_to_its_end() {
    let place = Place::new();
    let feed = |name: &str, body: &str, options: &[&str]| {
        let path: PathBuf = place.write(name, body);
        let mut args = vec!["monitor", "--stdin", "--state", "s.sqlite"];
        args.extend(options);
        let mut command = place.command(&args);
        command.stdin(std::fs::File::open(path).unwrap());
        Ran::of(&mut command)
    };
    let quiet = feed("well.jsonl", &lines("a", 0, 400, 0.2), &[]);
    assert_said!(place, "monitor_stdin_ok", quiet);
    let mut loud = feed(
        "ill.jsonl",
        &(lines("a", 390, 400, 0.2) + "oops\n" + &lines("a", 400, 440, 0.5)),
        &["--on-pause", "echo called"],
    );
    // The command runs beside the reading: which of the two ends first is not said.
    let mut said: Vec<&str> = loud.stderr.lines().collect();
    said.sort_unstable();
    loud.stderr = said.join("\n") + "\n";
    assert_said!(place, "monitor_stdin_pause", loud);
}

#[test]
fn wrong_uses_are_told() {
    let place = Place::new();
    let tries: [&[&str]; 6] = [
        &["monitor"],
        &["monitor", "--stdin"],
        &["monitor", "--stdin", "--state", "s", "--threshold", "x"],
        &[
            "monitor",
            "--stdin",
            "--state",
            "s",
            "--threshold",
            "odd=0.5",
        ],
        &["monitor", "--stdin", "--state", "s", "--webhook", "ftp://x"],
        &["monitor", "--stdin", "--state", "s", "--late", "-1"],
    ];
    let mut all = String::new();
    for args in tries {
        let ran = place.run(args);
        assert_eq!(ran.code, Some(2), "{args:?} {}", ran.stderr);
        let _ = writeln!(all, "{}\n  {}", args.join(" "), ran.stderr.trim());
    }
    insta::assert_snapshot!("monitor_usage", all);
}

#[test]
fn a_lake_is_followed_and_says_what_to_sample_next() {
    let place = Place::new();
    let file = sample("files.jsonl");
    place.done(&["import", text(&file)]);
    place.done(&["profile"]);
    let lake = place.lake();
    let monitor = Monitor::start(
        &place,
        &[
            "--tail",
            text(&lake),
            "--every",
            "0.2",
            "--budget",
            "100000",
        ],
    );
    let give_up = Instant::now() + Duration::from_secs(60);
    while monitor.state()["accepted"] == 0 {
        assert!(Instant::now() < give_up);
        std::thread::sleep(Duration::from_millis(100));
    }
    let next = monitor.get("/v1/next?n=12").json();
    assert_eq!(
        (&next["by"], &next["samples"]),
        (&json!("planner"), &json!(12)),
        "{next}"
    );
    let regions = next["regions"].as_array().unwrap();
    assert!(
        regions
            .iter()
            .all(|region| !region["trajectories"].as_array().unwrap().is_empty())
    );
    assert_eq!(monitor.get("/v1/next?n=12").json(), next);
    // The same lake again: nothing twice.
    let accepted = monitor.state()["accepted"].clone();
    monitor.kill();
    let monitor = Monitor::start(&place, &["--tail", text(&lake), "--every", "0.2"]);
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(monitor.state()["accepted"], accepted);
}

#[test]
fn without_a_lake_samples_are_spread_evenly_within_the_budget() {
    let place = Place::new();
    let monitor = Monitor::start(&place, &["--budget", "25"]);
    assert_eq!(monitor.get("/v1/next?n=5").json()["regions"], json!([]));
    monitor.post(
        "/v1/observations",
        &(lines("a", 0, 10, 0.2) + &lines("b", 0, 10, 0.2)),
    );
    let next = monitor.get("/v1/next?n=20").json();
    // 25 less the 20 that were made.
    assert_eq!(
        (&next["by"], &next["samples"], &next["budget_left"]),
        (&json!("uniform"), &json!(5), &json!(5.0))
    );
    let counts: Vec<u64> = next["regions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["samples"].as_u64().unwrap())
        .collect();
    assert!(counts == [2, 3] || counts == [3, 2], "{next}");
}

#[test]
fn environments_may_name_a_trajectory_alike() {
    let accepted = |environments: &[&str]| {
        let place = Place::new();
        let mut runs = String::new();
        for environment in environments {
            for (arm, answer) in [("sim", "a"), ("real", "b")] {
                let run = json!({
                    "fidelake": 1, "trajectory_id": "t", "environment": environment, "arm": arm,
                    "calls": [{"turn": 0, "index": 0, "name": "get", "arguments": {}, "result": {"content": answer}}],
                });
                runs += &format!("{run}\n");
            }
        }
        place.write("runs.jsonl", runs);
        place.done(&["import", "runs.jsonl"]);
        place.done(&["profile"]);
        let lake = place.lake();
        let monitor = Monitor::start(&place, &["--tail", text(&lake), "--every", "0.2"]);
        let give_up = Instant::now() + Duration::from_secs(60);
        while monitor.state()["accepted"] == 0 {
            assert!(Instant::now() < give_up);
            std::thread::sleep(Duration::from_millis(100));
        }
        monitor.state()["accepted"].as_u64().unwrap()
    };
    let one = accepted(&["here"]);
    assert!(one > 0);
    assert_eq!(accepted(&["here", "there"]), 2 * one);
}
