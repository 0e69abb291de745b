//! From the lake to two runs.

use std::collections::{HashMap, HashSet};

use arrow::array::{Array as _, AsArray as _};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;

use super::compare::{How, steps};
use super::{Call, Pair, Profile, Run};
use crate::engine::columns::quoted;
use crate::engine::{Engine, EngineError};

/// Near matches that an error names.
const NEAR: usize = 5;

/// Why a trajectory cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum PairError {
    /// No such id.
    #[error("there is no trajectory {id:?}{place}{near}")]
    Unknown {
        /// As given.
        id: String,
        /// The environment that was looked in.
        place: String,
        /// Others with a name like it.
        near: String,
    },
    /// The id stands in several environments.
    #[error("trajectory {id:?} is in {count} environments: name one with --environment: {names}")]
    Ambiguous {
        /// As given.
        id: String,
        /// In how many.
        count: usize,
        /// Some of them.
        names: String,
    },
    /// The engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Arrow.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
}

type Row = Vec<Option<String>>;

/// Reads a trajectory and compares its runs; differences are explained by at
/// most `paths` paths per call.
///
/// # Errors
/// If there is no such trajectory, or several.
pub async fn load(
    engine: &Engine,
    id: &str,
    environment: Option<&str>,
    paths: usize,
) -> Result<Pair, PairError> {
    let (environment, key) = find(engine, id, environment).await?;
    let this = format!(
        "environment = {} AND trajectory_key = {key} AND trajectory_id = {}",
        quoted(&environment),
        quoted(id)
    );
    let runs = rows(
        engine,
        &format!(
            "SELECT run_id, arm, repeat, environment_version, policy, termination, task \
             FROM runs WHERE {this} ORDER BY arm, repeat"
        ),
    )
    .await?;
    let task = runs.iter().find_map(|run| run[6].clone());
    let sim = run(engine, &this, &runs, "sim").await?;
    let real = run(engine, &this, &runs, "real").await?;
    let causes = causes(engine, &this).await?;
    let comparable = match agree(sim.as_ref(), real.as_ref()) {
        Some(known) => known,
        None => comparable(engine, &environment).await?,
    };
    let repeated = |arm: &str| {
        let of_arm = |run: &&Row| run[1].as_deref() == Some(arm);
        runs.iter().filter(of_arm).count() > 1
    };
    let rules = engine
        .path_rules(repeated("sim") && repeated("real"))
        .await?;
    let how = How {
        environment: &environment,
        rules: &rules,
        comparable,
        paths,
    };
    let steps = steps(sim.as_ref(), real.as_ref(), &causes, &how);
    let profile = profile(engine, &this).await?;
    Ok(Pair {
        environment,
        trajectory_id: id.to_owned(),
        task,
        sim,
        real,
        steps,
        profile,
    })
}

/// Environment and key of the trajectory.
async fn find(
    engine: &Engine,
    id: &str,
    environment: Option<&str>,
) -> Result<(String, String), PairError> {
    let within = environment.map_or(String::new(), |e| {
        format!(" AND environment = {}", quoted(e))
    });
    let exact = format!(
        "SELECT DISTINCT environment, trajectory_key FROM runs WHERE trajectory_id = {}{within} ORDER BY environment",
        quoted(id)
    );
    let mut found = rows(engine, &exact).await?;
    if found.len() > 1 {
        let names = found.iter().take(NEAR).map(|r| text(r, 0));
        return Err(PairError::Ambiguous {
            id: id.to_owned(),
            count: found.len(),
            names: names.collect::<Vec<_>>().join(", "),
        });
    }
    if let Some(row) = found.pop() {
        return Ok((text(&row, 0), text(&row, 1)));
    }
    let id_text = quoted(id);
    let like = format!(
        "SELECT DISTINCT environment, trajectory_id, starts_with(trajectory_id, {id_text}) AS starts, \
         character_length(trajectory_id) AS size FROM trajectories \
         WHERE strpos(lower(trajectory_id), lower({id_text})) > 0{within} \
         ORDER BY starts DESC, size, trajectory_id, environment LIMIT {}",
        NEAR + 1
    );
    let near = rows(engine, &like).await?;
    let mut names: Vec<String> = near
        .iter()
        .take(NEAR)
        .map(|r| format!("\n  {} (environment {})", text(r, 1), text(r, 0)))
        .collect();
    if near.len() > NEAR {
        names.push("\n  ...".into());
    }
    let near = if names.is_empty() {
        "; `fidelake sql \"SELECT environment, trajectory_id FROM trajectories LIMIT 10\"` shows some".to_owned()
    } else {
        format!("; names like it:{}", names.concat())
    };
    let place = environment.map_or(String::new(), |e| format!(" in environment {e:?}"));
    Err(PairError::Unknown {
        id: id.to_owned(),
        place,
        near,
    })
}

/// The first run of an arm, with its calls.
async fn run(
    engine: &Engine,
    this: &str,
    runs: &[Row],
    arm: &str,
) -> Result<Option<Run>, PairError> {
    let of_arm: Vec<&Row> = runs
        .iter()
        .filter(|run| run[1].as_deref() == Some(arm))
        .collect();
    let Some(first) = of_arm.first() else {
        return Ok(None);
    };
    let run_id = text(first, 0);
    let this = format!("{this} AND run_id = {}", quoted(&run_id));
    let verdicts = rows(
        engine,
        &format!("SELECT judge, reward, success FROM verdicts WHERE {this} ORDER BY judge, agent, ordinal"),
    )
    .await?;
    let calls = rows(
        engine,
        &format!(
            "SELECT c.turn, c.\"index\", c.name, coalesce(c.arguments, c.arguments_raw), c.call_key, \
             o.outcome, o.status, o.latency_ms, o.structured, o.content, o.structured_rule, o.truncated, \
             o.state, o.state_hash \
             FROM (SELECT * FROM calls WHERE {this}) AS c \
             LEFT JOIN (SELECT * FROM observations WHERE {this}) AS o \
             ON o.turn = c.turn AND o.\"index\" = c.\"index\" \
             ORDER BY c.turn, c.\"index\""
        ),
    )
    .await?;
    Ok(Some(Run {
        run_id,
        repeat: text(first, 2),
        of: of_arm.len(),
        version: first[3].clone(),
        policy: first[4].clone(),
        termination: first[5].clone(),
        verdicts: verdicts.iter().map(verdict).collect(),
        calls: calls.into_iter().map(call).collect(),
    }))
}

fn verdict(row: &Row) -> String {
    let judge = row[0]
        .as_deref()
        .filter(|judge| !judge.is_empty())
        .unwrap_or("a judge");
    match (&row[1], row[2].as_deref()) {
        (Some(reward), _) => format!("reward {reward} ({judge})"),
        (None, Some("true")) => format!("success ({judge})"),
        (None, Some(_)) => format!("no success ({judge})"),
        (None, None) => format!("no reward ({judge})"),
    }
}

fn call(mut row: Row) -> Call {
    let mut take = |at: usize| row.get_mut(at).and_then(Option::take);
    let number = |text: Option<String>| text.and_then(|t| t.parse().ok()).unwrap_or(-1);
    Call {
        turn: number(take(0)),
        index: number(take(1)),
        name: take(2).unwrap_or_default(),
        arguments: take(3).unwrap_or_default(),
        key: take(4).unwrap_or_default(),
        outcome: take(5),
        status: take(6),
        latency_ms: take(7).and_then(|t| t.parse().ok()),
        structured: take(8),
        content: take(9),
        rule: take(10),
        truncated: take(11).as_deref() == Some("true"),
        state: take(12),
        state_hash: take(13),
    }
}

/// Causes by place: turn, index, and whether only real has the call.
pub(super) type Causes = HashMap<(i32, i32, bool), String>;

async fn causes(engine: &Engine, this: &str) -> Result<Causes, PairError> {
    let sql = format!("SELECT turn, \"index\", side, cause FROM call_gaps_now WHERE {this}");
    let number = |row: &Row, at: usize| {
        row[at]
            .as_deref()
            .and_then(|t| t.parse().ok())
            .unwrap_or(-1)
    };
    let rows = rows(engine, &sql).await?;
    Ok(rows
        .iter()
        .map(|row| {
            (
                (
                    number(row, 0),
                    number(row, 1),
                    row[2].as_deref() == Some("real_only"),
                ),
                text(row, 3),
            )
        })
        .collect())
}

/// What the two runs themselves say of [`comparable`], which reads the whole environment:
/// nothing, if both have hashes and none of them is the same.
fn agree(sim: Option<&Run>, real: Option<&Run>) -> Option<bool> {
    let hashes = |run: Option<&Run>| -> HashSet<String> {
        let calls = run.map_or(&[][..], |run| run.calls.as_slice());
        calls
            .iter()
            .filter_map(|call| call.state_hash.clone())
            .collect()
    };
    let (sim, real) = (hashes(sim), hashes(real));
    if sim.is_empty() || real.is_empty() {
        // There is nothing to compare.
        return Some(false);
    }
    (!sim.is_disjoint(&real)).then_some(true)
}

/// Whether the arms of an environment hash their states alike, which the same
/// hash on both arms of a trajectory shows. Else two hashes say nothing.
async fn comparable(engine: &Engine, environment: &str) -> Result<bool, PairError> {
    let sql = format!(
        "SELECT 1 FROM observations WHERE environment = {} AND state_hash IS NOT NULL \
         GROUP BY trajectory_key, state_hash HAVING count(DISTINCT arm) > 1 LIMIT 1",
        quoted(environment)
    );
    Ok(!rows(engine, &sql).await?.is_empty())
}

async fn profile(engine: &Engine, this: &str) -> Result<Option<Profile>, PairError> {
    let sql = format!(
        "SELECT fidelity_obs, fidelity_obs_se, fidelity_act, fidelity_act_se, fidelity_rew, fidelity_rew_se, \
         fidelity_trans, fidelity_trans_se, fidelity, fidelity_se FROM profiles_now WHERE {this}"
    );
    let rows = rows(engine, &sql).await?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    let number = |at: usize| row[at].as_deref().and_then(|t| t.parse().ok());
    Ok(Some(Profile {
        fidelity: std::array::from_fn(|k| (number(2 * k), number(2 * k + 1))),
    }))
}

/// The rows of a query, every value as text.
async fn rows(engine: &Engine, sql: &str) -> Result<Vec<Row>, PairError> {
    let (_, batches) = engine.query(sql).await?;
    let mut out = vec![];
    for batch in batches {
        let columns = batch
            .columns()
            .iter()
            .map(|column| arrow::compute::cast(column, &DataType::Utf8))
            .collect::<Result<Vec<_>, _>>()?;
        for row in 0..batch.num_rows() {
            let value = |column: &arrow::array::ArrayRef| {
                let texts = column.as_string::<i32>();
                texts.is_valid(row).then(|| texts.value(row).to_owned())
            };
            out.push(columns.iter().map(value).collect());
        }
    }
    Ok(out)
}

fn text(row: &Row, at: usize) -> String {
    row.get(at).cloned().flatten().unwrap_or_default()
}
