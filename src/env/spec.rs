//! How a plan describes an environment: one table of a TOML file.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use super::child::Program;
use super::process::Process;
use super::replay::Replay;
use super::{EnvError, EnvResult, Environment};

/// What surrounds a description.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The name that the plan gives it.
    pub name: &'a str,
    /// Folder of the plan: relative paths start here.
    pub folder: &'a Path,
    /// The lake at hand, for environments that answer from it.
    pub lake: Option<&'a Path>,
}

/// One environment of a plan.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Spec {
    /// A command that speaks one JSON object per line.
    Process(Command),
    /// Answers from the lake.
    Replay(Replay),
}

/// A command to start.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Added to the environment variables; `${NAME}` stands for a variable of ours.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Working folder.
    pub folder: Option<String>,
    /// Patience with everything but calls, in seconds.
    pub start_timeout_s: Option<f64>,
    /// From closing to killing, in seconds.
    pub close_timeout_s: Option<f64>,
    /// Longest line that is read, in bytes.
    pub max_line_bytes: Option<usize>,
}

/// Servers fetch and compile themselves on their first start.
const START_TIMEOUT_S: f64 = 60.0;
const CLOSE_TIMEOUT_S: f64 = 3.0;
const MAX_LINE_BYTES: usize = 64 << 20;

impl Spec {
    /// Makes what is described. Nothing is started yet.
    ///
    /// # Errors
    /// If the description cannot be used.
    pub fn build(&self, context: &Context<'_>) -> EnvResult<Arc<dyn Environment>> {
        match self {
            Self::Process(command) => Ok(Arc::new(command.process(context)?)),
            Self::Replay(replay) => Ok(Arc::new(replay.build(context)?)),
        }
    }
}

impl Command {
    fn process(&self, context: &Context<'_>) -> EnvResult<Process> {
        Ok(Process {
            program: context.program(&self.command, &self.env, self.folder.as_deref())?,
            patience: context.seconds("start_timeout_s", self.start_timeout_s, START_TIMEOUT_S)?,
            grace: context.seconds("close_timeout_s", self.close_timeout_s, CLOSE_TIMEOUT_S)?,
            max_line: self.max_line_bytes.unwrap_or(MAX_LINE_BYTES),
        })
    }
}

impl Context<'_> {
    fn wrong(&self, why: impl Into<String>) -> EnvError {
        EnvError::Description {
            name: self.name.to_owned(),
            why: why.into(),
        }
    }

    fn seconds(&self, key: &str, given: Option<f64>, default: f64) -> EnvResult<Duration> {
        let seconds = given.unwrap_or(default);
        Duration::try_from_secs_f64(seconds)
            .ok()
            .filter(|duration| !duration.is_zero())
            .ok_or_else(|| self.wrong(format!("{key} = {seconds}: give seconds above 0")))
    }

    fn program(
        &self,
        command: &[String],
        env: &BTreeMap<String, String>,
        folder: Option<&str>,
    ) -> EnvResult<Program> {
        if command.first().is_none_or(String::is_empty) {
            return Err(self.wrong("command is empty: give [\"program\", \"argument\"]"));
        }
        let mut command = command.to_vec();
        // Absolute, since a relative program would be looked for in the working folder.
        let here = std::path::absolute(self.folder)
            .map_err(|error| self.wrong(format!("{}: {error}", self.folder.display())))?;
        // A path is taken from the plan's folder, a bare name from PATH.
        if command[0].contains('/') {
            command[0] = here.join(&command[0]).display().to_string();
        }
        let filled = env
            .iter()
            .map(|(name, value)| Ok((name.clone(), self.filled(name, value)?)));
        Ok(Program {
            command,
            env: filled.collect::<EnvResult<_>>()?,
            folder: here.join(folder.unwrap_or_default()),
        })
    }

    /// Puts variables of our own where `${NAME}` stands: secrets stay out of plans.
    fn filled(&self, key: &str, value: &str) -> EnvResult<String> {
        let mut text = String::with_capacity(value.len());
        let mut rest = value;
        while let Some((before, after)) = rest.split_once("${") {
            let (name, after) = after.split_once('}').ok_or_else(|| {
                self.wrong(format!(
                    "{key}: `${{` without `}}`; write ${{NAME}} for a variable"
                ))
            })?;
            let found = std::env::var(name).map_err(|_| {
                self.wrong(format!("{key}: the variable {name} is not set; export it"))
            })?;
            text.push_str(before);
            text.push_str(&found);
            rest = after;
        }
        text.push_str(rest);
        Ok(text)
    }
}
