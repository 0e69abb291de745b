//! Files, cut and named.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::super::message::{Chat, Content, Message, ToolCall};
use super::super::split::Split;
use super::super::weigh::Row;
use super::*;

pub(super) const ALL: [Format; 14] = [
    Format::Parquet,
    Format::VerlRl,
    Format::VerlSft,
    Format::TrlSft,
    Format::TrlGrpo,
    Format::Openrlhf,
    Format::NemoRl,
    Format::NemoGym,
    Format::Skyrl,
    Format::Slime,
    Format::PrimeRl,
    Format::JsonlZst,
    Format::Mds,
    Format::Webdataset,
];

fn chat() -> Chat {
    let call = ToolCall {
        place: (0, 0),
        id: "call_0_0".into(),
        name: "f".into(),
        arguments: r#"{"a": 1}"#.into(),
    };
    let answer = Message {
        role: "tool".into(),
        answers: Some("call_0_0".into()),
        content: Content::Text("é \"quoted\"\n".into()),
        ..Message::default()
    };
    let made = Message {
        role: "assistant".into(),
        calls: vec![call],
        ..Message::default()
    };
    Chat {
        messages: vec![Message::user("do it"), made, answer],
        before: 1,
        task: None,
    }
}

fn items(splits: &[Split]) -> Vec<Item> {
    let rows = splits.iter().map(|split| Row {
        split: *split,
        ..Row::sample()
    });
    let rows = Arc::new(rows.collect::<Vec<_>>());
    let item = |place: usize| {
        Item {
        rows: Arc::clone(&rows),
        place,
        number: place as u64,
        arm: "sim",
        chat: chat(),
        tools: r#"[{"type":"function","function":{"name":"f","description":"","parameters":{"type":"object"}}}]"#.into(),
        gold: None,
        call_weights: vec![0.25],
        original_weight: 1.0,
    }
    };
    (0..splits.len()).map(item).collect()
}

fn work(rows: usize) -> Work {
    Work {
        curation_id: "c".into(),
        fidelake: "0".into(),
        rows,
    }
}

const TWO: Limits = Limits {
    rows: 2,
    bytes: u64::MAX,
};

fn write(root: &Path, formats: &[Format], items: &[Item], stop_after: usize) -> Option<Journal> {
    let journal = Journal::open(root, &work(items.len()), formats).unwrap();
    let next = journal.next();
    let mut writer = Writer::new(formats, TWO, journal);
    for item in items.iter().skip(next).take(stop_after) {
        writer.push(item.clone(), &Totals::default()).unwrap();
    }
    (stop_after >= items.len()).then(|| writer.finish().unwrap())
}

fn files(root: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().display().to_string();
                found.push((name, std::fs::read(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn shards_are_cut_by_rows_and_splits_and_named_by_their_number() {
    let root = tempfile::tempdir().unwrap();
    let splits = [
        Split::Train,
        Split::Train,
        Split::Train,
        Split::Test,
        Split::Test,
        Split::Test,
    ];
    let journal = write(root.path(), &[Format::Parquet], &items(&splits), 9).unwrap();
    let rows: Vec<usize> = journal.shards.iter().map(|s| s.rows).collect();
    assert_eq!(rows, [2, 1, 2, 1]);
    journal.name().unwrap();
    Journal::forget(root.path()).unwrap();
    let names: Vec<String> = files(root.path()).into_iter().map(|f| f.0).collect();
    assert_eq!(
        names,
        [
            "data/test-00000-of-00002.parquet",
            "data/test-00001-of-00002.parquet",
            "data/train-00000-of-00002.parquet",
            "data/train-00001-of-00002.parquet",
        ]
    );
}

#[test]
fn a_stopped_writer_goes_on_behind_its_finished_shards() {
    let items = items(&[Split::Train; 7]);
    let whole = tempfile::tempdir().unwrap();
    write(whole.path(), &ALL, &items, 9)
        .unwrap()
        .name()
        .unwrap();
    let wanted = files(whole.path());
    for stop in 0..7 {
        let root = tempfile::tempdir().unwrap();
        assert!(write(root.path(), &ALL, &items, stop).is_none());
        assert_eq!(finished(root.path()), stop / 2);
        drop_unfinished(root.path());
        let parts = std::fs::read_dir(root.path().join("parts")).unwrap();
        assert_eq!(parts.count(), stop / 2 * ALL.len());
        // What was half done, or damaged, is done again.
        if stop == 5 {
            let part = root.path().join("parts/mds-00001.part");
            std::fs::write(part, "damaged").unwrap();
        }
        write(root.path(), &ALL, &items, 9).unwrap().name().unwrap();
        assert_eq!(files(root.path()), wanted, "stopped after {stop}");
        // Killed while the names were given: they are taken back.
        let from = root.path().join("skyrl/data/train-00001-of-00004.parquet");
        std::fs::rename(from, root.path().join("parts/skyrl-00001.part")).unwrap();
        let journal = Journal::open(root.path(), &work(7), &ALL).unwrap();
        assert_eq!(journal.next(), 7);
        journal.name().unwrap();
        assert_eq!(files(root.path()), wanted, "named twice");
    }
    // Other work starts anew.
    let other = Journal::open(whole.path(), &work(8), &ALL).unwrap();
    assert_eq!(other.next(), 0);
    drop(other);
    assert_eq!(files(whole.path()).len(), 1);
}

#[test]
fn a_format_has_one_schema_and_its_weight_is_never_null() {
    for format in ALL {
        let columns = format.columns();
        let names: std::collections::HashSet<_> = columns.iter().map(|c| c.name).collect();
        assert_eq!(names.len(), columns.len(), "{}", format.name());
        let mut line = String::new();
        super::lines::push_object(columns, &items(&[Split::Train])[0], &mut line);
        let row: Value = serde_json::from_str(&line).unwrap();
        let text = row.to_string();
        assert!(
            text.contains("fidelity_weight"),
            "{}: {text}",
            format.name()
        );
        for column in columns.iter().filter(|c| c.name == "fidelity_weight") {
            assert!(!column.null);
            assert!(row["fidelity_weight"].is_f64());
        }
        let batch = super::arrow::batch(columns, &items(&[Split::Train; 3])).unwrap();
        assert_eq!(batch.num_rows(), 3);
    }
}

#[test]
fn consumers_find_what_they_read() {
    let item = &items(&[Split::Validation])[0];
    let row = |format: Format| -> Value {
        let mut line = String::new();
        super::lines::push_object(format.columns(), item, &mut line);
        serde_json::from_str(&line).unwrap()
    };
    let verl = row(Format::VerlRl);
    assert_eq!(verl["extra_info"]["split"], "validation");
    assert_eq!(verl["reward_model"]["ground_truth"], "[]");
    let label = row(Format::Openrlhf)["label"].as_str().unwrap().to_owned();
    let label: Value = serde_json::from_str(&label).unwrap();
    assert_eq!(label["fidelity_weight"], 0.0);
    assert_eq!(label["ground_truth"], "[]");
    let gym = row(Format::NemoGym);
    assert_eq!(
        gym["responses_create_params"],
        serde_json::json!({
            "input": [{"role": "user", "content": "do it"}],
            "tools": [{"type": "function", "name": "f", "description": "", "parameters": {"type": "object"}, "strict": false}],
        })
    );
    let nemo = row(Format::NemoRl);
    assert_eq!(
        nemo["messages"][1]["tool_calls"][0]["function"]["arguments"],
        "{\"a\": 1}"
    );
    assert_eq!(nemo["tools"][0]["function"]["name"], "f");
}
