//! How a plan describes an environment: one table of a TOML file.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;

use super::{EnvResult, Environment};

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
}

/// A command to start.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Added to the environment variables.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Working folder.
    pub folder: Option<String>,
}

impl Spec {
    /// Makes what is described. Nothing is started yet.
    ///
    /// # Errors
    /// If the description cannot be used.
    pub fn build(&self, _context: &Context<'_>) -> EnvResult<Arc<dyn Environment>> {
        unimplemented!("written by the room env/")
    }
}
