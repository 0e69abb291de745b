use std::fmt::Write as _;

use super::{HANDMADE, Lake, SAMPLE, assert_said, call, run};

#[test]
fn side_by_side() {
    assert_said!("show_cascade", SAMPLE.ask(&["show", "airline/probe/14"]));
    assert_said!("show_alike", SAMPLE.ask(&["show", "airline/gold/1"]));
    assert_said!(
        "show_some_calls",
        SAMPLE.ask(&["show", "airline/probe/14", "--calls", "1-2"])
    );
    assert_said!(
        "show_few_paths",
        HANDMADE.ask(&["show", "t/1", "--paths", "2"])
    );
    let narrow = HANDMADE
        .command(&["show", "t/1"])
        .env("COLUMNS", "60")
        .output()
        .unwrap();
    assert_said!("show_narrow", narrow);
    assert_said!(
        "show_one_arm",
        HANDMADE.ask(&["show", "t/10", "--environment", "ocean"])
    );
}

#[test]
fn what_cannot_be_shown() {
    assert_said!("show_ambiguous", HANDMADE.ask(&["show", "t/10"]));
    assert_said!("show_near", HANDMADE.ask(&["show", "T/1"]));
    assert_said!("show_not_there", HANDMADE.ask(&["show", "it's not here"]));
    assert_said!(
        "show_wrong_environment",
        HANDMADE.ask(&["show", "t/1", "--environment", "ocean"])
    );
    assert_said!(
        "show_beyond",
        HANDMADE.ask(&["show", "t/1", "--calls", "9"])
    );
    assert_said!(
        "show_bad_range",
        HANDMADE.ask(&["show", "t/1", "--calls", "7-3"])
    );
}

#[test]
fn rows_for_programs() {
    let rows = HANDMADE.rows(&["show", "t/1"]);
    assert_eq!(rows.len(), 4);
    assert_eq!(rows[1]["outcome_real"], "rate_limited");
    assert_eq!(rows[1]["first_divergence"], true);
    assert_eq!(rows[3]["side"], "real_only");
    let kinds: Vec<_> = rows[2]["paths"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["order", "value", "extra", "missing"]);
}

/// Ten thousand calls take a few lines, and say how to see more.
#[test]
fn a_long_trajectory_is_short_on_the_screen() {
    const CALLS: usize = 10_000;
    let made = |arm: &str| {
        let calls: Vec<String> = (0..CALLS)
            .map(|at| {
                let value = if arm == "real" && at % 200 == 150 {
                    at + 1
                } else {
                    at
                };
                call(
                    at,
                    "read",
                    &format!(r#"{{"at":{at}}}"#),
                    &format!(r#""content":{{"value":{value}}}"#),
                )
            })
            .collect();
        run("long", "t", arm, &calls)
    };
    let lake = Lake::of_text(&[made("sim"), made("real")]);
    let text = lake.done(&["show", "t"]);
    assert!(text.lines().count() < 250, "{}", text.lines().count());
    assert!(
        text.contains("... 30 more diverging calls: --limit 0"),
        "{text}"
    );
    assert!(text.contains("10000 calls, 50 diverge"), "{text}");
    let some = lake.done(&["show", "t", "--calls", "9950-"]);
    assert_eq!(some.matches("\n#").count(), 50);
    let mut wanted = String::new();
    let _ = write!(wanted, "#{}  turn {}.0  read", 150, 150);
    assert!(
        text.contains(&format!("{wanted}  <-- first divergence")),
        "{text}"
    );
}
