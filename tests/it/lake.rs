//! Versions: reading the past, merging and removing files, unfinished writes, older schemas.

use fidelake::lake::{At, Lake};
use serde_json::{Value, json};

use crate::generate;
use crate::support::{
    Place, assert_said, assert_same_rows, json_lines, newest, number, query, query_at, rows, tables,
};

fn two_imports() -> Place {
    let place = Place::new();
    place.write("a.jsonl", generate::file(0, 20, 1));
    place.write("b.jsonl", generate::file(20, 30, 1));
    place.import(&["a.jsonl"]);
    place.import(&["b.jsonl"]);
    place
}

fn count(place: &Place, at: &At) -> usize {
    json_lines(&query_at(&place.lake(), at, "SELECT run_id FROM runs")).count()
}

#[test]
fn the_past_can_be_read() {
    let place = two_imports();
    assert_eq!(count(&place, &At::Version(0)), 0);
    assert_eq!(count(&place, &At::Version(1)), 40);
    assert_eq!(count(&place, &At::Version(2)), 100);
    assert_eq!(count(&place, &At::Newest), 100);
    let lake = Lake::open(&place.lake()).unwrap();
    let times: Vec<String> = lake
        .versions()
        .unwrap()
        .into_iter()
        .map(|v| v.time)
        .collect();
    assert_eq!(count(&place, &At::Time(times[1].clone())), 40);
    assert_eq!(
        count(&place, &At::Time("2999-01-01T00:00:00.000Z".into())),
        100
    );
    assert_said!(place, "log", place.run(&["log"]));
    let json: Vec<Value> =
        serde_json::from_str(&place.done(&["log", "--format", "json"]).stdout).unwrap();
    assert_eq!(json.len(), 3);
    let last: Vec<Value> =
        serde_json::from_str(&place.done(&["log", "-n", "1", "--format", "json"]).stdout).unwrap();
    assert_eq!(last[..], json[2..]);
}

#[test]
fn compact_and_vacuum_change_no_row() {
    let place = two_imports();
    let before: Vec<_> = tables()
        .iter()
        .map(|table| rows(&place.lake(), table, &[]))
        .collect();
    place.done(&["compact"]);
    assert_eq!(newest(&place.lake()), 3);
    let after = |what: &str| {
        for (table, before) in tables().iter().zip(&before) {
            assert!(
                rows(&place.lake(), table, &[]) == *before,
                "{what}: {table}"
            );
        }
    };
    after("compact");
    // The old states are still there, until vacuum takes them.
    assert_eq!(count(&place, &At::Version(1)), 40);
    assert_said!(place, "vacuum_keeps", place.run(&["vacuum"]));
    let dry = place.done(&["vacuum", "--keep-days", "0", "--dry-run"]);
    let listed = dry.stdout.lines().count();
    assert!(listed > 0);
    assert_eq!(count(&place, &At::Version(1)), 40);
    let done = place.done(&["vacuum", "--keep-days", "0"]);
    assert_eq!(
        done.stdout,
        format!("{listed} files were removed, 3 versions can no longer be read\n")
    );
    after("vacuum");
    let lake = Lake::open(&place.lake()).unwrap();
    let error = lake.pin(&At::Version(1)).unwrap_err().to_string();
    assert_eq!(
        error,
        "lake version 1 can no longer be read: its files were removed by `fidelake vacuum`"
    );
    // And the lake can be written as before.
    place.write("c.jsonl", generate::file(50, 5, 1));
    assert_eq!(place.import(&["c.jsonl"]).runs, 10);
    assert_eq!(place.import(&["a.jsonl"]).imported, 0);
    assert_said!(place, "repair_whole", place.run(&["repair"]));
}

#[test]
fn every_table_is_described() {
    let place = Place::new();
    assert_said!(place, "schema", place.run(&["schema"]));
    assert_said!(place, "schema_rejected", place.run(&["schema", "rejected"]));
    for table in tables() {
        let ran = place.done(&["schema", table, "--format", "json"]);
        let columns: Vec<Value> = serde_json::from_str(&ran.stdout).unwrap();
        assert!(columns.iter().all(|column| column["meaning"].is_string()));
    }
}

#[test]
fn the_tables_are_as_their_schemas_say() {
    let place = two_imports();
    let lake = Lake::open(&place.lake()).unwrap();
    let pinned = lake.pin(&At::Newest).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for schema in fidelake::lake::schema::tables() {
        let Some(table) = runtime.block_on(pinned.table(schema.name)).unwrap() else {
            panic!("table {} is missing", schema.name);
        };
        let snapshot = table.snapshot().unwrap();
        let names: Vec<String> = snapshot
            .schema()
            .fields()
            .map(|f| f.name().clone())
            .collect();
        let wanted: Vec<String> = schema.columns.iter().map(|c| c.name.clone()).collect();
        assert_eq!(names, wanted, "{}", schema.name);
        assert_eq!(
            snapshot.metadata().partition_columns(),
            schema.partition.as_slice()
        );
        let log = std::fs::read_to_string(
            place
                .lake()
                .join(schema.name)
                .join("_delta_log/00000000000000000000.json"),
        );
        assert!(
            log.unwrap()
                .contains("\"delta.enableExpiredLogCleanup\":\"false\"")
        );
        // The key names a row.
        let key = schema
            .key
            .iter()
            .map(|k| format!("\"{k}\""))
            .collect::<Vec<_>>()
            .join(", ");
        let twice = format!(
            "SELECT count(*) FROM (SELECT {key} FROM {} GROUP BY {key} HAVING count(*) > 1)",
            schema.name
        );
        assert_eq!(number(&place.lake(), &twice), 0, "{}", schema.name);
    }
}

#[test]
fn an_unfinished_write_is_told_finished_or_dropped() {
    let place = two_imports();
    let db = rusqlite::Connection::open(place.path("lake/_fidelake/catalog.sqlite")).unwrap();
    let sql = "INSERT INTO intents VALUES ('feedfeedfeedfeed', 'import', 1, 2, 'fidelake import x.jsonl', '2026-01-01T00:00:00.000Z')";
    db.execute(sql, []).unwrap();
    place.write("c.jsonl", generate::file(50, 5, 1));
    assert_said!(
        place,
        "unfinished_import",
        place.run(&["import", "c.jsonl"])
    );
    assert_said!(place, "unfinished_repair", place.run(&["repair"]));
    assert_said!(
        place,
        "unfinished_no_such",
        place.run(&["repair", "--drop", "nonsense"])
    );
    for command in ["compact", "vacuum"] {
        assert_eq!(place.run(&[command]).code, Some(1), "{command}");
    }
    let log = place.done(&["log"]);
    assert!(log.stderr.contains("unfinished since"), "{}", log.stderr);
    assert_said!(
        place,
        "unfinished_drop",
        place.run(&["repair", "--drop", "feedfeedfeedfeed"])
    );
    assert_eq!(place.import(&["c.jsonl"]).runs, 10);
}

/// Makes the lake look as one from before a column and a table existed.
fn age(place: &Place) {
    let lake = place.lake();
    let python_free = |table: &str, column: &str| {
        // The first commit of a table holds its schema as JSON text.
        let path = lake
            .join(table)
            .join("_delta_log/00000000000000000000.json");
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<String> = text
            .lines()
            .map(|line| {
                let mut action: Value = serde_json::from_str(line).unwrap();
                if let Some(schema) = action["metaData"]["schemaString"].as_str() {
                    let mut schema: Value = serde_json::from_str(schema).unwrap();
                    let fields = schema["fields"].as_array_mut().unwrap();
                    let before = fields.len();
                    fields.retain(|field| field["name"] != column);
                    assert_eq!(fields.len(), before - 1);
                    action["metaData"]["schemaString"] = schema.to_string().into();
                }
                action.to_string()
            })
            .collect();
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    };
    python_free("runs", "policy");
    python_free("observations", "state_hash");
    std::fs::remove_dir_all(lake.join("rejected")).unwrap();
    let db = rusqlite::Connection::open(lake.join("_fidelake/catalog.sqlite")).unwrap();
    let tables: String = db
        .query_row("SELECT tables FROM lake_versions", [], |row| row.get(0))
        .unwrap();
    let mut tables: Value = serde_json::from_str(&tables).unwrap();
    tables.as_object_mut().unwrap().remove("rejected");
    db.execute(
        "UPDATE lake_versions SET schema_version = 0, tables = ?1",
        [tables.to_string()],
    )
    .unwrap();
}

#[test]
fn an_older_lake_is_migrated() {
    let place = Place::new();
    place.write("a.jsonl", generate::file(0, 20, 1));
    // A lake without runs; its creation is the only version.
    place.write("none.jsonl", "{\"fidelake\":1}\n");
    let ran = place.run(&["import", "none.jsonl"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let fresh = Place::new();
    fresh.write("a.jsonl", generate::file(0, 20, 1));
    {
        // Only the creation: drop what the import made.
        let lake = place.lake();
        std::fs::remove_dir_all(&lake).unwrap();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime
            .block_on(Lake::open_or_create(&lake, std::time::Duration::ZERO))
            .unwrap();
    }
    age(&place);
    // Readers take it as it is.
    place.done(&["log"]);
    place.import(&["a.jsonl"]);
    fresh.import(&["a.jsonl"]);
    assert_same_rows(&place.lake(), &fresh.lake(), &[], "after the migration");
    let log: Vec<Value> =
        serde_json::from_str(&place.done(&["log", "--format", "json"]).stdout).unwrap();
    let operations: Vec<&Value> = log.iter().map(|version| &version["operation"]).collect();
    assert_eq!(json!(operations), json!(["create", "migrate", "import"]));
    let rows = query(
        &place.lake(),
        "SELECT count(policy) AS policies, count(*) AS n FROM runs",
    );
    assert_eq!(rows, [json!({"policies": 0, "n": 40})]);
}
