//! The official Python SDK as a client, both of its versions, over pipes and HTTP.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::http::Listening;
use super::shop_lake;
use crate::real_worlds::{project, servers};
use crate::support::text;

fn session(python: &Path, arguments: &[&str]) -> Value {
    let output = Command::new(python)
        .arg(project("tests/it/simulate/sdk.py"))
        .args(arguments)
        .env_remove("FIDELAKE_LAKE")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_session_of_the_official_client() {
    let Some(servers) = servers() else { return };
    let place = shop_lake();
    let lake = place.lake();
    let command = [
        "--",
        env!("CARGO_BIN_EXE_fidelake"),
        "--lake",
        text(&lake),
        "simulate",
        "--environment",
        "shop",
        "--stdio",
    ];
    let http = Listening::start(&place, &[]);
    for (venv, version) in [("mcp1", "1."), ("mcp2", "2.")] {
        let python = servers.join(venv).join("bin/python");
        let url = http.url();
        let episode = format!("{url}/{venv}");
        let address = if venv == "mcp2" { &episode } else { &url };
        for arguments in [&command[..], &[address.as_str()]] {
            let told = session(&python, arguments);
            let what = format!("{venv} {arguments:?}: {told}");
            assert!(told["sdk"].as_str().unwrap().starts_with(version), "{what}");
            let revision = told["revision"].as_str().unwrap();
            assert_eq!(
                revision,
                if venv == "mcp1" {
                    "2025-11-25"
                } else {
                    "2026-07-28"
                },
                "{what}"
            );
            assert_eq!(told["tools"]["get"]["required"], json!(["id"]), "{what}");
            let answers = told["answers"].as_array().unwrap();
            let said = |at: usize| answers[at][0].as_str().unwrap();
            // Before the write, the write, after it: one state, though the client keeps none.
            assert!(
                said(0).contains("\"old\"") && said(2).contains("\"biz\""),
                "{what}"
            );
            assert_eq!(
                answers[3],
                json!(["Error: R404 not found", true, "replay_exact"]),
                "{what}"
            );
            assert_eq!(said(4), "18446744073709551617 é 1.10", "{what}");
            assert_eq!(answers[5][2], "none", "{what}");
            assert!(
                told["unknown"].as_str().unwrap().contains("Unknown tool"),
                "{what}"
            );
        }
    }
}
