//! The rules of a recipe: whose rewards, what is left out, what is chosen, how it
//! is split. As spelled (`..File`) and as meant.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

/// A mistake: where in the file, and what would be right.
pub(super) type Mistake = (usize, String);

/// All rules of a recipe.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    pub(super) seed: u64,
    pub(super) rewards: Rewards,
    pub(super) difficulty: Difficulty,
    pub(super) licenses: Option<Licenses>,
    pub(super) holdouts: Vec<Holdout>,
    pub(super) duplicates: Option<Duplicates>,
    pub(super) quotas: Vec<Quota>,
    pub(super) diversity: Option<Diversity>,
    pub(super) split: Shares,
}

/// `[rewards]`
#[derive(Clone, Debug, Default)]
pub(super) struct Rewards {
    pub(super) rule: RewardRule,
    /// Reward of a run that nobody judged.
    pub(super) missing: Option<f64>,
    /// Runs with less are left out.
    pub(super) min: Option<f64>,
}

/// What several judges of one run come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RewardRule {
    /// One judge counts.
    #[default]
    Judge,
    /// The mean of the judges.
    Mean,
    /// The lowest.
    Min,
    /// 1 if more than half of the judges say success, else 0.
    Majority,
    /// 1 if all say success, else 0.
    All,
}

/// `[difficulty]`
#[derive(Clone, Copy, Debug)]
pub(super) struct Difficulty {
    pub(super) joint: bool,
    pub(super) strata: usize,
    pub(super) min_trajectories: usize,
    /// k of pass@k and pass^k.
    pub(super) k: u64,
}

impl Default for Difficulty {
    fn default() -> Self {
        Self {
            joint: false,
            strata: 5,
            min_trajectories: 20,
            k: 4,
        }
    }
}

/// `[licenses]`
#[derive(Clone, Debug)]
pub(super) struct Licenses {
    /// In lower case.
    pub(super) allow: Vec<String>,
    pub(super) label: String,
    pub(super) keep_missing: bool,
}

/// `[[holdout]]`
#[derive(Clone, Debug)]
pub(super) struct Holdout {
    pub(super) name: String,
    /// As given: relative to the recipe.
    pub(super) file: String,
    pub(super) environment: Option<String>,
    pub(super) by: Vec<LeakBy>,
    pub(super) similarity: f64,
    /// Where it stands in the recipe.
    pub(super) at: usize,
}

/// What gives a leak away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LeakBy {
    TaskId,
    Task,
    Calls,
}

/// `[duplicates]`
#[derive(Clone, Copy, Debug)]
pub(super) struct Duplicates {
    pub(super) similarity: f64,
    pub(super) keep_groups: bool,
}

/// `[[quota]]`
#[derive(Clone, Debug)]
pub(super) struct Quota {
    pub(super) by: String,
    pub(super) max_rows: Option<u64>,
    pub(super) max_share: Option<f64>,
    pub(super) values: BTreeMap<String, u64>,
    /// Where it stands in the recipe.
    pub(super) at: usize,
}

/// `[diversity]`
#[derive(Clone, Copy, Debug)]
pub(super) struct Diversity {
    pub(super) rows: usize,
    pub(super) by: DiversityBy,
}

/// How diversity is had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum DiversityBy {
    /// What adds the most that is new.
    #[default]
    Coverage,
    /// What follows walks through the tool graph.
    Topology,
}

/// `[split]`
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shares {
    pub(super) validation: f64,
    pub(super) test: f64,
}

/// The sections as spelled.
#[derive(Default)]
pub(super) struct RulesFile {
    pub(super) seed: Option<Spanned<i64>>,
    pub(super) rewards: RewardsFile,
    pub(super) difficulty: DifficultyFile,
    pub(super) licenses: Option<LicensesFile>,
    pub(super) holdout: Vec<Spanned<HoldoutFile>>,
    pub(super) duplicates: Option<DuplicatesFile>,
    pub(super) quota: Vec<Spanned<QuotaFile>>,
    pub(super) diversity: Option<Spanned<DiversityFile>>,
    pub(super) split: SplitFile,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RewardsFile {
    #[serde(default)]
    pub(super) rule: Option<Spanned<RewardRule>>,
    missing: Option<Spanned<f64>>,
    min: Option<Spanned<f64>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DifficultyFile {
    #[serde(default)]
    joint: bool,
    strata: Option<Spanned<i64>>,
    min_trajectories: Option<Spanned<i64>>,
    k: Option<Spanned<i64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LicensesFile {
    allow: Spanned<Vec<String>>,
    label: Option<String>,
    #[serde(default)]
    missing: KeepOrDrop,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum KeepOrDrop {
    Keep,
    #[default]
    Drop,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HoldoutFile {
    file: Spanned<String>,
    name: Option<String>,
    environment: Option<String>,
    r#match: Option<Spanned<Vec<LeakBy>>>,
    similarity: Option<Spanned<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DuplicatesFile {
    similarity: Option<Spanned<f64>>,
    #[serde(default)]
    keep_groups: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QuotaFile {
    by: Spanned<String>,
    max_rows: Option<Spanned<i64>>,
    max_share: Option<Spanned<f64>>,
    #[serde(default)]
    values: BTreeMap<String, Spanned<i64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DiversityFile {
    rows: Spanned<i64>,
    #[serde(default)]
    by: DiversityBy,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SplitFile {
    validation: Option<Spanned<f64>>,
    test: Option<Spanned<f64>>,
}

/// A number with its place, if it is in the range.
pub(super) fn number(
    name: &str,
    given: Option<&Spanned<f64>>,
    from: f64,
    to: f64,
) -> Result<Option<f64>, Mistake> {
    let Some(given) = given else { return Ok(None) };
    let value = *given.get_ref();
    if (from..=to).contains(&value) {
        return Ok(Some(value));
    }
    let range = match (from.is_finite(), to.is_finite()) {
        (true, true) => format!("a number from {from:?} to {to:?}"),
        (true, false) => format!("a number from {from:?} on"),
        _ => "a number".to_owned(),
    };
    Err((
        given.span().start,
        format!("{name} = {value}: write {range}"),
    ))
}

/// A whole number from `least` on.
pub(super) fn whole(
    name: &str,
    given: Option<&Spanned<i64>>,
    least: i64,
) -> Result<Option<u64>, Mistake> {
    let Some(given) = given else { return Ok(None) };
    match u64::try_from(*given.get_ref()) {
        Ok(value) if *given.get_ref() >= least => Ok(Some(value)),
        _ => {
            let message = format!(
                "{name} = {}: write a whole number from {least} on",
                given.get_ref()
            );
            Err((given.span().start, message))
        }
    }
}

/// Pass rates are not told apart more finely.
const MOST_STRATA: i64 = 1000;

/// As [`whole`], with an upper bound.
fn between(
    name: &str,
    given: Option<&Spanned<i64>>,
    least: i64,
    most: i64,
) -> Result<Option<u64>, Mistake> {
    match given {
        Some(given) if *given.get_ref() > most => Err((
            given.span().start,
            format!(
                "{name} = {}: write a whole number from {least} to {most}",
                given.get_ref()
            ),
        )),
        given => whole(name, given, least),
    }
}

impl RulesFile {
    /// What they mean.
    pub(super) fn read(self) -> Result<Rules, Mistake> {
        let finite =
            |name, given: &Option<Spanned<f64>>| number(name, given.as_ref(), f64::MIN, f64::MAX);
        let usual = Difficulty::default();
        let difficulty = Difficulty {
            joint: self.difficulty.joint,
            strata: small(
                between("strata", self.difficulty.strata.as_ref(), 1, MOST_STRATA)?,
                usual.strata,
            ),
            min_trajectories: small(
                whole(
                    "min_trajectories",
                    self.difficulty.min_trajectories.as_ref(),
                    1,
                )?,
                usual.min_trajectories,
            ),
            k: whole("k", self.difficulty.k.as_ref(), 1)?.unwrap_or(usual.k),
        };
        let diversity = match self.diversity.map(Spanned::into_inner) {
            None => None,
            Some(file) => Some(Diversity {
                rows: small(whole("rows", Some(&file.rows), 1)?, 1),
                by: file.by,
            }),
        };
        let duplicates = match self.duplicates {
            None => None,
            Some(file) => Some(Duplicates {
                similarity: number("similarity", file.similarity.as_ref(), 0.3, 1.0)?
                    .unwrap_or(0.9),
                keep_groups: file.keep_groups,
            }),
        };
        Ok(Rules {
            seed: whole("seed", self.seed.as_ref(), 0)?.unwrap_or_default(),
            rewards: Rewards {
                rule: self
                    .rewards
                    .rule
                    .map(Spanned::into_inner)
                    .unwrap_or_default(),
                missing: finite("missing", &self.rewards.missing)?,
                min: finite("min", &self.rewards.min)?,
            },
            difficulty,
            licenses: self.licenses.map(licenses).transpose()?,
            holdouts: self
                .holdout
                .into_iter()
                .map(holdout)
                .collect::<Result<_, _>>()?,
            duplicates,
            quotas: self
                .quota
                .into_iter()
                .map(quota)
                .collect::<Result<_, _>>()?,
            diversity,
            split: shares(&self.split)?,
        })
    }
}

fn small(given: Option<u64>, usual: usize) -> usize {
    given.map_or(usual, |value| usize::try_from(value).unwrap_or(usize::MAX))
}

fn licenses(file: LicensesFile) -> Result<Licenses, Mistake> {
    let at = file.allow.span().start;
    let allow: Vec<String> = file.allow.into_inner();
    if allow.is_empty() {
        return Err((
            at,
            "allow is empty, so nothing would be left: write allow = [\"mit\", \"apache-2.0\"]"
                .into(),
        ));
    }
    Ok(Licenses {
        allow: allow
            .iter()
            .map(|name| name.trim().to_lowercase())
            .collect(),
        label: file.label.unwrap_or_else(|| "license".to_owned()),
        keep_missing: file.missing == KeepOrDrop::Keep,
    })
}

fn holdout(file: Spanned<HoldoutFile>) -> Result<Holdout, Mistake> {
    let file = file.into_inner();
    let at = file.file.span().start;
    let path = file.file.into_inner();
    if path.trim().is_empty() {
        return Err((
            at,
            "file: name a file with the tasks that must not be trained on".into(),
        ));
    }
    let by = match file.r#match {
        None => vec![LeakBy::TaskId, LeakBy::Task, LeakBy::Calls],
        Some(list) if list.get_ref().is_empty() => {
            let message = "match is empty: write some of \"task_id\", \"task\", \"calls\", or leave the line out";
            return Err((list.span().start, message.into()));
        }
        Some(list) => list.into_inner(),
    };
    let stem = std::path::Path::new(&path).file_name();
    let usual = stem.map_or_else(|| path.clone(), |name| name.to_string_lossy().into_owned());
    Ok(Holdout {
        name: file.name.unwrap_or(usual),
        environment: file.environment,
        by,
        similarity: number("similarity", file.similarity.as_ref(), 0.1, 1.0)?.unwrap_or(0.8),
        file: path,
        at,
    })
}

fn quota(file: Spanned<QuotaFile>) -> Result<Quota, Mistake> {
    let file = file.into_inner();
    let at = file.by.span().start;
    if file.by.get_ref().trim().is_empty() {
        return Err((
            at,
            "by: write \"api\", \"outcome\", or SQL over the columns of the source".into(),
        ));
    }
    let max_rows = whole("max_rows", file.max_rows.as_ref(), 0)?;
    let max_share = number("max_share", file.max_share.as_ref(), 0.0, 1.0)?;
    if max_rows.is_some() && max_share.is_some() {
        return Err((at, "max_rows and max_share: write one of them".into()));
    }
    if max_rows.is_none() && max_share.is_none() && file.values.is_empty() {
        return Err((
            at,
            "a quota needs max_rows = 100, max_share = 0.3, or values = {ok = 100}".into(),
        ));
    }
    let mut values = BTreeMap::new();
    for (value, rows) in file.values {
        if let Some(rows) = whole(&value, Some(&rows), 0)? {
            values.insert(value, rows);
        }
    }
    Ok(Quota {
        by: file.by.into_inner(),
        max_rows,
        max_share,
        values,
        at,
    })
}

fn shares(file: &SplitFile) -> Result<Shares, Mistake> {
    let validation = number("validation", file.validation.as_ref(), 0.0, 1.0)?.unwrap_or(0.0);
    let test = number("test", file.test.as_ref(), 0.0, 1.0)?.unwrap_or(0.0);
    if validation + test >= 1.0 {
        let at = file.test.as_ref().or(file.validation.as_ref());
        let at = at.map_or(0, |given| given.span().start);
        return Err((
            at,
            "validation and test together leave nothing to train on: write shares below 1".into(),
        ));
    }
    Ok(Shares { validation, test })
}
