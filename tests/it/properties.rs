//! Whatever the bytes are: never a panic, and every record is accounted for.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use fidelake::import::{ImportError, OnConflict, Options, Progress, Report, import};
use fidelake_core::mask::Mode;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::{Place, gzip, number, zstd_long};

struct Quiet;

impl Progress for Quiet {
    fn say(&self, _line: &str) {}
    fn bytes(&self, _done: u64, _total: u64) {}
    fn items(&self, _done: u64, _total: u64) {}
    fn stop(&self) -> bool {
        false
    }
}

static RUNTIME: LazyLock<tokio::runtime::Runtime> =
    LazyLock::new(|| tokio::runtime::Runtime::new().unwrap());

/// The import of the program, in this process: a panic anywhere fails the test.
fn run(place: &Place, file: PathBuf, mask: Mode) -> Result<Report, ImportError> {
    let options = Options {
        paths: vec![file],
        format: None,
        environment: None,
        arm: None,
        mask,
        on_conflict: OnConflict::Reject,
        command: "test".into(),
    };
    RUNTIME.block_on(import(
        &place.lake(),
        &options,
        Duration::ZERO,
        Arc::new(Quiet),
    ))
}

/// Imports twice: the first time everything is accounted for, the second time nothing changes.
fn check(bytes: &[u8], packing: u8) -> Result<(), TestCaseError> {
    let place = Place::new();
    let bytes = match packing {
        0 => gzip(bytes),
        1 => zstd_long(bytes, 24),
        _ => bytes.to_vec(),
    };
    let file = place.write("input.jsonl", bytes);
    let report = match run(&place, file.clone(), Mode::All) {
        // What is refused as a whole leaves nothing behind.
        Err(_) => {
            prop_assert!(!place.lake().exists());
            return Ok(());
        }
        Ok(report) => report,
    };
    let counts = &report.counts;
    prop_assert_eq!(
        counts.records,
        counts.imported + counts.duplicates + counts.rejected
    );
    let stored = |sql: &str| number(&place.lake(), sql) as u64;
    prop_assert_eq!(counts.runs, stored("SELECT count(*) FROM runs"));
    prop_assert_eq!(counts.rejected, stored("SELECT count(*) FROM rejected"));
    prop_assert_eq!(counts.calls, stored("SELECT count(*) FROM calls"));
    prop_assert_eq!(counts.messages, stored("SELECT count(*) FROM messages"));
    prop_assert_eq!(
        counts.observations,
        stored("SELECT count(*) FROM observations")
    );
    let again = run(&place, file, Mode::All).map_err(|e| TestCaseError::fail(e.to_string()))?;
    prop_assert_eq!(again.version, None);
    prop_assert_eq!(again.counts.records, counts.records);
    prop_assert_eq!(again.counts.rejected, counts.rejected);
    Ok(())
}

/// A JSON value of any kind, odd ones included.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("NaN".to_owned()),
        Just("1e999".to_owned()),
        Just("\"\\ud800\"".to_owned()),
        Just("\"{'a': None}\"".to_owned()),
        any::<i64>().prop_map(|n| n.to_string()),
        any::<f64>().prop_map(|n| n.to_string()),
        any::<bool>().prop_map(|b| b.to_string()),
        ".{0,12}".prop_map(|text| serde_json::Value::from(text).to_string()),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            vec((key(), inner), 0..4).prop_map(|entries| {
                let entries: Vec<_> = entries
                    .into_iter()
                    .map(|(key, value)| format!("\"{key}\":{value}"))
                    .collect();
                format!("{{{}}}", entries.join(","))
            }),
        ]
    })
}

/// Keys that the readers look at, so that wrong values stand in right places.
fn key() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "fidelake",
        "trajectory_id",
        "environment",
        "arm",
        "repeat",
        "calls",
        "messages",
        "result",
        "content",
        "role",
        "name",
        "arguments",
        "tool_calls",
        "function",
        "tool_call_id",
        "id",
        "verdicts",
        "catalog",
        "gold",
        "labels",
        "turn",
        "index",
        "started_at",
        "state",
        "type",
        "text",
        "password",
        "traj",
        "task_id",
        "info",
        "dir",
        "raw",
        "ts",
        "method",
        "params",
    ])
}

fn line() -> impl Strategy<Value = Vec<u8>> {
    let wrapped = |start: &'static str| {
        (key(), json())
            .prop_map(move |(key, value)| format!("{start},\"{key}\":{value}}}").into_bytes())
    };
    prop_oneof![
        3 => (0..6u8, json(), json()).prop_map(|(id, arguments, content)| format!(
            "{{\"fidelake\":1,\"trajectory_id\":\"t{id}\",\"environment\":\"e\",\"arm\":\"sim\",\"calls\":[{{\"name\":\"f\",\"arguments\":{arguments},\"result\":{{\"content\":{content}}}}}]}}"
        ).into_bytes()),
        2 => wrapped("{\"fidelake\":1,\"trajectory_id\":\"t\",\"environment\":\"e\",\"arm\":\"real\""),
        1 => wrapped("{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]"),
        1 => json().prop_map(String::into_bytes),
        1 => vec(any::<u8>(), 0..40),
        1 => ".{0,40}".prop_map(String::into_bytes),
    ]
}

/// A first line by which the file is recognised.
fn first() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "{\"fidelake\":1,\"trajectory_id\":\"t0\",\"environment\":\"e\",\"arm\":\"sim\"}\n",
        "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}\n",
        "{\"ts\":1,\"dir\":\"c2s\",\"raw\":\"{\\\"id\\\":1,\\\"method\\\":\\\"tools/call\\\",\\\"params\\\":{\\\"name\\\":\\\"f\\\"}}\"}\n",
        "[{\"task_id\":1,\"traj\":[{\"role\":\"user\",\"content\":\"x\"}],\"reward\":1},",
        "{\"info\":{},\"tasks\":[],\"simulations\":[{\"task_id\":\"1\",\"messages\":[]},",
        "",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 32,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn lines_of_every_kind_are_accounted_for(
        first in first(), lines in vec(line(), 0..12), packing in 0..6u8,
    ) {
        let bytes = [first.as_bytes(), &lines.join(&b'\n')].concat();
        check(&bytes, packing)?;
    }

    #[test]
    fn arbitrary_bytes_never_panic(first in first(), bytes in vec(any::<u8>(), 0..2000), packing in 0..6u8) {
        check(&[first.as_bytes(), &bytes].concat(), packing)?;
    }

    #[test]
    fn a_damaged_file_is_refused_or_accounted_for(cut in 0.0..1.0f64, flip in 0.0..1.0f64, packing in 0..3u8) {
        let text = crate::generate::file(0, 8, 3).into_bytes();
        let mut bytes = match packing {
            0 => gzip(&text),
            1 => zstd_long(&text, 24),
            _ => text,
        };
        let at = ((bytes.len() - 1) as f64 * flip) as usize;
        bytes[at] ^= 0x10;
        bytes.truncate((bytes.len() as f64 * cut) as usize + 1);
        check(&bytes, 9)?;
    }
}
