//! Which runs become rows: the first pass, over small columns only.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use arrow::array::Array as _;
use serde::Serialize;

use super::difficulty::TaskFigures;
use super::error::{CurateError, CurateResult};
use super::fidelity::Judged;
use super::ledger::{Ledger, RuleCount};
use super::read::{count, float, floats, ints, longs, quoted, stream, text, texts};
use super::recipe::{GroupBy, Recipe};
use super::region::{FACTORS, PerFactor, Regions};
use super::repair::Repair;
use super::rewards::name_rewards;
use super::split::Split;
use crate::engine::{Engine, EngineError};

/// How many runs each rule left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    /// Runs of the arm.
    pub(super) runs_read: u64,
    /// Of these: left out by `where`.
    pub(super) filtered_out: u64,
    /// Left out because the judge gave no reward.
    pub(super) without_reward: u64,
    /// Left out because the reward is no finite number.
    pub(super) reward_not_finite: u64,
    /// Left out because the reward is below `min`.
    pub(super) below_min_reward: u64,
    /// Runs without a reward that took the one for `missing`.
    pub(super) reward_assumed: u64,
    /// Runs whose judges do not agree on success.
    pub(super) conflicting_verdicts: u64,
    /// Left out by `unknown = "drop"`.
    pub(super) dropped_unknown: u64,
    /// Runs without `group_id`, put in the group of their task or trajectory.
    pub(super) group_id_missing: u64,
    /// Rows written.
    pub(super) rows: u64,
    /// Groups.
    pub(super) groups: u64,
    /// Groups from which nothing can be learned: equal rewards, or weights
    /// worth fewer than two rollouts.
    pub(super) degenerate_groups: u64,
    /// Rows in them.
    pub(super) degenerate_rows: u64,
    /// Groups with rewards up to 1 beside rewards above 10.
    pub(super) mixed_scale_groups: u64,
    /// Rows by part of the data set.
    pub(super) splits: std::collections::BTreeMap<&'static str, u64>,
    /// Every rule in its order.
    pub(super) rules: Vec<RuleCount>,
}

/// A run that may become a row. A million of them stand in memory at once: what several
/// share they share, and what few have stands apart.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidate {
    pub(super) run_id: Box<str>,
    pub(super) environment: Arc<str>,
    pub(super) trajectory_id: Arc<str>,
    pub(super) trajectory_key: i64,
    pub(super) repeat: i32,
    pub(super) policy: Option<Arc<str>>,
    pub(super) task_id: Option<Arc<str>>,
    pub(super) group: Arc<str>,
    /// Its task: the id, else a hash of the text, else the trajectory.
    pub(super) task: Arc<str>,
    pub(super) reward: f64,
    pub(super) license: Option<Arc<str>>,
    /// Its value for every quota by a column.
    pub(super) quotas: Box<[Option<Arc<str>>]>,
    pub(super) profile: Option<Box<Profile>>,
    /// Set where its answers are replaced by those of the real world.
    pub(super) repair: Option<Box<Repair>>,
    /// How far it can be believed; set when the rules of its source are through.
    pub(super) judged: Option<Judged>,
    pub(super) figures: TaskFigures,
    pub(super) split: Split,
}

/// The newest profile of its trajectory.
#[derive(Clone, Debug, Default)]
pub(super) struct Profile {
    pub(super) source: Arc<str>,
    pub(super) gaps: PerFactor<Option<f64>>,
    /// obs, act, rew, trans.
    pub(super) fidelity: [Option<f64>; 4],
    pub(super) mean: Option<f64>,
    pub(super) se: Option<f64>,
    /// Share of its calls that both arms have; 1 without calls.
    pub(super) pairs: f64,
}

/// How much more the simulator pays than the real world, in one environment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Excess {
    pub(super) mean: f64,
    /// Trajectories with rewards on both arms.
    pub(super) trajectories: u64,
}

/// What the first pass found.
pub(super) struct Selection {
    pub(super) judge: String,
    pub(super) counts: Counts,
    /// In the order of the shards.
    pub(super) candidates: Vec<Candidate>,
    pub(super) regions: Regions,
}

/// Columns of a profile that a candidate keeps.
const DIMENSIONS: [&str; 4] = [
    "fidelity_obs",
    "fidelity_act",
    "fidelity_rew",
    "fidelity_trans",
];

/// Reads the runs that the recipe asks for, with rewards and profiles.
pub(super) async fn select(
    engine: &Engine,
    recipe: &Recipe,
    path: &Path,
    ledger: &mut Ledger,
) -> CurateResult<Selection> {
    name_source(engine, recipe, path).await?;
    let arm = quoted(recipe.source.arm.as_str());
    let mut counts = Counts {
        runs_read: count(
            engine,
            &format!("SELECT count(*) FROM runs WHERE arm = {arm}"),
        )
        .await?,
        ..Counts::default()
    };
    if counts.runs_read == 0 {
        return Err(CurateError::Empty(format!(
            "the lake has no runs of arm {arm} at lake version {}; `fidelake import` brings them",
            engine.version().version
        )));
    }
    let kept = count(engine, "SELECT count(*) FROM curation_source").await?;
    counts.filtered_out = counts.runs_read - kept;
    ledger.rule("[source] where", counts.runs_read, kept, "");
    if kept == 0 {
        return Err(CurateError::Empty(format!(
            "[source] where is true for none of the {} runs of arm {arm}",
            counts.runs_read
        )));
    }
    let told = name_rewards(engine, recipe, path, kept).await?;
    counts.conflicting_verdicts = told.conflicting;
    let mut candidates = candidates(engine, recipe, path, &mut counts, ledger).await?;
    let rewarded = candidates.len() as u64 + counts.below_min_reward;
    ledger.rule("[rewards]", kept, rewarded, conflict_note(&counts));
    if recipe.rules.rewards.min.is_some() {
        ledger.rule("[rewards] min", rewarded, candidates.len() as u64, "");
    }
    if candidates.is_empty() {
        return Err(CurateError::Empty(match counts.below_min_reward {
            0 => format!(
                "none of the {kept} runs has a finite reward of the judge {:?}",
                told.judge
            ),
            n => format!(
                "min in [rewards] left out all {n} runs that have a reward of the judge {:?}",
                told.judge
            ),
        }));
    }
    // No two have the same place, and a stable sort would take half as much memory again.
    candidates.sort_unstable_by(|a, b| order(a).cmp(&order(b)));
    Ok(Selection {
        judge: told.judge,
        counts,
        candidates,
        regions: regions(engine).await?,
    })
}

fn conflict_note(counts: &Counts) -> String {
    match counts.conflicting_verdicts {
        0 => String::new(),
        n => format!("the judges of {n} runs do not agree on success"),
    }
}

/// The order of the shards.
fn order(c: &Candidate) -> (&str, &str, &str, i32, &str) {
    (
        &c.environment,
        &c.group,
        &c.trajectory_id,
        c.repeat,
        &c.run_id,
    )
}

/// The view `curation_source`: the runs of the arm that `where` keeps, beside
/// the profile of their trajectory.
async fn name_source(engine: &Engine, recipe: &Recipe, path: &Path) -> CurateResult<()> {
    let columns = |sql: &'static str| async move {
        let frame = engine.plan(sql).await?;
        let fields = frame.schema().fields().iter();
        Ok::<Vec<String>, EngineError>(fields.map(|f| f.name().clone()).collect())
    };
    let own: HashSet<String> = columns("SELECT * FROM runs").await?.into_iter().collect();
    let profile: String = columns("SELECT * FROM profiles_now")
        .await?
        .into_iter()
        .filter(|name| !own.contains(name))
        .map(|name| format!(", p.\"{name}\""))
        .collect();
    let all = format!(
        "SELECT r.*{profile} FROM runs AS r LEFT JOIN profiles_now AS p \
         ON p.environment = r.environment AND p.trajectory_id = r.trajectory_id \
         WHERE r.arm = {}",
        quoted(recipe.source.arm.as_str())
    );
    engine.view("curation_runs", &all).await?;
    let Some(filter) = &recipe.source.filter else {
        engine
            .view("curation_source", "SELECT * FROM curation_runs")
            .await?;
        return Ok(());
    };
    // On a line of its own, so that a comment in it ends there.
    let sql = format!("SELECT * FROM curation_runs WHERE (\n{filter}\n)");
    let named = async {
        engine.condition(filter)?;
        engine.repeatable(&sql).await?;
        engine.view("curation_source", &sql).await
    }
    .await;
    match named {
        Err(EngineError::Sql(message) | EngineError::ReadOnly(message)) => {
            Err(recipe.wrong_filter(path, &message).into())
        }
        other => Ok(other?),
    }
}

/// The task of a run, in SQL over `r`: its id, else a hash of its text, else its trajectory.
const TASK: &str =
    "coalesce(r.task_id, 'text ' || CAST(hash64(r.task) AS VARCHAR), r.trajectory_id)";

/// Columns of a quota that are no column of the source.
pub(super) const OF_CALLS: [&str; 3] = ["api", "outcome", "pattern"];

/// The values of every quota by a column, checked one by one: a mistake has its place.
async fn quota_columns(engine: &Engine, recipe: &Recipe, path: &Path) -> CurateResult<String> {
    let mut columns = String::new();
    for (at, quota) in recipe.rules.quotas.iter().enumerate() {
        if OF_CALLS.contains(&quota.by.as_str()) {
            columns.push_str(&format!(", CAST(NULL AS VARCHAR) AS quota_{at}"));
            continue;
        }
        let sql = format!(
            "SELECT CAST((\n{}\n) AS VARCHAR) FROM curation_source AS r",
            quota.by
        );
        let checked = async {
            engine.condition(&quota.by)?;
            engine.repeatable(&sql).await
        }
        .await;
        match checked {
            Err(EngineError::Sql(message) | EngineError::ReadOnly(message)) => {
                let message = format!("[[quota]] by: {message}");
                return Err(recipe.mistake(path, quota.at, message).into());
            }
            other => other?,
        }
        columns.push_str(&format!(
            ", CAST((\n{}\n) AS VARCHAR) AS quota_{at}",
            quota.by
        ));
    }
    Ok(columns)
}

async fn candidates(
    engine: &Engine,
    recipe: &Recipe,
    path: &Path,
    counts: &mut Counts,
    ledger: &mut Ledger,
) -> CurateResult<Vec<Candidate>> {
    let profile = FACTORS.iter().chain(&DIMENSIONS).map(|c| format!("r.{c}"));
    let profile: Vec<String> = profile.collect();
    let license = recipe.rules.licenses.as_ref().map_or_else(
        || "CAST(NULL AS VARCHAR)".to_owned(),
        |part| format!("json_field(r.labels, {})", quoted(&part.label)),
    );
    let quotas = quota_columns(engine, recipe, path).await?;
    // Names of the source stand alone in a quota: what is joined must have others.
    let sql = format!(
        "SELECT r.run_id, r.environment, r.trajectory_id, r.trajectory_key, r.repeat, r.policy, \
                r.task_id, r.group_id, v.curation_reward, r.source, r.fidelity_mean, r.fidelity_se, {}, \
                {TASK} AS task, {license} AS license, \
                CASE WHEN r.calls > 0 THEN CAST(r.pairs AS DOUBLE) / r.calls ELSE 1.0 END AS pairs_share{quotas} \
         FROM curation_source AS r LEFT JOIN \
             (SELECT run_id AS curation_run, reward AS curation_reward FROM curation_rewards) AS v \
         ON v.curation_run = r.run_id",
        profile.join(", "),
    );
    let mut shared: HashSet<Arc<str>> = HashSet::new();
    let mut share = |text: &str| match shared.get(text) {
        Some(known) => Arc::clone(known),
        None => {
            let text: Arc<str> = text.into();
            shared.insert(Arc::clone(&text));
            text
        }
    };
    let mut candidates = Vec::new();
    let mut batches = stream(engine, &sql).await?;
    while let Some(batch) = batches.next().await? {
        let text_of = |name| texts(&batch, name);
        let (run_id, environment) = (text_of("run_id")?, text_of("environment")?);
        let (trajectory, policy) = (text_of("trajectory_id")?, text_of("policy")?);
        let (task, group, source) = (
            text_of("task_id")?,
            text_of("group_id")?,
            text_of("source")?,
        );
        let (key, repeat) = (longs(&batch, "trajectory_key")?, ints(&batch, "repeat")?);
        let (reward, mean) = (
            floats(&batch, "curation_reward")?,
            floats(&batch, "fidelity_mean")?,
        );
        let se = floats(&batch, "fidelity_se")?;
        let gaps = FACTORS.map(|name| floats(&batch, name));
        let fidelity = DIMENSIONS.map(|name| floats(&batch, name));
        let (task_key, license) = (text_of("task")?, text_of("license")?);
        let pairs = floats(&batch, "pairs_share")?;
        let quotas = (0..recipe.rules.quotas.len()).map(|at| texts(&batch, &format!("quota_{at}")));
        let quotas = quotas.collect::<CurateResult<Vec<_>>>()?;
        for row in 0..batch.num_rows() {
            let mut why = None;
            let given = match (
                reward.is_valid(row).then(|| reward.value(row)),
                recipe.rules.rewards.missing,
            ) {
                (Some(given), _) => given,
                (None, Some(assumed)) => {
                    counts.reward_assumed += 1;
                    assumed
                }
                (None, None) => {
                    counts.without_reward += 1;
                    why = Some(("[rewards]", "no verdict gives it a reward".to_owned()));
                    0.0
                }
            };
            if why.is_none() && !given.is_finite() {
                counts.reward_not_finite += 1;
                why = Some(("[rewards]", format!("its reward is {given}")));
            }
            if let Some(least) = recipe.rules.rewards.min
                && why.is_none()
                && given < least
            {
                counts.below_min_reward += 1;
                why = Some((
                    "[rewards] min",
                    format!("its reward {given} is below {least}"),
                ));
            }
            let given_reward = given;
            let trajectory_id: Arc<str> = trajectory.value(row).into();
            let mut share_or_own = |text: &str| match text == &*trajectory_id {
                true => Arc::clone(&trajectory_id),
                false => share(text),
            };
            let task_id = task.is_valid(row).then(|| share_or_own(task.value(row)));
            let by_id = recipe.groups.by == GroupBy::GroupId;
            let given = (by_id && group.is_valid(row)).then(|| share_or_own(group.value(row)));
            let task = share_or_own(task_key.value(row));
            counts.group_id_missing += u64::from(group.is_null(row) && why.is_none());
            let group = given
                .or_else(|| task_id.clone())
                .unwrap_or_else(|| Arc::clone(&trajectory_id));
            let value = |array: &CurateResult<arrow::array::Float64Array>| {
                array.as_ref().ok().and_then(|array| float(array, row))
            };
            let profile = text(&source, row).map(|source| {
                Box::new(Profile {
                    source: share(&source),
                    gaps: gaps.each_ref().map(value),
                    fidelity: fidelity.each_ref().map(value),
                    mean: float(&mean, row),
                    se: float(&se, row),
                    pairs: float(&pairs, row).unwrap_or(1.0),
                })
            });
            let run = Candidate {
                run_id: run_id.value(row).into(),
                environment: share(environment.value(row)),
                trajectory_id,
                trajectory_key: key.value(row),
                repeat: repeat.value(row),
                policy: text(&policy, row).map(|policy| share(&policy)),
                task_id,
                group,
                task,
                reward: given_reward,
                license: text(&license, row).map(|name| share(&name)),
                quotas: quotas
                    .iter()
                    .map(|column| text(column, row).map(|value| share(&value)))
                    .collect(),
                profile,
                ..Candidate::default()
            };
            match why {
                None => candidates.push(run),
                Some((rule, why)) => ledger.left_out(&run, rule, || why),
            }
        }
    }
    Ok(candidates)
}

/// All profiles of the lake: what is known of its environments.
async fn regions(engine: &Engine) -> CurateResult<Regions> {
    let mut regions = Regions::default();
    let sql = format!(
        "SELECT environment, {} FROM profiles_now",
        FACTORS.join(", ")
    );
    let mut batches = stream(engine, &sql).await?;
    while let Some(batch) = batches.next().await? {
        let environment = texts(&batch, "environment")?;
        let mut gaps = Vec::with_capacity(FACTORS.len());
        for name in FACTORS {
            gaps.push(floats(&batch, name)?);
        }
        for row in 0..batch.num_rows() {
            let mut values = PerFactor::default();
            for (value, column) in values.iter_mut().zip(&gaps) {
                *value = float(column, row);
            }
            regions.add(environment.value(row), values);
        }
    }
    Ok(regions)
}

/// Every trajectory with a profile, as a candidate without run.
pub(super) async fn profiled(engine: &Engine) -> CurateResult<Vec<Candidate>> {
    let sql = format!(
        "WITH tasks AS (SELECT r.environment, r.trajectory_id, min({TASK}) AS task FROM runs AS r \
                        GROUP BY r.environment, r.trajectory_id) \
         SELECT p.environment, p.trajectory_id, t.task, p.fidelity_se, \
                CASE WHEN p.calls > 0 THEN CAST(p.pairs AS DOUBLE) / p.calls ELSE 1.0 END AS pairs_share, {} \
         FROM profiles_now AS p JOIN tasks AS t \
           ON t.environment = p.environment AND t.trajectory_id = p.trajectory_id",
        FACTORS.map(|name| format!("p.{name}")).join(", ")
    );
    let measured: Arc<str> = "measured".into();
    let mut found = Vec::new();
    let mut batches = stream(engine, &sql).await?;
    while let Some(batch) = batches.next().await? {
        let (environment, id) = (
            texts(&batch, "environment")?,
            texts(&batch, "trajectory_id")?,
        );
        let (task, se) = (texts(&batch, "task")?, floats(&batch, "fidelity_se")?);
        let pairs = floats(&batch, "pairs_share")?;
        let mut gaps = Vec::with_capacity(FACTORS.len());
        for name in FACTORS {
            gaps.push(floats(&batch, name)?);
        }
        for row in 0..batch.num_rows() {
            let mut profile = Profile {
                source: Arc::clone(&measured),
                se: float(&se, row),
                pairs: float(&pairs, row).unwrap_or(1.0),
                ..Profile::default()
            };
            for (gap, column) in profile.gaps.iter_mut().zip(&gaps) {
                *gap = float(column, row);
            }
            found.push(Candidate {
                environment: environment.value(row).into(),
                trajectory_id: id.value(row).into(),
                task: task.value(row).into(),
                profile: Some(Box::new(profile)),
                ..Candidate::default()
            });
        }
    }
    Ok(found)
}
