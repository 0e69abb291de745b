//! `fidelake simulate`: recorded answers as an MCP server.

mod http;
mod mended;
mod randomized;
mod sdk;
mod wire;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::support::Place;

/// Runs of a small shop, as lines of the native form. `real` is right; `sim` reads old
/// values after a write, and finds what is not there.
pub(crate) fn shop() -> String {
    let catalog = json!([
        {"name": "get", "description": "Looks one up", "mutates": false,
         "parameters": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}},
        {"name": "set", "description": "Changes one", "mutates": true,
         "parameters": {"properties": {"id": {"type": "string"}, "cabin": {"type": "string"}}}},
        {"name": "odd", "mutates": false},
    ]);
    let entry = |id: &str, cabin: &str| {
        format!("{{\"id\": \"{id}\", \"cabin\": \"{cabin}\", \"price\": 1.10}}")
    };
    let mut lines = String::new();
    let ids = ["R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8"];
    for (at, id) in ids.into_iter().enumerate() {
        let cabin = if at % 2 == 0 { "biz" } else { "eco" };
        let gone = format!("R{}", 404 + at);
        let missing = format!("Error: {gone} not found");
        for (arm, after, lost) in [("sim", "old", "{}"), ("real", cabin, &*missing)] {
            let call = |turn: usize, name: &str, arguments: Value, content: Value, bad: bool| {
                json!({"turn": turn, "index": 0, "name": name, "arguments": arguments,
                       "result": {"content": content, "is_error": bad, "latency_ms": 20.0 + turn as f64}})
            };
            let mut calls = vec![
                call(0, "get", json!({"id": id}), json!(entry(id, "old")), false),
                call(
                    1,
                    "set",
                    json!({"id": id, "cabin": cabin}),
                    json!(entry(id, after)),
                    false,
                ),
                call(2, "get", json!({"id": id}), json!(entry(id, after)), false),
                call(3, "get", json!({"id": gone}), json!(lost), arm == "real"),
            ];
            if at == 0 {
                calls.push(call(4, "odd", json!({}), json!("ODD"), false));
            }
            // The fifth is held out: only the simulator ran it.
            let run = json!({"fidelake": 1, "trajectory_id": format!("t{at}"), "environment": "shop", "arm": arm,
                "repeat": 0, "origin": "live", "started_at": "2026-07-31T01:29:51Z", "catalog": catalog, "calls": calls});
            // Spellings that a JSON library would change.
            let odd = "[{\"type\": \"text\", \"text\": \"18446744073709551617 \\u00e9 1.10\", \"z\": 1.10}]";
            lines.push_str(&(run.to_string().replace("\"ODD\"", odd) + "\n"));
        }
    }
    let held_out = json!({"fidelake": 1, "trajectory_id": "t9", "environment": "shop", "arm": "sim", "repeat": 0,
        "catalog": catalog, "calls": [
        {"turn": 0, "index": 0, "name": "set", "arguments": {"id": "R9", "cabin": "biz"},
         "result": {"content": entry("R9", "old"), "is_error": false}},
        {"turn": 1, "index": 0, "name": "get", "arguments": {"id": "R9"},
         "result": {"content": entry("R9", "old"), "is_error": false}},
        {"turn": 2, "index": 0, "name": "get", "arguments": {"id": "R999"}, "result": {"content": "{}", "is_error": false}}]});
    lines + &held_out.to_string() + "\n"
}

pub(crate) fn shop_lake() -> Place {
    let place = Place::new();
    place.write("shop.jsonl", shop());
    place.import(&["shop.jsonl"]);
    place
}

/// A simulator over its pipes.
pub(crate) struct Pipes {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Pipes {
    pub(crate) fn start(place: &Place, options: &[&str]) -> Self {
        let mut all = vec!["simulate", "--environment", "shop", "--stdio"];
        all.extend(options);
        let mut child = place
            .command(&all)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    /// Sends a line, and gives the line that comes back.
    pub(crate) fn raw(&mut self, line: &str) -> String {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        assert!(answer.ends_with('\n'), "{line}: {answer:?}");
        answer.trim_end().to_owned()
    }

    pub(crate) fn call(&mut self, name: &str, arguments: &str) -> Value {
        serde_json::from_str(&self.raw(&call(name, arguments))).unwrap()
    }

    /// The text of an answer, and where it came from.
    pub(crate) fn says(&mut self, name: &str, arguments: &str) -> (String, String) {
        let answer = self.call(name, arguments);
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        let origin = result["_meta"]["fidelake/origin"].as_str();
        (text.to_owned(), origin.unwrap_or_default().to_owned())
    }

    /// Closes its input; what it said on standard error.
    pub(crate) fn end(mut self) -> String {
        drop(self.input.take());
        let output = self.child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    }
}

use crate::real_worlds::project as project_file;

pub(crate) fn call(name: &str, arguments: &str) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{{\"name\":\"{name}\",\"arguments\":{arguments}}}}}"
    )
}
