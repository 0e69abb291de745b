//! `fidelake curate --explain`: what a recipe would do, rule by rule, without writing.

use super::decide::{Decided, Question, decide};
use super::error::CurateResult;
use super::ledger::Ledger;
use super::manifest::gate_figures;
use super::rule_figures::joint_figures;
use super::{Options, Report, report};
use crate::engine::Engine;
use crate::lake::At;

/// What a recipe would do.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// As of a curation; nothing was written.
    pub report: Report,
    /// The judge whose rewards count, or how several are put together.
    pub judge: String,
    /// From the hardest to the easiest: what the joint gate does to each stratum.
    pub strata: Vec<String>,
    /// Rows with weight, by part of the data set.
    pub splits: Vec<(&'static str, u64)>,
    /// All of it as JSON.
    pub json: serde_json::Value,
}

/// Says what the recipe would do; `options.output` is not looked at.
///
/// # Errors
/// As [`super::curate`], but for the folder.
pub async fn explain(options: &Options) -> CurateResult<Explanation> {
    let question = Question::read(&options.lake, &options.recipe, &options.at)?;
    let engine = Engine::open(&question.lake, &At::Version(question.version.version)).await?;
    let mut ledger = Ledger::default();
    let decided = decide(&engine, &question, &mut ledger).await?;
    let Decided {
        judge,
        weighed,
        repair,
        ..
    } = decided;
    let mut report = report(&question.recipe, &weighed);
    report.lake_version = question.version.version;
    report.repaired = repair.map(|r| r.of());
    let joint = joint_figures(&weighed);
    let strata = joint.iter().flat_map(|joint| &joint.strata).map(|s| {
        format!(
            "pass rate {:.2} to {:.2}: {} trajectories, {:.1} % of the feasible rows, {:.1} % of the weight by the gate alone, {:.1} % by the joint gate (c_b {:.3}{})",
            s.pass_rate_from,
            s.pass_rate_to,
            s.trajectories,
            100.0 * s.share,
            100.0 * s.share_gate_alone,
            100.0 * s.share_joint,
            s.factor,
            if s.clipped { ", at its bound" } else { "" }
        )
    });
    Ok(Explanation {
        strata: strata.collect(),
        splits: weighed
            .counts
            .splits
            .iter()
            .map(|(name, rows)| (*name, *rows))
            .collect(),
        json: serde_json::json!({
            "curation_id": question.curation_id,
            "lake_version": question.version.version,
            "judge": judge,
            "seed": question.recipe.rules.seed,
            "counts": weighed.counts,
            "gate": gate_figures(&question.recipe, &weighed),
            "joint": joint,
            "holdouts": question.holdout_figures(),
            "weight_moved": weighed.weight_moved,
            "weight_scale": weighed.weight_scale,
            "weight_by_profile_source": weighed.weight_by_source,
            "rows_by_profile_source": weighed.rows_by_source,
            "predictions_held_back": weighed.predictions,
            "repair": repair,
        }),
        report,
        judge,
    })
}
