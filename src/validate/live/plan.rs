//! Which benchmarks take part: a TOML file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use super::error::{LiveError, LiveResult};
use crate::dual::agents::ReadBack;
use crate::env::{Context, Environment, Spec};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: i64,
    benchmarks: Vec<Benchmark>,
}

/// Where a benchmark looks at the state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Check {
    /// At the end.
    #[default]
    End,
    /// At the end of every turn.
    Turns,
}

/// One benchmark.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Benchmark {
    /// Its name; in the lake, the environment.
    pub(super) name: String,
    /// A program that prints its tasks, or the one name of a file with them.
    tasks: Vec<String>,
    #[serde(default)]
    pub(super) check: Check,
    environment: Spec,
    /// Which read shows what a write did.
    #[serde(default)]
    read_back: BTreeMap<String, String>,
}

/// A plan that can be used.
#[derive(Debug)]
pub(super) struct Plan {
    /// As it is spelled.
    pub(super) text: String,
    folder: PathBuf,
    pub(super) benchmarks: Vec<Benchmark>,
}

impl Plan {
    pub(super) fn read(path: &Path) -> LiveResult<Self> {
        let wrong = |why: String| LiveError::Plan {
            path: path.to_owned(),
            why,
        };
        let text = std::fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
        let file: File = toml::from_str(&text).map_err(|e| wrong(e.to_string()))?;
        if file.version != 1 {
            let why = format!("version = {}: this program knows 1", file.version);
            return Err(wrong(why));
        }
        if file.benchmarks.is_empty() {
            return Err(wrong("no [[benchmarks]]: name at least one".into()));
        }
        let mut names = BTreeSet::new();
        for benchmark in &file.benchmarks {
            crate::import::check_environment(&benchmark.name)
                .map_err(|why| wrong(format!("benchmark {:?}: {why}", benchmark.name)))?;
            if !names.insert(&benchmark.name) {
                return Err(wrong(format!("two benchmarks called {:?}", benchmark.name)));
            }
            if benchmark.tasks.is_empty() {
                let why = "tasks is empty: give a file, or a program that prints them";
                return Err(wrong(format!("benchmark {:?}: {why}", benchmark.name)));
            }
        }
        let folder = path.parent().unwrap_or_else(|| Path::new(""));
        let folder = std::path::absolute(folder.join(".")).map_err(|e| wrong(e.to_string()))?;
        Ok(Self {
            text,
            folder,
            benchmarks: file.benchmarks,
        })
    }

    /// The environment of a benchmark, not opened yet.
    pub(super) fn environment(&self, benchmark: &Benchmark) -> LiveResult<Arc<dyn Environment>> {
        let context = Context {
            name: &benchmark.name,
            folder: &self.folder,
            lake: None,
        };
        Ok(benchmark.environment.build(&context)?)
    }

    /// What a benchmark's tasks are, one JSON object per line.
    pub(super) fn tasks(&self, benchmark: &Benchmark) -> LiveResult<String> {
        if let [file] = benchmark.tasks.as_slice() {
            let file = self.folder.join(file);
            return std::fs::read_to_string(&file).map_err(|e| LiveError::io(&file, e));
        }
        let mut program = benchmark.tasks[0].clone();
        if program.contains('/') {
            program = self.folder.join(program).display().to_string();
        }
        let failed = |why: String| LiveError::Tasks {
            benchmark: benchmark.name.clone(),
            command: benchmark.tasks.join(" "),
            why,
        };
        let ran = std::process::Command::new(&program)
            .args(&benchmark.tasks[1..])
            .current_dir(&self.folder)
            .stdin(std::process::Stdio::null())
            .output()
            .map_err(|e| failed(e.to_string()))?;
        if !ran.status.success() {
            let said = String::from_utf8_lossy(&ran.stderr);
            let last = said.trim_end().lines().next_back().unwrap_or_default();
            return Err(failed(format!("{}: {last}", ran.status)));
        }
        String::from_utf8(ran.stdout).map_err(|e| failed(e.to_string()))
    }
}

impl Benchmark {
    pub(super) fn read_backs(&self) -> Vec<ReadBack> {
        let pairs = self.read_back.iter();
        pairs
            .map(|(after, call)| ReadBack {
                after: after.clone(),
                call: call.clone(),
            })
            .collect()
    }
}
