//! The plan: what to run, where, how often, and within which limits (docs/dual.md).
//!
//! A mistake is reported with its place in the file and with what would be
//! right there, because a plan is written by hand.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fidelake_core::json::key::Key;
use fidelake_core::mask::Mode;
use fidelake_core::model::Arm;
use toml::Spanned;

use super::error::{DualError, DualResult};
use super::plan_arm::{ArmPlan, arm_plan};
use super::plan_file::{CHANGEABLE, File, RefusedWord, Take};
use super::wrong::Wrong;
use crate::env::{Context, Spec};

/// A plan that is right.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Its file.
    pub(super) path: PathBuf,
    /// Its name: what the ledger and the journal know it by.
    pub(super) name: String,
    /// What its budget is known by: its name, or that of the campaign whose budget it shares.
    pub(super) budget_of: String,
    /// Whether this is the plan's probe.
    pub(super) probe: bool,
    /// Environment to store the runs under, instead of the trajectories' own.
    pub(super) environment: Option<String>,
    pub(super) seed: i64,
    pub(super) rebind: bool,
    pub(super) mask: Mode,
    pub(super) cut_refused: bool,
    pub(super) source: Source,
    pub(super) gold: bool,
    pub(super) limit: Option<usize>,
    pub(super) environments: BTreeMap<String, Spec>,
    pub(super) arms: BTreeMap<&'static str, ArmPlan>,
    pub(super) breaker: BreakerPlan,
    pub(super) probe_tools: Vec<String>,
    pub(super) probe_calls: usize,
    /// Hash of everything that says what is run.
    pub(super) content: String,
}

/// Where trajectories come from.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// A file in the native run form.
    File(PathBuf),
    /// A condition over the lake's table `runs`.
    Where(String),
}

/// When an environment counts as down.
#[derive(Clone, Copy, Debug)]
pub(super) struct BreakerPlan {
    pub(super) failures: u32,
    pub(super) pause: Duration,
    pub(super) give_up: u32,
    pub(super) longest_wait: Duration,
}

/// What a command line changes in a plan.
#[derive(Clone, Copy, Debug, Default)]
pub struct Switches {
    /// `--rebind`
    pub rebind: bool,
    /// `--probe idempotency`
    pub probe: bool,
}

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// With line and column of the first mistake, and what would be right.
    pub fn read(path: &Path, switches: Switches) -> DualResult<Self> {
        let text = std::fs::read_to_string(path).map_err(|e| DualError::io(path, e))?;
        let wrong = Wrong { path, text: &text };
        let file: File = toml::from_str(&text).map_err(|e| wrong.of_toml(&e))?;
        if *file.version.get_ref() != 1 {
            return Err(wrong.at(
                &file.version,
                "version: this program reads plans of version 1",
            ));
        }
        let name = file.name.get_ref();
        if !is_name(name) {
            return Err(wrong.at(
                &file.name,
                "name: write 1 to 64 letters, digits, '-', '_' or '.'; it names the plan in the ledger",
            ));
        }
        if let Some(shared) = &file.budget_of
            && !is_name(shared.get_ref())
        {
            return Err(wrong.at(
                shared,
                "budget_of: write 1 to 64 letters, digits, '-', '_' or '.'; it names the budget in the ledger",
            ));
        }
        let mask = match &file.mask {
            None => Mode::default(),
            Some(word) => Mode::parse(word.get_ref())
                .ok_or_else(|| wrong.at(word, "mask: write \"off\", \"secrets\" or \"all\""))?,
        };
        let folder = folder_of(path);
        let trajectories = file.trajectories;
        let source = match (trajectories.file, trajectories.r#where) {
            (Some(file), None) => Source::File(folder.join(file.into_inner())),
            (None, Some(filter)) if filter.get_ref().trim().is_empty() => {
                return Err(wrong.at(
                    &filter,
                    "where is empty: write a condition such as \"environment = 'airline'\"",
                ));
            }
            (None, Some(filter)) => Source::Where(filter.into_inner()),
            (Some(file), Some(_)) => {
                return Err(wrong.at(
                    &file,
                    "[trajectories] has both `file` and `where`: leave one out",
                ));
            }
            (None, None) => {
                return Err(wrong.whole("[trajectories] says neither `file` nor `where`"));
            }
        };
        for (name, spec) in &file.environments {
            let context = Context {
                name,
                folder: &folder,
                lake: None,
            };
            spec.check(&context, &file.environments)
                .map_err(|error| wrong.whole(&error.to_string()))?;
        }
        let mut arms = BTreeMap::new();
        for (arm, part) in [(Arm::Sim, file.sim), (Arm::Real, file.real)] {
            let Some(part) = part else { continue };
            arms.insert(
                arm.as_str(),
                arm_plan(&wrong, arm, part, &file.environments)?,
            );
        }
        if arms.is_empty() {
            return Err(wrong.whole("neither [sim] nor [real]: say at least one arm to run on"));
        }
        let breaker = BreakerPlan {
            failures: wrong.whole_number("failures", file.breaker.failures.as_ref(), 3)?,
            pause: wrong.seconds("pause", file.breaker.pause.as_ref(), 10.0)?,
            give_up: wrong.whole_number("give_up", file.breaker.give_up.as_ref(), 3)?,
            longest_wait: wrong.seconds(
                "longest_wait",
                file.breaker.longest_wait.as_ref(),
                300.0,
            )?,
        };
        let limit = match &trajectories.limit {
            None => None,
            Some(_) => {
                Some(wrong.whole_number::<u32>("limit", trajectories.limit.as_ref(), 1)? as usize)
            }
        };
        let rebind = file.rebind || switches.rebind;
        Ok(Self {
            path: path.to_owned(),
            name: name.clone(),
            budget_of: file
                .budget_of
                .map_or_else(|| name.clone(), Spanned::into_inner),
            probe: switches.probe,
            environment: file.environment.map(Spanned::into_inner),
            seed: file.seed,
            rebind,
            mask,
            cut_refused: file.refused == Some(RefusedWord::Cut),
            source,
            gold: trajectories.take == Take::Gold,
            limit,
            environments: file.environments,
            arms,
            breaker,
            probe_tools: file.probe.tools,
            probe_calls: wrong.whole_number::<u32>("calls", file.probe.calls.as_ref(), 50)?
                as usize,
            content: content(&text, rebind, switches.probe),
        })
    }

    /// Name in the ledger: a probe has its own runs, and the plan's budget.
    #[must_use]
    pub(super) fn id(&self) -> String {
        if self.probe {
            format!("{}+idempotency", self.name)
        } else {
            self.name.clone()
        }
    }

    /// Folder of the plan: relative paths start here.
    pub(super) fn folder(&self) -> PathBuf {
        folder_of(&self.path)
    }

    pub(super) fn arm(&self, arm: &str) -> Option<&ArmPlan> {
        self.arms.get(arm)
    }
}

/// Whether a text can name a plan or a budget.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=64).contains(&name.len()) && name.chars().all(plain) && !name.starts_with('.')
}

fn folder_of(path: &Path) -> PathBuf {
    let folder = path.parent().unwrap_or(Path::new(""));
    std::path::absolute(folder)
        .or_else(|_| std::path::absolute("."))
        .unwrap_or_else(|_| folder.to_owned())
}

/// Hash of the keys that say what is run, and of what the command line adds.
fn content(text: &str, rebind: bool, probe: bool) -> String {
    let mut table: toml::Table = text.parse().unwrap_or_default();
    table.remove("breaker");
    table.remove("refused");
    for arm in ["sim", "real"] {
        if let Some(part) = table.get_mut(arm).and_then(toml::Value::as_table_mut) {
            for key in CHANGEABLE {
                part.remove(*key);
            }
        }
    }
    let table = toml::to_string(&table).unwrap_or_default();
    Key::of_parts(&[&table, &rebind.to_string(), &probe.to_string()]).to_string()
}
