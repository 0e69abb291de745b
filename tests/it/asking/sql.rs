use super::{HANDMADE, Lake, SAMPLE, assert_said, run};

#[test]
fn queries_and_their_errors() {
    let lake = &*SAMPLE;
    let sql = "SELECT arm, count(*) AS runs FROM runs GROUP BY arm ORDER BY arm";
    assert_said!("sql_table", lake.ask(&["sql", sql]));
    assert_said!("sql_csv", lake.ask(&["sql", sql, "--format", "csv"]));
    assert_said!(
        "sql_two_statements",
        lake.ask(&[
            "sql",
            "SELECT 1 AS a; SELECT ';' AS b;",
            "--format",
            "ndjson"
        ])
    );
    assert_said!(
        "sql_unknown_column",
        lake.ask(&["sql", "SELECT run_id\nFROM runs\nWHERE amr = 'sim'"])
    );
    assert_said!("sql_syntax", lake.ask(&["sql", "SELECT 1 AS a;\nSELEC 2"]));
    assert_said!("sql_no_statement", lake.ask(&["sql", "; -- only this"]));
    assert_said!(
        "sql_named_unknown",
        lake.ask(&["sql", "--named", "nothing"])
    );
    assert_said!("sql_list", lake.ask(&["sql", "--list"]));
    assert_said!(
        "sql_no_version",
        lake.ask(&["sql", "SELECT 1", "--version", "99"])
    );
}

#[test]
fn nothing_can_be_changed() {
    for sql in [
        "INSERT INTO runs SELECT * FROM runs",
        "CREATE TABLE x AS SELECT 1",
        "CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '/etc/passwd'",
        "DROP TABLE runs",
        "COPY runs TO 'out.csv'",
        "EXPLAIN ANALYZE INSERT INTO runs SELECT * FROM runs",
        "SET datafusion.execution.batch_size = 1",
        "DELETE FROM runs",
        "UPDATE runs SET arm = 'sim'",
    ] {
        let output = SAMPLE.ask(&["sql", sql]);
        let text = super::said(&output);
        assert_eq!(output.status.code(), Some(1), "{sql}: {text}");
        assert!(output.stdout.is_empty(), "{sql}: {text}");
        assert!(text.contains("only reading is allowed"), "{sql}: {text}");
        assert_eq!(text.matches('\n').count(), 3, "one line: {sql}: {text}");
    }
    assert!(!SAMPLE.root.path().join("out.csv").exists());
}

#[test]
fn statements_come_from_files_and_standard_input() {
    let lake = &*SAMPLE;
    std::fs::write(
        lake.root.path().join("q.sql"),
        "-- a comment; with an end\nSELECT count(*) AS n FROM calls;\n",
    )
    .unwrap();
    let n = "{\"n\":776}\n";
    assert_eq!(lake.done(&["sql", "-f", "q.sql", "--format", "ndjson"]), n);
    let typed = lake.tell(
        &["sql", "--format", "ndjson"],
        "SELECT count(*) AS n FROM calls",
    );
    assert_eq!(String::from_utf8(typed.stdout).unwrap(), n);
    let typed = lake.tell(
        &["sql", "-f", "-", "--format", "ndjson"],
        "SELECT count(*) AS n FROM calls",
    );
    assert_eq!(String::from_utf8(typed.stdout).unwrap(), n);
    assert_said!("sql_no_file", lake.ask(&["sql", "-f", "none.sql"]));
    assert_said!("sql_not_text", lake.tell(&["sql"], "SELECT '\u{0}"));
}

#[test]
fn the_past_can_be_read() {
    let count = "SELECT count(*) AS n FROM profiles";
    assert_eq!(SAMPLE.rows(&["sql", count, "--version", "1"])[0]["n"], 0);
    assert_eq!(SAMPLE.rows(&["sql", count])[0]["n"], 28);
}

#[test]
fn large_results_stream_and_a_closed_pipe_is_success() {
    let sql = "SELECT a.run_id FROM calls AS a CROSS JOIN runs AS b";
    let mut command = SAMPLE.command(&["sql", sql, "--format", "csv"]);
    let mut child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut head = [0; 7];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut head).unwrap();
    assert_eq!(&head, b"run_id\n");
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn the_analysts_queries_by_name() {
    for name in [
        "gap_by_api_and_outcome",
        "gap_by_cause",
        "gap_by_path",
        "outcomes_and_latency",
        "worst_calls",
        "profile_distribution",
        "sim_ok_real_error",
        "real_coverage",
        "tools_by_arm",
    ] {
        assert_said!(
            format!("named_{name}"),
            HANDMADE.ask(&["sql", "--named", name])
        );
        let file = format!("{}/queries/{name}.sql", env!("CARGO_MANIFEST_DIR"));
        assert_eq!(
            SAMPLE.done(&["sql", "-f", &file]),
            SAMPLE.done(&["sql", "--named", name])
        );
    }
}

/// What the recorder of the sample data counted by hand.
#[test]
fn the_queries_say_what_the_sample_data_says() {
    let lies = SAMPLE.rows(&["sql", "--named", "sim_ok_real_error"]);
    let calls: i64 = lies.iter().map(|row| row["calls"].as_i64().unwrap()).sum();
    assert_eq!(
        calls, 4,
        "sim accepts what real refuses in four calls: {lies:?}"
    );
    let worst = SAMPLE.rows(&["sql", "--named", "worst_calls"]);
    let flags = worst
        .iter()
        .filter(|row| row["outcome_sim"] != row["outcome_real"])
        .count();
    assert!(flags >= 7, "seven error flags differ");
    assert!(
        worst
            .windows(2)
            .all(|w| w[0]["value_loss"].as_f64() >= w[1]["value_loss"].as_f64())
    );
    let coverage = SAMPLE.rows(&["sql", "--named", "real_coverage"]);
    assert!(coverage.iter().all(|row| row["share"] == 1.0));
    let spread = SAMPLE.rows(&["sql", "--named", "profile_distribution"]);
    assert!(
        spread
            .iter()
            .all(|row| row["known"].as_i64().unwrap() + row["unknown"].as_i64().unwrap() == 28)
    );
}

#[test]
fn sums_do_not_depend_on_the_order() {
    let first = SAMPLE.done(&[
        "sql",
        "--named",
        "gap_by_api_and_outcome",
        "--format",
        "csv",
    ]);
    for _ in 0..3 {
        assert_eq!(
            SAMPLE.done(&[
                "sql",
                "--named",
                "gap_by_api_and_outcome",
                "--format",
                "csv"
            ]),
            first
        );
    }
}

#[test]
fn the_queries_run_on_a_lake_without_profiles() {
    let lake = Lake {
        root: tempfile::tempdir().unwrap(),
    };
    let file = lake.root.path().join("one.jsonl");
    std::fs::write(&file, run("solo", "t", "sim", &[])).unwrap();
    lake.done(&["import", file.to_str().unwrap()]);
    for name in [
        "gap_by_api_and_outcome",
        "worst_calls",
        "sim_ok_real_error",
        "real_coverage",
    ] {
        assert_eq!(lake.rows(&["sql", "--named", name]).len(), 0, "{name}");
    }
    assert_said!("slice_one_arm", lake.ask(&["slice", "--by", "api"]));
    assert_said!("show_one_arm_empty", lake.ask(&["show", "t"]));
}

/// `COMMAND --help` tells more than the list of commands does.
#[test]
fn help_is_whole() {
    let place = crate::support::Place::new();
    let list = place.done(&["--help"]).stdout;
    assert!(list.contains("  sql  "), "{list}");
    for (command, says) in [
        ("sql", "Without a query this is a shell"),
        ("serve", "SET fidelake.lake_version"),
        ("simulate", "Answers are recordings"),
        ("monitor", "A trainer asks"),
    ] {
        let help = place.done(&[command, "--help"]).stdout;
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains(says), "{command}: {help}");
    }
}
