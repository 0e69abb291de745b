//! Which runs become rows: the first pass, over small columns only.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use arrow::array::Array as _;
use serde::Serialize;

use super::error::{CurateError, CurateResult};
use super::read::{count, float, floats, ints, longs, quoted, stream, text, texts};
use super::recipe::{GroupBy, Recipe};
use super::region::{FACTORS, PerFactor, Regions};
use super::repair::Repair;
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
}

/// A run that may become a row.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidate {
    pub(super) run_id: String,
    pub(super) environment: Arc<str>,
    pub(super) trajectory_id: String,
    pub(super) trajectory_key: i64,
    pub(super) repeat: i32,
    pub(super) policy: Option<Arc<str>>,
    pub(super) task_id: Option<String>,
    pub(super) group: String,
    pub(super) reward: f64,
    pub(super) profile: Option<Profile>,
    /// Set where its answers are replaced by those of the real world.
    pub(super) repair: Option<Box<Repair>>,
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
    if kept == 0 {
        return Err(CurateError::Empty(format!(
            "[source] where is true for none of the {} runs of arm {arm}",
            counts.runs_read
        )));
    }
    let judge = judge(engine, recipe, kept).await?;
    let mut candidates = candidates(engine, recipe, &judge, &mut counts).await?;
    if candidates.is_empty() {
        return Err(CurateError::Empty(format!(
            "none of the {kept} runs has a finite reward of the judge {judge:?}"
        )));
    }
    candidates.sort_by(|a, b| order(a).cmp(&order(b)));
    Ok(Selection {
        judge,
        counts,
        candidates,
        regions: regions(engine).await?,
    })
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
    let named = match engine.condition(filter) {
        Ok(()) => engine.view("curation_source", &sql).await,
        Err(error) => Err(error),
    };
    match named {
        Err(EngineError::Sql(message) | EngineError::ReadOnly(message)) => {
            Err(recipe.wrong_filter(path, &message).into())
        }
        other => Ok(other?),
    }
}

/// The judge of the recipe, or the only one.
async fn judge(engine: &Engine, recipe: &Recipe, kept: u64) -> CurateResult<String> {
    let mut known = Vec::new();
    let sql = "SELECT DISTINCT v.judge FROM verdicts AS v \
               JOIN curation_source AS r ON r.run_id = v.run_id \
               WHERE v.reward IS NOT NULL ORDER BY v.judge";
    let mut batches = stream(engine, sql).await?;
    while let Some(batch) = batches.next().await? {
        let judges = texts(&batch, "judge")?;
        known.extend((0..judges.len()).map(|row| judges.value(row).to_owned()));
    }
    let named = |judges: &[String]| judges.iter().map(|j| format!("{j:?}")).collect();
    match &recipe.source.judge {
        Some(judge) if known.contains(judge) => Ok(judge.clone()),
        Some(judge) => Err(CurateError::NoSuchJudge {
            judge: judge.clone(),
            known: named(&known),
        }),
        None => match known.as_slice() {
            [only] => Ok(only.clone()),
            [] => Err(CurateError::Empty(format!(
                "none of the {kept} runs has a reward; rewards come from `verdicts` of the imported runs"
            ))),
            several => Err(CurateError::SeveralJudges(named(several))),
        },
    }
}

async fn candidates(
    engine: &Engine,
    recipe: &Recipe,
    judge: &str,
    counts: &mut Counts,
) -> CurateResult<Vec<Candidate>> {
    let profile = FACTORS.iter().chain(&DIMENSIONS).map(|c| format!("r.{c}"));
    let profile: Vec<String> = profile.collect();
    // A judge may have judged a run several times: the mean counts.
    let sql = format!(
        "SELECT r.run_id, r.environment, r.trajectory_id, r.trajectory_key, r.repeat, r.policy, \
                r.task_id, r.group_id, v.reward, r.source, r.fidelity_mean, r.fidelity_se, {} \
         FROM curation_source AS r LEFT JOIN ( \
             SELECT run_id, exact_mean(reward) AS reward FROM verdicts \
             WHERE judge = {} AND reward IS NOT NULL GROUP BY run_id \
         ) AS v ON v.run_id = r.run_id",
        profile.join(", "),
        quoted(judge)
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
        let (reward, mean) = (floats(&batch, "reward")?, floats(&batch, "fidelity_mean")?);
        let se = floats(&batch, "fidelity_se")?;
        let gaps = FACTORS.map(|name| floats(&batch, name));
        let fidelity = DIMENSIONS.map(|name| floats(&batch, name));
        for row in 0..batch.num_rows() {
            if reward.is_null(row) {
                counts.without_reward += 1;
                continue;
            }
            if !reward.value(row).is_finite() {
                counts.reward_not_finite += 1;
                continue;
            }
            let task_id = text(&task, row);
            let given = text(&group, row).filter(|_| recipe.groups.by == GroupBy::GroupId);
            let trajectory_id = trajectory.value(row).to_owned();
            counts.group_id_missing += u64::from(group.is_null(row));
            let group = given
                .or_else(|| task_id.clone())
                .unwrap_or_else(|| trajectory_id.clone());
            let value = |array: &CurateResult<arrow::array::Float64Array>| {
                array.as_ref().ok().and_then(|array| float(array, row))
            };
            let profile = text(&source, row).map(|source| Profile {
                source: share(&source),
                gaps: gaps.each_ref().map(value),
                fidelity: fidelity.each_ref().map(value),
                mean: float(&mean, row),
                se: float(&se, row),
            });
            candidates.push(Candidate {
                run_id: run_id.value(row).to_owned(),
                environment: share(environment.value(row)),
                trajectory_id,
                trajectory_key: key.value(row),
                repeat: repeat.value(row),
                policy: text(&policy, row).map(|policy| share(&policy)),
                task_id,
                group,
                reward: reward.value(row),
                profile,
                repair: None,
            });
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

/// How much better simulated rewards are than real ones, per environment: the
/// mean over the trajectories with both, each the mean of its own runs.
pub(super) async fn reward_excess(
    engine: &Engine,
    judge: &str,
) -> CurateResult<BTreeMap<String, Excess>> {
    let sql = format!(
        "SELECT environment, exact_mean(sim - real) AS excess, count(*) AS trajectories FROM ( \
             SELECT environment, trajectory_id, \
                    exact_mean(CASE WHEN arm = 'sim' THEN reward END) AS sim, \
                    exact_mean(CASE WHEN arm = 'real' THEN reward END) AS real \
             FROM verdicts WHERE judge = {} AND reward IS NOT NULL \
             GROUP BY environment, trajectory_id \
         ) AS both_arms WHERE sim IS NOT NULL AND real IS NOT NULL \
         GROUP BY environment ORDER BY environment",
        quoted(judge)
    );
    let mut excess = BTreeMap::new();
    let mut batches = stream(engine, &sql).await?;
    while let Some(batch) = batches.next().await? {
        let (environment, mean) = (texts(&batch, "environment")?, floats(&batch, "excess")?);
        let n = longs(&batch, "trajectories")?;
        for row in 0..batch.num_rows() {
            if let Some(mean) = float(&mean, row).filter(|m| m.is_finite()) {
                let trajectories = u64::try_from(n.value(row)).unwrap_or_default();
                excess.insert(
                    environment.value(row).to_owned(),
                    Excess { mean, trajectories },
                );
            }
        }
    }
    Ok(excess)
}
