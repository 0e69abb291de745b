//! `fidelake serve --pg`: real clients of PostgreSQL read a lake, and can do nothing else.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::generate;
use crate::readers::python;
use crate::support::{Place, Ran, assert_said, listening, query, sample, skipped, text};

/// A server that ends with its test.
struct Serving {
    child: Child,
    port: String,
}

impl Serving {
    fn start(place: &Place, options: &[&str]) -> Self {
        let mut args = vec!["serve", "--pg", "127.0.0.1:0"];
        args.extend(options);
        let (child, address) = listening(&mut place.command(&args), "postgresql://127.0.0.1:");
        let port = address.strip_suffix("/lake").unwrap().to_owned();
        Self { child, port }
    }

    /// Runs a part of `tests/python/sql_server.py` against it.
    fn python(&self, case: &str, argument: &str) -> Option<String> {
        let ran = Ran::of(&mut self.python_command(case, argument)?);
        assert_eq!(ran.code, Some(0), "{case}\n{}\n{}", ran.stdout, ran.stderr);
        Some(ran.stdout)
    }

    fn python_command(&self, case: &str, argument: &str) -> Option<Command> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/sql_server.py");
        let mut command = Command::new(python()?);
        command.arg(script).args([case, &self.port, argument]);
        Some(command)
    }

    fn psql(&self, text: &str) -> Ran {
        Ran::of(
            Command::new("psql")
                .args(["-X", "-q", "-h", "127.0.0.1", "-p", &self.port, "-U", "me"])
                .args(["-d", "lake", "-v", "ON_ERROR_STOP=1", "-c", text]),
        )
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A lake with both arms, profiled.
fn lake() -> Place {
    let place = Place::new();
    place.write("made.jsonl", generate::file(0, 12, 7));
    place.import(&["made.jsonl", text(&sample("airline_gold.jsonl"))]);
    place.done(&["profile"]);
    place
}

fn calls(place: &Place) -> String {
    query(&place.lake(), "SELECT count(*) AS n FROM calls")[0]["n"].to_string()
}

fn has(program: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok();
    if !there {
        skipped(&format!("needs {program}"));
    }
    there
}

#[test]
fn psycopg_reads_every_table() {
    let place = lake();
    Serving::start(&place, &[]).python("reading", &calls(&place));
}

#[test]
fn adbc_fetches_arrow() {
    let place = lake();
    Serving::start(&place, &[]).python("adbc", &calls(&place));
}

#[test]
fn statements_that_harm_are_refused() {
    let place = lake();
    let before = calls(&place);
    let serving = Serving::start(&place, &["--query-memory", "64"]);
    serving.python("hostile", "");
    assert!(!Path::new("/tmp/fidelake-stolen.csv").exists());
    assert_eq!(calls(&place), before);
}

#[test]
fn what_runs_can_be_stopped() {
    let place = lake();
    Serving::start(&place, &[]).python("stopping", "");
    Serving::start(&place, &["--timeout", "2"]).python("limited", "");
}

#[test]
fn a_connection_reads_one_version_until_it_asks_for_another() {
    let place = lake();
    let serving = Serving::start(&place, &[]);
    let flag = place.path("grown");
    let Some(mut command) = serving.python_command("pinned", text(&flag)) else {
        return;
    };
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    place.write("more.jsonl", generate::file(12, 10, 7));
    place.import(&["more.jsonl"]);
    std::fs::write(&flag, "").unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

#[test]
fn passwords_and_tls_keep_others_out() {
    if !has("openssl") {
        return;
    }
    let place = lake();
    let made = Ran::of(Command::new("openssl").current_dir(place.path("")).args([
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        "key.pem",
        "-out",
        "cert.pem",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
        "-addext",
        "subjectAltName=IP:127.0.0.1",
    ]));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    place.write("users", "# readers\nana:correct horse battery\n");
    let open = place.run(&["serve", "--pg", "127.0.0.1:0", "--pg-passwords", "users"]);
    assert_said!(place, "sql_server_users_readable", open);
    private(&place.path("users"));
    let options = [
        "--pg-passwords",
        "users",
        "--tls-cert",
        "cert.pem",
        "--tls-key",
        "key.pem",
    ];
    let serving = Serving::start(&place, &options);
    serving.python("locked", text(&place.path("cert.pem")));
}

fn private(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn beyond_this_machine_it_does_not_start_unprotected() {
    let place = lake();
    place.write("users", "ana:correct horse battery\n");
    private(&place.path("users"));
    place.write("cert.pem", "no certificate\n");
    for (name, options) in [
        ("sql_server_open_to_all", &["--pg", "0.0.0.0:0"][..]),
        (
            "sql_server_without_tls",
            &["--pg", "0.0.0.0:0", "--pg-passwords", "users"],
        ),
        (
            "sql_server_wrong_certificate",
            &[
                "--pg",
                "0.0.0.0:0",
                "--pg-passwords",
                "users",
                "--tls-cert",
                "cert.pem",
                "--tls-key",
                "cert.pem",
            ],
        ),
    ] {
        let ran = place.run(&[&["serve"], options].concat());
        assert_said!(place, name, ran);
    }
}

/// Whoever has not logged in gets nothing, however it asks.
#[test]
fn queries_before_the_login_are_not_answered() {
    let place = lake();
    place.write("users", "ana:correct horse battery\n");
    private(&place.path("users"));
    let serving = Serving::start(&place, &["--pg-passwords", "users"]);
    let query = message(b'Q', b"SELECT 'answered'\0");
    let startup = {
        let body = b"\0\x03\0\0user\0ana\0\0";
        let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
        [&length[..], body].concat()
    };
    for first in [
        query.clone(),
        [startup.clone(), query.clone()].concat(),
        // A password message of another kind, a SASL mechanism that is not there, rubbish.
        [startup.clone(), message(b'p', b"secret\0"), query.clone()].concat(),
        [
            startup.clone(),
            message(b'p', b"PLAIN\0\0\0\0\x01x"),
            query.clone(),
        ]
        .concat(),
        [
            startup.clone(),
            message(b'p', b"SCRAM-SHA-256\0\0\0\0\x04n,,x"),
            query.clone(),
        ]
        .concat(),
        [startup, message(b'P', b"\0SELECT 1\0\0\0"), query].concat(),
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
    ] {
        let mut stream = TcpStream::connect(format!("127.0.0.1:{}", serving.port)).unwrap();
        let patience = Some(Duration::from_secs(3));
        stream.set_read_timeout(patience).unwrap();
        stream.write_all(&first).unwrap();
        let mut answer = Vec::new();
        let mut part = [0; 4096];
        while let Ok(read @ 1..) = stream.read(&mut part) {
            answer.extend_from_slice(&part[..read]);
        }
        let answer = String::from_utf8_lossy(&answer);
        assert!(!answer.contains("answered"), "{first:?}: {answer}");
    }
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
    [&[kind][..], &length, body].concat()
}

#[test]
fn psql_finds_its_way() {
    if !has("psql") {
        return;
    }
    let place = lake();
    let serving = Serving::start(&place, &[]);
    let calls = calls(&place);
    for (text, says) in [
        ("\\dt", "profiles"),
        ("\\d calls", "environment"),
        ("\\d", "calls"),
        ("\\l", ""),
        ("\\dn", "public"),
        ("\\dv", "profiles_now"),
        ("SELECT count(*) FROM calls", &calls),
        ("SHOW fidelake.lake_version", ""),
        ("EXPLAIN SELECT count(*) FROM calls", "physical_plan"),
        ("SHOW TABLES", "calls"),
    ] {
        let ran = serving.psql(text);
        assert_eq!(ran.code, Some(0), "{text}\n{}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains(says), "{text}\n{}", ran.stdout);
    }
    let wrong = serving.psql("SELECT nothing FROM calls");
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.stderr.contains("nothing"), "{}", wrong.stderr);
}

#[test]
fn many_clients_at_once() {
    let place = lake();
    let serving = Serving::start(&place, &[]);
    if let Some(said) = serving.python("crowd", "20,5") {
        eprint!("{said}");
    }
}

#[test]
fn jdbc_reads_with_parameters() {
    let jar = "/usr/share/java/postgresql.jar";
    if !has("java") || !has("javac") {
        return;
    }
    if !Path::new(jar).exists() {
        skipped(&format!("needs {jar} (libpostgresql-jdbc-java)"));
        return;
    }
    let place = lake();
    let serving = Serving::start(&place, &[]);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/Reads.java");
    let url = format!("jdbc:postgresql://127.0.0.1:{}/lake?user=me", serving.port);
    let ran = Ran::of(
        Command::new("java")
            .args(["-cp", jar])
            .arg(source)
            .args([&url, &calls(&place)]),
    );
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
}

/// What Grafana and Metabase ask before anybody has asked them anything.
#[test]
fn tools_find_the_tables() {
    if !has("psql") {
        return;
    }
    let place = lake();
    let serving = Serving::start(&place, &[]);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
    let mut asked = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let all = std::fs::read_to_string(&path).unwrap();
        for question in all
            .split("\n\n")
            .filter(|question| !question.trim().is_empty())
        {
            let ran = serving.psql(question);
            let shown = path.display();
            assert_eq!(ran.code, Some(0), "{shown}\n{question}\n{}", ran.stderr);
            asked += 1;
        }
    }
    assert!(asked >= 10, "{asked}");
}
