//! The plan: what to run, where, how often, and within which limits (docs/dual.md).
//!
//! A mistake is reported with its place in the file and with what would be
//! right there, because a plan is written by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fidelake_core::json::key::Key;
use fidelake_core::mask::Mode;
use fidelake_core::model::Arm;
use toml::Spanned;

use super::error::{DualError, DualResult};
use super::plan_file::{ArmFile, CHANGEABLE, File, RefusedWord, Take, Which};
use super::shared::through;
use crate::env::Spec;

/// A plan that is right.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Its file.
    pub(super) path: PathBuf,
    /// Its name: what the ledger and the journal know it by.
    pub(super) name: String,
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

/// How one arm is run.
#[derive(Clone, Debug)]
pub(super) struct ArmPlan {
    pub(super) which: Which,
    pub(super) repeats: i32,
    /// Share of the trajectories that are run more than once.
    pub(super) share: f64,
    pub(super) concurrency: usize,
    /// Calls per second.
    pub(super) rate: Option<f64>,
    pub(super) burst: u32,
    pub(super) timeout: Duration,
    pub(super) retries: u32,
    pub(super) backoff: Duration,
    pub(super) budget: Option<i64>,
    pub(super) reads: BTreeSet<String>,
    pub(super) allow: BTreeSet<String>,
    pub(super) repeatable: BTreeSet<String>,
    pub(super) reuse: bool,
    pub(super) snapshots: bool,
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
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > 64 || !name.chars().all(plain) || name.starts_with('.') {
            return Err(wrong.at(
                &file.name,
                "name: write 1 to 64 letters, digits, '-', '_' or '.'; it names the plan in the ledger",
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

fn folder_of(path: &Path) -> PathBuf {
    let folder = path.parent().unwrap_or(Path::new(""));
    std::path::absolute(folder)
        .or_else(|_| std::path::absolute("."))
        .unwrap_or_else(|_| folder.to_owned())
}

impl ArmPlan {
    /// Name of the environment in the plan for trajectories of `environment`.
    pub(super) fn environment(&self, environment: &str) -> Option<&str> {
        match &self.which {
            Which::One(name) => Some(name),
            Which::Each(names) => names.get(environment).map(String::as_str),
        }
    }

    pub(super) fn names(&self) -> Vec<&str> {
        match &self.which {
            Which::One(name) => vec![name],
            Which::Each(names) => names.values().map(String::as_str).collect(),
        }
    }

    /// Whether the plan itself permits a tool.
    pub(super) fn permits(&self, tool: &str) -> bool {
        self.reads.contains(tool) || has(&self.allow, tool)
    }

    /// Whether a call that changes something may be made again in a fresh state.
    pub(super) fn repeats(&self, tool: &str) -> bool {
        has(&self.repeatable, tool)
    }
}

fn has(set: &BTreeSet<String>, tool: &str) -> bool {
    set.contains(tool) || set.contains("*")
}

fn arm_plan(
    wrong: &Wrong<'_>,
    arm: Arm,
    part: ArmFile,
    environments: &BTreeMap<String, Spec>,
) -> DualResult<ArmPlan> {
    let names: Vec<&String> = match part.environment.get_ref() {
        Which::One(name) => vec![name],
        Which::Each(names) => names.values().collect(),
    };
    for name in &names {
        if !environments.contains_key(*name) {
            let known: Vec<&str> = environments.keys().map(String::as_str).collect();
            let message = format!(
                "environment {name:?} has no [environments.{name}]; there are: {}",
                known.join(", ")
            );
            return Err(wrong.at(&part.environment, &message));
        }
    }
    // Behind a replay that passes calls through stands a live environment, too.
    let mut live = arm == Arm::Real;
    for name in &names {
        let Some(behind) = environments.get(*name).and_then(through) else {
            continue;
        };
        if environments
            .get(behind)
            .is_none_or(|spec| matches!(spec, Spec::Replay(_)))
        {
            let message =
                format!("through = {behind:?}: name another [environments.*] that is no replay");
            return Err(wrong.at(&part.environment, &message));
        }
        live = true;
    }
    if live && part.budget.is_none() {
        let message = format!(
            "[{}] needs `budget`: the number of calls that this plan may ever make there",
            arm.as_str()
        );
        return Err(wrong.at(&part.environment, &message));
    }
    let budget = match &part.budget {
        None => None,
        Some(given) if *given.get_ref() >= 0 => Some(*given.get_ref()),
        Some(given) => return Err(wrong.at(given, "budget: write a whole number from 0 on")),
    };
    let share = match &part.share {
        None => 1.0,
        Some(given) if (0.0..=1.0).contains(given.get_ref()) => *given.get_ref(),
        Some(given) => return Err(wrong.at(given, "share: write a number from 0.0 to 1.0")),
    };
    let rate = match &part.rate {
        None => None,
        Some(given) if given.get_ref().is_finite() && *given.get_ref() > 0.0 => {
            Some(*given.get_ref())
        }
        Some(given) => return Err(wrong.at(given, "rate: write calls per second, above 0")),
    };
    let repeats = match &part.repeats {
        None => 1,
        Some(given) => match i32::try_from(*given.get_ref()) {
            Ok(number @ 1..=100) => number,
            _ => return Err(wrong.at(given, "repeats: write a whole number from 1 to 100")),
        },
    };
    let retries = match &part.retries {
        None => 2,
        Some(given) => match u32::try_from(*given.get_ref()) {
            Ok(number @ 0..=20) => number,
            _ => return Err(wrong.at(given, "retries: write a whole number from 0 to 20")),
        },
    };
    // A simulator harms nobody.
    let any = || vec!["*".to_owned()];
    let repeatable = part
        .repeatable
        .unwrap_or_else(|| if live { Vec::new() } else { any() });
    Ok(ArmPlan {
        repeats,
        share,
        concurrency: wrong.whole_number::<u32>("concurrency", part.concurrency.as_ref(), 1)?
            as usize,
        rate,
        burst: wrong.whole_number("burst", part.burst.as_ref(), 1)?,
        timeout: wrong.seconds("timeout", part.timeout.as_ref(), 30.0)?,
        retries,
        backoff: wrong.seconds("backoff", part.backoff.as_ref(), 0.5)?,
        budget,
        reads: part.reads.into_iter().collect(),
        allow: if live { part.allow } else { any() }.into_iter().collect(),
        repeatable: repeatable.into_iter().collect(),
        reuse: part.reuse,
        snapshots: part.snapshots,
        which: part.environment.into_inner(),
    })
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

/// Makes messages with their place.
struct Wrong<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Wrong<'_> {
    fn new(&self, at: Option<usize>, message: String) -> DualError {
        let place = match at {
            Some(at) => {
                let before = self.text.get(..at).unwrap_or(self.text);
                let line = before.matches('\n').count() + 1;
                let tail = before.rsplit('\n').next().unwrap_or_default();
                let column = tail.chars().count() + 1;
                format!("{}:{line}:{column}", self.path.display())
            }
            None => self.path.display().to_string(),
        };
        DualError::Plan { place, message }
    }

    fn of_toml(&self, error: &toml::de::Error) -> DualError {
        let message = error
            .message()
            .replace('\n', ", ")
            .replace("expected i64", "expected a whole number")
            .replace("expected f64", "expected a number");
        self.new(error.span().map(|span| span.start), message)
    }

    fn at<T>(&self, given: &Spanned<T>, message: &str) -> DualError {
        self.new(Some(given.span().start), message.to_owned())
    }

    fn whole(&self, message: &str) -> DualError {
        self.new(None, message.to_owned())
    }

    fn whole_number<T: TryFrom<i64> + Copy>(
        &self,
        name: &str,
        given: Option<&Spanned<i64>>,
        default: T,
    ) -> DualResult<T> {
        let Some(given) = given else {
            return Ok(default);
        };
        let number = Some(*given.get_ref()).filter(|n| (1..=1_000_000).contains(n));
        number.and_then(|n| T::try_from(n).ok()).ok_or_else(|| {
            self.at(
                given,
                &format!("{name}: write a whole number from 1 to 1000000"),
            )
        })
    }

    fn seconds(
        &self,
        name: &str,
        given: Option<&Spanned<f64>>,
        default: f64,
    ) -> DualResult<Duration> {
        let seconds = given.map_or(default, |given| *given.get_ref());
        let fits = (0.0..=86_400.0 * 30.0).contains(&seconds);
        match (Duration::try_from_secs_f64(seconds), given) {
            (Ok(duration), _) if fits => Ok(duration),
            (_, Some(given)) => Err(self.at(given, &format!("{name}: write seconds, from 0.0 on"))),
            _ => Ok(Duration::ZERO),
        }
    }
}
