//! `fidelake why`: which rule left a trajectory out, or how it was weighed.
//!
//! Nothing is stored for it: the recipe is applied again to the state of the lake that
//! it read, which gives the same rows.

use std::path::{Path, PathBuf};

use fidelake_core::gap::Gate;

use super::decide::{Decided, Question, decide};
use super::error::{CurateError, CurateResult};
use super::ledger::Ledger;
use super::read::{ints, longs, quoted, stream, texts};
use super::region::FACTORS;
use super::weigh::{Row, Weighed};
use crate::engine::Engine;
use crate::lake::{At, Lake};

/// What is asked.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The lake's folder.
    pub lake: PathBuf,
    /// Which state of it; for a recipe only.
    pub at: At,
    /// The trajectory.
    pub trajectory: String,
    /// Its environment, where several have that id.
    pub environment: Option<String>,
    /// A recorded curation, or the beginning of its id; the newest if there is no recipe.
    pub curation: Option<String>,
    /// A recipe instead.
    pub recipe: Option<PathBuf>,
}

/// What became of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Fate {
    /// Its environment.
    pub environment: String,
    /// The run.
    pub run_id: String,
    /// Where it ran.
    pub arm: String,
    /// Number within its arm.
    pub repeat: i32,
    /// Whether it is a row.
    pub kept: bool,
    /// The rule that left it out, or that weighed it.
    pub rule: String,
    /// In words.
    pub why: String,
    /// Its weight, if it is a row.
    pub weight: Option<f64>,
    /// Names and values, step by step.
    pub figures: Vec<(&'static str, String)>,
}

/// The answer.
#[derive(Clone, Debug)]
pub struct Why {
    /// The curation.
    pub curation_id: String,
    /// The state that it reads.
    pub lake_version: i64,
    /// One entry per run of the trajectory.
    pub runs: Vec<Fate>,
}

/// Says what became of the runs of a trajectory.
///
/// # Errors
/// If there is no such trajectory, curation or recipe, or the curation cannot be made again.
pub async fn why(asked: &Asked) -> CurateResult<Why> {
    let question = match &asked.recipe {
        Some(path) => Question::read(&asked.lake, path, &asked.at)?,
        None => recorded(asked).await?,
    };
    let engine = Engine::open(&question.lake, &At::Version(question.version.version)).await?;
    let mut all = runs(&engine, asked).await?;
    let mut ledger = Ledger::watching(&asked.trajectory);
    let decided = decide(&engine, &question, &mut ledger).await?;
    let source = in_source(&engine, &asked.trajectory).await?;
    let arm = question.recipe.source.arm.as_str();
    for fate in &mut all {
        let row = decided
            .weighed
            .rows
            .iter()
            .find(|row| *row.run.run_id == *fate.run_id);
        let out = ledger.left_out.iter().find(|out| out.run_id == fate.run_id);
        if let Some(row) = row {
            explain_row(fate, row, &question, &decided);
        } else if let Some(out) = out {
            (fate.rule, fate.why) = (out.rule.clone(), out.why.clone());
        } else if fate.arm != arm {
            fate.rule = "[source] arm".into();
            fate.why = format!("the recipe takes runs of arm {arm}");
        } else if !source.contains(&fate.run_id) {
            fate.rule = "[source] where".into();
            let filter = question.recipe.source.filter.as_deref().unwrap_or_default();
            fate.why = format!("it is not true for this run: {}", filter.trim());
        }
    }
    Ok(Why {
        curation_id: question.curation_id,
        lake_version: question.version.version,
        runs: all,
    })
}

/// The recipe and the state of a recorded curation.
async fn recorded(asked: &Asked) -> CurateResult<Question> {
    let lake = Lake::open(&asked.lake)?;
    let engine = Engine::open(&lake, &At::Newest).await?;
    let wanted = asked.curation.as_deref().unwrap_or_default();
    let sql = format!(
        "SELECT curation_id, recipe, lake_version FROM curations \
         WHERE starts_with(curation_id, {}) ORDER BY curated_at DESC, curation_id",
        quoted(wanted)
    );
    let mut found = Vec::new();
    let mut batches = stream(&engine, &sql).await?;
    while let Some(batch) = batches.next().await? {
        let (id, recipe) = (texts(&batch, "curation_id")?, texts(&batch, "recipe")?);
        let version = longs(&batch, "lake_version")?;
        found.extend((0..batch.num_rows()).map(|row| {
            (
                id.value(row).to_owned(),
                recipe.value(row).to_owned(),
                version.value(row),
            )
        }));
    }
    if asked.curation.is_some() && found.len() > 1 {
        let ids: Vec<&str> = found.iter().map(|(id, ..)| id.as_str()).collect();
        return Err(CurateError::Unanswered(format!(
            "--curation {wanted}: several curations begin so: {}",
            ids.join(", ")
        )));
    }
    let Some((id, text, version)) = found.into_iter().next() else {
        return Err(CurateError::Unanswered(match &asked.curation {
            Some(id) => format!("the lake has no curation {id}; `fidelake sql \"SELECT curation_id, curated_at, output FROM curations\"` lists them"),
            None => "the lake has no curation yet: `fidelake curate` makes one, or give a recipe with --recipe FILE".to_owned(),
        }));
    };
    // Hold-out files are looked for in the current folder: the lake does not keep them.
    let name = format!("the recipe of curation {id}");
    let question = Question::of(&asked.lake, Path::new(&name), &text, &At::Version(version))
        .map_err(|e| {
            CurateError::Unanswered(format!(
                "{e}. Run this where the recipe is, or give it with --recipe FILE"
            ))
        })?;
    if question.curation_id != id {
        return Err(CurateError::Unanswered(format!(
            "curation {id} was made by another version of this program or with other hold-out files; give its recipe with --recipe FILE to see what this version makes of it"
        )));
    }
    Ok(question)
}

/// The runs of the trajectory.
async fn runs(engine: &Engine, asked: &Asked) -> CurateResult<Vec<Fate>> {
    let mut condition = format!("trajectory_id = {}", quoted(&asked.trajectory));
    if let Some(environment) = &asked.environment {
        condition.push_str(&format!(" AND environment = {}", quoted(environment)));
    }
    let sql = format!(
        "SELECT environment, run_id, arm, repeat FROM runs WHERE {condition} ORDER BY environment, arm DESC, repeat"
    );
    let mut found = Vec::new();
    let mut batches = stream(engine, &sql).await?;
    while let Some(batch) = batches.next().await? {
        let [environment, run_id, arm] =
            ["environment", "run_id", "arm"].map(|name| texts(&batch, name));
        let (environment, run_id, arm) = (environment?, run_id?, arm?);
        let repeat = ints(&batch, "repeat")?;
        found.extend((0..batch.num_rows()).map(|row| Fate {
            environment: environment.value(row).to_owned(),
            run_id: run_id.value(row).to_owned(),
            arm: arm.value(row).to_owned(),
            repeat: repeat.value(row),
            kept: false,
            rule: String::new(),
            why: String::new(),
            weight: None,
            figures: Vec::new(),
        }));
    }
    if found.is_empty() {
        return Err(CurateError::Unanswered(format!(
            "the lake has no trajectory {:?}{} at lake version {}; `fidelake sql \"SELECT DISTINCT trajectory_id FROM runs\"` lists them",
            asked.trajectory,
            asked
                .environment
                .as_ref()
                .map_or(String::new(), |name| format!(" in environment {name}")),
            engine.version().version
        )));
    }
    Ok(found)
}

/// Runs of the trajectory that `where` keeps.
async fn in_source(engine: &Engine, trajectory: &str) -> CurateResult<Vec<String>> {
    let sql = format!(
        "SELECT run_id FROM curation_source WHERE trajectory_id = {}",
        quoted(trajectory)
    );
    let mut found = Vec::new();
    let mut batches = stream(engine, &sql).await?;
    while let Some(batch) = batches.next().await? {
        let ids = texts(&batch, "run_id")?;
        found.extend((0..batch.num_rows()).map(|row| ids.value(row).to_owned()));
    }
    Ok(found)
}

fn explain_row(fate: &mut Fate, row: &Row, question: &Question, decided: &Decided) {
    let weighed = &decided.weighed;
    let weight = row.advantages.fidelity_weight;
    fate.kept = true;
    fate.weight = Some(weight);
    fate.rule = "[gate]".into();
    fate.why = in_words(row, weighed);
    let value = |x: Option<f64>| x.map_or("unknown".to_owned(), |x| format!("{x:.4}"));
    let own = row.run.profile.as_ref().map(|p| p.gaps).unwrap_or_default();
    let mut figures = vec![
        ("reward", format!("{} ({})", row.run.reward, decided.judge)),
        ("profile", row.source.to_owned()),
    ];
    for (name, gap) in FACTORS.into_iter().zip(own) {
        if weighed.chosen.contains(&name) && !weighed.left_out.contains(&name) {
            figures.push((
                name,
                gap.map_or(
                    "not measured: predicted from its calls, else its environment".to_owned(),
                    |g| format!("{g:.4}"),
                ),
            ));
        }
    }
    figures.extend([
        ("fidelity", value(row.fidelity)),
        ("fidelity_se", value(row.fidelity_se)),
        ("fidelity_low", value(row.fidelity_low)),
        ("gate_weight", format!("{:.4}", row.gate_weight)),
        ("pass_rate", value(row.run.figures.pass_rate)),
    ]);
    if question.recipe.rules.difficulty.joint {
        figures.push(("feasible", row.run.figures.feasible.to_string()));
        figures.push(("difficulty_factor", format!("{:.4}", row.difficulty_factor)));
    }
    figures.extend([
        ("fidelity_weight", format!("{weight:.4}")),
        (
            "group",
            format!(
                "{}: {} rows, mean reward {:.4}{}",
                row.run.group,
                row.group.size,
                row.group.mean,
                if row.group.degenerate {
                    ", degenerate: advantages are 0"
                } else {
                    ""
                }
            ),
        ),
        (
            "advantage_fidelity",
            format!("{:.4}", row.advantages.advantage_fidelity),
        ),
        ("split", row.split.as_str().to_owned()),
    ]);
    fate.figures = figures;
}

fn in_words(row: &Row, weighed: &Weighed) -> String {
    if weighed.joint.is_some() && !row.run.figures.feasible {
        return "weight 0: the real world failed at these actions for a cause of its own".into();
    }
    match (row.source, weighed.gates.shown) {
        ("real", _) => "weight 1: it ran in the real world".into(),
        ("unknown", _) => "too little is known of its fidelity; [gate] unknown says what it weighs".into(),
        (_, Gate::Open) => "there is no gate".into(),
        (_, Gate::Seed) => "sigmoid(10 (fidelity_mean - 0.7))".into(),
        (_, Gate::Quantile { alpha, beta }) => format!("sigmoid({alpha:.3} (fidelity_low - {beta:.4}))"),
        (_, Gate::Calibrated(_)) => "how often pairs of this fidelity_low stay right, by a curve that saw no pair of its task".into(),
    }
}
