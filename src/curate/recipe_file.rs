//! A recipe as it is spelled: every key with its place, for messages.

use serde::Deserialize;
use toml::Spanned;

use super::output_part::{OutputFile, PrivacyPart, RepairFile};
use super::recipe::{Arm, GateKind, GatePart, GroupBy, Unknown};
use super::recipe_rules::{
    DifficultyFile, DiversityFile, DuplicatesFile, HoldoutFile, LicensesFile, Mistake, QuotaFile,
    RewardsFile, RulesFile, SplitFile, number, whole,
};
use super::region::FACTORS;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) version: Spanned<i64>,
    #[serde(default)]
    pub(super) source: SourceFile,
    #[serde(default)]
    pub(super) gate: GateFile,
    #[serde(default)]
    pub(super) groups: GroupsFile,
    #[serde(default)]
    pub(super) privacy: PrivacyPart,
    #[serde(default)]
    pub(super) repair: RepairFile,
    #[serde(default)]
    pub(super) output: OutputFile,
    seed: Option<Spanned<i64>>,
    #[serde(default)]
    rewards: RewardsFile,
    #[serde(default)]
    difficulty: DifficultyFile,
    licenses: Option<LicensesFile>,
    #[serde(default)]
    holdout: Vec<Spanned<HoldoutFile>>,
    duplicates: Option<DuplicatesFile>,
    #[serde(default)]
    quota: Vec<Spanned<QuotaFile>>,
    diversity: Option<Spanned<DiversityFile>>,
    #[serde(default)]
    split: SplitFile,
}

impl File {
    /// Takes out the sections that are rules.
    pub(super) fn take_rules(&mut self) -> RulesFile {
        RulesFile {
            seed: self.seed.take(),
            rewards: std::mem::take(&mut self.rewards),
            difficulty: std::mem::take(&mut self.difficulty),
            licenses: self.licenses.take(),
            holdout: std::mem::take(&mut self.holdout),
            duplicates: self.duplicates.take(),
            quota: std::mem::take(&mut self.quota),
            diversity: self.diversity.take(),
            split: std::mem::take(&mut self.split),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SourceFile {
    pub(super) r#where: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) arm: Arm,
    pub(super) judge: Option<Spanned<String>>,
    pub(super) version: Option<Spanned<i64>>,
    pub(super) at: Option<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GateFile {
    #[serde(default)]
    pub(super) kind: GateKind,
    pub(super) unknown: Option<Spanned<UnknownWord>>,
    pub(super) unknown_weight: Option<Spanned<f64>>,
    alpha: Option<Spanned<f64>>,
    beta: Option<Spanned<f64>>,
    kappa: Option<Spanned<f64>>,
    dimensions: Option<Spanned<Vec<Dimension>>>,
    min_pairs: Option<Spanned<f64>>,
    min_dimensions: Option<Spanned<i64>>,
}

/// A factor of f, as people name it.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Dimension {
    Obs,
    Act,
    Rew,
    Trans,
    Decision,
}

/// `[gate]`, checked.
pub(super) fn gate(file: &GateFile) -> Result<GatePart, Mistake> {
    let mut part = GatePart {
        kind: file.kind,
        unknown: unknown(file)?,
        ..GatePart::default()
    };
    let alpha = number("alpha", file.alpha.as_ref(), 0.0, f64::MAX)?;
    let beta = number("beta", file.beta.as_ref(), 0.0, 1.0)?;
    part.constants = match (alpha, beta) {
        (Some(alpha), Some(beta)) if file.kind == GateKind::Quantile => Some((alpha, beta)),
        (None, None) => None,
        _ => {
            let given = file.alpha.as_ref().or(file.beta.as_ref());
            let at = given.map_or(0, |given| given.span().start);
            let message = "alpha and beta are the constants of kind = \"quantile\", and stand together: alpha = 10.0, beta = 0.7";
            return Err((at, message.into()));
        }
    };
    if let Some(kappa) = number("kappa", file.kappa.as_ref(), 0.0, 10.0)? {
        part.kappa = kappa;
    }
    if let Some(list) = &file.dimensions {
        if list.get_ref().is_empty() {
            let message = "dimensions is empty: write some of \"obs\", \"act\", \"rew\", \"trans\", \"decision\"";
            return Err((list.span().start, message.into()));
        }
        part.factors = [false; FACTORS.len()];
        for dimension in list.get_ref() {
            part.factors[*dimension as usize] = true;
        }
    }
    part.min_pairs = number("min_pairs", file.min_pairs.as_ref(), 0.0, 1.0)?.unwrap_or(0.0);
    let chosen = part.factors.iter().filter(|chosen| **chosen).count();
    part.min_dimensions = match whole("min_dimensions", file.min_dimensions.as_ref(), 0)? {
        None => 0,
        Some(given) => match usize::try_from(given) {
            Ok(least) if least <= chosen => least,
            _ => {
                let at = file
                    .min_dimensions
                    .as_ref()
                    .map_or(0, |given| given.span().start);
                return Err((
                    at,
                    format!("min_dimensions = {given}: only {chosen} dimensions are looked at"),
                ));
            }
        },
    };
    Ok(part)
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum UnknownWord {
    Keep,
    Drop,
    Weight,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GroupsFile {
    #[serde(default)]
    pub(super) by: GroupBy,
    #[serde(default)]
    pub(super) mix_policies: bool,
    #[serde(default)]
    pub(super) whole: bool,
}

/// What the keys `unknown` and `unknown_weight` mean together; a mistake with its place.
fn unknown(gate: &GateFile) -> Result<Unknown, (usize, String)> {
    let weight = gate.unknown_weight.as_ref();
    let word = gate.unknown.as_ref();
    if let Some(weight) = weight
        && !(0.0..=1.0).contains(weight.get_ref())
    {
        let message = format!(
            "unknown_weight = {}: write a number from 0.0 to 1.0",
            weight.get_ref()
        );
        return Err((weight.span().start, message));
    }
    match (word.map(|w| *w.get_ref()), weight) {
        (Some(UnknownWord::Weight), Some(weight)) => Ok(Unknown::Weight(*weight.get_ref())),
        (Some(UnknownWord::Weight), None) => Err((
            word.map_or(0, |w| w.span().start),
            "unknown = \"weight\" needs the weight beside it: unknown_weight = 0.5".into(),
        )),
        (_, Some(weight)) => Err((
            weight.span().start,
            "unknown_weight is used with unknown = \"weight\" only: write that, or leave this line out".into(),
        )),
        (Some(UnknownWord::Drop), None) => Ok(Unknown::Drop),
        (Some(UnknownWord::Keep) | None, None) => Ok(Unknown::Keep),
    }
}
