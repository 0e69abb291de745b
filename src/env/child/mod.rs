//! Commands that are started, watched and ended with everything they started.

mod keeper;
mod lines;
mod look;
mod sweep;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;

use tokio::process::{ChildStdin, ChildStdout};

use super::placing::WORKSPACE;
use super::workspace::{Template, Workspace};
use super::{EnvError, EnvResult};

pub(super) use keeper::Keeper;
pub(super) use lines::{Line, Lines, text};
pub(super) use look::Look;

/// What to start.
#[derive(Clone, Debug)]
pub(super) struct Program {
    /// Program and arguments; never empty.
    pub(super) command: Vec<String>,
    /// Added to the environment variables.
    pub(super) env: BTreeMap<String, String>,
    /// Working folder.
    pub(super) folder: PathBuf,
    /// What a folder of its own starts from; `${workspace}` above names it.
    pub(super) workspace: Option<Template>,
    /// Program and arguments that print the state.
    pub(super) shown_by: Option<Vec<String>>,
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
    /// `files` is a state to start from, for programs with a folder of their own.
    pub(super) fn start(&self, files: Option<&str>) -> EnvResult<Started> {
        let failed = |why: String| EnvError::Start {
            what: self.to_string(),
            why,
        };
        let [program, arguments @ ..] = self.command.as_slice() else {
            return Err(failed("the command is empty".to_owned()));
        };
        let marker = sweep::marker();
        let workspace = match &self.workspace {
            Some(template) => Some(Workspace::make(template, &marker, files).map_err(failed)?),
            None => None,
        };
        let own = workspace
            .as_ref()
            .map(|own| own.folder().display().to_string());
        let placed = |text: &str| match &own {
            Some(own) => text.replace(WORKSPACE, own),
            None => text.to_owned(),
        };
        let folder = placed(&self.folder.to_string_lossy());
        let look = self.shown_by.as_ref().map(|command| Look {
            command: command.iter().map(|part| placed(part)).collect(),
            env: self
                .env
                .iter()
                .map(|(k, v)| (k.clone(), placed(v)))
                .collect(),
            folder: folder.clone().into(),
        });
        let mut command = tokio::process::Command::new(placed(program));
        command
            .args(arguments.iter().map(|argument| placed(argument)))
            .envs(self.env.iter().map(|(name, value)| (name, placed(value))))
            .env(sweep::VARIABLE, &marker)
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let mut child = command
            .spawn()
            .map_err(|error| failed(format!("{error} (program {program}, folder {folder})")))?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(stdin), Some(stdout)) => Ok(Started {
                stdin,
                stdout,
                keeper: Keeper::new(child, marker, workspace, look),
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
