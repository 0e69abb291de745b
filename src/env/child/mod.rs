//! Commands that are started, watched and ended with everything they started.

mod keeper;
mod lines;
mod sweep;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;

use tokio::process::{ChildStdin, ChildStdout};

use super::{EnvError, EnvResult};

pub(super) use keeper::Keeper;
pub(super) use lines::{Line, Lines, text};

/// What to start.
#[derive(Clone, Debug)]
pub(super) struct Program {
    /// Program and arguments; never empty.
    pub(super) command: Vec<String>,
    /// Added to the environment variables.
    pub(super) env: BTreeMap<String, String>,
    /// Working folder.
    pub(super) folder: PathBuf,
}

/// A started program and its two ends.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) keeper: Keeper,
}

impl Program {
    /// Starts it in a process group of its own, so that it ends when we say so
    /// and not when somebody presses Ctrl-C.
    pub(super) fn start(&self) -> EnvResult<Started> {
        let failed = |why: String| EnvError::Start {
            what: self.to_string(),
            why,
        };
        let [program, arguments @ ..] = self.command.as_slice() else {
            return Err(failed("the command is empty".to_owned()));
        };
        let marker = sweep::marker();
        let mut command = tokio::process::Command::new(program);
        command
            .args(arguments)
            .envs(&self.env)
            .env(sweep::VARIABLE, &marker)
            .current_dir(&self.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| {
            let folder = self.folder.display();
            failed(format!("{error} (program {program}, folder {folder})"))
        })?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(stdin), Some(stdout)) => Ok(Started {
                stdin,
                stdout,
                keeper: Keeper::new(child, marker),
            }),
            _ => Err(failed("its pipes could not be opened".to_owned())),
        }
    }
}

impl std::fmt::Display for Program {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.command.join(" "))
    }
}
