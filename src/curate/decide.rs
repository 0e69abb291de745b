//! From a recipe and a state of the lake to rows with weights: all rules, in order.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::calibrate::calibrate;
use super::choose::{choose, permitted};
use super::difficulty::Tasks;
use super::error::{CurateError, CurateResult};
use super::fidelity::gate;
use super::holdout::{HoldoutSet, read_holdouts};
use super::inputs_version;
use super::ledger::Ledger;
use super::predicted::{Known, Predicted};
use super::recipe::{Arm, GateKind, Recipe};
use super::repair::{RepairCounts, repair};
use super::rewards::reward_excess;
use super::rule_figures::HoldoutFigures;
use super::select::{Excess, Selection, select};
use super::weigh::{Weighed, believe, weigh};
use crate::engine::Engine;
use crate::lake::{At, Lake, LakeVersion};

/// A recipe, the files it names, and the state of the lake that it reads.
pub(super) struct Question {
    pub(super) path: PathBuf,
    pub(super) recipe: Recipe,
    pub(super) holdouts: Vec<HoldoutSet>,
    pub(super) lake: Lake,
    pub(super) version: LakeVersion,
    pub(super) curation_id: String,
}

impl Question {
    /// Reads the recipe's file. `at` holds if it says something; else the recipe's.
    pub(super) fn read(lake: &Path, path: &Path, at: &At) -> CurateResult<Self> {
        let text = std::fs::read_to_string(path).map_err(|e| CurateError::io(path, e))?;
        Self::of(lake, path, &text, at)
    }

    /// As [`Self::read`], of a recipe that is at hand; `path` is for messages and the
    /// places of other files.
    pub(super) fn of(lake: &Path, path: &Path, text: &str, at: &At) -> CurateResult<Self> {
        let recipe = Recipe::parse(path, text)?;
        let asked = match (at, &recipe.source.at) {
            (At::Newest, Some(own)) => own.clone(),
            (given, _) => given.clone(),
        };
        let holdouts = read_holdouts(&recipe, path)?;
        let lake = Lake::open(lake)?;
        let version = inputs_version(&lake, &asked)?;
        let inputs: Vec<&str> = holdouts.iter().map(|set| set.blake3.as_str()).collect();
        Ok(Self {
            path: path.to_owned(),
            curation_id: recipe.curation_id(version.version, &inputs),
            recipe,
            holdouts,
            lake,
            version,
        })
    }

    /// The hold-out files, for the manifest.
    pub(super) fn holdout_figures(&self) -> Vec<HoldoutFigures> {
        let both = self.recipe.rules.holdouts.iter().zip(&self.holdouts);
        both.map(|(part, set)| HoldoutFigures {
            name: part.name.clone(),
            tasks: set.entries.len(),
            blake3: set.blake3.clone(),
        })
        .collect()
    }
}

/// What came of it.
pub(super) struct Decided {
    pub(super) judge: String,
    pub(super) excess: BTreeMap<String, Excess>,
    pub(super) repair: Option<RepairCounts>,
    pub(super) weighed: Weighed,
}

/// Applies every rule; `ledger` counts, and remembers whom it was told to.
pub(super) async fn decide(
    engine: &Engine,
    question: &Question,
    ledger: &mut Ledger,
) -> CurateResult<Decided> {
    let recipe = &question.recipe;
    let Selection {
        judge,
        mut counts,
        candidates,
        regions,
    } = select(engine, recipe, &question.path, ledger).await?;
    let excess = reward_excess(engine).await?;

    let mut part = recipe.gate;
    let mut calibration = None;
    if part.kind == GateKind::Calibrated && recipe.source.arm == Arm::Sim {
        // The verdicts that the gate is to predict must not stand in f.
        part.factors[REW] = false;
        let found = calibrate(engine, &regions, &part).await?;
        if found.is_err() {
            part = recipe.gate;
        }
        calibration = Some(found);
    }
    let mut candidates = permitted(engine, recipe, &question.holdouts, candidates, ledger).await?;
    let predicted = Predicted::of(engine, recipe, &candidates).await?;
    let known = &mut Known::new(&regions, &predicted);
    let repair = repair(engine, recipe, &part, known, &mut candidates).await?;
    let candidates = believe(recipe, &part, known, candidates, &mut counts, ledger)?;
    let checks = predicted.checks();
    drop(predicted);
    let mut candidates = choose(engine, recipe, candidates, ledger).await?;
    let tasks = Tasks::read(engine, recipe).await?;
    for run in &mut candidates {
        run.figures = tasks.of(run, recipe.rules.difficulty.k, recipe.groups.mix_policies);
    }
    let gates = gate(recipe, &candidates, calibration);
    counts.rules = ledger.rules.clone();
    let mut weighed = weigh(recipe, &part, candidates, counts, &regions, gates, &excess)?;
    weighed.predictions = checks;
    Ok(Decided {
        judge,
        excess,
        repair,
        weighed,
    })
}

/// The place of `run_rew` among the factors.
const REW: usize = 2;

#[cfg(test)]
mod tests {
    use super::super::region::FACTORS;
    use super::*;

    #[test]
    fn the_factor_of_rewards_has_its_place() {
        assert_eq!(FACTORS[REW], "run_rew");
    }
}
