//! What stands beside the shards: `manifest.json` for programs, `README.md` for
//! people and for the Hugging Face hub. Nothing in them depends on when or
//! where they were made.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use fidelake_core::gap::{ALPHA_RANGE, EPSILON, Gate, MAX_PENALTY, NO_GATE_FROM};
use serde::Serialize;

use super::chat::ChatCounts;
use super::manifest_files::{Beside, Files, ShardFile};
use super::predicted::Check;
use super::privacy::MaskCounts;
use super::recipe::{GateKind, Recipe, Unknown};
use super::repair::RepairCounts;
use super::rule_figures::{HoldoutFigures, JointStrata, joint_figures};
use super::select::{Counts, Excess};
use super::weigh::Weighed;
use super::write::{Container, Format};
use crate::lake::LakeVersion;

/// Everything that is needed to make the same shards again, and to check them.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Manifest {
    pub(super) curation_id: String,
    fidelake: &'static str,
    lake_version: i64,
    schema_version: i64,
    recipe: String,
    recipe_blake3: String,
    arm: &'static str,
    judge: String,
    pub(super) counts: Counts,
    pub(super) gate: GateFigures,
    joint: Option<JointStrata>,
    holdouts: Vec<HoldoutFigures>,
    seed: u64,
    pub(super) weight_moved: Option<f64>,
    pub(super) weight_scale: Option<f64>,
    weight_by_profile_source: BTreeMap<&'static str, f64>,
    rows_by_profile_source: BTreeMap<&'static str, u64>,
    /// Predicted gaps beside measured ones, each from the calls of other tasks.
    predictions_held_back: BTreeMap<&'static str, Check>,
    advantage_epsilon: f64,
    reward_excess: BTreeMap<String, Excess>,
    conversations: ChatCounts,
    /// How often each rule of `[privacy]` masked something.
    masked: MaskCounts,
    pub(super) repair: Option<RepairCounts>,
    pub(super) files: Vec<ShardFile>,
    /// Cards and indexes.
    pub(super) beside: Vec<Beside>,
}

/// The gate and its constants.
#[derive(Clone, Debug, Serialize)]
pub(super) struct GateFigures {
    /// As the recipe asks.
    pub(super) asked: &'static str,
    /// As it came out: `none` where nothing had to be done.
    pub(super) kind: &'static str,
    pub(super) alpha: Option<f64>,
    pub(super) beta: Option<f64>,
    kappa: f64,
    max_penalty: f64,
    alpha_range: (f64, f64),
    no_gate_from: f64,
    trajectories: u64,
    /// Pairs right on sim, and those of them wrong on real, of a calibrated gate.
    pairs: Option<u64>,
    broken: Option<u64>,
    /// Of the curve of all pairs.
    intercept: Option<f64>,
    slope: Option<f64>,
    /// Why it is not the gate that was asked for.
    pub(super) instead: Option<String>,
    min_pairs: f64,
    min_dimensions: usize,
    factors: Vec<&'static str>,
    pub(super) factors_left_out: Vec<&'static str>,
    unknown: &'static str,
    unknown_weight: Option<f64>,
}

/// What a manifest is made of.
pub(super) struct Made<'a> {
    pub(super) recipe: &'a Recipe,
    pub(super) curation_id: &'a str,
    pub(super) version: &'a LakeVersion,
    pub(super) judge: &'a str,
    pub(super) weighed: &'a Weighed,
    pub(super) excess: &'a BTreeMap<String, Excess>,
    pub(super) repair: Option<RepairCounts>,
    pub(super) holdouts: Vec<HoldoutFigures>,
}

impl Manifest {
    pub(super) fn of(made: &Made<'_>, files: &Files) -> Self {
        let weighed = made.weighed;
        Self {
            curation_id: made.curation_id.to_owned(),
            fidelake: env!("CARGO_PKG_VERSION"),
            lake_version: made.version.version,
            schema_version: made.version.schema_version,
            recipe: made.recipe.text.clone(),
            recipe_blake3: made.recipe.hash(),
            arm: made.recipe.source.arm.as_str(),
            judge: made.judge.to_owned(),
            counts: weighed.counts.clone(),
            gate: gate_figures(made.recipe, weighed),
            joint: joint_figures(weighed),
            holdouts: made.holdouts.clone(),
            seed: made.recipe.rules.seed,
            weight_moved: weighed.weight_moved,
            weight_scale: weighed.weight_scale,
            weight_by_profile_source: weighed.weight_by_source.clone(),
            rows_by_profile_source: weighed.rows_by_source.clone(),
            predictions_held_back: weighed.predictions.clone(),
            advantage_epsilon: EPSILON,
            reward_excess: made.excess.clone(),
            conversations: files.totals.chats,
            masked: files.totals.masked.clone(),
            repair: made.repair,
            files: files.shards.clone(),
            beside: Vec::new(),
        }
    }

    /// As it is written.
    pub(super) fn text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// The gate of a curation, with all that its weights depend on.
pub(super) fn gate_figures(recipe: &Recipe, weighed: &Weighed) -> GateFigures {
    let (alpha, beta) = match weighed.gates.shown {
        Gate::Quantile { alpha, beta } => (Some(alpha), Some(beta)),
        Gate::Seed => (Some(10.0), Some(0.7)),
        Gate::Open | Gate::Calibrated(_) => (None, None),
    };
    let curve = match weighed.gates.shown {
        Gate::Calibrated(curve) => Some(curve),
        _ => None,
    };
    let calibration = weighed.gates.calibration.as_ref();
    let factors = weighed.chosen.iter().copied();
    GateFigures {
        asked: recipe.gate.kind.as_str(),
        kind: weighed.gates.shown.kind(),
        alpha,
        beta,
        kappa: recipe.gate.kappa,
        max_penalty: MAX_PENALTY,
        alpha_range: ALPHA_RANGE,
        no_gate_from: NO_GATE_FROM,
        trajectories: weighed.gates.from,
        pairs: calibration.map(|c| c.pairs as u64),
        broken: calibration.map(|c| c.broken as u64),
        intercept: curve.map(|curve| curve.intercept),
        slope: curve.map(|curve| curve.slope),
        instead: weighed.gates.instead.clone(),
        min_pairs: recipe.gate.min_pairs,
        min_dimensions: recipe.gate.min_dimensions,
        factors: factors
            .filter(|name| !weighed.left_out.contains(name))
            .collect(),
        factors_left_out: weighed.left_out.clone(),
        unknown: match recipe.gate.unknown {
            Unknown::Keep => "keep",
            Unknown::Drop => "drop",
            Unknown::Weight(_) => "weight",
        },
        unknown_weight: match recipe.gate.unknown {
            Unknown::Weight(weight) => Some(weight),
            _ => None,
        },
    }
}

/// Why every weight is 1 although a gate was asked for.
pub(super) fn no_gate(gate: &GateFigures) -> Option<String> {
    (gate.asked != GateKind::None.as_str() && gate.kind == "none" && gate.alpha.is_none() && gate.slope.is_none()).then(|| {
        if gate.trajectories == 0 {
            "there is no gate: nothing is known of the fidelity of these runs, so the constants cannot be computed".to_owned()
        } else {
            format!(
                "there is no gate: the 20 % quantile of fidelity is at least {NO_GATE_FROM}, so every weight of a known run is 1"
            )
        }
    })
}

/// The data set's card: a YAML head that the hub reads, then words.
///
/// Without a format it is the card of a folder of folders, one per format.
pub(super) fn card(recipe: &Recipe, manifest: &Manifest, format: Option<Format>) -> String {
    let counts = &manifest.counts;
    let name = recipe.output.name.as_deref().unwrap_or("fidelake curation");
    let license = recipe.output.license.as_deref().unwrap_or("other");
    let mut out = format!(
        "---\npretty_name: {}\nlicense: {}\ntask_categories:\n- reinforcement-learning\ntags:\n- agents\n- tool-use\n- fidelake\nsize_categories:\n- {}\n{}---\n\n# {name}\n\n",
        yaml(name),
        yaml(license),
        size_category(counts.rows),
        match format {
            Some(format) => configs(manifest, format),
            None => all_configs(manifest, &recipe.output.formats),
        },
    );
    let _ = write!(
        out,
        "{} rollouts of tool-calling agents in {} groups, each with a weight that says how far the world it was made in can be believed. \
         Made by fidelake {} from lake version {}; `manifest.json` holds the recipe, every constant, and a hash of every file.\n\n",
        counts.rows, counts.groups, manifest.fidelake, manifest.lake_version
    );
    let _ = write!(
        out,
        "- Arm `{}`, rewards of the judge `{}`.\n- Gate `{}`; share of weight moved: {}.\n- {} groups teach nothing (equal rewards, or weights worth fewer than two rollouts); their advantages are 0 (`group_degenerate`).\n",
        manifest.arm,
        manifest.judge,
        manifest.gate.kind,
        manifest
            .weight_moved
            .map_or("unknown".to_owned(), |x| format!("{x:.4}")),
        counts.degenerate_groups,
    );
    if let Some(scale) = manifest.weight_scale {
        let _ = writeln!(
            out,
            "- Multiply `advantage_fidelity` by {scale:.4} (`weight_scale`, one constant for the whole data set) to keep the learning rate."
        );
    }
    if let Some(why) = no_gate(&manifest.gate) {
        let _ = writeln!(out, "- Here {why}.");
    }
    if !manifest.gate.factors_left_out.is_empty() {
        let _ = writeln!(
            out,
            "- Not measured anywhere in the lake, hence not in the weights: {}.",
            manifest.gate.factors_left_out.join(", ")
        );
    }
    out.push_str("- Rows and weight by where the profile comes from: ");
    let sources = manifest
        .rows_by_profile_source
        .iter()
        .map(|(source, rows)| {
            let weight = manifest
                .weight_by_profile_source
                .get(source)
                .copied()
                .unwrap_or_default();
            format!("{source} {rows} rows, {:.1} %", weight * 100.0)
        });
    out.push_str(&sources.collect::<Vec<_>>().join("; "));
    out.push_str(".\n");
    if let Some(repair) = manifest.repair.filter(|r| r.repaired > 0) {
        let _ = writeln!(
            out,
            "- In {} rows the simulator's answers were replaced by those of the real world (`repaired`).",
            repair.repaired
        );
    }
    out.push_str("\nA weight multiplies the advantage, never the reward: group normalisation would cancel it there. It is a statement about the recorded rollout and its environment, not about a new rollout of the same task.\n\n");
    let Some(format) = format else {
        out.push_str("The same rows in the same order, for several readers:\n\n| folder | shards |\n| --- | --- |\n");
        for format in &recipe.output.formats {
            let shards = manifest.files.iter().filter(|f| f.format == format.name());
            let _ = writeln!(out, "| `{}` | {} |", format.name(), shards.count());
        }
        return out;
    };
    out.push_str("| column | type | meaning |\n| --- | --- | --- |\n");
    for column in format.columns() {
        let _ = writeln!(
            out,
            "| `{}` | {} | {} |",
            column.name,
            column.type_name(),
            column.doc
        );
    }
    out
}

/// Where `datasets` finds the shards of each part of the data set. It has no
/// reader for MDS.
fn configs(manifest: &Manifest, format: Format) -> String {
    if format.container() == Container::Mds {
        return String::new();
    }
    format!(
        "configs:\n{}",
        config(manifest, format, "default", "", true)
    )
}

/// A folder of folders: a configuration for each that the hub's reader can read, the first
/// of them the one that is loaded where none is named.
fn all_configs(manifest: &Manifest, formats: &[Format]) -> String {
    let readable = formats
        .iter()
        .filter(|format| format.container() != Container::Mds);
    let list: Vec<String> = readable
        .enumerate()
        .map(|(at, format)| {
            let folder = format!("{}/", format.name());
            config(manifest, *format, format.name(), &folder, at == 0)
        })
        .collect();
    match list.is_empty() {
        true => String::new(),
        false => format!("configs:\n{}", list.concat()),
    }
}

fn config(manifest: &Manifest, format: Format, name: &str, folder: &str, first: bool) -> String {
    let default = if first { "  default: true\n" } else { "" };
    let mut out = format!("- config_name: {name}\n{default}  data_files:\n");
    let files = manifest.files.iter().filter(|f| f.format == format.name());
    let mut splits: Vec<&str> = files.map(|f| f.split.as_str()).collect();
    splits.dedup();
    for split in splits {
        let path = format.path(split, 0, 1);
        let ending = path.split_once('.').map_or("", |(_, ending)| ending);
        let _ = writeln!(
            out,
            "  - split: {split}\n    path: {folder}data/{split}-*.{ending}"
        );
    }
    out
}

/// A text as a YAML scalar; JSON strings are.
fn yaml(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// The words of the hub.
fn size_category(rows: u64) -> &'static str {
    const STEPS: [(u64, &str); 6] = [
        (1_000, "n<1K"),
        (10_000, "1K<n<10K"),
        (100_000, "10K<n<100K"),
        (1_000_000, "100K<n<1M"),
        (10_000_000, "1M<n<10M"),
        (100_000_000, "10M<n<100M"),
    ];
    STEPS
        .iter()
        .find(|(below, _)| rows < *below)
        .map_or("100M<n<1B", |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_in_the_words_of_the_hub() {
        assert_eq!(size_category(999), "n<1K");
        assert_eq!(size_category(1_000), "1K<n<10K");
        assert_eq!(size_category(u64::MAX), "100M<n<1B");
        assert_eq!(yaml("a: \"b\""), r#""a: \"b\"""#);
    }
}
