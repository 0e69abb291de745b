//! `fidelake sql`, `functions`, `slice` and `show`, as they are typed.

mod functions;
mod show;
mod slice;
mod sql;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

/// A lake to ask; made once and only read.
struct Lake {
    root: tempfile::TempDir,
}

/// The sample data, profiled.
static SAMPLE: LazyLock<Lake> = LazyLock::new(|| {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample_data");
    Lake::of(&[
        data.join("airline_gold.jsonl"),
        data.join("airline_probe.jsonl"),
    ])
});

/// A few handmade runs: status codes, calls on one arm, payloads that would
/// like to write on the terminal, one id in two environments.
static HANDMADE: LazyLock<Lake> = LazyLock::new(|| {
    Lake::of_text(&[
        run(
            "weather",
            "t/1",
            "sim",
            &[
                call(
                    0,
                    "forecast",
                    r#"{"city":"Oslo"}"#,
                    r#""content":{"sky":"clear","t":3},"status":200,"latency_ms":12"#,
                ),
                call(
                    1,
                    "forecast",
                    r#"{"city":"Rome"}"#,
                    r#""content":{"sky":"clear","t":21},"status":200,"latency_ms":11"#,
                ),
                call(
                    2,
                    "station",
                    r#"{"id":7}"#,
                    r#""content":{"name":"\u001b[2JNice\u0007","list":[1,2,3],"old":1},"status":200"#,
                ),
            ],
        ),
        run(
            "weather",
            "t/1",
            "real",
            &[
                call(
                    0,
                    "forecast",
                    r#"{"city":"Oslo"}"#,
                    r#""content":{"sky":"clear","t":3},"status":200,"latency_ms":120"#,
                ),
                call(
                    1,
                    "forecast",
                    r#"{"city":"Rome"}"#,
                    r#""content":"Too many requests \u001b]0;owned\u0007","status":429,"is_error":true,"latency_ms":3"#,
                ),
                call(
                    2,
                    "station",
                    r#"{"id":7}"#,
                    r#""content":{"name":"Nizza\u202e","list":[3,1,2],"new":"x"},"status":200"#,
                ),
                call(
                    3,
                    "station",
                    r#"{"id":8}"#,
                    r#""content":{"name":"Cannes"},"status":200"#,
                ),
            ],
        ),
        run(
            "weather",
            "t/10",
            "sim",
            &[call(0, "forecast", r#"{"city":"Oslo"}"#, r#""content":1"#)],
        ),
        run(
            "ocean",
            "t/10",
            "sim",
            &[call(0, "tide", "{}", r#""content":1"#)],
        ),
        run("ocean", "\u{1b}[31mt/11", "sim", &[]),
    ])
});

fn call(turn: usize, name: &str, arguments: &str, result: &str) -> String {
    format!(
        r#"{{"turn":{turn},"index":0,"name":"{name}","arguments":{arguments},"result":{{{result}}}}}"#
    )
}

fn run(environment: &str, trajectory: &str, arm: &str, calls: &[String]) -> String {
    let id = serde_json::Value::from(trajectory);
    format!(
        r#"{{"fidelake":1,"trajectory_id":{id},"environment":"{environment}","arm":"{arm}","calls":[{}]}}"#,
        calls.join(",")
    )
}

impl Lake {
    fn of(files: &[PathBuf]) -> Self {
        let lake = Self {
            root: tempfile::tempdir().unwrap(),
        };
        let mut words = vec!["import"];
        words.extend(files.iter().map(|f| f.to_str().unwrap()));
        lake.done(&words);
        lake.done(&["profile"]);
        lake
    }

    fn of_text(runs: &[String]) -> Self {
        let source = tempfile::tempdir().unwrap();
        let file = source.path().join("runs.jsonl");
        std::fs::write(&file, runs.join("\n")).unwrap();
        Self::of(&[file])
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fidelake"));
        command
            .current_dir(self.root.path())
            .args(words)
            .env("FIDELAKE_LAKE", "lake")
            .env("NO_COLOR", "1")
            .env_remove("COLUMNS")
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::null());
        command
    }

    fn ask(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// With a text on standard input.
    fn tell(&self, words: &[&str], text: &str) -> Output {
        let mut command = self.command(words);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
        child.wait_with_output().unwrap()
    }

    /// What a command prints that must end well.
    fn done(&self, words: &[&str]) -> String {
        let output = self.ask(words);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{words:?}\n{}",
            said(&output)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// The rows that a command prints.
    fn rows(&self, words: &[&str]) -> Vec<serde_json::Value> {
        let words = [words, &["--format", "ndjson"]].concat();
        self.done(&words)
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// All that a command said.
fn said(output: &Output) -> String {
    let mut text = format!("exit code {}\n", output.status.code().unwrap_or(-1));
    for (name, part) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        if !part.is_empty() {
            let _ = write!(text, "--- {name}\n{}", String::from_utf8_lossy(part));
        }
    }
    assert!(
        text.chars().all(|c| c == '\n' || !c.is_control()),
        "nothing unprintable may be printed: {text:?}"
    );
    text
}

/// Compares all that a command said with a stored text.
macro_rules! assert_said {
    ($name:expr, $output:expr) => {
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/it/asking/snapshots"
        ));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        let text = $crate::asking::said(&$output);
        settings.bind(|| insta::assert_snapshot!($name, text));
    };
}
use assert_said;
