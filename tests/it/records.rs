//! Files of every packing and coding; records of every kind of damage; the same again.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::generate;
use crate::support::{
    Counts, Place, Ran, assert_said, assert_same_rows, gzip, newest, number, query, zstd_long,
};

fn run(id: &str) -> String {
    json!({"fidelake": 1, "trajectory_id": id, "environment": "e", "arm": "sim",
           "calls": [{"name": "f", "arguments": {"x": 1}, "result": {"content": "ok"}}]})
    .to_string()
}

/// A lake of the file as it is, to compare the other forms of it with.
fn plain(bytes: &[u8]) -> Place {
    let place = Place::new();
    place.write("plain.jsonl", bytes);
    place.import(&["plain.jsonl"]);
    place
}

/// What stands in the rows because of the source and not of its records.
const OF_SOURCE: &[&str] = &[
    "source",
    "import_id",
    "operation_id",
    "source_bytes",
    "decoded_bytes",
    "offset",
];

#[test]
fn packed_and_piped_files_give_the_rows_of_the_plain_one() {
    let text = generate::file(0, 30, 1);
    let wanted = plain(text.as_bytes());
    let forms: [(&str, Vec<u8>); 6] = [
        ("a.gz", gzip(text.as_bytes())),
        // Two members in one file, as `cat` and log rotation make them.
        ("two.gz", {
            let half = text.find("\n{").unwrap() + 1;
            [
                gzip(&text.as_bytes()[..half]),
                gzip(&text.as_bytes()[half..]),
            ]
            .concat()
        }),
        ("a.zst", zstd_long(text.as_bytes(), 23)),
        ("long.zst", zstd_long(text.as_bytes(), 30)),
        // The first bytes tell the packing, not the name.
        ("named-wrong.json", gzip(text.as_bytes())),
        ("bom.jsonl", [b"\xEF\xBB\xBF", text.as_bytes()].concat()),
    ];
    for (name, bytes) in forms {
        let place = Place::new();
        place.write(name, bytes);
        place.import(&[name]);
        assert_same_rows(&place.lake(), &wanted.lake(), OF_SOURCE, name);
    }
    for arguments in [vec!["-"], vec!["/dev/stdin"]] {
        let place = Place::new();
        let mut command = place.command(&["import", "--format", "json"]);
        let mut child = command
            .args(&arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        Counts::parse(std::str::from_utf8(&output.stdout).unwrap());
        assert_same_rows(&place.lake(), &wanted.lake(), OF_SOURCE, arguments[0]);
    }
}

#[test]
fn line_ends_and_blank_lines_change_nothing_but_places() {
    let text = generate::file(0, 20, 2);
    let wanted = plain(text.as_bytes());
    let place = Place::new();
    place.write(
        "crlf.jsonl",
        format!("\n\r\n{}\n\n", text.replace('\n', "\r\n")),
    );
    place.import(&["crlf.jsonl"]);
    let without = [OF_SOURCE, &["line", "bytes", "text", "message"]].concat();
    assert_same_rows(&place.lake(), &wanted.lake(), &without, "crlf");
    let place = Place::new();
    place.write("no-end.jsonl", text.trim_end());
    place.import(&["no-end.jsonl"]);
    assert_same_rows(
        &place.lake(),
        &wanted.lake(),
        OF_SOURCE,
        "no newline at the end",
    );
}

#[test]
fn good_records_are_imported_and_bad_ones_say_why() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let with = |key: &str, value: &str| {
        let mut line = run(&format!("odd {key}"));
        line.pop();
        format!("{line},\"{key}\":{value}}}")
    };
    let mut lines: Vec<Vec<u8>> = vec![
        run("first").into(),
        // Broken.
        b"{\"fidelake\":1,\"trajectory_id\":\"cut\",\"envi".to_vec(),
        b"{\"fidelake\":1 \"trajectory_id\":\"no comma\"}".to_vec(),
        b"no json at all".to_vec(),
        b"\0\0\0\0".to_vec(),
        format!("{} {}", run("a"), run("b")).into(),
        // JSON, but not a run.
        b"[1,2]".to_vec(),
        b"\"text\"".to_vec(),
        b"null".to_vec(),
        b"{}".to_vec(),
        b"{\"fidelake\":2,\"trajectory_id\":\"newer\",\"environment\":\"e\",\"arm\":\"sim\"}".to_vec(),
        // Fields that are missing or of another type.
        b"{\"fidelake\":1,\"environment\":\"e\",\"arm\":\"sim\"}".to_vec(),
        b"{\"fidelake\":1,\"trajectory_id\":\"\",\"environment\":\"e\",\"arm\":\"sim\"}".to_vec(),
        b"{\"fidelake\":1,\"trajectory_id\":\"t\",\"arm\":\"sim\"}".to_vec(),
        b"{\"fidelake\":1,\"trajectory_id\":\"t\",\"environment\":\"e\"}".to_vec(),
        b"{\"fidelake\":1,\"trajectory_id\":\"t\",\"environment\":\"e\",\"arm\":\"both\"}".to_vec(),
        b"{\"fidelake\":1,\"trajectory_id\":\"t\",\"environment\":\"a\\u0000b\",\"arm\":\"sim\"}".to_vec(),
        b"{\"fidelake\":1,\"trajectory_id\":\"t\",\"environment\":\"  \",\"arm\":\"sim\"}".to_vec(),
        b"{\"fidelake\":1,\"trajectory_id\":\"t\",\"environment\":\"e\",\"arm\":\"sim\",\"repeat\":-1}".to_vec(),
        b"{\"fidelake\":1,\"trajectory_id\":\"t\",\"environment\":\"e\",\"arm\":\"sim\",\"repeat\":\"x\"}".to_vec(),
        b"{\"fidelake\":1,\"trajectory_id\":\"t\",\"environment\":\"e\",\"arm\":\"sim\",\"origin\":\"heaven\"}".to_vec(),
        b"{\"fidelake\":1,\"trajectory_id\":\"t\",\"environment\":\"e\",\"arm\":\"sim\",\"calls\":{}}".to_vec(),
        b"{\"fidelake\":1,\"trajectory_id\":\"t\",\"environment\":\"e\",\"arm\":\"sim\",\"calls\":[1]}".to_vec(),
        b"{\"fidelake\":1,\"trajectory_id\":\"t\",\"environment\":\"e\",\"arm\":\"sim\",\"calls\":[{\"turn\":0},{\"turn\":0}]}".to_vec(),
        b"{\"fidelake\":1,\"trajectory_id\":\"t\",\"environment\":\"e\",\"arm\":\"sim\",\"calls\":[{\"turn\":99999999999}]}".to_vec(),
        b"{\"fidelake\":1,\"trajectory_id\":\"t\",\"environment\":\"e\",\"arm\":\"sim\",\"messages\":[{\"content\":\"x\"}]}".to_vec(),
    ];
    let bad = lines.len() as u64 - 1;
    // Odd, but imported, and flagged.
    lines.extend([
        with("duplicate", "{\"a\":1,\"a\":2}").into_bytes(),
        with("nan", "[NaN,Infinity,-Infinity]").into_bytes(),
        with("large", "1e400").into_bytes(),
        with("integer", "123456789012345678901234567890").into_bytes(),
        with("rounded", "9007199254740993000").into_bytes(),
        with("surrogate", "\"\\ud83d and \\ud83d\\ude00\"").into_bytes(),
        with("control", "\"a\0b\"").into_bytes(),
        with("deep", &deep).into_bytes(),
        [b"{\"fidelake\":1,\"trajectory_id\":\"odd bytes\",\"environment\":\"e\",\"arm\":\"sim\",\"labels\":{\"x\":\"\xFF\xFE\"}}"
            .as_slice()].concat(),
        run("last").into(),
    ]);
    let good = lines.len() as u64 - bad;
    let place = Place::new();
    place.write("mixed.jsonl", lines.join(&b'\n'));
    let ran = place.run(&["import", "mixed.jsonl"]);
    assert_said!(place, "bad_records", ran);
    let rejected = query(
        &place.lake(),
        "SELECT record, line, \"offset\", bytes, reason, message FROM rejected ORDER BY record",
    );
    let mut text = String::new();
    for row in &rejected {
        let number = |key: &str| row[key].as_u64().unwrap();
        // The line says what the file has there.
        assert_eq!(number("record"), number("line"));
        let line = &lines[number("line") as usize - 1];
        assert_eq!(number("bytes"), line.len() as u64);
        let before: usize = lines[..number("line") as usize - 1]
            .iter()
            .map(|l| l.len() + 1)
            .sum();
        assert_eq!(number("offset"), before as u64);
        text.push_str(&format!(
            "line {}: {}: {}\n",
            number("line"),
            row["reason"].as_str().unwrap(),
            row["message"].as_str().unwrap()
        ));
    }
    assert_eq!(rejected.len() as u64, bad, "{text}");
    let flags = query(
        &place.lake(),
        "SELECT trajectory_id, flags FROM runs ORDER BY record",
    );
    assert_eq!(flags.len() as u64, good);
    for row in &flags {
        let names: Vec<&str> = row["flags"]
            .as_array()
            .unwrap()
            .iter()
            .map(|f| f.as_str().unwrap())
            .collect();
        text.push_str(&format!(
            "{}: {}\n",
            row["trajectory_id"].as_str().unwrap(),
            names.join(" ")
        ));
    }
    let all = Ran {
        code: Some(0),
        stdout: text,
        stderr: String::new(),
    };
    assert_said!(place, "bad_records_rejected", all);
    // Numbers are kept as they were written.
    let extra = query(
        &place.lake(),
        "SELECT extra FROM runs WHERE trajectory_id = 'odd integer'",
    );
    assert_eq!(
        extra[0]["extra"],
        "{\"integer\":123456789012345678901234567890}"
    );
    let extra = query(
        &place.lake(),
        "SELECT extra FROM runs WHERE trajectory_id = 'odd nan'",
    );
    assert_eq!(extra[0]["extra"], "{\"nan\":[NaN,Infinity,-Infinity]}");
}

#[test]
fn a_cut_array_gives_what_is_whole() {
    let place = Place::new();
    let run = |task: u64| json!({"task_id": task, "reward": 1.0, "info": {}, "traj": [{"role": "user", "content": "hi"}]});
    let text = format!("[{},{},", run(1), run(2));
    let text = format!("{text}{}", &run(3).to_string()[..40]);
    place.write("cut.json", text);
    let counts = place.import(&["cut.json"]);
    assert_eq!(
        (counts.records, counts.imported, counts.rejected),
        (3, 2, 1)
    );
    let rejected = query(&place.lake(), "SELECT record, reason FROM rejected");
    assert_eq!(rejected, [json!({"record": 3, "reason": "truncated"})]);
}

#[test]
fn a_bad_line_of_a_wire_capture_stops_nothing() {
    let place = Place::new();
    let call = |id: u64| {
        let raw = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "f", "arguments": {}}});
        json!({"ts": 1.0, "dir": "c2s", "raw": raw.to_string()}).to_string()
    };
    let lines = [
        call(1),
        "{\"ts\": 1.0, \"dir\"".into(),
        "{\"a\":1}".into(),
        call(2),
    ];
    place.write("wire.jsonl", lines.join("\n"));
    let counts = place.import(&["wire.jsonl"]);
    assert_eq!(
        (counts.records, counts.imported, counts.rejected),
        (4, 2, 2)
    );
    let rejected = query(
        &place.lake(),
        "SELECT line, \"offset\", bytes, text FROM rejected ORDER BY line",
    );
    let before = lines[0].len() + 1;
    assert_eq!(
        rejected,
        [
            json!({"line": 2, "offset": before, "bytes": lines[1].len(), "text": lines[1]}),
            json!({"line": 3, "offset": before + lines[1].len() + 1, "bytes": 7, "text": "{\"a\":1}"}),
        ]
    );
}

#[test]
fn the_same_file_twice_changes_nothing() {
    let place = Place::new();
    let text = generate::file(0, 20, 3);
    place.write("a.jsonl", &text);
    let first = place.import(&["a.jsonl"]);
    assert!(first.rejected > 0 && first.duplicates > 0);
    let version = newest(&place.lake());
    let again = place.run(&["import", "a.jsonl"]);
    assert_said!(place, "same_file_twice", again);
    let again = place.import(&["a.jsonl"]);
    assert_eq!(again.records, first.records);
    assert_eq!((again.imported, again.rejected), (0, first.rejected));
    assert_eq!(newest(&place.lake()), version);
    // Under another name, and with another line before it.
    place.write("b.jsonl", &text);
    let renamed = place.import(&["b.jsonl"]);
    assert_eq!((renamed.records, renamed.imported), (first.records, 0));
    assert_eq!(newest(&place.lake()), version);
    place.write("c.jsonl", format!("{}\n{text}", run("new")));
    let longer = place.import(&["c.jsonl"]);
    assert_eq!((longer.imported, longer.runs), (1, 1));
    assert_eq!(longer.duplicates, first.imported + first.duplicates);
    assert_eq!(longer.rejected, first.rejected);
    let twice =
        "SELECT count(*) FROM (SELECT run_id FROM runs GROUP BY run_id HAVING count(*) > 1)";
    assert_eq!(number(&place.lake(), twice), 0);
}

#[test]
fn two_copies_of_a_file_in_one_command_are_counted_and_stored_once() {
    let place = Place::new();
    let text = generate::file(0, 10, 4);
    place.write("in/a.jsonl", &text);
    place.write("in/b.jsonl", &text);
    let counts = place.import(&["in"]);
    let records = text.lines().count() as u64;
    assert_eq!((counts.files, counts.records), (2, 2 * records));
    assert_eq!(counts.imported, 20);
    let place = Place::new();
    place.write("a.jsonl", &text);
    let once = place.import(&["a.jsonl", "./a.jsonl", "a.jsonl"]);
    assert_eq!(once.imported, 20);
}

#[test]
fn another_content_of_a_run_is_refused_or_becomes_a_repeat() {
    let place = Place::new();
    let other = run("t").replace("\"ok\"", "\"other\"");
    place.write("a.jsonl", run("t"));
    place.write("b.jsonl", &other);
    place.import(&["a.jsonl"]);
    let ran = place.run(&["import", "b.jsonl"]);
    assert_said!(place, "key_conflict", ran);
    let rows = query(&place.lake(), "SELECT reason, text FROM rejected");
    assert_eq!(rows, [json!({"reason": "key_conflict", "text": other})]);
    let kept = query(&place.lake(), "SELECT content FROM observations");
    assert_eq!(kept, [json!({"content": "ok"})]);
    // As one more repeat; then it is there, and is a duplicate.
    let next = place.import(&["b.jsonl", "--on-conflict", "next-repeat"]);
    assert_eq!((next.imported, next.trajectories, next.rejected), (1, 0, 0));
    let rows = query(
        &place.lake(),
        "SELECT r.\"repeat\", c.\"repeat\" AS c, o.\"repeat\" AS o, o.content FROM runs r
         JOIN calls c ON c.run_id = r.run_id JOIN observations o ON o.run_id = r.run_id ORDER BY 1",
    );
    assert_eq!(
        rows,
        [
            json!({"repeat": 0, "c": 0, "o": 0, "content": "ok"}),
            json!({"repeat": 1, "c": 1, "o": 1, "content": "other"}),
        ]
    );
    place.write("c.jsonl", format!("{other}\n{}\n", run("t")));
    let again = place.import(&["c.jsonl", "--on-conflict", "next-repeat"]);
    assert_eq!((again.imported, again.duplicates), (0, 2));
}

#[test]
fn folders_and_patterns_take_what_can_be_read_and_say_what_not() {
    let place = Place::new();
    place.write("in/one.jsonl", run("one"));
    place.write("in/deeper/two.jsonl.gz", gzip(run("two").as_bytes()));
    place.write("in/deeper/notes.txt", "just words");
    place.write("in/empty.jsonl", "");
    place.write("in/picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR");
    place.write("in/.hidden.jsonl", run("hidden"));
    place.write("in/trace.har", json!({"log": {"entries": []}}).to_string());
    let ran = place.run(&["import", "in"]);
    assert_said!(place, "folder_of_many_kinds", ran);
    assert_eq!(number(&place.lake(), "SELECT count(*) FROM runs"), 2);
    let place = Place::new();
    place.write("x1.jsonl", run("x1"));
    place.write("x2.jsonl", run("x2"));
    place.write("y1.jsonl", run("y1"));
    assert_eq!(place.import(&["x*.jsonl"]).imported, 2);
    assert_eq!(place.import(&["[xy]?.jsonl"]).imported, 1);
}

#[test]
fn the_environment_and_the_arm_can_be_forced() {
    let place = Place::new();
    place.write("a.jsonl", run("t"));
    place.import(&["a.jsonl", "--environment", "other", "--arm", "real"]);
    place.import(&["a.jsonl"]);
    let rows = query(
        &place.lake(),
        "SELECT environment, arm FROM runs ORDER BY 1",
    );
    assert_eq!(
        rows,
        [
            json!({"environment": "e", "arm": "sim"}),
            json!({"environment": "other", "arm": "real"}),
        ]
    );
    // Names that are no good folder names are stored under themselves.
    for name in [
        "a/b",
        "..",
        "ü 1%",
        "a=b",
        "C:\\x",
        "日本",
        "__HIVE_DEFAULT_PARTITION__",
    ] {
        place.import(&["a.jsonl", "--environment", name]);
        let sql = format!("SELECT count(*) FROM calls WHERE environment = '{name}'");
        assert_eq!(number(&place.lake(), &sql), 1, "{name}");
    }
    assert_eq!(place.done(&["repair"]).stdout.lines().count(), 1);
}

#[test]
fn a_lake_has_at_most_two_hundred_environments() {
    let place = Place::new();
    let mut lines = String::new();
    for n in 0..203 {
        let line = run("t").replace("\"e\"", &format!("\"e{n}\""));
        lines.push_str(&line);
        lines.push('\n');
    }
    place.write("a.jsonl", lines);
    let counts = place.import(&["a.jsonl"]);
    assert_eq!((counts.imported, counts.rejected), (200, 3));
    let rows: Vec<Value> = query(&place.lake(), "SELECT DISTINCT message FROM rejected");
    assert_eq!(
        rows,
        [json!({"message": "the key \"environment\" would be environment number 201 of the lake"})]
    );
}
