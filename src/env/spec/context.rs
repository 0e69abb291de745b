//! What a description is read with: names, folders, secrets from variables.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use fidelake_core::json::Doc;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::super::child::Program;
use super::super::placing::WORKSPACE;
use super::super::workspace::Template;
use super::super::{EnvError, EnvResult};
use super::Own;

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

impl Context<'_> {
    /// A tool that stands for something, with its arguments.
    pub(super) fn tool(
        &self,
        key: &str,
        name: &Option<String>,
        arguments: &Option<String>,
    ) -> EnvResult<Option<(String, String)>> {
        match (name, arguments) {
            (Some(name), arguments) => {
                let arguments = arguments.as_deref().unwrap_or("{}");
                Doc::parse(arguments)
                    .map_err(|e| self.wrong(format!("{key}_arguments is no JSON: {e}")))?;
                Ok(Some((name.clone(), arguments.to_owned())))
            }
            (None, None) => Ok(None),
            (None, Some(_)) => Err(self.wrong(format!("{key}_arguments without {key}_tool"))),
        }
    }

    pub(super) fn address(&self, key: &str, given: &str) -> EnvResult<url::Url> {
        let url = url::Url::parse(&self.filled(key, given)?)
            .map_err(|error| self.wrong(format!("{key} {given:?}: {error}")))?;
        if matches!(url.scheme(), "http" | "https") && url.has_host() {
            Ok(url)
        } else {
            Err(self.wrong(format!("{key} {given:?}: give an http or https address")))
        }
    }

    pub(super) fn headers(&self, given: &BTreeMap<String, String>) -> EnvResult<HeaderMap> {
        let mut headers = HeaderMap::new();
        for (name, value) in given {
            let wrong = || self.wrong(format!("headers: {name:?} is no header with a value"));
            let key = HeaderName::try_from(name.as_str()).map_err(|_| wrong())?;
            let filled = self.filled("headers", value)?;
            let mut value = HeaderValue::try_from(filled).map_err(|_| wrong())?;
            // Tokens must not show up where requests are printed.
            value.set_sensitive(true);
            headers.insert(key, value);
        }
        Ok(headers)
    }

    pub(super) fn wrong(&self, why: impl Into<String>) -> EnvError {
        EnvError::Description {
            name: self.name.to_owned(),
            why: why.into(),
        }
    }

    pub(super) fn seconds(
        &self,
        key: &str,
        given: Option<f64>,
        default: f64,
    ) -> EnvResult<Duration> {
        let seconds = given.unwrap_or(default);
        Duration::try_from_secs_f64(seconds)
            .ok()
            .filter(|duration| !duration.is_zero())
            .ok_or_else(|| self.wrong(format!("{key} = {seconds}: give seconds above 0")))
    }

    pub(super) fn program(
        &self,
        command: &[String],
        env: &BTreeMap<String, String>,
        folder: Option<&str>,
        own: Option<&Own>,
    ) -> EnvResult<Program> {
        let command = self.located(command)?;
        let here = self.here()?;
        let filled = env
            .iter()
            .map(|(name, value)| Ok((name.clone(), self.filled(name, value)?)));
        Ok(Program {
            command,
            env: filled.collect::<EnvResult<_>>()?,
            shown_by: None,
            // A joined absolute path stays as it is, and so must the name of the own folder.
            folder: match folder {
                Some(folder) if folder.starts_with(WORKSPACE) => folder.into(),
                folder => here.join(folder.unwrap_or_default()),
            },
            workspace: match own {
                None | Some(Own::Empty(false)) => None,
                Some(Own::Empty(true)) => Some(Template::Empty),
                Some(Own::Copy(from)) => Some(Template::Copy(here.join(from))),
            },
        })
    }

    /// A command whose program is found from anywhere: a path is taken from the
    /// plan's folder, a bare name from PATH.
    pub(super) fn located(&self, command: &[String]) -> EnvResult<Vec<String>> {
        if command.first().is_none_or(String::is_empty) {
            return Err(self.wrong("command is empty: give [\"program\", \"argument\"]"));
        }
        let mut command = command.to_vec();
        if command[0].contains('/') {
            command[0] = self.here()?.join(&command[0]).display().to_string();
        }
        Ok(command)
    }

    /// The plan's folder, absolute, since a relative program would be looked for in the working folder.
    fn here(&self) -> EnvResult<std::path::PathBuf> {
        std::path::absolute(self.folder)
            .map_err(|error| self.wrong(format!("{}: {error}", self.folder.display())))
    }

    /// Puts variables of our own where `${NAME}` stands: secrets stay out of plans.
    pub(super) fn filled(&self, key: &str, value: &str) -> EnvResult<String> {
        let mut text = String::with_capacity(value.len());
        let mut rest = value;
        while let Some((before, after)) = rest.split_once("${") {
            let (name, after) = after.split_once('}').ok_or_else(|| {
                self.wrong(format!(
                    "{key}: `${{` without `}}`; write ${{NAME}} for a variable"
                ))
            })?;
            let found = if name == "workspace" {
                // Known when a session opens.
                Ok(WORKSPACE.to_owned())
            } else {
                std::env::var(name)
            };
            let found = found.map_err(|_| {
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
