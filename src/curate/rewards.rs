//! Whose rewards count, and what several judges of one run come to.
//!
//! Several verdicts of one judge on one run are one opinion, their mean; only then
//! the judges are put together as `[rewards] rule` says.

use std::collections::BTreeMap;
use std::path::Path;

use arrow::array::Array as _;

use super::error::{CurateError, CurateResult};
use super::read::{count, float, floats, longs, quoted, stream, texts};
use super::recipe::Recipe;
use super::recipe_rules::RewardRule;
use super::select::Excess;
use crate::engine::Engine;

/// Scales that differ by more are not put together.
const SCALES: f64 = 10.0;

/// The opinions of every judge on every run.
const OPINIONS: &str = "
    SELECT environment, trajectory_id, arm, run_id, judge, exact_mean(reward) AS reward,
           exact_mean(CASE WHEN coalesce(success, reward >= 1.0) THEN 1.0 ELSE 0.0 END) AS good
    FROM verdicts WHERE reward IS NOT NULL OR success IS NOT NULL
    GROUP BY environment, trajectory_id, arm, run_id, judge";

/// What was said of the runs.
pub(super) struct Told {
    /// The judge, or how the judges are put together.
    pub(super) judge: String,
    /// Runs whose judges do not agree on success.
    pub(super) conflicting: u64,
}

/// Names the views `curation_opinions` and `curation_rewards` (run_id, reward, good).
pub(super) async fn name_rewards(
    engine: &Engine,
    recipe: &Recipe,
    path: &Path,
    kept: u64,
) -> CurateResult<Told> {
    engine.view("curation_opinions", OPINIONS).await?;
    let rewards = &recipe.rules.rewards;
    let judges = judges(engine).await?;
    let head = "SELECT environment, trajectory_id, arm, run_id";
    let groups = "FROM curation_opinions GROUP BY environment, trajectory_id, arm, run_id";
    let rewarded = "FROM curation_opinions WHERE reward IS NOT NULL GROUP BY environment, trajectory_id, arm, run_id";
    // A reward that is no finite number must be seen, not hidden by a smaller one.
    let (judge, sql) = match rewards.rule {
        RewardRule::Judge => {
            let judge = the_judge(recipe, kept, &judges)?;
            let sql = format!(
                "{head}, reward, good FROM curation_opinions WHERE judge = {} AND reward IS NOT NULL",
                quoted(&judge)
            );
            (judge, sql)
        }
        RewardRule::Mean => {
            same_scale(recipe, path, &judges)?;
            let sql = format!(
                "{head}, exact_mean(reward) AS reward, exact_mean(good) AS good {rewarded}"
            );
            ("the mean of all judges".to_owned(), sql)
        }
        RewardRule::Min => {
            same_scale(recipe, path, &judges)?;
            let sql = format!(
                "{head}, CASE WHEN exact_mean(reward) - exact_mean(reward) = 0 THEN min(reward) ELSE exact_mean(reward) END AS reward, \
                 min(good) AS good {rewarded}"
            );
            ("the lowest of all judges".to_owned(), sql)
        }
        RewardRule::Majority => {
            let most = "CASE WHEN exact_mean(CASE WHEN good > 0.5 THEN 1.0 ELSE 0.0 END) > 0.5 THEN 1.0 ELSE 0.0 END";
            let sql = format!("{head}, {most} AS reward, {most} AS good {groups}");
            ("the majority of all judges".to_owned(), sql)
        }
        RewardRule::All => {
            let all = "CASE WHEN min(good) > 0.5 THEN 1.0 ELSE 0.0 END";
            let sql = format!("{head}, {all} AS reward, {all} AS good {groups}");
            ("all judges together".to_owned(), sql)
        }
    };
    engine.view("curation_rewards", &sql).await?;
    let conflicts = "SELECT count(*) FROM (SELECT o.run_id FROM curation_opinions AS o \
                     JOIN curation_source AS r ON r.run_id = o.run_id \
                     GROUP BY o.run_id HAVING min(o.good) <= 0.5 AND max(o.good) > 0.5) AS split_opinions";
    Ok(Told {
        judge,
        conflicting: count(engine, conflicts).await?,
    })
}

/// The judges of the source's runs, each with its largest reward.
async fn judges(engine: &Engine) -> CurateResult<Vec<(String, f64)>> {
    let sql = "SELECT o.judge, max(abs(o.reward)) AS most FROM curation_opinions AS o \
               JOIN curation_source AS r ON r.run_id = o.run_id \
               WHERE o.reward IS NOT NULL GROUP BY o.judge ORDER BY o.judge";
    let mut known = Vec::new();
    let mut batches = stream(engine, sql).await?;
    while let Some(batch) = batches.next().await? {
        let (judges, most) = (texts(&batch, "judge")?, floats(&batch, "most")?);
        known.extend((0..judges.len()).map(|row| {
            let most = float(&most, row).filter(|m| m.is_finite());
            (judges.value(row).to_owned(), most.unwrap_or(0.0))
        }));
    }
    Ok(known)
}

/// The judge of the recipe, or the only one.
fn the_judge(recipe: &Recipe, kept: u64, judges: &[(String, f64)]) -> CurateResult<String> {
    let named = || {
        judges
            .iter()
            .map(|(judge, _)| format!("{judge:?}"))
            .collect()
    };
    match &recipe.source.judge {
        Some(judge) if judges.iter().any(|(known, _)| known == judge) => Ok(judge.clone()),
        Some(judge) => Err(CurateError::NoSuchJudge {
            judge: judge.clone(),
            known: named(),
        }),
        None => match judges {
            [(only, _)] => Ok(only.clone()),
            [] if recipe.rules.rewards.missing.is_some() => Ok("nobody".to_owned()),
            [] => Err(CurateError::Empty(format!(
                "none of the {kept} runs has a reward; rewards come from `verdicts` of the imported runs. \
                 For runs that are known to be right without a judge, write missing = 1.0 in [rewards]"
            ))),
            _ => Err(CurateError::SeveralJudges(named())),
        },
    }
}

fn same_scale(recipe: &Recipe, path: &Path, judges: &[(String, f64)]) -> CurateResult<()> {
    let rated = || judges.iter().filter(|(_, most)| *most > 0.0);
    let (Some(low), Some(high)) = (
        rated().min_by(|a, b| a.1.total_cmp(&b.1)),
        rated().max_by(|a, b| a.1.total_cmp(&b.1)),
    ) else {
        return Ok(());
    };
    if high.1 <= SCALES * low.1 {
        return Ok(());
    }
    let at = recipe.text.find("[rewards]").unwrap_or_default();
    let message = format!(
        "[rewards] rule puts judges of different scales together: {:?} gives up to {}, {:?} up to {}. \
         Name one with [source] judge, or take rule = \"majority\" or \"all\", which ask for success only",
        low.0, low.1, high.0, high.1
    );
    Err(recipe.mistake(path, at, message).into())
}

/// How much better simulated rewards are than real ones, per environment: the
/// mean over the trajectories with both, each the mean of its own runs.
pub(super) async fn reward_excess(engine: &Engine) -> CurateResult<BTreeMap<String, Excess>> {
    let sql = "SELECT environment, exact_mean(sim - real) AS excess, count(*) AS trajectories FROM ( \
                   SELECT environment, trajectory_id, \
                          exact_mean(CASE WHEN arm = 'sim' THEN reward END) AS sim, \
                          exact_mean(CASE WHEN arm = 'real' THEN reward END) AS real \
                   FROM curation_rewards GROUP BY environment, trajectory_id \
               ) AS both_arms WHERE sim IS NOT NULL AND real IS NOT NULL \
               GROUP BY environment ORDER BY environment";
    let mut excess = BTreeMap::new();
    let mut batches = stream(engine, sql).await?;
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
