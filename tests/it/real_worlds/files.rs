//! The class that BFCL simulates a file system with, against a real one.

use serde_json::Value;

use super::{ask, at_home, rows, servers};
use crate::support::{Place, sample, text};

/// What does not depend on when, how fast and in which folder it was recorded.
const CALLS: &str = "SELECT trajectory_id, arm, repeat, turn, name, c.arguments, content, structured_raw, is_error, outcome, state
    FROM calls c JOIN observations o USING (environment, trajectory_id, run_id, arm, repeat, turn, index) ORDER BY 1, 2, 3, 4";

/// The name of a temporary file is another one each time.
fn steady(mut row: Value) -> Value {
    if let Some(text) = row["content"].as_str()
        && let Some((before, after)) = text.split_once("rename '${workspace}/notes.")
        && let Some((_, after)) = after.split_once(".tmp'")
    {
        row["content"] = format!("{before}rename '${{workspace}}/notes.*.tmp'{after}").into();
    }
    row
}

#[test]
fn the_sample_is_what_the_plan_records() {
    let Some(servers) = servers() else { return };
    let place = Place::new();
    place.write("plan.toml", at_home(&servers, "files.toml"));
    place.write(
        "files_tasks.jsonl",
        std::fs::read(sample("plans/files_tasks.jsonl")).unwrap(),
    );
    place.done(&["dual", "run", "plan.toml"]);
    place.import(&[text(&sample("files.jsonl")), "--lake", "recorded"]);
    let found: Vec<Value> = rows(&place, CALLS).into_iter().map(steady).collect();
    let wanted: Vec<Value> = ask(&place, "recorded", CALLS)
        .into_iter()
        .map(steady)
        .collect();
    let first = found
        .iter()
        .zip(&wanted)
        .find(|(found, wanted)| found != wanted);
    assert!(found == wanted, "{first:#?}");
}

/// What the README of the sample data says of it.
#[test]
fn the_sample_shows_what_is_said_of_it() {
    let place = Place::new();
    place.import(&[text(&sample("files.jsonl"))]);
    place.done(&["profile"]);
    let differing = place.done(&[
        "sql",
        "SELECT trajectory_id AS task, slot AS call, api, outcome_sim AS sim, outcome_real AS real, round(state_raw, 2) AS state, cause
         FROM call_gaps_now WHERE outcome_raw <> 0 OR state_raw <> 0 ORDER BY trajectory_id, slot",
    ]);
    let gaps = place.done(&[
        "sql",
        "SELECT trajectory_id AS task, calls, round(delta_obs, 2) AS obs, round(delta_act, 2) AS act, noise FROM profiles_now ORDER BY 1",
    ]);
    insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("files_differences", format!("{}{}", differing.stdout, gaps.stdout));
    });
}
