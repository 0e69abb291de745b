//! A program that looks at a state from outside, where the server does not show it.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use fidelake_core::json::{Doc, Node};
use tokio::time::timeout;

use super::super::{Note, Snapshot};
use super::sweep;

/// What to start, with the folder's name in place.
#[derive(Clone, Debug)]
pub(in crate::env) struct Look {
    pub(super) command: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    pub(super) folder: PathBuf,
}

impl Look {
    /// Runs it, and reads the state that it prints. It carries the session's mark, and ends with it.
    pub(super) async fn look(&self, marker: &str, patience: Duration) -> Result<Snapshot, String> {
        let what = self.command.join(" ");
        let Some((program, arguments)) = self.command.split_first() else {
            return Err("state_command is empty".to_owned());
        };
        let mut command = tokio::process::Command::new(program);
        command
            .args(arguments)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .env(sweep::VARIABLE, marker)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let output = match timeout(patience, command.output()).await {
            Ok(output) => output.map_err(|error| format!("{what}: {error}"))?,
            Err(_) => {
                return Err(format!(
                    "{what}: no state within {} s",
                    patience.as_secs_f64()
                ));
            }
        };
        let printed = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = Note::end_of(said.trim());
            return Err(format!("{what}: {}; stderr ends: {said}", output.status));
        }
        let doc = Doc::parse(&printed).map_err(|error| format!("{what}: no JSON: {error}"))?;
        let state = doc.root().get_some("state");
        let hash = doc.root().get_str("state_hash").map(str::to_owned);
        if state.is_none() && hash.is_none() {
            return Err(format!(
                "{what}: it printed neither `state` nor `state_hash`"
            ));
        }
        Ok(Snapshot {
            state: state.map(Node::raw).map(str::to_owned),
            hash,
        })
    }
}
