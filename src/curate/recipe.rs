//! The recipe: what to take, how to weigh it, what to write (docs/recipe.md).
//!
//! A mistake is reported with its place in the file and with what would be
//! right there, because a recipe is written by hand.

use std::path::Path;

use fidelake_core::json::key::{Key, KeyHasher};
use serde::Deserialize;
use toml::Spanned;

use super::output_part::{OutputPart, PrivacyPart, RepairPart, output_part, repair_part};
use super::recipe_file::{File, gate};
use super::recipe_rules::{RewardRule, Rules, whole};
use super::region::FACTORS;
use crate::lake::At;

/// Changes when the same recipe and lake version give other rows.
const ENGINE: &str = "curation-2";

/// A mistake in a recipe.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {message}")]
pub struct RecipeError {
    place: String,
    message: String,
}

/// A recipe that is right.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The file as given.
    pub text: String,
    /// Which runs become rows.
    pub source: SourcePart,
    /// How a profile becomes a weight.
    pub gate: GatePart,
    /// Whose rewards are compared with each other.
    pub groups: GroupsPart,
    /// What is masked in what is written.
    pub privacy: PrivacyPart,
    /// Which answers are replaced by those of the real world.
    pub repair: RepairPart,
    /// What is written.
    pub output: OutputPart,
    /// What is left out, chosen and split.
    pub(super) rules: Rules,
}

/// `[source]`
#[derive(Clone, Debug, Default)]
pub struct SourcePart {
    /// SQL over the columns of `runs` and `profiles_now`.
    pub filter: Option<String>,
    /// Whose runs become rows.
    pub arm: Arm,
    /// Whose rewards count; else the only judge.
    pub judge: Option<String>,
    /// Which state of the lake; else the newest.
    pub at: Option<At>,
}

/// `[gate]`
#[derive(Clone, Copy, Debug)]
pub struct GatePart {
    /// Which gate.
    pub kind: GateKind,
    /// What becomes of a run about which nothing is known.
    pub unknown: Unknown,
    /// Slope and threshold, if they are not to be computed.
    pub constants: Option<(f64, f64)>,
    /// How many standard errors are taken off a fidelity.
    pub kappa: f64,
    /// Which factors of f count.
    pub factors: [bool; FACTORS.len()],
    /// With a smaller share of its calls compared a profile says nothing.
    pub min_pairs: f64,
    /// With fewer factors of its own a profile says nothing.
    pub min_dimensions: usize,
}

impl Default for GatePart {
    fn default() -> Self {
        Self {
            kind: GateKind::default(),
            unknown: Unknown::default(),
            constants: None,
            kappa: 1.0,
            factors: [true; FACTORS.len()],
            min_pairs: 0.0,
            min_dimensions: 0,
        }
    }
}

/// `[groups]`
#[derive(Clone, Copy, Debug, Default)]
pub struct GroupsPart {
    /// What makes a group.
    pub by: GroupBy,
    /// Whether rollouts of several policies stand in one group.
    pub mix_policies: bool,
    /// Whether rules that choose take or leave a group as a whole.
    pub whole: bool,
}

/// Whose runs become rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arm {
    /// The simulator's.
    #[default]
    Sim,
    /// The real world's; their weight is 1.
    Real,
}

/// Which gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GateKind {
    /// A sigmoid around the 20 % quantile.
    #[default]
    Quantile,
    /// `sigmoid(10 (fidelity_mean - 0.7))`.
    Seed,
    /// How often what was right on sim stays right on real, where that is known.
    Calibrated,
    /// Every weight is 1.
    None,
}

/// What becomes of a run about whose environment nothing is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Unknown {
    /// Weight 1.
    #[default]
    Keep,
    /// Left out.
    Drop,
    /// This weight.
    Weight(f64),
}

/// What makes a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupBy {
    /// `group_id`, else `task_id`, else `trajectory_id`.
    #[default]
    GroupId,
    /// `task_id`, else `trajectory_id`.
    TaskId,
}

impl Arm {
    /// As in the tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Real => "real",
        }
    }
}

impl GateKind {
    /// As in the recipe.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Quantile => "quantile",
            Self::Seed => "seed",
            Self::Calibrated => "calibrated",
            Self::None => "none",
        }
    }
}

impl Recipe {
    /// Reads a recipe; `path` is for messages.
    ///
    /// # Errors
    /// With line and column of the first mistake, and what would be right.
    pub fn parse(path: &Path, text: &str) -> Result<Self, RecipeError> {
        let wrong = |at: Option<usize>, message: String| RecipeError {
            place: match at {
                Some(at) => {
                    let (line, column) = place(text, at);
                    format!("{}:{line}:{column}", path.display())
                }
                None => path.display().to_string(),
            },
            message,
        };
        let mut file: File = toml::from_str(text).map_err(|e| {
            let message = e
                .message()
                .replace('\n', ", ")
                .replace("expected i64", "expected a whole number")
                .replace("expected f64", "expected a number");
            let hint = if message.starts_with("missing field `version`") {
                ": the first line of a recipe is `version = 1`"
            } else {
                ""
            };
            wrong(e.span().map(|s| s.start), format!("{message}{hint}"))
        })?;
        if *file.version.get_ref() != 1 {
            let message = format!(
                "version = {}: this program reads recipes of version 1",
                file.version.get_ref()
            );
            return Err(wrong(Some(file.version.span().start), message));
        }
        let rules = file.take_rules();
        let filter = match file.source.r#where {
            Some(given) if given.get_ref().trim().is_empty() => {
                let message = "where is empty: write a condition such as \"environment = 'airline'\", or leave the line out";
                return Err(wrong(Some(given.span().start), message.into()));
            }
            given => given.map(Spanned::into_inner),
        };
        let misses = |(at, message)| wrong(Some(at), message);
        let gate = gate(&file.gate).map_err(misses)?;
        if let (Some(judge), Some(rule)) = (&file.source.judge, &rules.rewards.rule)
            && *rule.get_ref() != RewardRule::Judge
        {
            let message = "[source] judge names one judge, and [rewards] rule asks all of them: leave one of the lines out";
            return Err(wrong(Some(judge.span().start), message.into()));
        }
        let at = match (&file.source.version, &file.source.at) {
            (None, None) => None,
            (Some(version), None) => {
                whole("version", Some(version), 0).map_err(misses)?;
                Some(At::Version(*version.get_ref()))
            }
            (None, Some(time)) => match At::parse_time(time.get_ref()) {
                Some(at) => Some(at),
                None => {
                    let message = format!(
                        "at = {:?}: not a time; write \"2026-07-31\" (the end of that day, UTC) or \"2026-07-31T12:00:00Z\"",
                        time.get_ref()
                    );
                    return Err(wrong(Some(time.span().start), message));
                }
            },
            (Some(_), Some(time)) => {
                let message = "version and at both name a state of the lake: leave one of them out";
                return Err(wrong(Some(time.span().start), message.into()));
            }
        };
        let rules = rules.read().map_err(misses)?;
        Ok(Self {
            source: SourcePart {
                filter,
                arm: file.source.arm,
                judge: file.source.judge.map(Spanned::into_inner),
                at,
            },
            gate,
            rules,
            groups: GroupsPart {
                by: file.groups.by,
                mix_policies: file.groups.mix_policies,
                whole: file.groups.whole,
            },
            repair: repair_part(&file.repair, file.source.arm)
                .map_err(|(at, message)| wrong(Some(at), message))?,
            privacy: file.privacy,
            output: output_part(file.output).map_err(|(at, message)| wrong(Some(at), message))?,
            text: text.to_owned(),
        })
    }

    /// BLAKE3 of the file.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut hasher = KeyHasher::default();
        hasher.update(self.text.as_bytes());
        hasher.hex()
    }

    /// The name of the curation of this recipe at a lake version; `inputs` are the
    /// hashes of the other files that it reads.
    #[must_use]
    pub fn curation_id(&self, lake_version: i64, inputs: &[&str]) -> String {
        let version = lake_version.to_string();
        let mut parts = vec![ENGINE, version.as_str(), &self.text];
        parts.extend(inputs);
        Key::of_parts(&parts).to_string()
    }

    /// A mistake that shows only when the lake or another file is read.
    pub(super) fn mistake(&self, path: &Path, at: usize, message: String) -> RecipeError {
        let (line, column) = place(&self.text, at);
        RecipeError {
            place: format!("{}:{line}:{column}", path.display()),
            message,
        }
    }

    /// The mistake that the engine found in `where`.
    pub(super) fn wrong_filter(&self, path: &Path, message: &str) -> RecipeError {
        // The key stands at the start of its line in a recipe that was read.
        let line = self
            .text
            .lines()
            .position(|line| line.trim_start().starts_with("where"));
        RecipeError {
            place: match line {
                Some(line) => format!("{}:{}", path.display(), line + 1),
                None => path.display().to_string(),
            },
            message: format!("[source] where: {message}"),
        }
    }
}

/// Line and column, both from 1, of a byte of the text.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before
        .rsplit('\n')
        .next()
        .map_or(0, |tail| tail.chars().count())
        + 1;
    (line, column)
}

#[cfg(test)]
#[path = "recipe_tests.rs"]
mod tests;
